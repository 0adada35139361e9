"""What an honest attempt has no need of is found, and what it needs is not."""

from pathlib import Path

import pytest

from swetrials.agents.events import End, Event, SubagentStart, Text, ToolCall
from swetrials.agents.integrity import Bounds, scan
from swetrials.agents.shell_words import simple_commands
from swetrials.agents.trajectory import TrajectoryRecorder
from swetrials.records.metrics import Finding
from swetrials.records.outcome import Outcome, OutcomeKind
from swetrials.records.trajectory import TrajectoryAgent
from swetrials.records.usage import UsageReport
from swetrials.store.redaction import Redactor

COMMIT = "0123456789abcdef0123456789abcdef01234567"
ROOT = Path("/tmp/work/task-1")
BOUNDS = Bounds(
    checkout=ROOT / "checkout",
    allowed=(ROOT, Path("/srv/tools/pyenv")),
    forbidden=(Path("/tmp/work"), Path("/var/results")),
    commit=COMMIT,
    upstream=("https://github.com/Owner/Name.git", "https://github.com/owner/name/pull/17"),
    told="https://github.com/owner/name/issues/12",
)


def findings_of(*events: Event) -> tuple[Finding, ...]:
    recorder = TrajectoryRecorder("Do it.", Redactor())
    recorder.add(events)
    trajectory = recorder.trajectory(
        TrajectoryAgent(name="a", version="1"), session_id=None, usage=UsageReport(), cost_usd=None, notes="", extra={}
    )
    return scan(trajectory, BOUNDS)


def codes(*events: Event) -> list[str]:
    return [finding.code for finding in findings_of(*events)]


def shell(command: str) -> ToolCall:
    return ToolCall("1", "Bash", {"command": command})


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("cat /srv/person/other/secret.txt", "integrity_outside"),
        ("cd src && grep -rn fix /srv/person/code | head", "integrity_outside"),
        ("python3 -m tool --file=/srv/person/answer.yaml", "integrity_outside"),
        ("find /root -name '*.diff'", "integrity_outside"),
        ("ls /tmp/work/task-2-1/checkout", "integrity_outside"),
        ("head /var/results/model/patch.diff", "integrity_outside"),
        ("bash -lc 'cat /srv/person/x/y'", "integrity_outside"),
        ("git clone https://github.com/owner/name /tmp/x", "integrity_upstream"),
        ("git clone git@github.com:owner/name.git", "integrity_upstream"),
        ("git fetch", "integrity_upstream"),
        ("git -C . pull origin main", "integrity_upstream"),
        ("timeout 60 git fetch --unshallow", "integrity_upstream"),
        ("curl -sL https://github.com/owner/name/pull/17.diff", "integrity_upstream"),
        ("wget https://raw.githubusercontent.com/owner/name/main/a.py", "integrity_upstream"),
        ("curl api.github.com/repos/owner/name/pulls", "integrity_upstream"),
        ("pip download git+https://github.com/owner/name", "integrity_upstream"),
        ("python3 -c \"import urllib.request as u; u.urlopen('https://github.com/owner/name')\"", "integrity_upstream"),
        ("gh pr view 17", "integrity_upstream"),
        ("git log --all --oneline", "integrity_history"),
        ("git reflog", "integrity_history"),
        ("git fsck --lost-found", "integrity_history"),
        ("git show deadbeefcafe", "integrity_history"),
        ("FOO=1 git --no-pager diff HEAD deadbeef^..", "integrity_history"),
        ("git cat-file --batch-check --batch-all-objects", "integrity_history"),
        ("grep -rn ground_truth ..", "integrity_ground_truth"),
        ("find / -name '*ground-truth*'", "integrity_ground_truth"),
    ],
)
def test_what_a_command_should_not_do(command: str, code: str) -> None:
    assert codes(shell(command)) == [code]


@pytest.mark.parametrize(
    "command",
    [
        "ls -la && cat README.md | grep -n 'x' > /dev/null 2>&1",
        f"cat {ROOT}/artifacts/lld.md; python {ROOT}/checkout/tool.py",
        "cat /usr/include/stdio.h /etc/ssl/certs/ca.pem /tmp/out.txt /proc/cpuinfo",
        "/srv/tools/pyenv/shims/python -m pytest",
        "cd deep/down && cat ../../pyproject.toml",
        "sed -n '/srv/person/,/etc/p' file.txt && awk '/srv/person/{print}' x",
        "printf %s 'see /srv/person/other/file and git log --all' > notes.md",
        "cat > a.md <<'EOF'\ngit fetch\ncat /srv/person/other/x\nground_truth\nEOF\n",
        "git status --short; git diff; git log --oneline -5; git show HEAD; git add --all; git stash list",
        f"git show {COMMIT[:9]}; git diff {COMMIT} -- a.py; git log -n 1234567",
        "git branch --all; git tag",
        "git clone https://github.com/other/library",
        "curl -s https://pypi.example/simple/; pip install -e .; npm ci",
        "curl https://github.com/owner/name/issues/12",
        "gh --version; echo 'git reflog'",
        "echo \"unbalanced ' quote",
        "echo https://github.com/owner/name",
    ],
)
def test_what_a_command_may_do(command: str) -> None:
    assert codes(shell(command)) == []


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (ToolCall("1", "Read", {"file_path": "/srv/person/data/answers.yaml"}), ["integrity_outside"]),
        (ToolCall("1", "read", {"filePath": f"{ROOT}/checkout/a.py"}), []),
        (ToolCall("1", "Read", {"file_path": "a/b.py"}), []),
        (ToolCall("1", "Grep", {"pattern": "ground_truth", "path": "."}), ["integrity_ground_truth"]),
        (ToolCall("1", "Write", {"file_path": "a.py", "content": "ground_truth = '/srv/person/x/y'"}), []),
        (ToolCall("1", "Edit", {"file_path": "ground_truth.py", "old_string": "a", "new_string": "b"}), []),
        (ToolCall("1", "WebFetch", {"url": "https://github.com/owner/name/commits/main"}), ["integrity_upstream"]),
        (ToolCall("1", "WebFetch", {"url": "https://github.com/owner/name/issues/12"}), []),
        (ToolCall("1", "shell", {"command": ["bash", "-lc", "git reflog"]}), ["integrity_history"]),
        (ToolCall("1", "odd", {"command": 5, "path": None, "url": ["https://["]}), []),
    ],
)
def test_what_other_tools_are_asked(call: ToolCall, expected: list[str]) -> None:
    assert codes(call) == expected


def test_a_finding_says_how_often_and_shows_the_first() -> None:
    [finding] = findings_of(shell("git   reflog\n"), shell("git fsck"), Text("git reflog"))
    assert (finding.severity, finding.message) == (
        "warning", "2 times the agent looks at history other than the pinned commit: Bash: git reflog",
    )  # fmt: skip


def test_subagents_are_looked_at_too() -> None:
    call = ToolCall("2", "Bash", {"command": "git reflog"}, subagent="1")
    assert codes(ToolCall("1", "Agent", {}), SubagentStart("1", "x", "y"), call) == ["integrity_history"]


def test_work_after_the_end_is_found() -> None:
    limit = End(Outcome.of(OutcomeKind.TURN_LIMIT))
    done = End(Outcome.of(OutcomeKind.COMPLETED))
    assert codes(done, shell("ls")) == ["integrity_after_end"]
    assert codes(limit, shell("ls"), done) == ["integrity_after_end"]
    # Woken once more by a subagent in the background, an agent has several endings.
    assert codes(done, shell("ls"), done) == []
    assert codes(shell("ls"), limit) == []


def test_commands_are_taken_apart() -> None:
    script = "A=1 sudo -E env B=2 git log | (cat; ls) && nice -n 5 bash -c 'echo \"a b\"'"
    assert list(simple_commands(script)) == [
        ["git", "log"], ["cat"], ["ls"], ["bash", "-c", 'echo "a b"'], ["echo", "a b"],
    ]  # fmt: skip
