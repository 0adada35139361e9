"""Maps what a script does onto the tools that the calling agent offers."""

import shlex
from collections.abc import Iterable, Sequence

from swetrials.rehearsal.conversation import Call, Tool
from swetrials.rehearsal.scenario import Action, EditFile, WriteFile

SHELLS = ("bash", "shell", "exec_command")
WRITERS = ("write",)
EDITORS = ("edit",)
READERS = ("read",)

_COMMAND = ("command", "cmd")
_PATH = ("file_path", "filePath", "path")
_CONTENT = ("content",)
_OLD = ("old_string", "oldString", "oldText")
_NEW = ("new_string", "newString", "newText")

_EDIT_PROGRAM = """
import fcntl, sys
path, old, new = sys.argv[1], *map(str.encode, sys.argv[2:4])
with open(path, "r+b") as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    data = file.read()
    if data.count(old) != 1:
        sys.exit(f"{path}: the old text occurs {data.count(old)} times, not once")
    file.seek(0)
    file.truncate()
    file.write(data.replace(old, new))
""".strip()
# With a lock, since Codex carries out the calls of one response side by side.


class NoTool(LookupError):
    """The agent offers nothing that can do what the script wants."""


def calls(action: Action, tools: Sequence[Tool]) -> list[Call]:
    """Return the tool calls that carry out an action, with the agent's own tool where it has one, else its shell.

    Raises:
        NoTool: the agent offers neither.
    """
    if action.read is not None:
        return _read(action.read, tools) or [_shell(f"cat {shlex.quote(action.read)}", tools)]
    if action.write is not None:
        return _write(action.write, tools)
    if action.edit is not None:
        return _edit(action.edit, tools)
    if action.tool is not None:
        if not _named((action.tool.name.lower(),), tools):
            raise NoTool(f"no tool {action.tool.name}")
        return [Call(action.tool.name, action.tool.arguments)]
    return [_shell(str(action.shell), tools)]


def _write(wanted: WriteFile, tools: Sequence[Tool]) -> list[Call]:
    for tool in _named(WRITERS, tools):
        path, content = _property(tool, _PATH), _property(tool, _CONTENT)
        if path and content:
            return [Call(tool.name, {path: wanted.path, content: wanted.content})]
    path = shlex.quote(wanted.path)
    # printf and not a here-document: the file gets exactly these bytes, whatever they are.
    return [_shell(f'mkdir -p "$(dirname {path})" && printf %s {shlex.quote(wanted.content)} > {path}', tools)]


def _edit(wanted: EditFile, tools: Sequence[Tool]) -> list[Call]:
    for tool in _named(EDITORS, tools):
        path, old, new = (_property(tool, names) for names in (_PATH, _OLD, _NEW))
        if path and old and new:
            edit = Call(tool.name, {path: wanted.path, old: wanted.old, new: wanted.new})
            return [*_read(wanted.path, tools), edit]
    words = ("python3", "-c", _EDIT_PROGRAM, wanted.path, wanted.old, wanted.new)
    return [_shell(shlex.join(words), tools)]


def _read(wanted: str, tools: Sequence[Tool]) -> list[Call]:
    # The edit tools of Claude Code and opencode want the file to be read first. Calls of one response are carried
    # out in order, so the read may stand right before the edit.
    for tool in _named(READERS, tools):
        path = _property(tool, _PATH)
        if path:
            return [Call(tool.name, {path: wanted})]
    return []


def _shell(command: str, tools: Sequence[Tool]) -> Call:
    for tool in _named(SHELLS, tools):
        name = _property(tool, _COMMAND)
        if name is None:
            continue
        words = tool.properties[name].get("type") == "array"
        arguments: dict[str, object] = {name: ["bash", "-lc", command] if words else command}
        if "description" in tool.required:
            arguments["description"] = "Run a command of the script"
        return Call(tool.name, arguments)
    raise NoTool("no shell")


def _named(names: Iterable[str], tools: Sequence[Tool]) -> list[Tool]:
    return [tool for tool in tools if tool.name.lower() in names]


def _property(tool: Tool, names: Iterable[str]) -> str | None:
    return next((name for name in names if name in tool.properties), None)
