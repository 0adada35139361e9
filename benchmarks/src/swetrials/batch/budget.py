"""What is left of a batch's budget for one of its models."""

from itertools import takewhile

from swetrials.batch.plan import BatchPlan, PlannedModel
from swetrials.pricing.repricing import default_book
from swetrials.store.project import find_project
from swetrials.store.results import TrialFolder, state_of, subfolders
from swetrials.trials.earlier import spent_there
from swetrials.trials.recovery import recover_idle


def left_usd(plan: BatchPlan, model: PlannedModel) -> float | None:
    """Return the dollars that a model's run may spend; ``None`` where the batch has no limit.

    What the models before it have cost is gone, what killed runs had spent among it. A batch that resumes has spent on
    those after it, too. What the model's own trials cost in an earlier session is for its run to count.
    """
    if plan.max_budget_usd is None:
        return None
    before = takewhile(lambda other: other != model, plan.models)
    others = [other for other in plan.models if other != model] if plan.resume else list(before)
    for scope in (scope for other in others for scope in other.scopes):
        recover_idle(scope, default_book(find_project().config))
    return plan.max_budget_usd - sum(map(_spent_usd, others))


def _spent_usd(model: PlannedModel) -> float:
    folders = [TrialFolder(path) for scope in model.scopes for path in subfolders(scope)]
    return sum(spent_there(folder, state_of(folder)).elsewhere_usd or 0.0 for folder in folders)
