"""Trials sorted by who did them."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from swetrials.records.leaderboard import Candidate
from swetrials.records.metrics import HostingRecord
from swetrials.results.figures import Figures
from swetrials.results.trial_row import TrialRow


@dataclass(frozen=True)
class CandidateTrials(Figures):
    """All trials of one candidate in one scope, with their figures."""

    candidate: Candidate


def by_candidate(rows: Iterable[TrialRow]) -> list[CandidateTrials]:
    """Sort trials by candidate, in the order of the candidates' keys."""
    found: defaultdict[Candidate, list[TrialRow]] = defaultdict(list)
    for row in rows:
        found[candidate_of(row)].append(row)
    return [CandidateTrials(found[candidate], candidate) for candidate in sorted(found, key=lambda one: one.key)]


def candidate_of(row: TrialRow) -> Candidate:
    """Return who did a trial."""
    return Candidate(model=row.model, agent=row.agent, skill=row.skill, provider=row.provider, hosted=row.hosted)


def labels(candidates: Sequence[Candidate]) -> dict[str, str]:
    """Return by key what people call each candidate: the model, with what tells it from others of that model."""
    models: defaultdict[str, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        models[candidate.model].append(candidate)
    return {candidate.key: _label(candidate, models[candidate.model]) for candidate in candidates}


def _label(candidate: Candidate, same_model: Sequence[Candidate]) -> str:
    told = [told_apart(other) for other in same_model]
    differing = [
        word for name, word in told_apart(candidate).items() if word and len({other.get(name) for other in told}) > 1
    ]
    return f"{candidate.model} ({', '.join(differing)})" if differing else candidate.model


def told_apart(candidate: Candidate) -> dict[str, str]:
    """Return all that tells candidates of one model apart, by name, in words; what nobody told is empty."""
    hosted = dict.fromkeys(HostingRecord.model_fields, "") | (candidate.hosted or HostingRecord()).words
    return {"agent": candidate.agent, "skill": candidate.skill, "provider": candidate.provider, **hosted}
