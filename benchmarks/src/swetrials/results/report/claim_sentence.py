"""One sentence: what two runs allow to be claimed about each other, what they do not, and what would settle it."""

from collections.abc import Sequence

from swetrials.records.claim import Claim, CostRatio, Settling
from swetrials.records.leaderboard import LEVEL, Estimate, PairedDifference
from swetrials.results.paired import FEWEST_TASKS
from swetrials.results.ranking import WORDS, RankingWords
from swetrials.results.report.wording import counted, dominant

_LEVEL = f"{LEVEL * 100:.0f} % interval"


def sentence(claim: Claim, a: str, b: str) -> str:
    """Return the sentence.

    Args:
        claim: the figures.
        a: what to call the first.
        b: what to call the second.
    """
    words = WORDS[claim.rank_by]
    parts = [_ranked(claim.score, a, b, words), f"{a} {_cost(claim.cost, b, words)}"]
    failures_apart = claim.rank_by == "rubric"  # in a resolve rate they are
    if failures_apart and claim.score.completion_p is not None and claim.score.completion_p <= 1 - LEVEL:
        parts.append(_completions(claim.score, a, b))
    if claim.settling is not None:
        parts.append(_settling(claim.settling))
    said = "; ".join(parts) + "."
    return f"Of a rehearsal, and so of no model: {said}" if claim.rehearsal else said


def closing(claim: Claim) -> str | None:
    """Return the line that keeps readers of the sentence from taking more out of it; ``None`` where it claims nothing.

    A leaderboard and the report on it test many pairs at once, and so may tie two that stand apart here.
    """
    if claim.score.p is None and claim.cost.p is None:
        return None
    return (
        "p is that of this pair alone, picked before its figures were seen. Where many models are compared (report), "
        "it is adjusted for all pairs, and this pair may be tied."
    )


def early(unfinished: Sequence[str]) -> str | None:
    """Return what an unfinished run takes from any claim; ``None``: both are finished, or nobody tells."""
    if not unfinished:
        return None
    return (
        f"{' and '.join(unfinished)}: a look before the end that was not planned makes a false claim in one of five "
        "comparisons. Finish both first: swetrials run --resume."
    )


def probability(p: float) -> str:
    """Return a p-value as people read it."""
    return "p < 0.001" if p < 0.001 else f"p {p:.2g}"


def _ranked(pair: PairedDifference, a: str, b: str, words: RankingWords) -> str:
    difference = pair.difference
    if difference.value is None or difference.low is None or pair.p is None:
        return (
            f"Nothing can be claimed about the {words.figures} of {a} and {b}, which share "
            f"{counted(difference.tasks, words.known)} where two are the least that an interval takes"
        )
    shared = counted(difference.tasks, "shared task")
    form = words.form
    interval = f"{_LEVEL} {_range(difference, form)}"
    figures = f"{difference.value:{form}} {words.points} ({interval}, {probability(pair.p)}, {shared})"
    figures += "".join(f", {note}" for note in _disagreement(difference, 0, pair.p))
    match pair.verdict:
        case "better":
            return f"{a} {words.higher} than {b} on tasks like these: {figures}"
        case "worse":
            return f"{a} {words.lower} than {b} on tasks like these: {figures}"
        case _ if pair.p <= 1 - LEVEL:
            said = f"{a} and {b} count as equal, their {words.figures} being within the tie band that was given"
        case _ if difference.tasks < FEWEST_TASKS:
            said = f"Fewer than {FEWEST_TASKS} shared tasks never tell the {words.figures} of {a} and {b} apart"
        case _:
            said = f"It cannot be claimed that {a} and {b} {words.differ}"
    return f"{said}: {a} less {b} is {figures}"


def _completions(pair: PairedDifference, a: str, b: str) -> str:
    difference, p = pair.completion_difference.value or 0.0, pair.completion_p or 0.0
    more, less = (a, b) if difference > 0 else (b, a)
    return f"{more} completes {abs(difference):.0%} more of the trials than {less} ({probability(p)})"


def _disagreement(estimate: Estimate, neutral: float, p: float) -> list[str]:
    """Return what has to be said where the interval leaves out what no difference would be, and p does not, or so."""
    if estimate.low is None or estimate.high is None:
        return []
    if (estimate.low > neutral or estimate.high < neutral) == (p <= 1 - LEVEL):
        return []
    return ["where p decides: the interval, made in another way, does not agree"]


def _cost(cost: CostRatio, b: str, words: RankingWords) -> str:
    ratio = cost.ratio
    if ratio.value is None:
        if ratio.tasks:
            return f"cannot be compared with {b} by a ratio of costs, as one of the two is 0"
        return f"cannot be compared with {b} by cost: it is not known for all trials, or {words.nothing_shared}"
    figures = f"{ratio.value:.2f} times as much as {b}"
    if ratio.low is None or cost.p is None:
        return f"cost {figures}, without an interval"
    told = f"{figures} ({_range(ratio, '.2f')}, {probability(cost.p)})"
    said = f"costs {told}" if cost.p <= 1 - LEVEL else f"cannot be claimed to cost another amount: {told}"
    notes = [
        *_disagreement(ratio, 1, cost.p),
        *filter(None, [dominant(ratio)]),
        *(["where a cost is a lower bound"] if cost.lower_bound else []),
        *(["though the two are not worked out in the same way"] if not cost.same_basis else []),
    ]
    return ", ".join([said, *notes])


def _settling(settling: Settling) -> str:
    aim = f"settle it with {settling.power * 100:.0f} % probability"
    tasks = None if settling.more_tasks is None else f"about {counted(settling.more_tasks, 'more task')} like these"
    repeats = (
        None if settling.more_repeats is None else f"about {counted(settling.more_repeats, 'more repeat')} of each task"
    )
    enough = " or ".join(way for way in (tasks, repeats) if way)
    short = [
        *([] if tasks else [f"{settling.tasks_limit:,} more tasks"]),
        *([] if repeats or not settling.repeat_noise_known else [f"{settling.repeats_limit} more repeats"]),
    ]
    said = [
        *([f"{enough} would {aim}"] if enough else []),
        *([f"{' and '.join(short)} would not{'' if enough else f' {aim}'}"] if short else []),
    ]
    if not settling.repeat_noise_known:
        said.append("whether more repeats would cannot be told, since not both runs have any")
    return f"were that difference the true one, {', and '.join(said)}"


def _range(estimate: Estimate, form: str) -> str:
    return f"{estimate.low:{form}} to {estimate.high:{form}}"
