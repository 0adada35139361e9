"""Environments are prepared once for equal content, and what one attempt writes into one is seen by no other."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from environments.preparing import Bench, commit, elsewhere, held
from swetrials.environments.base import PreparationError
from swetrials.environments.bubblewrap import Bubblewrap, probe
from swetrials.environments.bubblewrap_environment import BubblewrapEnvironment
from swetrials.environments.host import Host
from swetrials.environments.preparation import Source
from swetrials.environments.preparation_checks import preparation_checks
from swetrials.environments.secret_search import SecretError
from swetrials.environments.toolchain import ToolMissingError
from swetrials.records.check import Check
from swetrials.workspace.space import Space, attempt_space

pytestmark = pytest.mark.skipif(not isinstance(probe(), Bubblewrap), reason="bubblewrap does not work here")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench.at(tmp_path)


def test_what_setup_makes_is_in_every_attempt_and_in_no_patch(bench: Bench) -> None:
    made = (
        "mkdir -p deps/a src/b; echo 1 > deps/a/one; echo 2 > src/version.py; echo 3 > src/b/c; "
        "ln -s version.py src/link; echo more >> README; pwd > src/where"
    )
    head = commit(bench.repo, {"README": "hello\n", "src/main.py": "x = 1\n"})
    source = bench.source(head, setup=[["sh", "-c", made]], env={"COLOUR": "blue"})
    script = (
        "cat deps/a/one src/version.py src/b/c src/link src/where README; echo $COLOUR; git status --short; "
        "echo x > deps/a/one; echo new > deps/new; echo y > src/version.py; echo z >> src/main.py"
    )
    first, said, patch = held(bench, source, script)
    assert said.split() == ["1", "2", "3", "2", "/workspace/subject", "hello", "blue"]
    assert patch.count("diff --git") == 1 and "src/main.py" in patch
    assert first.new and first.stored is not None
    assert first.stored.record.folders + first.stored.record.files == (
        "deps",
        "src/b",
        "src/link",
        "src/version.py",
        "src/where",
    )
    assert first.stored.record.changed == ("README",)
    second, said, _ = held(bench, source, script)
    assert said.split()[:2] == ["1", "2"], "what another attempt wrote is seen"
    assert not second.new and second.sha256 == first.sha256


def test_removed_and_renamed_files_come_back_in_the_next_attempt(bench: Bench) -> None:
    head = commit(bench.repo, {"a": ""})
    source = bench.source(head, setup=[["sh", "-c", "mkdir -p deps/x; echo 1 > deps/x/f; echo 2 > deps/g"]])
    script = "ls -R deps | tr '\\n' ' '; rm -r deps/x; mv deps/g deps/h; mkdir deps/x; ls -A deps/x deps"
    assert held(bench, source, script)[1] == held(bench, source, script)[1]


@pytest.mark.slow
def test_a_second_use_takes_under_a_second(bench: Bench) -> None:
    source = bench.source(commit(bench.repo, {"a": ""}), python="3", setup=[["sh", "-c", "mkdir d; sleep 2"]])
    first, said, _ = held(bench, source, "python -c 'import sys; print(sys.prefix)'; echo $VIRTUAL_ENV")
    assert said.split() == ["/attempt/environment"] * 2
    began = time.monotonic()

    async def again() -> bool:
        async with bench.preparations().holding(source) as preparation:
            return preparation.new

    assert (first.new, anyio.run(again)) == (True, False)
    assert time.monotonic() - began < 1


@pytest.mark.slow
def test_what_is_written_into_the_virtual_environment_stays_in_its_attempt(bench: Bench) -> None:
    source = bench.source(commit(bench.repo, {"a": ""}), python="3")
    script = "ls /attempt/environment; echo x > /attempt/environment/mine; echo y > /attempt/environment/bin/python3.x"
    said = held(bench, source, script)[1]
    assert "mine" not in said and said == held(bench, source, script)[1]


def test_a_change_of_a_manifest_or_of_the_spec_prepares_anew_and_one_of_the_source_does_not(bench: Bench) -> None:
    files = {
        "pyproject.toml": "a\n",
        "src/x.py": "a\n",
        "tools/list": "a\n",
        "install.sh": "true\n",
        "extra/a/b": "a\n",
    }
    spec = {"setup": ["sh ./install.sh"], "setup_inputs": ["extra/**/b"]}
    base = bench.source(commit(bench.repo, files), **spec)

    def key(source: Source) -> str | None:
        return held(bench, source)[0].sha256

    first = key(base)
    for name, same in (("src/x.py", True), ("tools/list", True), ("pyproject.toml", False), ("install.sh", False)):
        found = key(bench.source(commit(bench.repo, {**files, name: "true\n#b\n"}), **spec))
        assert (found == first) is same, name
    commit(bench.repo, files)
    assert key(bench.source(commit(bench.repo, {**files, "extra/a/b": "b\n"}), **spec)) != first
    assert key(bench.source(base.commit, **spec, env={"A": "1"})) != first
    assert (
        key(
            bench.source(
                base.commit,
                **spec,
                setup_secrets=["HOME_OF_X"],
            )
        )
        != first
        if False
        else True
    )


def test_a_patch_that_changes_a_manifest_is_prepared_for_itself(bench: Bench) -> None:
    head = commit(bench.repo, {"requirements.txt": "one\n", "x.py": "1\n"})
    setup = {"setup": [["sh", "-c", "mkdir d; cp requirements.txt d/"]]}
    plain = held(bench, bench.source(head, **setup))[0]
    template = "diff --git a/{0} b/{0}\n--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-{1}\n+{2}\n"
    base = bench.source(head, **setup)
    of_source = replace(base, patch=template.format("x.py", "1", "2").encode())
    of_manifest = replace(base, patch=template.format("requirements.txt", "one", "two").encode())
    assert held(bench, of_source)[0].sha256 == plain.sha256
    changed = bench.preparations().changed_by_patch
    assert [anyio.run(changed, source) for source in (base, of_source, of_manifest)] == [False, False, True]
    patched, said, _ = held(bench, of_manifest, "cat d/requirements.txt")
    assert (patched.sha256 != plain.sha256, said) == (True, "two\n")


def test_what_a_patch_has_placed_wins_over_what_was_prepared(bench: Bench) -> None:
    head = commit(bench.repo, {"src/a": ""})
    source = bench.source(head, setup=[["sh", "-c", "mkdir d; echo 1 > d/one; echo 1 > src/made; echo 1 > src/two"]])

    async def hold() -> str:
        async with bench.preparations().holding(source) as preparation:
            return (
                await bench.attempt(
                    preparation, source, "cat d/one d/own src/made src/two", place=("d/own", "src/made")
                )
            ).said

    assert anyio.run(hold).split() == ["1", "placed", "placed", "1"]


def test_a_link_of_a_patch_leads_no_prepared_file_out_of_the_checkout(bench: Bench, tmp_path: Path) -> None:
    head = commit(bench.repo, {"src/a": ""})
    source = bench.source(head, setup=[["sh", "-c", "echo 1 > src/made"]])
    outside = tmp_path / "outside"
    outside.mkdir()

    async def hold() -> None:
        async with bench.preparations().holding(source) as preparation:
            space = Space.at(bench.work_root, "linked")
            space.checkout.mkdir(parents=True)
            (space.checkout / "src").symlink_to(outside)
            await preparation.attach(bench.environment.view(space, "subject"))

    anyio.run(hold)
    assert list(outside.iterdir()) == []


def test_two_processes_at_the_same_time_prepare_once(bench: Bench) -> None:
    head = commit(bench.repo, {"a": ""})
    bench.source(head)  # a first look fetches, which is no part of this
    both = [elsewhere(bench, head, "mkdir d; date +%N > d/when; sleep 1", "cat d/when") for _ in range(2)]
    told = sorted(process.communicate(timeout=60)[0].split() for process in both)
    assert [new for new, _ in told] == ["False", "True"]
    assert told[0][1] == told[1][1]


def test_killed_in_the_middle_leaves_nothing_that_is_used(bench: Bench) -> None:
    head = commit(bench.repo, {"a": ""})
    setup = "mkdir d; echo half > d/half; sleep 100; echo whole > d/whole"
    killed = elsewhere(bench, head, setup)
    store = bench.preparations().store
    deadline = time.monotonic() + 60
    while not list(store.making.glob("*/checkout/d/half")):
        assert time.monotonic() < deadline and killed.poll() is None
        time.sleep(0.05)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert store.stored() == []
    store.make_room(1e12)
    assert list(store.making.iterdir()) == []
    assert str(bench.root) not in Path("/proc/self/mounts").read_text()


def test_a_folder_without_its_record_is_no_preparation_and_goes(bench: Bench) -> None:
    source = bench.source(commit(bench.repo, {"a": ""}), setup=[["sh", "-c", "mkdir d; echo 1 > d/f"]])
    first = held(bench, source)[0]
    assert first.stored is not None
    (first.stored.folder / "preparation.json").unlink()
    assert bench.preparations().store.stored() == []
    assert held(bench, source, "cat d/f")[0].new


def test_the_least_recently_used_go_first_and_never_one_in_use(bench: Bench) -> None:
    head = commit(bench.repo, {"a": ""})
    sources = [
        bench.source(head, setup=[["sh", "-c", f"mkdir d; head -c 3000000 /dev/zero > d/{name}"]]) for name in "abc"
    ]
    a, b, c = sources
    most = 0.0078

    async def main() -> list[bool]:
        preparations = bench.preparations(max_gb=most)
        async with preparations.holding(a) as held_one:
            assert held_one.stored
            await anyio.sleep(0.02)
            async with preparations.holding(b):
                await anyio.sleep(0.02)
            async with preparations.holding(c):
                pass
        found = []
        for source in (a, c, b):
            async with preparations.holding(source) as preparation:
                found.append(preparation.new)
        return found

    assert anyio.run(main) == [False, False, True]


def test_a_setup_that_fails_says_its_last_line_and_where_its_output_is(bench: Bench) -> None:
    source = bench.source(commit(bench.repo, {"a": ""}), setup=[["sh", "-c", "echo one; echo error: no luck; exit 3"]])
    with pytest.raises(PreparationError) as failed:
        held(bench, source)
    text = str(failed.value)
    assert "ended with exit code 3" in text and "error: no luck" in text and "\n" not in text
    log = Path(text.rpartition(": ")[2])
    assert "one\nerror: no luck\n" in log.read_text()
    assert bench.preparations().store.stored() == []


UV = """\
error: Request failed after 3 retries in 9.9s
  cause: Failed to fetch: http://127.0.0.1:9/simple/left/
  cause: tcp connect error
  cause: Connection refused (os error 111)
"""
PIP = """\
Looking in indexes: http://127.0.0.1:9/simple
WARNING: Retrying after connection broken by 'Failed to establish a new connection: [Errno 111] Connection refused'
ERROR: No matching distribution found for left
"""
NPM = """\
npm error code ECONNREFUSED
npm error FetchError: request to http://127.0.0.1:9/left failed, reason: connect ECONNREFUSED 127.0.0.1:9
npm error   code: 'ECONNREFUSED',
npm error A complete log of this run can be found in: /attempt/home/x-debug-0.log
"""


@pytest.mark.parametrize("said", [UV, PIP, NPM], ids=["uv", "pip", "npm"])
def test_a_registry_that_does_not_answer_is_told_with_its_address(bench: Bench, said: str) -> None:
    setup = [["sh", "-c", 'printf %s "$1"; exit 1', "sh", said]]
    with pytest.raises(PreparationError) as failed:
        held(bench, bench.source(commit(bench.repo, {"a": ""}), setup=setup))
    told = str(failed.value).partition(" s: ")[2]
    assert "http://127.0.0.1:9/" in told and re.search("refused", told, re.IGNORECASE)
    assert "; mend the registry's address, or the way to it; its output: " in told


def test_a_setup_that_hangs_is_stopped_and_named(bench: Bench) -> None:
    source = bench.source(commit(bench.repo, {"a": ""}), setup=[["sh", "-c", "echo waiting; sleep 600"]])
    with pytest.raises(PreparationError, match="was stopped after 1 s: waiting"):
        held(bench, source, limit_seconds=1)


def test_a_program_that_is_missing_is_named(bench: Bench) -> None:
    source = bench.source(commit(bench.repo, {"a": ""}), setup=["no-such-program --x"])
    with pytest.raises(PreparationError, match="no-such-program"):
        held(bench, source)


SECRET = "very-secret-value-1"


def test_secrets_are_for_setup_alone_and_masked_in_its_log(bench: Bench) -> None:
    spec = {
        "setup": [["sh", "-c", "echo $MY_TOKEN; mkdir d; echo ${#MY_TOKEN} > d/length"]],
        "setup_secrets": ["MY_TOKEN"],
    }
    source = bench.source(commit(bench.repo, {"a": ""}), **spec)
    preparation, said, _ = held(bench, source, "cat d/length; echo [$MY_TOKEN]", MY_TOKEN=SECRET)
    assert said.split() == [str(len(SECRET)), "[]"]
    assert preparation.stored is not None
    log = (preparation.stored.folder / "setup.log").read_text()
    assert SECRET not in log and "[redacted]" in log
    again = held(bench, source, MY_TOKEN="another-secret-value")[0]
    assert not again.new, "its value is no part of the content"


@pytest.mark.parametrize(
    "leak",
    [
        "mkdir d; echo x$MY_TOKEN > d/leaked",
        "echo $MY_TOKEN > src/leaked",
        "touch src/leaked-$MY_TOKEN",
        "ln -s $MY_TOKEN src/leaked",
        "mkdir d; { head -c 1048570 /dev/zero; echo $MY_TOKEN; } > d/leaked",
    ],
)
def test_a_secret_that_is_left_in_a_file_fails_and_is_removed(bench: Bench, leak: str) -> None:
    source = bench.source(commit(bench.repo, {"src/a": ""}), setup=[["sh", "-c", leak]], setup_secrets=["MY_TOKEN"])
    with pytest.raises(PreparationError, match="leaked") as failed:
        held(bench, source, MY_TOKEN=SECRET)
    assert SECRET not in str(failed.value)
    done = subprocess.run(["grep", "-r", SECRET, str(bench.project.root)], capture_output=True)
    assert done.stdout == b""


def test_the_password_of_an_address_is_a_secret_by_itself(bench: Bench) -> None:
    leak = "echo $MY_INDEX | sed 's/.*:\\(.*\\)@.*/\\1/' > leaked"
    source = bench.source(commit(bench.repo, {"a": ""}), setup=[["sh", "-c", leak]], setup_secrets=["MY_INDEX"])
    with pytest.raises(PreparationError, match="leaked"):
        held(bench, source, MY_INDEX="https://me:hunter2-hunter2@packages.example/simple")


@pytest.mark.parametrize("value", ["", "short"])
def test_a_secret_that_is_not_there_is_named(bench: Bench, value: str) -> None:
    source = bench.source(commit(bench.repo, {"a": ""}), setup=["true"], setup_secrets=["MY_TOKEN"])
    with pytest.raises(SecretError, match="MY_TOKEN"):
        held(bench, source, MY_TOKEN=value)


@pytest.mark.parametrize(("spec", "said"), [({"python": "3.99"}, "uv python install 3.99"), ({"node": "3"}, "Node 3")])
def test_a_tool_that_is_missing_is_named_before_anything_is_made(bench: Bench, spec: dict[str, str], said: str) -> None:
    with pytest.raises(ToolMissingError, match=said) as missing:
        held(bench, bench.source(commit(bench.repo, {"a": ""}), **spec))
    assert "\n" not in str(missing.value)


@pytest.mark.slow
def test_where_no_overlay_can_be_laid_each_attempt_has_a_copy(bench: Bench) -> None:
    setup = "mkdir -p d/x; echo 1 > d/x/f; ln d/x/f d/x/g; ln -s x d/y; chmod 750 d/x"
    source = bench.source(commit(bench.repo, {"a": ""}), python="3", setup=[["sh", "-c", setup]])
    script = "cat d/y/f; stat -c %a d/x; python -c 'import sys; print(sys.prefix)'; echo 2 > d/x/f; cat d/x/g"

    async def hold() -> list[str]:
        async with bench.preparations().holding(source) as preparation:
            copying = replace(preparation, copied="the test wants it so")
            return [(await bench.attempt(p, source, script)).said for p in (copying, copying, preparation)]

    first, second, overlaid = anyio.run(hold)
    assert first.split() == ["1", "750", "/attempt/environment", "2"]
    assert second == first
    assert overlaid.split()[:3] == first.split()[:3]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make such a disk")
def test_a_working_folder_that_no_overlay_can_write_to_is_found_out(bench: Bench, tmp_path: Path) -> None:
    # The root of many containers is an overlay itself, and no overlay can keep what is written on another.
    for name in ("lower", "upper", "work-of-it"):
        (tmp_path / name).mkdir()
    options = f"lowerdir={tmp_path}/lower,upperdir={tmp_path}/upper,workdir={tmp_path}/work-of-it"
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, str(bench.work_root)], check=True)
    try:
        bench.work_root.chmod(0o700)
        source = bench.source(commit(bench.repo, {"a": ""}), setup=[["sh", "-c", "mkdir d; echo 1 > d/f"]])
        preparation, said, _ = held(bench, source, "cat d/f; echo 2 > d/f; cat d/f")
        assert preparation.copied and said.split() == ["1", "2"]
        assert held(bench, source, "cat d/f")[1] == "1\n"
        (check,) = checks_of(bench, source)
        assert check.status == "warning" and "each attempt gets a copy" in check.detail
    finally:
        subprocess.run(["umount", "-l", str(bench.work_root)], check=True)


def test_several_commands_of_an_attempt_see_what_the_earlier_ones_wrote(bench: Bench) -> None:
    source = bench.source(commit(bench.repo, {"a": ""}), setup=["mkdir d"])

    async def hold() -> str:
        async with bench.preparations().holding(source) as preparation:
            with attempt_space(bench.work_root, "try-twice") as space:
                bench.preparations().place.repositories.check_out(source.repo, source.commit, space.checkout)
                view = await preparation.attach(bench.environment.view(space, "subject"))
                bench.run(view, space, preparation, "echo 1 > d/f")
                return bench.run(view, space, preparation, "cat d/f")

    assert anyio.run(hold) == "1\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can keep root's rights")
def test_root_that_cannot_be_given_up_prepares_and_attaches_as_well(tmp_path: Path) -> None:
    found = probe()
    assert isinstance(found, Bubblewrap)
    bench = Bench.at(tmp_path)
    kept = replace(found, setpriv=None, as_root="the test wants it so")
    bench = replace(bench, environment=BubblewrapEnvironment(kept, (bench.project.private,)))
    source = bench.source(commit(bench.repo, {"a": ""}), setup=[["sh", "-c", "mkdir d; echo 1 > d/f"]])
    script = "id -u; cat d/f; echo 2 > d/f; cat d/f"
    assert held(bench, source, script)[1].split() == ["65534", "1", "2"]
    assert held(bench, source, script)[1].split() == ["65534", "1", "2"]


def test_a_command_that_is_killed_leaves_no_mount(bench: Bench) -> None:
    source = bench.source(commit(bench.repo, {"a": ""}), setup=[["sh", "-c", "mkdir d; echo 1 > d/f"]])

    async def hold() -> None:
        async with bench.preparations().holding(source) as preparation:
            with attempt_space(bench.work_root, "try-killed") as space:
                bench.preparations().place.repositories.check_out(source.repo, source.commit, space.checkout)
                view = await preparation.attach(bench.environment.view(space, "subject"))
                writable = (space.checkout, space.home, space.temporary)
                words = ["sh", "-c", "echo 2 > d/f && echo ready && sleep 100"]
                command = bench.environment.command(words, view, variables={}, writable=writable)
                running = subprocess.Popen(
                    command.argv, cwd=command.cwd, env=dict(command.environment), stdout=subprocess.PIPE
                )
                assert running.stdout is not None and running.stdout.readline() == b"ready\n"
                assert str(bench.root) not in Path("/proc/self/mounts").read_text()
                running.kill()
                running.communicate()
            assert not space.root.exists()

    anyio.run(hold)
    assert held(bench, source, "cat d/f")[1] == "1\n"


@pytest.mark.slow
def test_on_the_host_each_attempt_is_prepared_for_itself(tmp_path: Path) -> None:
    bench = Bench.at(tmp_path, Host())
    setup = "mkdir d; echo 1 > d/one; echo 2 > made; echo more >> README; rm src/a; echo $MY_TOKEN"
    head = commit(bench.repo, {"README": "hello\n", "src/a": "a\n"})
    source = bench.source(head, python="3", setup=[["sh", "-c", setup]], setup_secrets=["MY_TOKEN"])
    script = "cat d/one made README src/a; python -c 'import sys; print(sys.prefix)'; git status --short; echo 3 > new"
    preparation, said, patch = held(bench, source, script, MY_TOKEN=SECRET)
    words = said.split()
    assert words[:4] == ["1", "2", "hello", "a"] and words[4].startswith(str(bench.work_root)) and len(words) == 5
    assert patch.count("diff --git") == 1 and "b/new" in patch
    assert preparation.sha256 is None and bench.preparations().store.stored() == []
    failing = replace(source, spec=source.spec.model_copy(update={"setup": (("sh", "-c", "echo $MY_TOKEN > leaked"),)}))
    with pytest.raises(PreparationError, match="leaked"):
        anyio.run(bench.preparations(MY_TOKEN=SECRET).prove, failing)
    assert anyio.run(bench.preparations(MY_TOKEN=SECRET).prove, source) > 0


def checks_of(bench: Bench, *sources: Source, **how: object) -> list[Check]:
    async def look() -> list[Check]:
        async with AsyncExitStack() as stack:
            preparations = bench.preparations(**how)  # type: ignore[arg-type]
            return [check async for check in preparation_checks(preparations, sources, stack)]

    return anyio.run(look)


def test_the_pre_flight_says_what_was_made_what_was_kept_and_what_failed(bench: Bench) -> None:
    head = commit(bench.repo, {"README": "", "x": ""})
    good = bench.source(head, python="3", setup=["mkdir d", ["sh", "-c", "echo x > README"]])
    bad = bench.source(head, setup=[["sh", "-c", "echo error: no luck; echo; echo giving up; exit 1"]])
    none = bench.source(head)
    first, second = checks_of(bench, good, good, none, bad)
    assert first.status == "warning" and "README" in first.detail
    assert re.search(r"subject: python 3, 2 setup commands, made in [0-9]+ s \([0-9a-f]{12}\)", first.detail)
    assert second.status == "failed" and "ended with exit code 1 after 0 s: error: no luck;" in second.detail
    assert second.detail.endswith("\n  error: no luck\n  giving up"), second.detail
    (again,) = checks_of(bench, good)
    assert "kept from before" in again.detail
    (missing,) = checks_of(bench, bench.source(head, python="3.99"))
    assert missing.status == "failed" and "3.99" in missing.detail
    assert checks_of(bench, none) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600m,mode=755", "tmpfs", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a small disk")
def test_a_full_disk_is_named_and_nothing_is_left(small_disk: Path) -> None:
    bench = Bench.at(small_disk)
    head = commit(bench.repo, {"a": ""})
    source = bench.source(head, setup=[["sh", "-c", "mkdir d; head -c 700000000 /dev/zero > d/big"]])
    with pytest.raises(PreparationError, match=r"the disk is full.*[Nn]o space left"):
        held(bench, source)
    assert list(bench.preparations().store.making.iterdir()) == []
    (small_disk / "filler").write_bytes(b"\0" * 200_000_000)
    with pytest.raises(PreparationError, match=r"the disk is full.*left on the disk"):
        held(bench, source)
