"""Names that hidden tests use and nobody was told: what they are, and what the change says of them.

For Python by its syntax tree, for others by words. A name counts where the change itself brings it: it stands in lines
of source that it adds, and nowhere in the repository before, nor in the statement.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from swetrials.mining.candidates import CODE, SCRIPTS

_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*")
_STRING = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`")
_SHORTEST = 3
_JS_SIGNATURE = (
    r"(?:async\s+)?(?:function\s*\*?\s*{0}\s*\([^)]*\)|class\s+{0}\b[^{{]*|(?:static\s+)?{0}\s*\([^)]*\)\s*(?=\{{))"
)
_JS_BINDING = r"(?:(?:const|let|var)\s+|exports\.|module\.exports\.){0}\s*=\s*(?:async\s*)?(?:\([^)]*\)|\w+)?\s*(?:=>)?"
_OTHER_SIGNATURE = (
    r"^[^\n#/*]*\b(?:func|fn|def|class|interface|type|struct|enum|void|public|static)\b[^\n{{;]*\b{0}\b[^\n{{;]*"
)


@dataclass(frozen=True)
class Untold:
    """What is missing from a statement.

    Attributes:
        signatures: what the change says of each name, as a line; by name.
        unknown: names that the change makes by a text, so that no signature can be read. A name of which it says
            nothing at all is of a library, or of the language.
    """

    signatures: Mapping[str, str]
    unknown: tuple[str, ...]

    @property
    def section(self) -> str:
        """The part of a statement that tells of them; empty where nothing is missing."""
        if not self.signatures:
            return ""
        lines = "\n".join(f"- `{line}`" for line in dict.fromkeys(self.signatures.values()))
        return f"\n\nInterface (names that the tests use):\n{lines}"


@dataclass(frozen=True)
class Used:
    """Names in test files by which they may reach what is tested.

    Attributes:
        names: identifiers.
        values: texts that are a single word, such as the value of an option, and no identifier of theirs.
    """

    names: frozenset[str]
    values: frozenset[str]


def names_used(tests: Mapping[str, bytes]) -> Used:
    """Return the names that test files use, but for those that they make themselves.

    Args:
        tests: content of each file by its path.
    """
    names: set[str] = set()
    values: set[str] = set()
    for path, data in tests.items():
        text = data.decode(errors="replace")
        if path.endswith(".py"):
            _note_python(text, names, values)
        elif CODE.fullmatch(PurePosixPath(path).suffix):
            _note_other(text, names, values)
    long = frozenset(name for name in names if len(name) >= _SHORTEST)
    return Used(long, frozenset(value for value in values if len(value) >= _SHORTEST) - long)


def identifiers(text: str) -> set[str]:
    """Return every word of a text that could be a name in a program."""
    return set(_IDENTIFIER.findall(text))


def test_names(tests: Mapping[str, bytes]) -> set[str]:
    """Return the names of test functions in test files; those of other languages are sentences, and none here."""
    found: set[str] = set()
    for path, data in tests.items():
        if path.endswith(".py"):
            found.update(re.findall(r"^\s*(?:async\s+)?def\s+(test_\w+)", data.decode(errors="replace"), re.MULTILINE))
    return found


def signatures_of(names: Iterable[str], values: Iterable[str], sources: Mapping[str, bytes]) -> Untold:
    """Return what changed sources say of names.

    Args:
        names: identifiers that nobody was told.
        values: likewise, texts.
        sources: content of each changed source after the change, by its path.
    """
    told: dict[str, str] = {}
    wanted, made_by_text = set(names), set[str]()
    for path, data in sources.items():
        text = data.decode(errors="replace")
        made_by_text.update(re.findall(r"[\"'`]([A-Za-z_$][\w$]*)[\"'`]", text))
        found = _python_signatures(path, text, wanted) if path.endswith((".py", ".pyi")) else _other(path, text, wanted)
        for name, line in found:
            told.setdefault(name, line)
        for value in values:
            if re.search(rf"[\"'`]{re.escape(value)}[\"'`]", text):
                told.setdefault(value, f"{path}: value {value!r}")
    return Untold({name: told[name] for name in sorted(told)}, tuple(sorted((wanted - told.keys()) & made_by_text)))


def _note_other(text: str, names: set[str], values: set[str]) -> None:
    names.update(identifiers(_STRING.sub(" ", text)))
    values.update(found[0][1:-1] for found in _STRING.finditer(text) if _IDENTIFIER.fullmatch(found[0][1:-1]))


def _note_python(text: str, names: set[str], values: set[str]) -> None:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        _note_other(text, names, values)
        return
    own: set[str] = set()
    used: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                own.add(node.name)
            case ast.ImportFrom():
                used.update((*(alias.name for alias in node.names), *(node.module or "").split(".")))
            case ast.Import():
                used.update(part for alias in node.names for part in alias.name.split("."))
            case ast.Attribute():
                (own if isinstance(node.ctx, ast.Store) else used).add(node.attr)
            case ast.Call():
                used.update(word.arg for word in node.keywords if word.arg)
            case ast.Constant(value=str() as value) if value.isidentifier():
                values.add(value)
            case _:
                continue
    names.update(used - own)


def _python_signatures(path: str, text: str, wanted: set[str]) -> Iterator[tuple[str, str]]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    module = path.removesuffix(".pyi").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    module = module.removeprefix("src.").removeprefix("lib.")
    yield from _in_body(tree.body, module, wanted)
    if (last := module.rpartition(".")[2]) in wanted:
        yield last, f"module {module}"


def _in_body(body: Iterable[ast.stmt], where: str, wanted: set[str]) -> Iterator[tuple[str, str]]:
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from _of_function(node, where, wanted)
            case ast.ClassDef():
                if node.name in wanted:
                    bases = ", ".join(map(ast.unparse, node.bases))
                    yield node.name, f"{where}: class {node.name}({bases})" if bases else f"{where}: class {node.name}"
                yield from _in_body(node.body, f"{where}.{node.name}", wanted)
            case ast.Assign() | ast.AnnAssign():
                for target in node.targets if isinstance(node, ast.Assign) else (node.target,):
                    for name in ast.walk(target):
                        if isinstance(name, ast.Name) and name.id in wanted:
                            yield name.id, f"{where}: {name.id}"
            case ast.Import() | ast.ImportFrom():
                for alias in node.names:
                    if (alias.asname or alias.name) in wanted:
                        yield alias.asname or alias.name, f"{where}: {alias.asname or alias.name}"
            case ast.If() | ast.Try() | ast.With():
                yield from _in_body(
                    [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.stmt)], where, wanted
                )
            case _:
                continue


def _of_function(
    node: ast.FunctionDef | ast.AsyncFunctionDef, where: str, wanted: set[str]
) -> Iterator[tuple[str, str]]:
    words = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    line = f"{where}: {words} {node.name}({ast.unparse(node.args)}){returns}"
    arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    for name in (node.name, *(one.arg for one in arguments)):
        if name in wanted:
            yield name, line
    for inner in ast.walk(node):
        if isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store) and inner.attr in wanted:
            yield inner.attr, f"{where}: attribute {inner.attr}"


def _other(path: str, text: str, wanted: set[str]) -> Iterator[tuple[str, str]]:
    for name in wanted:
        quoted = re.escape(name)
        if PurePosixPath(path).suffix in SCRIPTS:
            for pattern in (_JS_SIGNATURE, _JS_BINDING):
                if found := re.search(pattern.format(quoted), text):
                    yield name, f"{path}: {' '.join(found[0].split()).removesuffix('=>').strip()}"
                    break
            else:
                if re.search(rf"\.{quoted}\b|\b{quoted}\s*[:,}}]", text):
                    yield name, f"{path}: property {name}"
        elif found := re.search(_OTHER_SIGNATURE.format(quoted), text, re.MULTILINE):
            yield name, f"{path}: {' '.join(found[0].split())}"
