"""The requests of a trial, as the meter wrote them down."""

from collections.abc import Callable, Iterator

from pydantic import ConfigDict, ValidationError

from swetrials.records.requests import RequestRecord
from swetrials.store.files import first_fault
from swetrials.store.reading import read_bytes
from swetrials.store.results import TrialFolder


class RequestPart(RequestRecord):
    """A line of ``requests.jsonl``: what a later version may add is passed over."""

    model_config = ConfigDict(extra="ignore")


def read_requests(folder: TrialFolder, tell: Callable[[str], None]) -> Iterator[tuple[int, RequestPart]]:
    """Return the requests of a trial, each with the number of its attempt.

    Args:
        folder: the trial's.
        tell: takes one line for each request that cannot be read and is left out.
    """
    for path in sorted(folder.path.glob("attempts/*/requests.jsonl")):
        if not path.parent.name.isdecimal():
            continue
        try:
            lines = read_bytes(path).splitlines()
        except OSError as error:
            tell(f"left out: {path}: {error.strerror}")
            continue
        for number, line in enumerate(lines, start=1):
            try:
                yield int(path.parent.name), RequestPart.model_validate_json(line)
            except ValidationError as error:
                tell(f"left out: {path}:{number}: {first_fault(error)}")
