"""What a router knows of models: ``models.json``, which ``route.py`` of the skill swe-router reads."""

from typing import Literal

from pydantic import Field

from swetrials.records.cost import Basis
from swetrials.records.dataset import RankBy
from swetrials.records.leaderboard import HostingBasis
from swetrials.records.record import SCHEMA_VERSION, PathPart, Record


class RouterMeans(Record):
    """What some of a model's trials come to. The means are over tasks, and of completed trials alone.

    Where resolve rates are ranked, rate and cost are of all trials in the rate, failures too.
    """

    tasks: int = Field(ge=1)
    trials: int = Field(ge=1, description="that say something about model or agent; the others are in no figure")
    completed: int = Field(ge=0)
    completion: float = Field(ge=0, le=1, description="share of trials that completed, mean over tasks")
    mean_score: float | None = Field(None, ge=0, le=100, description="None: no completed trial was scored")
    mean_score_failures_as_zero: float | None = Field(None, ge=0, le=100, description="a trial not completed counts 0")
    resolve_rate: float | None = Field(
        None,
        ge=0,
        le=100,
        exclude_if=lambda rate: rate is None,
        description="percent; absent: scores are ranked, or no trial has a verdict",
    )
    mean_cost_usd: float | None = Field(None, ge=0, description="per trial; None: one of them has no price")
    cost_is_lower_bound: bool = False


class RouterFrontier(Record):
    """Whether none other is at least as good on both what is ranked and cost and better on one; ``None``: not known."""

    of_hosting: bool | None = Field(None, description="among the models whose cost has the same basis")
    combined: bool | None = Field(None, description="among all models")


class RouterModelName(Record):
    """Which model it is, and what its costs are."""

    model: PathPart = Field(description="the slug")
    provider: str
    hosting: HostingBasis
    cost_basis: Basis = Field(description="of its trials; mixed: not the same for all")
    frontier: RouterFrontier = RouterFrontier()


class RouterModel(RouterMeans, RouterModelName):
    """One model, over all tiers, and by tier."""

    tiers: dict[str, RouterMeans] = Field(description="a tier without a trial is not there")


class RouterProvenance(Record):
    """What the figures are of."""

    scope: str
    agent: str
    skill: str
    tasks_by_tier: dict[str, int]
    trials: int = Field(ge=1, description="that the figures stand on")
    trials_left_out: int = Field(ge=0, description="failed for another reason than model or agent")
    sources: tuple[str, ...] = Field(description="where imported figures are from; empty: all measured by swetrials")
    trials_sha256: str = Field(description="of what was read of the trials: equal figures, equal digest")
    built_by: Literal["swetrials router build"] = "swetrials router build"


class RouterModels(Record):
    """All models, by name."""

    schema_version: Literal["1.0"] = SCHEMA_VERSION
    rank_by: RankBy = Field(
        "rubric",
        exclude_if=lambda ranked: ranked == "rubric",
        description="what a floor is a floor of: mean_score, or resolve_rate; absent: rubric",
    )
    rehearsal: bool = Field(False, description="scripted model: the figures say nothing about any model")
    provenance: RouterProvenance
    models: tuple[RouterModel, ...] = Field(min_length=1)


def ranked_figure(rank_by: RankBy) -> Literal["mean_score", "resolve_rate"]:
    """Return the name of the figure that a router compares with a floor."""
    return "resolve_rate" if rank_by == "resolved" else "mean_score"
