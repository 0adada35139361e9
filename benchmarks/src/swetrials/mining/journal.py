"""The journal: a line of JSON for each candidate that has a verdict, on disk before the next one begins."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from swetrials.errors import UsageError
from swetrials.records.mined import MinedVerdict

JOURNAL = "journal.jsonl"
"""Its name in the folder that mining writes."""

MINED = "-mined.yaml"
"""What the file of a mined dataset ends with, behind the repository's name."""


@dataclass
class Journal:
    """The verdicts that were made with the same options.

    Attributes:
        path: the file.
        asked_sha256: of the options that a verdict depends on.
        verdicts: those on disk, by commit.
    """

    path: Path
    asked_sha256: str
    verdicts: dict[str, MinedVerdict] = field(default_factory=dict)

    def add(self, verdict: MinedVerdict) -> None:
        """Put a verdict on disk.

        Raises:
            OSError: it cannot be written.
        """
        line = verdict.model_dump_json() + "\n"
        with self.path.open("ab") as file:
            file.write(line.encode(errors="replace"))
            file.flush()
            os.fsync(file.fileno())
        self.verdicts[verdict.commit] = verdict


def claim_folder(folder: Path, dataset: str) -> None:
    """Make a folder for one dataset, or take the one that mining has made for it before.

    What lies in it and belongs to no task of the dataset is removed in the end, so it may be nobody else's.

    Args:
        folder: where mining writes.
        dataset: the dataset's name.

    Raises:
        UsageError: something else lies in it.
        OSError: it cannot be made, or read.
    """
    folder.mkdir(parents=True, exist_ok=True)
    there = sorted(path.name for path in folder.iterdir())
    if there and JOURNAL not in there:
        raise UsageError(f"{folder} is not empty, and mining has not made it; name another folder with --out")
    if others := [name for name in there if name.endswith(MINED) and name != f"{dataset}.yaml"]:
        raise UsageError(f"{folder} holds another dataset, {others[0]}; name another folder with --out")
    (folder / JOURNAL).touch()


def open_journal(folder: Path, asked_sha256: str) -> Journal:
    """Return the journal in a folder. A line that a kill has cut off is taken away.

    Raises:
        UsageError: it is no journal.
        OSError: it cannot be read, or mended.
    """
    path = folder / JOURNAL
    journal = Journal(path, asked_sha256)
    data = path.read_bytes() if path.exists() else b""
    whole = data[: data.rfind(b"\n") + 1]
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            verdict = MinedVerdict.model_validate_json(line)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise UsageError(
                f"{path}:{number} is no verdict of this version: {where}: {first['msg']}; remove the file to mine anew"
            ) from None
        if verdict.asked_sha256 == asked_sha256:
            journal.verdicts[verdict.commit] = verdict
    if len(whole) < len(data):
        with path.open("r+b") as file:
            file.truncate(len(whole))
    return journal
