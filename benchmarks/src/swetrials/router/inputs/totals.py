"""What the judgments of tasks come to: one floor and one tier for each task, and how far the judgments lie apart."""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import reduce
from statistics import median

from swetrials.records.cost import Cost
from swetrials.records.dataset import TIERS, Complexity
from swetrials.records.judged_inputs import InputJudgment, JudgedInputs, RouterInputs, TaskInputs
from swetrials.records.usage import UsageReport


def with_judgments(record: JudgedInputs, judgments: Sequence[InputJudgment], order: Iterable[str]) -> JudgedInputs:
    """Return a record with these judgments in place of its own, and all that follows from them.

    Args:
        record: where the header is from.
        judgments: all there are, in the order of their ends.
        order: ids of tasks, in the order in which they are to be listed; tasks without a judgment are left out.
    """
    by_task: dict[str, list[InputJudgment]] = {}
    for judgment in judgments:
        by_task.setdefault(judgment.task, []).append(judgment)
    tasks = [task for task in dict.fromkeys((*order, *by_task)) if task in by_task]
    # One that the agent was never started for has no tokens and no cost, which is not to say that they are unknown.
    ran = [judgment for judgment in judgments if judgment.seconds is not None]
    return record.model_copy(
        update={
            "judgments": tuple(judgments),
            "tasks": tuple(consolidated(task, by_task[task]) for task in tasks),
            "judged": len(judgments),
            "failed": sum(judgment.inputs is None for judgment in judgments),
            "seconds": round(sum(judgment.seconds or 0.0 for judgment in ran), 3) if ran else None,
            "usage": reduce(UsageReport.__add__, (judgment.usage for judgment in ran)) if ran else UsageReport(),
            "cost": reduce(Cost.__add__, (judgment.cost for judgment in ran)) if ran else Cost(),
        }
    )


def consolidated(task: str, judgments: Iterable[InputJudgment]) -> TaskInputs:
    """Return what the judgments of a task come to; those that failed count for nothing.

    The floor is the median; of an even number, the mean of the two in the middle. The tier is the most frequent; where
    several are, the hardest of them: a task taken for too easy is given to a model that cannot do it, one taken for
    too hard costs a little more. Base floor and adjustment are those of the judgments whose floor is the median; where
    these disagree, the most frequent pair, and of several the one with the highest base floor.
    """
    made = list(judgments)
    counted = [judgment.inputs for judgment in made if judgment.inputs is not None]
    failed = len(made) - len(counted)
    if not counted:
        return TaskInputs(task=task, failed=failed)
    floors = sorted(inputs.floor for inputs in counted)
    floor = median(floors)
    base_floor, adjustment = _parts(floor, counted)
    tiers = Counter(inputs.tier for inputs in counted)
    return TaskInputs(
        task=task,
        floor=floor,
        tier=_hardest_of_the_most_frequent(tiers),
        base_floor=base_floor,
        adjustment=adjustment,
        floors_seen=tuple(floors),
        tiers_seen={tier: tiers[tier] for tier in TIERS if tier in tiers},
        spread=floors[-1] - floors[0],
        failed=failed,
    )


def _parts(floor: float, counted: Sequence[RouterInputs]) -> tuple[int, int] | tuple[None, None]:
    pairs = Counter((inputs.base_floor, inputs.adjustment) for inputs in counted if inputs.floor == floor)
    return max(pairs, key=lambda pair: (pairs[pair], pair)) if pairs else (None, None)


def _hardest_of_the_most_frequent(tiers: Counter[Complexity]) -> Complexity:
    return max(tiers, key=lambda tier: (tiers[tier], TIERS.index(tier)))
