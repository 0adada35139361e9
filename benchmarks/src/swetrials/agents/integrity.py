"""Looking through a trajectory for what an honest attempt has no need of.

The rules look at what tools were asked for, never at what they answered, since a repository may speak of anything.
They are made to err on the side of silence: the folders of the system and of temporary files are nobody's secret,
where a relative path leads depends on what came before, and what is written into a file is the agent's work.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from posixpath import normpath
from urllib.parse import urlsplit

from swetrials.agents.package_downloads import downloads
from swetrials.agents.shell_words import simple_commands
from swetrials.agents.trajectory import END
from swetrials.records.metrics import Finding
from swetrials.records.trajectory import Step, ToolUse, Trajectory

_SYSTEM = (
    "bin",
    "dev",
    "etc",
    "lib",
    "lib32",
    "lib64",
    "nix",
    "opt",
    "proc",
    "run",
    "sbin",
    "sys",
    "tmp",
    "usr",
    "var",
)
_PATH_ARGUMENTS = {
    "file",
    "file_path",
    "filepath",
    "filename",
    "notebook_path",
    "path",
    "paths",
    "directory",
    "dir",
    "cwd",
}
_SHELL_ARGUMENTS = {"command", "cmd", "script"}
_URL_ARGUMENTS = {"url", "urls", "uri"}
_QUERY_ARGUMENTS = {"pattern", "query", "glob", "regex"}
_WRITERS = ("write", "edit", "patch")

_FETCHING = {"clone", "fetch", "pull", "ls-remote", "submodule"}
_ALL_HISTORY = {"--all", "--reflog", "--walk-reflogs", "-g", "--batch-all-objects"}
_HISTORY_COMMANDS = {"reflog", "fsck"}
_LOOKING = {"cat-file", "checkout", "cherry-pick", "diff", "log", "rev-list", "restore", "shortlog", "show", "switch"}
_FETCHERS = {"aria2c", "curl", "http", "https", "lynx", "npm", "pip", "pip3", "svn", "wget"}
_INTERPRETERS = {"node", "perl", "python", "python3", "ruby"}
_HOST_PROGRAMS = {
    "gh": {"api", "browse", "issue", "pr", "release", "repo", "search"},
    "glab": {"api", "issue", "mr", "repo"},
}
_SHA = re.compile(r"([0-9a-f]{7,40})(?:[\^~:].*|\.\..*)?")
_ANSWERS = re.compile(r"ground[_-]truth", re.IGNORECASE)
_SCP_LIKE = re.compile(r"(?:[\w.-]+@)?([\w-]+(?:\.[\w-]+)+):(?!//)(.+)")
_URL = re.compile(r"https?://[^\s'\"<>)]+", re.IGNORECASE)
_NO_PATH = re.compile(r"[\s,{}^$|\\()]")
_WIDTH = 120


@dataclass(frozen=True)
class Bounds:
    """What an attempt was about: where it may look, and what it has to find by itself.

    Attributes:
        checkout: the agent's working directory.
        allowed: the attempt's own folders, and further ones that hold nothing but tools.
        forbidden: folders that are off limits even below a system folder, the attempt's own excepted.
        commit: the pinned commit's full id.
        upstream: addresses of the repository, and of the change that solved the task.
        told: an address that the agent was given to read.
        packages: what the repository is published as (:func:`~swetrials.agents.package_downloads.published_names`);
            empty where no registry could be reached.
    """

    checkout: Path
    allowed: tuple[Path, ...]
    forbidden: tuple[Path, ...] = ()
    commit: str = ""
    upstream: tuple[str, ...] = ()
    told: str | None = None
    packages: frozenset[str] = frozenset()


@dataclass(frozen=True)
class _Doing:
    """One tool call, and what can be seen of it."""

    call: ToolUse
    commands: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, call: ToolUse) -> "_Doing":
        scripts = _texts(call, _SHELL_ARGUMENTS)
        return cls(call, tuple(tuple(words) for script in scripts for words in simple_commands(script)))

    @property
    def shown(self) -> str:
        said = next((text for text in _texts(self.call, _SHELL_ARGUMENTS | _PATH_ARGUMENTS | _URL_ARGUMENTS)), "")
        flat = " ".join(said.split())
        return f"{self.call.function_name}: {flat[:_WIDTH]}{' ...' if len(flat) > _WIDTH else ''}"


_OUTSIDE = Finding(code="integrity_outside", severity="warning", message="the agent goes to files outside the checkout")
_UPSTREAM = Finding(
    code="integrity_upstream",
    severity="warning",
    message="the agent reaches for the repository's origin or the finished change",
)
_HISTORY = Finding(
    code="integrity_history", severity="warning", message="the agent looks at history other than the pinned commit"
)
_GROUND_TRUTH = Finding(
    code="integrity_ground_truth", severity="warning", message="the agent names the dataset's answers (ground_truth)"
)

_PACKAGE = Finding(
    code="integrity_package", severity="warning", message="the agent asks for the repository's own published package"
)


def scan(trajectory: Trajectory, bounds: Bounds) -> tuple[Finding, ...]:
    """Return one finding for each kind of doubtful doing, with how often it was done and the first instance.

    Args:
        trajectory: what an attempt did, subagents included.
        bounds: what it was about.
    """
    doings = [_Doing.of(call) for step in _steps(trajectory) for call in step.tool_calls]
    rules: list[tuple[Finding, Callable[[_Doing], bool]]] = [
        (_OUTSIDE, lambda doing: _is_outside(doing, bounds)),
        (_UPSTREAM, lambda doing: _fetches(doing, bounds)),
        (_HISTORY, lambda doing: _digs(doing, bounds)),
        (_GROUND_TRUTH, _asks_for_answers),
        (_PACKAGE, lambda doing: any(downloads(*call, bounds.packages) for call in _calls(doing))),
    ]
    findings = []
    for kind, rule in rules:
        if found := [doing for doing in doings if rule(doing)]:
            message = f"{_times(len(found))} {kind.message}: {found[0].shown}"
            findings.append(kind.model_copy(update={"message": message}))
    if after := _after_the_end(trajectory.steps):
        message = f"{after} tool calls come after the agent had ended or met its limit"
        findings.append(Finding(code="integrity_after_end", severity="warning", message=message))
    return tuple(findings)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _steps(trajectory: Trajectory) -> Iterator[Step]:
    yield from trajectory.steps
    for part in trajectory.subagent_trajectories:
        yield from part.steps


def _texts(call: ToolUse, names: Collection[str]) -> list[str]:
    """Return the texts among a call's arguments of these names; a list of words is a command of words."""
    found: list[str] = []
    for name, value in call.arguments.items():
        if name.lower() not in names:
            continue
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, list):
            words = [word for word in value if isinstance(word, str)]
            found += [words[-1]] if len(words) > 1 and name.lower() in _SHELL_ARGUMENTS else words
    return found


def _is_outside(doing: _Doing, bounds: Bounds) -> bool:
    words = (word for _, rest in _calls(doing) for word in rest if not _NO_PATH.search(word))
    absolute = [part for word in words for part in (word, word.partition("=")[2]) if part.startswith("/")]
    return any(_leads_out(path, bounds) for path in (*_texts(doing.call, _PATH_ARGUMENTS), *absolute))


def _leads_out(path: str, bounds: Bounds) -> bool:
    if path.startswith(("~", "//")):
        return False  # the attempt has a home of its own
    place = PurePosixPath(normpath(bounds.checkout / path))
    if any(place.is_relative_to(folder) for folder in (bounds.checkout, *bounds.allowed)):
        return False
    if any(place.is_relative_to(folder) for folder in bounds.forbidden):
        return True
    parts = place.parts
    # A word such as /regex/ is no path, and the names in the root folder give nothing away.
    is_path = len(parts) > 2 or (len(parts) == 2 and not path.endswith("/"))
    return is_path and parts[1] not in _SYSTEM and Path("/", parts[1]).is_dir()


def _fetches(doing: _Doing, bounds: Bounds) -> bool:
    if any(_is_upstream(url, bounds) for url in _texts(doing.call, _URL_ARGUMENTS)):
        return True
    return any(_call_fetches(program, words, bounds) for program, words in _calls(doing))


def _call_fetches(program: str, words: Sequence[str], bounds: Bounds) -> bool:
    if program == "git":
        command = _git_command(words)
        if not command or command[0] not in _FETCHING:
            return False
        elsewhere = [word for word in command[1:] if _host_and_path(word)]
        return not elsewhere or any(_is_upstream(word, bounds) for word in elsewhere)
    if program in _HOST_PROGRAMS:
        return bool(words) and words[0] in _HOST_PROGRAMS[program]
    if program in _FETCHERS or (program in _INTERPRETERS and {"-c", "-e"}.intersection(words)):
        return any(_is_upstream(url, bounds) for word in words for url in _URL.findall(word) or [f"https://{word}"])
    return False


def _is_upstream(address: str, bounds: Bounds) -> bool:
    if bounds.told is not None and address.rstrip("/") == bounds.told.rstrip("/"):
        return False
    asked = _host_and_path(address)
    if asked is None:
        return False
    for host, path in filter(None, map(_host_and_path, bounds.upstream)):
        named = "/".join(path.split("/")[:2])
        if named and f"/{named}/" in f"/{asked[1]}/" and _service(host) in asked[0]:
            return True
    return False


def _service(host: str) -> str:
    """Return what is common to the hosts of a service: ``github`` for github.com and raw.githubusercontent.com."""
    parts = host.split(".")
    return parts[-2] if len(parts) > 1 else host


def _host_and_path(address: str) -> tuple[str, str] | None:
    """Return the host of an address and the path there; ``None`` for what is no address of another machine."""
    if found := _SCP_LIKE.fullmatch(address):
        host, path = found[1], found[2]
    else:
        try:
            parts = urlsplit(address)
            host, path = parts.hostname or "", parts.path
        except ValueError:
            return None
    return (host.lower(), path.lower().strip("/").removesuffix(".git")) if host else None


def _digs(doing: _Doing, bounds: Bounds) -> bool:
    for program, words in _calls(doing):
        command = _git_command(words) if program == "git" else ()
        if not command:
            continue
        name, rest = command[0], command[1:]
        if name in _HISTORY_COMMANDS:
            return True
        if name in _LOOKING and (
            _ALL_HISTORY.intersection(rest) or any(_is_other_commit(word, bounds.commit) for word in rest)
        ):
            return True
    return False


def _is_other_commit(word: str, commit: str) -> bool:
    found = _SHA.fullmatch(word)
    return found is not None and not word.isdigit() and not commit.startswith(found[1])


def _asks_for_answers(doing: _Doing) -> bool:
    if any(writer in doing.call.function_name.lower() for writer in _WRITERS):
        return False
    asked = _texts(doing.call, _PATH_ARGUMENTS | _QUERY_ARGUMENTS)
    words = [word for _, rest in _calls(doing) for word in rest if not _NO_PATH.search(word)]
    return any(_ANSWERS.search(text) for text in (*asked, *words))


def _calls(doing: _Doing) -> Iterator[tuple[str, tuple[str, ...]]]:
    for words in doing.commands:
        yield words[0].rpartition("/")[2], words[1:]


def _git_command(words: Sequence[str]) -> tuple[str, ...]:
    """Return git's subcommand and what follows it, without the options before it (``git -C x log``)."""
    rest = list(words)
    while rest and rest[0].startswith("-"):
        del rest[: 2 if rest[0] in {"-C", "-c", "--git-dir", "--work-tree"} else 1]
    return tuple(rest)


def _after_the_end(steps: Sequence[Step]) -> int:
    """Count the tool calls after the agent's last ending, or after one that was a limit."""
    counted = since = 0
    limit = False
    ended = False
    for step in steps:
        if step.extra.get("event") == END:
            ended, since = True, 0
            limit = limit or str(step.extra.get("outcome")).endswith("_limit")
        elif ended:
            since += len(step.tool_calls)
            counted += len(step.tool_calls) if limit else 0
    return counted or since
