"""What a judge really read of the repository, taken from its own event stream.

A judge whose shell fails goes on answering, in the same confident words. So nothing it says about its work
counts here; only commands that ended well and whose output shows that repository content reached the judge.
"""

import glob
import os
import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from swetrials.agents.events import Event, ToolCall, ToolResult
from swetrials.records.evaluation import Grounding

_SHELLS = {"bash", "sh", "zsh", "dash"}
_SEARCHES = {"rg", "grep", "egrep", "fgrep", "ag", "ack", "ugrep"}
_LISTS_FILES_ONLY = {"--files", "--version", "--help", "--type-list"}
_SEPARATORS = re.compile(r"[;|&()\n]+")
_MOST_FILES_OF_A_GLOB = 1000
_LARGEST_FILE_BYTES = 4_000_000
_TELLING_LENGTH = 8
# Lines shorter than this ("}", "else:") are in any output; they count only in a file that has no other.


@dataclass
class GroundingWitness:
    """Counts what a judge's events show of its work in ``checkout``, which the judge found at ``inside``."""

    checkout: Path
    inside: Path
    commands_run: int = 0
    commands_failed: int = 0
    searched: bool = False
    files_read: set[str] = field(default_factory=set)
    _commands: dict[str, str] = field(default_factory=dict)

    def add(self, events: Iterable[Event]) -> None:
        """Take in more events, in the order of the stream."""
        for event in events:
            match event:
                case ToolCall():
                    self._commands[event.call_id] = str(event.arguments.get("command", ""))
                case ToolResult():
                    self._result(self._commands.pop(event.call_id, ""), event)
                case _:
                    pass

    @property
    def grounding(self) -> Grounding:
        """The counters so far."""
        return Grounding(
            commands_run=self.commands_run,
            commands_failed=self.commands_failed,
            files_read=tuple(sorted(self.files_read)),
            repo_grounded=self.searched or bool(self.files_read),
        )

    def _result(self, command: str, result: ToolResult) -> None:
        self.commands_run += 1
        if result.is_error:
            self.commands_failed += 1
        elif result.text.strip():
            for stage in stages(command):
                self._stage(stage, result.text)

    def _stage(self, stage: "Stage", output: str) -> None:
        searches = stage.is_search
        if searches and not stage.piped and self._is_inside(self._lies(stage.folder)):
            self.searched = True
        for path in self._files(stage):
            if searches or _shows(output, path):
                self.files_read.add(path.relative_to(self._root).as_posix())

    def _files(self, stage: "Stage") -> Iterator[Path]:
        folder = self._lies(stage.folder)
        for word in stage.words:
            # `git show REVISION:PATH` names the path behind the colon.
            for name in {word, word.partition(":")[2]} - {""}:
                for path in _expand(folder, str(self._lies(name)) if name.startswith("/") else name):
                    if _is_file(path) and self._is_inside(path):
                        yield Path(os.path.realpath(path))

    def _lies(self, named: str) -> Path:
        """Return where a folder or file is that the judge names, from its checkout or by its whole path."""
        path = self.inside / named
        return self.checkout / path.relative_to(self.inside) if path.is_relative_to(self.inside) else path

    @property
    def _root(self) -> Path:
        return Path(os.path.realpath(self.checkout))

    def _is_inside(self, path: Path) -> bool:
        real = Path(os.path.realpath(path))
        return real.is_relative_to(self._root) and ".git" not in real.relative_to(self._root).parts


@dataclass(frozen=True)
class Stage:
    """One simple command of a shell line: its words, the folder it runs in, whether a pipe feeds it."""

    words: tuple[str, ...]
    folder: str
    piped: bool

    @property
    def is_search(self) -> bool:
        """Whether it looks through the content of files."""
        name = Path(self.words[0]).name
        rest = self.words[1:]
        if name == "git" and rest:
            name, rest = rest[0], rest[1:]
        return name in _SEARCHES and not _LISTS_FILES_ONLY & set(rest)


def stages(command: str) -> list[Stage]:
    """Return the simple commands of a command line, unwrapped from ``bash -lc '...'``.

    Understands quotes, pipes, lists, redirections and ``cd``; a line that no shell would take gives nothing.
    """
    try:
        tokens = list(_tokens(_script(command)))
    except ValueError:
        return []
    found: list[Stage] = []
    words: list[str] = []
    folder, piped, writes = ".", False, False
    for token in [*tokens, ";"]:
        if _SEPARATORS.fullmatch(token):
            if words[:1] == ["cd"]:
                folder = str(Path(folder) / (words[1] if len(words) > 1 else "~"))
            elif words:
                found.append(Stage(tuple(words), folder, piped))
            words, piped = [], token == "|"
        elif set(token) <= set("<>&|"):
            writes = ">" in token
        elif writes:
            writes = False
        else:
            words.append(token)
    return found


def _script(command: str) -> str:
    words = shlex.split(command)
    if len(words) >= 3 and Path(words[0]).name in _SHELLS and words[1].startswith("-") and words[1].endswith("c"):
        return words[2]
    return command


def _tokens(script: str) -> Iterator[str]:
    lexer = shlex.shlex(script, posix=True, punctuation_chars="();<>|&\n")
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    return iter(lexer)


def _expand(folder: Path, name: str) -> Iterator[Path]:
    if glob.has_magic(name):
        # Unlike pathlib's, this glob takes absolute patterns and malformed ones.
        matches = glob.iglob(name, root_dir=folder)  # noqa: PTH207
        yield from (folder / match for match in islice(matches, _MOST_FILES_OF_A_GLOB))
    else:
        yield folder / name


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        # A word of a command line can be anything: a whole program, say, too long for a name.
        return False


def _shows(output: str, path: Path) -> bool:
    if path.stat().st_size > _LARGEST_FILE_BYTES:
        return False
    lines = {line.strip() for line in path.read_text(encoding="utf-8", errors="replace").splitlines()} - {""}
    telling = {line for line in lines if len(line) >= _TELLING_LENGTH} or lines
    return any(line in output for line in telling)
