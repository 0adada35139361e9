"""What may not stand side by side, since a figure over both would be of neither."""

from collections.abc import Iterable, Sequence

from swetrials.analysis.candidates import by_candidate
from swetrials.analysis.trial_row import TrialRow
from swetrials.records.errors import KnownError


class MixtureError(KnownError):
    """Trials cannot be set beside each other; the message says which differ in what."""


def refuse_mixtures(rows: Sequence[TrialRow]) -> None:
    """Raise unless the trials may stand beside each other.

    Raises:
        MixtureError: they may not; the message says which differ in what.
    """
    if not rows:
        raise MixtureError("no trial to compare; make some with: swetrials run")
    by_scope = {row.scope: row.folder for row in rows}
    if len(by_scope) > 1:
        raise MixtureError(f"these trials are of several scopes: {_where(by_scope)}. Compare one scope at a time")
    refuse_rehearsals_beside_real(rows)
    _refuse_other_wordings(rows)
    _refuse_several_sources(rows)


def refuse_rehearsals_beside_real(rows: Iterable[TrialRow]) -> None:
    """Raise when some of the trials are of the scripted model and some are not.

    Raises:
        MixtureError: they are; the message names one of each.
    """
    by_kind = {"a rehearsal" if row.rehearsal else "a real model": row.folder for row in rows}
    if len(by_kind) > 1:
        raise MixtureError(
            f"rehearsals are not ranked beside real models: {_where(by_kind)}. Leave one kind out of the comparison"
        )


def _refuse_other_wordings(rows: Iterable[TrialRow]) -> None:
    known: dict[str, tuple[str, str]] = {}
    for row in rows:
        if row.task_sha256 is None:
            continue
        sha256, folder = known.setdefault(row.task, (row.task_sha256, row.folder))
        if sha256 != row.task_sha256:
            raise MixtureError(
                f"task {row.task} was worded differently in {folder} and {row.folder} (task_sha256); "
                "move the older trial away"
            )


def _refuse_several_sources(rows: Sequence[TrialRow]) -> None:
    for one in by_candidate(rows):
        by_source = {row.source or "measured here": row.folder for row in one.rows}
        if len(by_source) > 1:
            raise MixtureError(
                f"trials of {one.candidate.key} are from several sources: {_where(by_source)}. Keep them in trees apart"
            )


def _where(found: dict[str, str]) -> str:
    return ", ".join(f"{name} (as in {folder})" for name, folder in sorted(found.items()))
