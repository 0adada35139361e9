"""YAML as plain values that remember the line they were written on."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode
from ruamel.yaml.reader import ReaderError

from swetrials.store.problems import DocumentError, Problem
from swetrials.store.reading import read_bytes
from swetrials.store.yaml_words import in_plain_words

Loc = tuple[str | int, ...]
"""The way to a value: keys of mappings and indexes of lists, from the top."""

_MAX_BYTES = 16 * 2**20
_MAX_VALUES = 100_000  # aliases of aliases grow a few lines into billions of values
_TEXT_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("str", "timestamp", "value", "merge"))
_KNOWN_TAGS = _TEXT_TAGS | {f"tag:yaml.org,2002:{name}" for name in ("bool", "float", "int", "map", "null", "seq")}
_MAX_DEPTH = 100
_TOO_DEEP = f"lists and mappings are nested too deeply: more than {_MAX_DEPTH}, one in another"


class _ShallowComposer(Composer):
    """Gives up at a depth that nobody writes: the parser takes seconds for hundreds of levels, and hours for more."""

    depth = 0

    def compose_node(self, parent: Node | None, index: object) -> Node | None:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise RecursionError
        try:
            node: Node | None = super().compose_node(parent, index)
            return node
        finally:
            self.depth -= 1


@dataclass(frozen=True)
class Place:
    """Where one value stands. Lines count from 1; ``text`` is what was written, for anything but lists and mappings."""

    key_line: int
    line: int
    text: str | None = None


@dataclass(frozen=True)
class YamlSource:
    """A file's values (``dict``, ``list``, ``str``, numbers, ``bool``, ``None``) and where each of them stands.

    Keys are always text, as written. Dates stay text too: a dataset's ``created: 2026-08-25`` is a label.
    """

    file: str
    sha256: str
    data: object
    places: Mapping[Loc, Place]


def read_yaml(path: Path) -> YamlSource:
    """Read one YAML document.

    Raises:
        DocumentError: the file cannot be read, is not UTF-8, is empty or larger than 16 MiB, is not well-formed
            YAML, repeats a key, uses a tag of its own or an alias that holds itself, or grows too large by aliases.
    """
    file = str(path)
    content = _read(path)
    text = _decode(file, content)
    yaml = YAML(typ="safe", pure=True)
    yaml.Composer = _ShallowComposer
    try:
        root = yaml.compose(text)
    except (YAMLError, RecursionError, ArithmeticError, ValueError) as error:
        raise DocumentError([_syntax_problem(file, text, error)]) from None
    if root is None:
        raise DocumentError([Problem(file, None, "", "the file is empty")])
    reader = _NodeReader(file, yaml.constructor.construct_object, text.splitlines())
    try:
        data = reader.value(root, (), root.start_mark.line + 1)
    except RecursionError:
        raise DocumentError([Problem(file, None, "", _TOO_DEEP)]) from None
    if reader.problems:
        raise DocumentError(reader.problems)
    return YamlSource(file, hashlib.sha256(content).hexdigest(), data, reader.places)


def field_name(loc: Loc) -> str:
    """Return a way through the values as people write it: ``tasks[3].complexity``."""
    name = ""
    for part in loc:
        if isinstance(part, int):
            name += f"[{part}]"
        else:
            shown = part if part.isprintable() and len(part) <= 60 else repr(part[:60])
            name += f".{shown}" if name else shown
    return name


def _read(path: Path) -> bytes:
    try:
        content = read_bytes(path, _MAX_BYTES + 1)
    except FileNotFoundError:
        message = "no such file"
    except IsADirectoryError:
        message = "is a folder, not a file"
    except (OSError, ValueError) as error:
        message = f"cannot be read: {getattr(error, 'strerror', None) or error}"
    else:
        if len(content) <= _MAX_BYTES:
            return content
        message = f"is larger than {_MAX_BYTES // 2**20} MiB"
    raise DocumentError([Problem(str(path), None, "", message)])


def _decode(file: str, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DocumentError([Problem(file, line, "", "is not UTF-8 text; save it as UTF-8")]) from None


def _syntax_problem(file: str, text: str, error: Exception) -> Problem:
    match error:
        case MarkedYAMLError():
            line, said = in_plain_words(error, text)
            return Problem(file, line, "", f"not well-formed YAML: {said}")
        case ReaderError():
            line = text.count("\n", 0, error.position) + 1
            return Problem(file, line, "", f"holds the control character {chr(error.character)!r}")
        case RecursionError():
            return Problem(file, None, "", _TOO_DEEP)
        case _:
            return Problem(file, None, "", f"not well-formed YAML: {error}")


@dataclass
class _NodeReader:
    """Turns the parser's nodes into values, noting every fault and every place on the way."""

    file: str
    construct: Callable[[ScalarNode], object]
    lines: list[str]
    problems: list[Problem] = field(default_factory=list)
    places: dict[Loc, Place] = field(default_factory=dict)
    open_nodes: set[int] = field(default_factory=set)

    def value(self, node: Node, loc: Loc, key_line: int) -> object:
        """Return a node's value, or ``None`` beside a new problem."""
        is_empty = isinstance(node, ScalarNode) and not node.value and node.style is None
        line = key_line if is_empty else node.start_mark.line + 1  # a value that is not there begins anywhere
        self.places[loc] = Place(key_line, line, node.value if isinstance(node, ScalarNode) else None)
        if len(self.places) > _MAX_VALUES:
            message = f"holds more than {_MAX_VALUES} values, counting what aliases repeat"
            raise DocumentError([Problem(self.file, None, "", message)])
        if id(node) in self.open_nodes:
            self._note(key_line, loc, "the alias refers to a value that it is part of")
        elif node.tag not in _KNOWN_TAGS:
            tag = str(node.tag)[:60]
            self._note(line, loc, f"the tag {tag!r} is not supported; text that begins with ! has to be in quotes")
        elif isinstance(node, ScalarNode):
            return self._scalar(node, loc, line)
        else:
            self.open_nodes.add(id(node))
            value = self._mapping(node, loc) if isinstance(node, MappingNode) else self._list(node, loc)
            self.open_nodes.discard(id(node))
            return value
        return None

    def _list(self, node: Node, loc: Loc) -> list[object]:
        return [self.value(item, (*loc, i), item.start_mark.line + 1) for i, item in enumerate(node.value)]

    def _mapping(self, node: MappingNode, loc: Loc) -> dict[str, object]:
        values: dict[str, object] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            key = key_node.value
            if not isinstance(key, str) or not _passable(key):
                self._note(line, loc, "a key must be plain text")
            elif key in values:
                first = self.places[*loc, key].key_line
                self._note(line, (*loc, key), f"the key is used twice, first on line {first}")
            else:
                values[key] = self.value(value_node, (*loc, key), line)
        return values

    def _scalar(self, node: ScalarNode, loc: Loc, line: int) -> object:
        if not _passable(node.value):
            self._note(line, loc, "holds a character that no program accepts in text")
            return None
        if node.tag in _TEXT_TAGS:
            self._note_swallowed_items(node, loc)
            return node.value
        try:
            return self.construct(node)
        except (YAMLError, ValueError, KeyError, ArithmeticError):
            self._note(line, loc, f"{node.value[:60]!r} is not of the type that it is tagged with")
            return None

    def _note_swallowed_items(self, node: ScalarNode, loc: Loc) -> None:
        """Note a line that looks like an item of a list and was read as a part of the text above it."""
        if node.style is not None:
            return
        for number in range(node.start_mark.line + 1, min(node.end_mark.line + 1, len(self.lines))):
            if self.lines[number].lstrip().startswith("- "):
                message = "begins like an item of a list, and is indented as a part of the text above: align it"
                self._note(number + 1, loc, message)

    def _note(self, line: int, loc: Loc, message: str) -> None:
        self.problems.append(Problem(self.file, line, field_name(loc), message))


def _passable(text: str) -> bool:
    """Whether text can be an argument, a file name or UTF-8 output: neither NUL nor half a surrogate pair."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)
