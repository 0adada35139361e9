"""Whatever stands in a file's place is read, or refused at once: nothing that is read can hold a command up."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from swetrials.records.metrics import Metrics
from swetrials.store.files import RecordError, read_record, write_atomically
from swetrials.store.problems import DocumentError
from swetrials.store.reading import read_bytes
from swetrials.store.yaml_source import read_yaml


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


def a_loop(path: Path) -> None:
    path.symlink_to(path)


def a_folder(path: Path) -> None:
    path.mkdir()


def an_endless_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("made", [a_socket, a_loop, a_folder, an_endless_device])
def test_what_is_no_file_is_refused_by_its_name(tmp_path: Path, made: Callable[[Path], None]) -> None:
    path = tmp_path / "odd"
    made(path)
    with pytest.raises(OSError) as refused:
        read_bytes(path)
    assert str(refused.value.filename) == str(path)
    with pytest.raises(DocumentError, match=str(path)):
        read_yaml(path)
    with pytest.raises(RecordError, match=str(path)):
        read_record(path, Metrics)


def test_a_pipe_that_nobody_writes_into_is_empty(tmp_path: Path) -> None:
    a_pipe(tmp_path / "pipe")
    assert read_bytes(tmp_path / "pipe") == b""
    with pytest.raises(DocumentError, match="the file is empty"):
        read_yaml(tmp_path / "pipe")


def test_a_pipe_is_read_to_its_end_also_where_the_writer_takes_its_time() -> None:
    program = "import time; time.sleep(0.3); print('x' * 200_000, end=''); time.sleep(0.2); print('y')"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert read_bytes(Path(f"/dev/fd/{writer.stdout.fileno()}")) == b"x" * 200_000 + b"y\n"


@pytest.mark.parametrize("made", [a_pipe, an_endless_device])
def test_a_stream_that_is_none_ends_at_once(tmp_path: Path, made: Callable[[Path], None]) -> None:
    made(tmp_path / "stream")
    words = [str(Path(sys.executable).with_name("swetrials")), "stream", str(tmp_path / "stream")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr and done.stderr.count("\n") <= 2


def test_no_more_than_wanted_is_read_of_a_large_file(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(2**32)
    assert len(read_bytes(tmp_path / "large", 100)) < 2**22


@pytest.mark.parametrize("levels", ["[" * 50_000, "- " * 50_000, '{"a":' * 50_000])
def test_lists_in_lists_without_end_are_refused_at_once(tmp_path: Path, levels: str) -> None:
    (tmp_path / "deep.yaml").write_text(levels)
    began = time.process_time()
    with pytest.raises(DocumentError, match="nested too deeply: more than 100"):
        read_yaml(tmp_path / "deep.yaml")
    assert time.process_time() - began < 10  # it was hours


def test_a_device_or_a_pipe_is_written_into_and_stays_what_it_is(tmp_path: Path) -> None:
    place = tmp_path / "pipe"
    a_pipe(place)
    reader = os.open(place, os.O_RDONLY | os.O_NONBLOCK)
    write_atomically(place, "whole\n")
    assert os.read(reader, 100) == b"whole\n"
    os.close(reader)
    assert place.is_fifo() and [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_a_folder_whose_name_is_no_text_is_summarised_all_the_same(tmp_path: Path) -> None:
    recorded = Path(__file__).parents[1] / "corpus" / "two_judges" / "results"
    [scope] = recorded.glob("*/*/*/quickstart")
    shutil.copytree(scope / "word-tally", tmp_path / "m" / "claude-code" / "swe3" / "quickstart" / "word-tally\udce9")
    run = tmp_path / "m" / "claude-code" / "swe3" / "quickstart"
    words = [str(Path(sys.executable).with_name("swetrials")), "summarize", "--folder", str(run)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    summary = json.loads((run / "run-summary.json").read_text())
    assert [task["folder"] for task in summary["tasks"]] == ["word-tally?"]
