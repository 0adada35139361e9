"""What trials ran in, and whether they were sealed: in words, and whether some may be set beside others unsaid."""

from collections import Counter
from collections.abc import Mapping, Sequence

from swetrials.records.words import counted
from swetrials.results.trial_row import TrialRow

UNTOLD = "not told"
SEALED = "sealed"


def telling(rows: Sequence[TrialRow]) -> list[TrialRow]:
    """Return the trials whose sealing matters: the valid ones; all of them where none is."""
    return [row for row in rows if row.valid] or list(rows)


def all_sealed(rows: Sequence[TrialRow]) -> bool:
    """Whether each of the trials that matter is proven to have reached its model's route and nothing else."""
    return all(seal(row) == SEALED for row in telling(rows))


def seal(row: TrialRow) -> str:
    """Return a trial's sealing in a word or a few."""
    match row.sealing, row.network:
        case None, _:
            return UNTOLD
        case "proven", "model":
            return SEALED
        case "proven", "registries":
            return "sealed but for package registries"
        case "declared", _:
            return "said to be sealed, not proven"
        case _:
            return "not sealed"


def ran_in(rows: Sequence[TrialRow]) -> str:
    """Return environment and sealing of trials, the most frequent first: ``bubblewrap, sealed``."""
    return _counted([_way(row) for row in telling(rows)])


def sealing_words(rows: Sequence[TrialRow]) -> str:
    """Return the same, with why what is not sealed is not."""
    return _counted([f"{_way(row)} ({row.sealing_why})" if _unsealed(row) else _way(row) for row in telling(rows)])


def unlike(groups: Mapping[str, Sequence[TrialRow]]) -> str:
    """Return what each of several ran in, where that is not the same of all; empty where it is.

    Args:
        groups: the trials by what people call whoever made them.
    """
    ways = {name: ran_in(rows) for name, rows in groups.items()}
    if len(set(ways.values())) < 2:
        return ""
    by_way: dict[str, list[str]] = {}
    for name, way in ways.items():
        by_way.setdefault(way, []).append(name)
    return "; ".join(f"{', '.join(names)}: {way}" for way, names in by_way.items())


def whys(rows: Sequence[TrialRow]) -> list[str]:
    """Return why trials are not sealed, the most frequent first."""
    return [why for why, _ in Counter(row.sealing_why for row in telling(rows) if _unsealed(row)).most_common()]


def _unsealed(row: TrialRow) -> bool:
    return bool(row.sealing_why) and row.sealing is not None and seal(row) != SEALED


def _way(row: TrialRow) -> str:
    return ", ".join(part for part in (row.environment, seal(row)) if part)


def _counted(ways: Sequence[str]) -> str:
    found = Counter(ways).most_common()
    if len(found) == 1:
        return found[0][0]
    return "; ".join(f"{counted(number, 'trial')} {way}" for way, number in found)
