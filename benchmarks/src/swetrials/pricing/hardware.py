"""What a self-hosted model costs: a rented machine has no price per token, only one per hour."""

from dataclasses import dataclass

from swetrials.records.cost import Cost, CostStatus, HardwareLine
from swetrials.records.usage import Completeness

THROUGHPUT = "processed_tokens_per_second"
"""Name of the figure in a server's telemetry that a rented machine is shared out by."""

_SECONDS_PER_HOUR = 3_600
_DIGITS = 12


@dataclass(frozen=True)
class Rent:
    """On what a model was served.

    Attributes:
        dollars_per_hour: for the whole box.
        share_of_box: the part of the box that serves the model, above 0 and at most 1.
        concurrency: trials at one time.
        tokens_per_second: prompt and generated tokens together, as measured at this concurrency.
        source: where the hourly rate is from.
        date: as of when it holds, ISO 8601.
    """

    dollars_per_hour: float
    share_of_box: float = 1.0
    concurrency: int = 1
    tokens_per_second: float | None = None
    source: str = "declared rate"
    date: str | None = None


def hardware_cost(
    tokens: int | None,
    tokens_per_second: float | None,
    dollars_per_hour: float,
    share_of_box: float,
    wall_seconds: float,
    concurrency: int,
    *,
    completeness: Completeness = "complete",
    source: str = "declared rate",
    date: str | None = None,
) -> Cost:
    """Return what a trial on a rented machine cost, as a range from as measured to dedicated.

    As measured, the trial takes ``tokens / tokens_per_second`` of the box, which it shares with the trials beside it.
    Dedicated, it has the box from start to end, waits included: ``wall_seconds``. Where the throughput was not
    measured, the wall time is split evenly over the trials at one time.

    Args:
        tokens: prompt (cached ones included) and generated tokens that the trial had processed.
        tokens_per_second: of everybody at ``concurrency``: the telemetry's ``derived.processed_tokens_per_second``.
        dollars_per_hour: for the whole box.
        share_of_box: the part of the box that serves this model, above 0 and at most 1.
        wall_seconds: of the trial.
        concurrency: trials at one time while this was measured.
        completeness: of ``tokens``; a lower bound makes the cost one.
        source: where the hourly rate is from.
        date: as of when it holds, ISO 8601.
    """
    measured = (
        tokens / tokens_per_second if tokens is not None and tokens_per_second and tokens_per_second > 0 else None
    )
    if measured is None and wall_seconds <= 0:
        return Cost(note="neither the throughput nor the wall time was measured", source=source, price_date=date)
    box_seconds = wall_seconds / concurrency if measured is None else measured
    usd_per_second = dollars_per_hour / _SECONDS_PER_HOUR * share_of_box
    amount, dedicated = (round(seconds * usd_per_second, _DIGITS) for seconds in (box_seconds, wall_seconds))
    status: CostStatus = "lower_bound" if measured is not None and completeness != "complete" else "complete"
    basis = "measured throughput" if measured is not None else "throughput not measured, wall time split evenly"
    return Cost(
        amount_usd=amount,
        basis="hardware",
        status=status,
        note=f"{basis}, at concurrency {concurrency}",
        source=source,
        price_date=date,
        low_usd=min(amount, dedicated),
        high_usd=max(amount, dedicated),
        hardware=(
            HardwareLine(
                tokens=tokens,
                tokens_per_second=tokens_per_second or None,
                wall_seconds=wall_seconds,
                concurrency=concurrency,
                usd_per_hour=dollars_per_hour,
                share_of_box=share_of_box,
                amount_usd=amount,
            ),
        ),
    )
