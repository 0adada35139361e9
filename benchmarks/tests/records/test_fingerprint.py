"""What makes two records comparable: what both tell."""

from typing import Any

from runs.written import metrics
from swetrials.records.fingerprint import Fingerprint
from swetrials.records.metrics import Metrics
from swetrials.records.published_run import Imported


def imported(file: str, **changes: Any) -> Metrics:  # noqa: ANN401
    mark = Imported(file=file, sha256="0" * 64, line=2, row={})
    return metrics(imported=mark, **changes)


def differences(first: Metrics, second: Metrics) -> tuple[str, ...]:
    return Fingerprint.of(first).differences(Fingerprint.of(second))


def test_what_one_of_two_does_not_tell_is_no_difference() -> None:
    assert differences(metrics(skill_sha256="one"), metrics(skill_sha256="two")) == ("skill_sha256",)
    assert differences(imported("runs.csv"), imported("runs.csv", skill_sha256=None, task_sha256=None)) == ()


def test_imported_figures_are_never_those_of_a_run() -> None:
    assert differences(metrics(), imported("runs.csv")) == ("origin",)
    assert differences(imported("other.csv"), imported("runs.csv")) == ("origin",)
