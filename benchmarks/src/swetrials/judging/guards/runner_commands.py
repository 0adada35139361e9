"""Which test runner a command runs, what it names to be run, and the same command with nothing but files of ours."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from swetrials.records.argv import Argv

RunnerName = Literal["pytest", "unittest", "node", "jest", "vitest"]


@dataclass(frozen=True)
class Discovery:
    """What ``unittest discover`` looks for; each is ``None`` where the command does not say."""

    start: str = "."
    pattern: str = "test*.py"
    top: str | None = None


@dataclass(frozen=True)
class RunnerCommand:
    """A command whose runner is known.

    Attributes:
        runner: which.
        named: what it names to be run: files, folders, modules, patterns.
        after_named: where in the command more of that can be put; ``None``: it names nothing.
        alone: the words without what is named, what selects and what stops at the first failure.
        not_joined: why a test of ours cannot be run among those of the command; empty: it can.
        discovery: where it is unittest that looks for tests itself.
    """

    runner: RunnerName
    named: tuple[str, ...]
    after_named: int | None
    alone: tuple[str, ...]
    not_joined: str
    discovery: Discovery | None = None


@dataclass(frozen=True)
class _Options:
    """The options of a runner: those with a value, those without, and those that select tests or stop early."""

    values: frozenset[str]
    flags: frozenset[str]
    choosing_values: frozenset[str]
    choosing: frozenset[str]

    @property
    def known(self) -> frozenset[str]:
        return self.values | self.flags | self.choosing_values | self.choosing


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# pytest --help, python -m unittest --help, node --help, and the command lines of jest 30 and vitest 4.
_OPTIONS: Mapping[RunnerName, _Options] = {
    "pytest": _Options(
        values=_words(
            "-p -o -c -W -n -r --override-ini --config-file --rootdir --confcutdir --ignore --ignore-glob --basetemp"
            " --junitxml --junit-xml --junitprefix --junit-prefix --import-mode --tb --color --durations"
            " --durations-min --verbosity --capture --log-level --log-file --log-cli-level --log-format --dist"
            " --numprocesses --maxprocesses --cov --cov-report --cov-config --cov-fail-under --timeout"
            " --timeout-method --pythonwarnings --doctest-glob --show-capture --assert"
        ),
        flags=_words(
            "-v -q -s -l --verbose --quiet --showlocals --strict --strict-markers --strict-config --no-header"
            " --no-summary --disable-warnings --disable-pytest-warnings --doctest-modules --cov-append --cov-branch"
            " --no-cov --continue-on-collection-errors --pyargs --cache-clear --full-trace --noconftest"
        ),
        choosing_values=_words("-k -m --deselect --maxfail"),
        choosing=_words(
            "-x --exitfirst --lf --last-failed --ff --failed-first --nf --new-first --sw --stepwise --stepwise-skip"
            " --co --collect-only"
        ),
    ),
    "unittest": _Options(
        values=_words("-s --start-directory -p --pattern -t --top-level-directory --durations"),
        flags=_words("-v --verbose -q --quiet -b --buffer -c --catch --locals"),
        choosing_values=_words("-k"),
        choosing=_words("-f --failfast"),
    ),
    "node": _Options(
        values=_words(
            "-r --require --import --loader --experimental-loader -C --conditions --test-reporter"
            " --test-reporter-destination --test-concurrency --test-timeout --env-file"
        ),
        flags=_words(
            "--test --experimental-test-coverage --no-warnings --enable-source-maps --experimental-strip-types"
            " --experimental-test-module-mocks --experimental-vm-modules --expose-gc --test-force-exit"
        ),
        choosing_values=_words("--test-name-pattern --test-skip-pattern --test-shard"),
        choosing=_words("--test-only --watch"),
    ),
    "jest": _Options(
        values=_words(
            "-c --config --rootDir --roots -w --maxWorkers --testTimeout --reporters --outputFile --env"
            " --coverageDirectory --coverageReporters --selectProjects --testMatch"
        ),
        flags=_words(
            "-i --runInBand --ci --verbose --silent --coverage --collectCoverage --no-coverage --no-cache --colors"
            " --forceExit --detectOpenHandles --passWithNoTests --json --runTestsByPath --no-watchman --no-color"
        ),
        choosing_values=_words("-t --testNamePattern --testPathIgnorePatterns --testPathPattern --shard"),
        choosing=_words("-b --bail -o --onlyChanged -f --onlyFailures --findRelatedTests --lastCommit"),
    ),
    "vitest": _Options(
        values=_words(
            "-c --config -r --root --dir --reporter --outputFile --pool --environment --project --maxWorkers --mode"
            " --testTimeout"
        ),
        flags=_words("--run --silent --coverage --no-coverage --globals --passWithNoTests --no-color --no-isolate"),
        choosing_values=_words("-t --testNamePattern --bail --exclude --shard"),
        choosing=_words("--changed --related"),
    ),
}

_PYTHON = re.compile(r"(python|pypy)[0-9.]*")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_STARTERS: frozenset[tuple[str, ...]] = frozenset(
    {("uv", "run"), ("poetry", "run"), ("pdm", "run"), ("pipenv", "run"), ("pnpm", "exec"), ("yarn",), ("npx",)}
)
_STARTER_VALUES = _words("--with --with-requirements --extra --group --only-group --python -p --package --env-file")


def runner_command(argv: Argv, exists: Callable[[str], bool]) -> RunnerCommand | None:
    """Return what a command runs its tests with; ``None``: that is not known from its words.

    Args:
        argv: the command.
        exists: whether a path is there, seen from where the command is started.
    """
    found = _runner(argv)
    if found is None:
        return None
    runner, start = found
    parts = _Parts.of(argv, start, _OPTIONS[runner], exists)
    if runner == "unittest" and (not parts.named or argv[parts.named[0]] == "discover"):
        return _discovering(argv, start, parts)
    return RunnerCommand(
        runner=runner,
        named=tuple(argv[at] for at in parts.named),
        after_named=parts.named[-1] + 1 if parts.named else None,
        alone=(*argv[:start], *parts.kept),
        not_joined=parts.not_joined,
    )


def _discovering(argv: Argv, start: int, parts: "_Parts") -> RunnerCommand:
    """Return a command of which unittest looks for tests itself."""
    order = ("start", "pattern", "top")
    asked = dict(zip(order, (argv[at] for at in parts.named[1:]), strict=False))
    kept = list(parts.kept)
    for name, options in (
        ("start", ("-s", "--start-directory")),
        ("pattern", ("-p", "--pattern")),
        ("top", ("-t", "--top-level-directory")),
    ):
        for option in options:
            while option in kept[:-1]:
                at = kept.index(option)
                asked[name] = kept[at + 1]
                del kept[at : at + 2]
            for word in [word for word in kept if word.startswith(f"{option}=")]:
                asked[name] = word.removeprefix(f"{option}=")
                kept.remove(word)
    return RunnerCommand(
        runner="unittest",
        named=(asked.get("start", "."),),
        after_named=None,
        alone=(*argv[:start], "discover", *kept),
        not_joined=parts.not_joined,
        discovery=Discovery(**asked),
    )


def _runner(argv: Argv) -> tuple[RunnerName, int] | None:
    """Return the runner of a command, and where its own words begin."""
    start = _behind_starters(argv)
    if start >= len(argv):
        return None
    name = PurePosixPath(argv[start]).name
    if name in {"pytest", "py.test"}:
        return "pytest", start + 1
    if _PYTHON.fullmatch(name) or name == "coverage":
        return _python_module(argv, start + 1)
    if name == "node":
        script = next((at for at in range(start + 1, len(argv)) if not argv[at].startswith("-")), None)
        if "--test" in argv[start + 1 :]:
            return "node", start + 1
        return _javascript(argv, script) if script is not None else None
    return _javascript(argv, start)


def _behind_starters(argv: Argv) -> int:
    at = 0
    while at < len(argv):
        if argv[at] == "env":
            at += 1
            while at < len(argv) and _ASSIGNMENT.match(argv[at]):
                at += 1
        elif starter := next((one for one in _STARTERS if argv[at : at + len(one)] == one), None):
            at += len(starter)
            while at < len(argv) and argv[at].startswith("-"):
                at += 2 if argv[at] in _STARTER_VALUES else 1
        else:
            break
    return at


def _python_module(argv: Argv, at: int) -> tuple[RunnerName, int] | None:
    while at < len(argv) - 1:
        if argv[at] == "-m":
            if argv[at + 1] == "pytest":
                return "pytest", at + 2
            if argv[at + 1] == "unittest":
                return "unittest", at + 2
            if argv[at + 1] != "coverage":
                return None
            at += 2
        elif argv[at] in {"-W", "-X"}:
            at += 2
        elif argv[at].startswith("-") or argv[at] == "run":
            at += 1
        else:
            return None
    return None


def _javascript(argv: Argv, at: int) -> tuple[RunnerName, int] | None:
    name = PurePosixPath(argv[at]).name
    if name in {"jest", "jest.js"}:
        return "jest", at + 1
    if name in {"vitest", "vitest.mjs"}:
        return "vitest", at + (2 if argv[at + 1 : at + 2] == ("run",) else 1)
    return None


@dataclass(frozen=True)
class _Parts:
    """The words of a runner sorted: what they name, by position, and what is kept without that and without a choice."""

    named: tuple[int, ...]
    kept: tuple[str, ...]
    not_joined: str

    @classmethod
    def of(cls, argv: Argv, start: int, options: _Options, exists: Callable[[str], bool]) -> "_Parts":
        named: list[int] = []
        kept: list[str] = []
        why = ""
        at = start
        while at < len(argv):
            word = argv[at]
            takes, chooses, known = _kind(word, options)
            following = argv[at + 1 : at + 2]
            if word == "--":
                named.extend(range(at + 1, len(argv)))
                break
            if not word.startswith("-") or word == "-":
                named.append(at)
                at += 1
                continue
            if not known and "=" not in word and following and exists(following[0]):
                why, takes = why or f"whether {word} takes {following[0]} is not known", True
            if chooses:
                why = why or f"it has {word}, which selects tests or stops at the first that fails"
            else:
                kept.extend(argv[at : at + (2 if takes else 1)])
            at += 2 if takes else 1
        return cls(tuple(named), tuple(kept), why)


def _kind(word: str, options: _Options) -> tuple[bool, bool, bool]:
    """Return whether an option takes the next word, whether it selects or stops, and whether it is known."""
    name, _, value = word.partition("=")
    if name in options.known:
        takes = name in options.values or name in options.choosing_values
        return takes and not value and name == word, name in options.choosing_values | options.choosing, True
    if name.startswith("--"):
        return False, False, False
    letters: Sequence[str] = [f"-{letter}" for letter in word[1:]]
    for at, letter in enumerate(letters):
        if letter not in options.known:
            return False, False, False
        if letter in options.choosing_values | options.choosing:
            return letter in options.choosing_values and at == len(letters) - 1, True, True
        if letter in options.values:
            return at == len(letters) - 1, False, True
    return False, False, True
