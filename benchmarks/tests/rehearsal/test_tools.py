"""What a script does, on the tools of different agents, and through a real shell."""

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from swetrials.rehearsal import Action, EditFile, WriteFile
from swetrials.rehearsal.conversation import Call, Tool
from swetrials.rehearsal.tools import NoTool, calls

AWKWARD = 'it\'s "$HOME" `id` \\ %s é\n\nEOF\nno newline at the end'


def tool(name: str, *fields: str, required: tuple[str, ...] = (), **types: str) -> Tool:
    properties = {field: {"type": types.get(field, "string")} for field in fields}
    return Tool.from_schema(name, {"properties": properties, "required": list(required)})


def plain(found: list[Call]) -> list[tuple[str, Any]]:
    return [(call.name, call.arguments) for call in found]


def run(found: list[Call], folder: Path) -> subprocess.CompletedProcess[str]:
    [call] = found
    return subprocess.run(
        ["bash", "-c", str(call.arguments["command"])], cwd=folder, capture_output=True, text=True, check=False
    )


WRITE = Action(write=WriteFile(path="a.py", content="x\n"))
EDIT = Action(edit=EditFile(path="a.py", old="x", new="y"))
SHELL = Action.model_validate({"shell": "ls"})
AGENT = Action.model_validate({"tool": {"name": "Agent", "arguments": {"prompt": "Look."}}})
READ = Action(read="a b.py")
BASH = tool("bash", "command")


@pytest.mark.parametrize(
    ("action", "tools", "expected"),
    [
        (WRITE, [BASH, tool("Write", "file_path", "content")], [("Write", {"file_path": "a.py", "content": "x\n"})]),
        (WRITE, [tool("write", "filePath", "content")], [("write", {"filePath": "a.py", "content": "x\n"})]),
        (
            EDIT,
            [tool("Read", "file_path"), tool("Edit", "file_path", "old_string", "new_string", "replace_all")],
            [
                ("Read", {"file_path": "a.py"}),
                ("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"}),
            ],
        ),
        (
            EDIT,
            [tool("edit", "path", "oldText", "newText")],
            [("edit", {"path": "a.py", "oldText": "x", "newText": "y"})],
        ),
        (READ, [BASH, tool("Read", "file_path")], [("Read", {"file_path": "a b.py"})]),
        (READ, [tool("exec_command", "cmd")], [("exec_command", {"cmd": "cat 'a b.py'"})]),
        (SHELL, [tool("exec_command", "cmd", "workdir")], [("exec_command", {"cmd": "ls"})]),
        (SHELL, [tool("shell", "command", command="array")], [("shell", {"command": ["bash", "-lc", "ls"]})]),
        (
            SHELL,
            [tool("bash", "command", "description", required=("command", "description"))],
            [("bash", {"command": "ls", "description": "Run a command of the script"})],
        ),
        (AGENT, [BASH, tool("Agent", "prompt")], [("Agent", {"prompt": "Look."})]),
    ],
)
def test_an_action_takes_the_agents_own_tool(action: Action, tools: list[Tool], expected: list[Any]) -> None:
    assert plain(calls(action, tools)) == expected


def test_a_write_through_the_shell_is_exact(tmp_path: Path) -> None:
    action = Action(write=WriteFile(path="new dir/it's.txt", content=AWKWARD))
    assert run(calls(action, [BASH]), tmp_path).returncode == 0
    assert (tmp_path / "new dir" / "it's.txt").read_text() == AWKWARD


def test_an_edit_through_the_shell_is_exact(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"before\r\n" + AWKWARD.encode() + b"after\xff")
    action = Action(edit=EditFile(path="a.py", old=AWKWARD, new="'new' $x\n"))
    assert run(calls(action, [BASH]), tmp_path).returncode == 0
    assert (tmp_path / "a.py").read_bytes() == b"before\r\n'new' $x\nafter\xff"


def test_edits_of_one_file_may_be_carried_out_side_by_side(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("".join(f"<{n}>" for n in range(12)))
    edits = [Action(edit=EditFile(path="a.py", old=f"<{n}>", new=f"[{n}]")) for n in range(12)]
    with ThreadPoolExecutor(12) as pool:
        done = list(pool.map(lambda edit: run(calls(edit, [BASH]), tmp_path), edits))
    assert [each.returncode for each in done] == [0] * 12
    assert (tmp_path / "a.py").read_text() == "".join(f"[{n}]" for n in range(12))


@pytest.mark.parametrize(("content", "times"), [("y", 0), ("xx", 2)])
def test_an_edit_of_text_that_is_not_there_once_fails(tmp_path: Path, content: str, times: int) -> None:
    (tmp_path / "a.py").write_text(content)
    done = run(calls(EDIT, [BASH]), tmp_path)
    assert (done.returncode, done.stderr) == (1, f"a.py: the old text occurs {times} times, not once\n")
    assert (tmp_path / "a.py").read_text() == content


@pytest.mark.parametrize("action", [WRITE, EDIT, SHELL, AGENT])
def test_without_a_usable_tool_there_is_no_call(action: Action) -> None:
    with pytest.raises(NoTool):
        calls(action, [tool("edit", "input"), tool("write_stdin", "chars"), tool("bash")])
