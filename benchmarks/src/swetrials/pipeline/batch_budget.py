"""What is left of a batch's budget for one of its models."""

from itertools import takewhile

from swetrials.pipeline.batch_plan import BatchPlan, PlannedModel
from swetrials.pipeline.forecast import spent_usd
from swetrials.pipeline.recovery import recover_idle
from swetrials.pricing.repricing import default_book
from swetrials.records.metrics import Metrics
from swetrials.store.project import find_project
from swetrials.store.results import state_of, trial_folders


def left_usd(plan: BatchPlan, model: PlannedModel) -> float | None:
    """Return the dollars that a model's run may spend; ``None`` where the batch has no limit.

    What the models before it have cost is gone. A batch that resumes has spent on those after it, too. What the
    model's own trials cost in an earlier session is for its run to count.
    """
    if plan.max_budget_usd is None:
        return None
    before = takewhile(lambda other: other != model, plan.models)
    others = [other for other in plan.models if other != model] if plan.resume else before
    return plan.max_budget_usd - sum(map(_cost_usd, others))


def _cost_usd(model: PlannedModel) -> float:
    for scope in model.scopes:
        recover_idle(scope, default_book(find_project().config))
    states = [state_of(folder) for scope in model.scopes for folder in trial_folders(scope)]
    return sum(spent_usd(state) for state in states if isinstance(state, Metrics))
