"""The sandbox, for real."""

import http.server
import json
import os
import re
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import anyio
import pytest

from swetrials.environments import bubblewrap as sandbox
from swetrials.environments.base import Absence
from swetrials.environments.bubblewrap import Bubblewrap, confined, given_up, probe
from swetrials.workspace.processes import MARK, Command, ProcessLimits, run_group
from workspace.marked import living, running

BWRAP = found if isinstance(found := probe(), Bubblewrap) else None
NOBODY = 65534
INSIDE = os.geteuid() or NOBODY
ORDINARY = 60_123
"""A user who is nobody else here."""
OF_ITS_OWN = re.compile(
    r"/proc/sys/(fs/mqueue|user)/|/proc/sys/kernel/(auto_msgmni|(msg|sem|shm)\w*|hostname|domainname|ns_last_pid|pid_max)$"
)
"""Settings of the namespaces that the sandbox has made: what is written there is seen in it alone, and goes with it."""
PYTHON = shutil.which("python3", path="/usr/bin:/usr/local/bin") or sys.executable
"""One that other users may run as well, where there is one."""


@pytest.fixture
def bwrap() -> Bubblewrap:
    if BWRAP is None:
        pytest.skip("bubblewrap is not installed, or may not make namespaces here")
    return BWRAP


@pytest.fixture
def place(pytestconfig: pytest.Config) -> Iterator[Path]:
    """A folder where the sandbox would let a program read, if nothing else were said."""
    for outside in (pytestconfig.rootpath, Path.home(), Path("/srv"), Path("/opt")):
        private = any(outside.is_relative_to(covered) for covered in ("/tmp", "/var/tmp", "/dev"))
        if not private and _open_to_all(outside) and os.access(outside, os.W_OK):
            with tempfile.TemporaryDirectory(prefix=".sandbox-", dir=outside) as folder:
                Path(folder).chmod(0o755)
                yield Path(folder)
            return
    pytest.skip("there is no folder to write to but those that the sandbox covers anyway")


def _open_to_all(folder: Path) -> bool:
    """Whether somebody who is not root any more has a way to it."""
    return folder.is_dir() and all(step.stat().st_mode & stat.S_IXOTH for step in (folder, *folder.parents))


class Box:
    """A sandbox with one folder of each kind, and a way to run a shell in it."""

    def __init__(self, bwrap: Bubblewrap, place: Path) -> None:
        self.bwrap = bwrap
        self.hidden = place / "hidden"
        self.readable = self.hidden / "tools"
        self.writable = self.hidden / "work"
        self.outside = place / "outside"
        for folder in (self.hidden, self.readable, self.writable, self.outside):
            folder.mkdir()
            (folder / "file").write_text(f"in {folder.name}\n")
        (place / "answers.yaml").write_text("the answers\n")
        self.answers = place / "answers.yaml"

    def argv(self, script: str) -> tuple[str, ...]:
        return confined(
            ["sh", "-c", script],
            bwrap=self.bwrap,
            writable=[self.writable],
            hidden=[self.hidden, self.answers, self.hidden / "nonsuch"],
            readable=[self.readable],
        )

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.argv(script), capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=30)


@pytest.fixture
def box(bwrap: Bubblewrap, place: Path) -> Box:
    return Box(bwrap, place)


def test_hidden_folders_and_files_cannot_be_read(box: Box) -> None:
    done = box.run(f"cat {box.hidden}/file; cat {box.answers}; ls {box.hidden}")
    assert "in hidden" not in done.stdout
    assert "the answers" not in done.stdout
    assert done.stdout.split() == ["tools", "work"]


def test_outside_is_readable_and_not_writable(box: Box) -> None:
    done = box.run(f"cat {box.outside}/file; echo mine > {box.outside}/file; touch {box.outside}/new")
    assert done.stdout == "in outside\n"
    assert done.returncode != 0
    assert (box.outside / "file").read_text() == "in outside\n"
    assert not (box.outside / "new").exists()


def test_a_readable_folder_below_a_hidden_one_is_there_and_not_writable(box: Box) -> None:
    done = box.run(f"cat {box.readable}/file; touch {box.readable}/new")
    assert done.stdout == "in tools\n"
    assert done.returncode != 0
    assert not (box.readable / "new").exists()


def test_a_writable_folder_below_a_hidden_one_is_the_real_one(box: Box) -> None:
    done = box.run(f"cd {box.writable} && cat file && echo mine > file && mkdir new && chmod 755 file")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "in work\n"
    assert (box.writable / "file").read_text() == "mine\n"
    assert (box.writable / "new").stat().st_uid == INSIDE
    (box.writable / "new").rmdir()


def test_temporary_folders_are_private_and_a_writable_one_may_lie_there(bwrap: Bubblewrap, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    name = f"left-{secrets.token_hex(8)}"
    script = f"ls {work.parent}; touch {work}/new && touch /tmp/{name} /var/tmp/{name} /dev/shm/{name} && echo written"
    (tmp_path / "secret").touch()
    argv = confined(["sh", "-c", script], bwrap=bwrap, writable=[work], hidden=[], readable=[])
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30)
    assert done.stdout.split() == ["work", "written"], done.stderr
    assert (work / "new").exists()
    assert not any(Path(folder, name).exists() for folder in ("/tmp", "/var/tmp", "/dev/shm"))


def test_nobody_is_root_inside_and_no_other_process_is_seen(box: Box) -> None:
    done = box.run("id -u; ls /proc | grep -c '^[0-9]'")
    uid, processes = (int(word) for word in done.stdout.split())
    assert uid == INSIDE
    assert processes < 10


def test_the_exit_code_and_the_working_folder_come_through(box: Box) -> None:
    done = subprocess.run(box.argv("pwd; exit 7"), cwd=box.writable, capture_output=True, text=True, timeout=30)
    assert (done.stdout, done.returncode) == (f"{box.writable}\n", 7)


def test_loopback_is_shared(box: Box) -> None:
    server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    thread = threading.Thread(target=server.handle_request, daemon=True)
    thread.start()
    code = f"import socket; socket.create_connection(('127.0.0.1', {server.server_port}), 5); print('reached')"
    # The interpreter may lie below /tmp or /var/tmp, which the sandbox covers.
    python = Path(sys.executable)
    argv = confined([str(python), "-S", "-c", code], bwrap=box.bwrap, writable=[], hidden=[], readable=[python.parent])
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30)
    server.server_close()
    assert done.stdout == "reached\n", done.stderr


def test_killing_the_outer_process_ends_everything_inside(box: Box) -> None:
    mark = f"test-{secrets.token_hex(8)}"
    argv = box.argv("setsid sleep 60 & (setsid sleep 60 &) ; sleep 60")
    outer = subprocess.Popen(argv, env={"PATH": os.environ["PATH"], MARK: mark}, start_new_session=True)
    give_up_at = time.monotonic() + 10
    while living(mark).count("sleep") < 3:
        assert time.monotonic() < give_up_at
        time.sleep(0.02)
    outer.send_signal(signal.SIGKILL)
    outer.wait()
    while living(mark):
        assert time.monotonic() < give_up_at
        time.sleep(0.02)


def test_what_hides_from_the_search_for_members_dies_with_the_namespace(box: Box, tmp_path: Path) -> None:
    ready = box.writable / "ready"
    seconds = f"60.{secrets.randbelow(10**9)}"
    # No mark, no group, no parent: outside a sandbox nobody could tell whose process this is.
    hides = f"env -i PATH=\"$PATH\" setsid -f sh -c 'touch {ready}; exec sleep {seconds}'"
    script = f"{hides}; while [ ! -e {ready} ]; do :; done"
    command = Command(box.argv(script), Path("/"), {"PATH": os.environ["PATH"]})
    mark = f"test-{secrets.token_hex(8)}"
    run = partial(
        run_group, command, ProcessLimits(20), mark=mark, on_output=lambda data: False, stderr=tmp_path / "stderr"
    )
    ended = anyio.run(run)
    assert (ended.cause, ended.exit_code, ended.survivors) == ("exited", 0, 0)
    give_up_at = time.monotonic() + 10
    while running(["sleep", seconds]):
        assert time.monotonic() < give_up_at
        time.sleep(0.02)


@pytest.mark.parametrize("how", ["readable", "writable"])
def test_what_would_uncover_a_hidden_folder_is_refused(how: str, tmp_path: Path) -> None:
    readable, writable = ([tmp_path], []) if how == "readable" else ([], [tmp_path])
    with pytest.raises(ValueError, match=f"cannot hide {tmp_path}/secret: it lies in {tmp_path}"):
        confined(
            ["true"],
            bwrap=Bubblewrap(Path("bwrap")),
            hidden=[tmp_path / "secret"],
            readable=readable,
            writable=writable,
        )


def test_everything_cannot_be_hidden() -> None:
    with pytest.raises(ValueError, match="cannot hide /;"):
        confined(["true"], bwrap=Bubblewrap(Path("bwrap")), writable=[], hidden=[Path("/")], readable=[])


@pytest.mark.parametrize("said", ["No permissions to create new namespace", ""])
def test_a_bwrap_that_does_not_work_is_told_in_its_own_words(
    said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text(f"#!/bin/sh\necho 'bwrap: {said}' >&2\nexit 1\n" if said else "#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = probe.__wrapped__()
    assert isinstance(found, Absence)
    assert found.why == f"bubblewrap does not work here: {said or 'exit code 1'}"
    assert "allow namespaces" in found.fix
    broken.unlink()
    assert probe.__wrapped__() == Absence("bubblewrap is not installed", "install it (apt-get install bubblewrap)")


def test_what_mends_it_is_carried_beside_the_reason_whatever_bwrap_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: newuidmap is not installed' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = probe.__wrapped__()
    assert isinstance(found, Absence) and found.why.endswith("is not installed")
    assert found.fix == "allow namespaces to this user or container, or go without: --environment host"


def test_the_proof_does_not_depend_on_what_the_search_path_leads_to(
    bwrap: Bubblewrap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bwrap").symlink_to(bwrap.path)
    if bwrap.setpriv:
        (tmp_path / "setpriv").symlink_to(bwrap.setpriv)
    monkeypatch.setenv("PATH", str(tmp_path))  # below /tmp, which is covered inside
    assert probe.__wrapped__() == bwrap


@pytest.fixture
def listener() -> Iterator[str]:
    """A service with a socket in /run that everybody may connect to."""
    for folder in ("/run", f"/run/user/{os.getuid()}", "/run/lock"):
        if os.access(folder, os.W_OK):
            path = Path(folder, f"knocking-{secrets.token_hex(4)}")
            with socket.socket(socket.AF_UNIX) as service:
                service.bind(str(path))
                path.chmod(0o777)
                service.listen()
                yield str(path)
            path.unlink()
            return
    pytest.skip("there is no folder below /run to make a socket in")


@pytest.mark.parametrize("role", ["root", "ordinary"])
def test_what_is_knocked_on_stays_closed(role: str, bwrap: Bubblewrap, place: Path, listener: str) -> None:
    user = {"root": 0, "ordinary": ORDINARY if os.geteuid() == 0 else os.geteuid()}[role]
    if user != os.geteuid() and os.geteuid() != 0:
        pytest.skip("only root can try it as root")
    work = place / "work"
    work.mkdir()
    os.chown(work, user, user)
    words = [PYTHON, str(Path(__file__).with_name("knocking.py")), str(work), listener]
    sources = f"{Path(sandbox.__file__).parents[2]}{os.pathsep}{sysconfig.get_path('purelib')}"
    environment = {"PATH": os.defpath, "PYTHONPATH": sources, "PYTHONDONTWRITEBYTECODE": "1"}
    groups: list[int] | None = [] if os.geteuid() == 0 else None
    run = partial(subprocess.run, words, env=environment, capture_output=True, text=True, timeout=60)
    try:
        done = run(user=user, group=user, extra_groups=groups) if os.geteuid() == 0 else run()
    except PermissionError:
        pytest.skip(f"an ordinary user may not run {PYTHON}")
    if done.stdout == "null\n":
        pytest.skip("that user may make no namespaces")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    inside, outside = told["inside"], told["outside"]
    assert outside["socket"] == "opened" and (outside["shadow"] == "opened") == (role == "root")
    assert (outside["key_found"], outside["key_read"]) == (told["key"], told["key"])
    assert [name for name in inside.pop("settings") if not OF_ITS_OWN.match(name)] == []
    assert inside == {
        "uid": user or NOBODY,
        "shadow": "Permission denied",
        "socket": "No such file or directory",
        "key_found": False,
        "key_read": False,
        "host_name": "trial",
    }


def test_the_name_servers_are_known_although_run_is_empty(box: Box) -> None:
    done = box.run("cat /etc/resolv.conf; ls -A /run")
    assert done.stdout == Path("/etc/resolv.conf").read_text()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has root to give up")
def test_root_is_not_given_up_where_a_folder_is_for_root_alone(bwrap: Bubblewrap, box: Box) -> None:
    assert given_up(bwrap, [box.hidden], [box.readable]) == bwrap
    box.outside.chmod(0o700)
    kept = given_up(bwrap, [box.outside / "file", box.outside], [box.readable])
    assert kept == bwrap, "what is covered needs no open door of its own"
    tools = box.outside / "tools"
    tools.mkdir(mode=0o700)
    kept = given_up(bwrap, [box.hidden], [tools])
    assert (kept.setpriv, kept.as_root) == (None, f"only root can reach {tools}")
    argv = confined(["cat", str(tools.parent / "file")], bwrap=kept, writable=[], hidden=[], readable=[tools])
    assert subprocess.run(argv, capture_output=True, text=True, timeout=30).stdout == "in outside\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_what_is_given_away_lies_in_the_writable_folders_and_no_link_is_followed(box: Box) -> None:
    (box.writable / "link").symlink_to(box.outside)
    (box.writable / "to-file").symlink_to(box.answers)
    assert box.run(f"echo more >> {box.writable}/file").returncode == 0
    assert (box.outside.stat().st_uid, (box.outside / "file").stat().st_uid, box.answers.stat().st_uid) == (0, 0, 0)
    assert {path.lstat().st_uid for path in (box.writable, *box.writable.iterdir())} == {NOBODY}
