"""Single files: a crash leaves the old state or the new one, never a half."""

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from swetrials.records.record import Record
from swetrials.store.files import RecordError, read_record, to_json, write_atomically, write_record

WRITER = """
import sys
from pathlib import Path
from swetrials.store.files import write_atomically
path, number = Path(sys.argv[1]), 0
while True:
    number += 1
    write_atomically(path, (str(number % 10) * 200_000).encode())
"""


class Note(Record):
    """A record for these tests."""

    text: str
    number: int = 0


def test_kill_9_in_the_middle_of_many_writes_leaves_a_whole_file(tmp_path: Path) -> None:
    for round_number in range(3):
        path = tmp_path / str(round_number) / "file"
        process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)])
        deadline = time.monotonic() + 20
        while not path.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        for _ in range(20):
            data = path.read_bytes()
            assert len(data) == 200_000
            assert len(set(data)) == 1
        process.send_signal(signal.SIGKILL)
        process.wait()
        data = path.read_bytes()
        assert (len(data), len(set(data))) == (200_000, 1)


def test_a_write_that_fails_keeps_the_old_file_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomically(path, "old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            write_atomically(path, "x" * 1001)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.read_text() == "old"
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError):
        write_atomically(tmp_path / "folder", "a file cannot replace a folder")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder"]


def test_a_link_is_replaced_and_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("mine")
    (tmp_path / "file").symlink_to(tmp_path / "elsewhere")
    write_atomically(tmp_path / "file", "new")
    assert ((tmp_path / "elsewhere").read_text(), (tmp_path / "file").read_text()) == ("mine", "new")


def test_a_record_comes_back_as_it_was(tmp_path: Path) -> None:
    note = Note(text="ä \u2028 \"'", number=-3)
    write_record(tmp_path / "deep" / "note.json", note)
    assert read_record(tmp_path / "deep" / "note.json", Note) == note
    assert to_json(note).endswith(b"}\n")


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (None, "No such file"),
        (b"", "not JSON"),
        (b'{"text": "half', "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[]", "record"),
        (b'{"text": "x", "number": "many"}', "number"),
        (b'{"text": "x", "unheard": 1}', "unheard"),
    ],
)
def test_what_is_no_record_is_said_in_one_line(tmp_path: Path, data: bytes | None, complaint: str) -> None:
    path = tmp_path / "note.json"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(RecordError) as raised:
        read_record(path, Note)
    assert str(path) in str(raised.value)
    assert complaint in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_folder_in_the_place_of_a_record_is_said_too(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=os.strerror(21)):
        read_record(tmp_path, Note)
