"""What was prepared for the commands of trials, as it lies on the disk of one machine."""

from datetime import datetime

from swetrials.records.record import Record


class PreparationRecord(Record):
    """A finished preparation. It is written last: a folder without it is no preparation.

    Attributes:
        sha256: of all that it was made from.
        made_at: when, in UTC.
        seconds: how long that took.
        tools: the version of each tool that it was made with, by name.
        python: the interpreter behind its virtual environment; ``None``: it has none.
        shown: folders of the machine that it does not work without.
        folders: folders of the checkout that setup made, none with a file of the commit in it.
        files: further files of the checkout that setup made.
        changed: files of the commit that setup changed or removed; the change is not kept.
        size_bytes: what it takes on the disk.
    """

    sha256: str
    made_at: datetime
    seconds: float
    tools: dict[str, str] = {}
    python: str | None = None
    shown: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    size_bytes: int
