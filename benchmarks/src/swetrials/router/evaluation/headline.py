"""What an evaluation of the router comes to, in sentences."""

from collections.abc import Iterator, Sequence

from swetrials.records.leaderboard import Estimate
from swetrials.records.router_evaluation import ChanceTest, EvaluationRun, PolicyName, PolicyTotals, RouterEvaluation
from swetrials.results.ranking import WORDS, RankingWords
from swetrials.results.report.wording import counted, dominant, score
from swetrials.router.evaluation.wording import dollars, percent, points

_BY_LUCK = 0.05
"""Of random deals: fewer than these being as good is no accident."""


def sweep_sentence(runs: Sequence[EvaluationRun], words: RankingWords) -> str:
    """Return what a sweep over floors comes to, from the least saved to the most."""
    known = sorted(
        (run.totals.cost_saving_pct, run.totals.mean_score_delta, run.floor)
        for run in runs
        if run.totals.cost_saving_pct is not None and run.totals.mean_score_delta is not None
    )
    totals = runs[0].totals
    what = f"Following the router instead of {totals.baseline_model} on everything"
    if not known:
        return f"{what}: what it saves is not known, as costs or {words.figures} are not."
    ends = (
        f"{percent(saved)} at {points(change)} {words.points} of {words.mean} (floor {floor:g})"
        for saved, change, floor in (known[0], known[-1])
    )
    return f"{what} saves from {' to '.join(ends)}, of {dollars(totals.baseline_total_cost_usd)}."


def sentences(evaluation: RouterEvaluation, run: EvaluationRun) -> Iterator[str]:
    """Yield what a run says, the answer first."""
    totals, words = run.totals, WORDS[evaluation.config.rank_by]
    floors = "the judged floors" if run.floor is None else f"a floor of {run.floor:g}{words.sign} for every task"
    known = "held out" if run.holdout else "in sample"
    if totals.cost_saving_pct is None:
        yield f"With {floors} ({known}): what following the router saves is not known, as costs are not."
    else:
        heavy = dominant(totals.cost_saving_pct_estimate)
        yield (
            f"With {floors} ({known}), following the router over {counted(totals.tasks, 'task')} costs "
            f"{dollars(totals.routed_total_cost_usd)} instead of {dollars(totals.baseline_total_cost_usd)} with "
            f"{totals.baseline_model} on everything: {percent(totals.cost_saving_pct)} saved"
            f"{_interval(totals.cost_saving_pct_estimate, ' %')}{f'; {heavy}' if heavy else ''}."
        )
    yield (
        f"The {words.mean} goes from {score(totals.baseline_mean_score)} to {score(totals.routed_mean_score)}: "
        f"{points(totals.mean_score_delta)} {words.points}{_interval(totals.mean_score_delta_estimate, '')}, over "
        f"{counted(totals.tasks_scored_both_arms, 'task')} {words.known.split()[0]} in both arms."
    )
    kept = sum(totals.tasks_kept_on_baseline.values())
    named = f"no model for {counted(kept, 'task')}, where the baseline is kept" if kept else "a model for every task"
    below = totals.tasks_below_floor_routed
    baseline = f"with {totals.baseline_model}"
    outright = f"{totals.tasks_failed_routed} failed outright, {baseline} {totals.tasks_failed_baseline}"
    failed = "" if evaluation.config.rank_by == "resolved" else f"; {outright}"
    yield (
        f"{counted(below, 'task')} {'ends' if below == 1 else 'end'} below the floor, {baseline} "
        f"{totals.tasks_below_floor_baseline}{failed}. "
        f"The router names {named}."
    )
    yield from _how_sure(run, words)
    yield from _elsewhere(run, words)
    if evaluation.judging is not None:
        yield _judging(evaluation)


def _how_sure(run: EvaluationRun, words: RankingWords) -> Iterator[str]:
    saving, change = run.totals.cost_saving_pct_estimate, run.totals.mean_score_delta_estimate
    if None not in (saving.low, saving.high, change.low, change.high):
        money = _sign(saving, "it saves money", "it costs more", "whether it saves money is open")
        what = f"the {words.mean}"
        quality = _sign(change, f"{what} rises", f"{what} falls", f"whether {what} changes is open")
        yield f"How sure, at {saving.level * 100:.0f} % over the choice of tasks: {money}, and {quality}."
    known = run.in_sample_totals
    if known is not None:
        yield (
            f"Had each task's own trials been among what the router knew, it would be "
            f"{percent(known.cost_saving_pct)} saved and {points(known.mean_score_delta)} {words.points}."
        )


def _elsewhere(run: EvaluationRun, words: RankingWords) -> Iterator[str]:
    router, other = _policy(run, "router"), _policy(run, "single_model_as_good")
    if other is not None and router is not None and _cheaper(other, router):
        yield (
            f"In hindsight one model would have been the better choice: {other.model} on everything costs "
            f"{dollars(other.total_cost_usd)} at a mean of {score(other.mean_score)}."
        )
    if run.chance is not None:
        yield _chance(run.chance, words)
    lost = run.regret
    if lost.cost_usd is not None and lost.mean_score is not None:
        yield (
            "Against the oracle, which knows every result and takes the cheapest model that reached the floor, the "
            f"router pays {dollars(abs(lost.cost_usd))} {'more' if lost.cost_usd >= 0 else 'less'} and {words.does} "
            f"{abs(lost.mean_score):.1f} {words.points} {'less' if lost.mean_score >= 0 else 'more'}. It misses "
            f"{counted(lost.tasks_missed, 'floor')} that some model reached; {lost.tasks_beyond_all} no model reached."
        )


def _chance(chance: ChanceTest, words: RankingWords) -> str:
    good, cheap = chance.share_as_good, chance.share_as_cheap
    better = [name for name, share in ((words.figure, good), ("cost", cheap)) if share <= _BY_LUCK]
    verdict = (
        f"in {' and '.join(better)} it matters here which task gets which model"
        if better
        else "that the router picks by task is not seen to be worth anything here"
    )
    luck = f"{good * 100:.0f} % of {chance.deals:,} deals and cost no more in {cheap * 100:.0f} %"
    return (
        f"Had the router's own picks been dealt out to the tasks at random, they would {words.does.removesuffix('s')} "
        f"at least as {words.well} in {luck}: {verdict}."
    )


def _judging(evaluation: RouterEvaluation) -> str:
    judging = evaluation.judging
    assert judging is not None, "asked for only where there were judgments"
    if judging.cost_usd is None:
        return f"What the {judging.judgments} judgments of the tasks cost is not known, and not taken off."
    least = "at least " if judging.cost_is_lower_bound else ""
    return (
        f"Judging what the tasks need cost {least}{dollars(judging.cost_usd)} ({judging.judgments} judgments); that "
        f"taken off, {dollars(judging.net_saving_usd)} or {percent(judging.net_saving_pct)} are saved."
    )


def _policy(run: EvaluationRun, name: PolicyName) -> PolicyTotals | None:
    return next((line for line in run.policies if line.policy == name), None)


def _cheaper(one: PolicyTotals, other: PolicyTotals) -> bool:
    return (
        one.total_cost_usd is not None
        and other.total_cost_usd is not None
        and one.total_cost_usd < other.total_cost_usd
    )


def _sign(estimate: Estimate, above: str, below: str, open_: str) -> str:
    assert estimate.low is not None and estimate.high is not None, "looked at before"
    return above if estimate.low > 0 else below if estimate.high < 0 else open_


def _interval(estimate: Estimate, unit: str) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return f" ({estimate.level * 100:.0f} % interval {estimate.low:.1f} to {estimate.high:.1f}{unit})"
