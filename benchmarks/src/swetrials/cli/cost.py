"""``cost``: the bill, line by line, and other prices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from swetrials.cli.lean import leave, single_command
from swetrials.cli.options import AsJson
from swetrials.errors import UsageError

if TYPE_CHECKING:
    from swetrials.pricing.hardware import Rent
    from swetrials.pricing.repricing import Repriced
    from swetrials.records.cost import Cost, HardwareLine, TokenLine, UseLine
    from swetrials.records.metrics import Metrics
    from swetrials.records.usage import UsageBlock
    from swetrials.store.results import TrialFolder

app = single_command()


@app.command(epilog="Example: swetrials cost swe-benchmark-data/rehearsal")
def cost(
    folder: Annotated[Path, typer.Argument(help="A trial's folder, or a tree of them.")],
    reprice: Annotated[bool, typer.Option("--reprice", help="Apply other prices; tokens stay as they are.")] = False,
    prices: Annotated[Path | None, typer.Option(help="With --reprice: the price file; default: the project's.")] = None,
    dollars_per_hour: Annotated[float | None, typer.Option(min=0, help="With --reprice: rate of the box.")] = None,
    box_share: Annotated[float, typer.Option(min=0.001, max=1, help="Share of the box that the model takes.")] = 1.0,
    concurrency: Annotated[int, typer.Option(min=1, help="Trials at the same time on that box.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Explain what trials cost, line by line; or give them other prices."""
    from swetrials.pricing.hardware import Rent

    if not reprice:
        leave(explain(folder, as_json=as_json))
    rent = Rent(dollars_per_hour, box_share, concurrency) if dollars_per_hour is not None else None
    leave(reprice_folder(folder, prices, rent, as_json=as_json))


def explain(folder: Path, *, as_json: bool) -> int:
    """Print each trial's bill at or below a folder, and what they come to."""
    from swetrials.cli.recovering import recover_below

    recover_below(folder)
    trials = [(trial, trial.metrics()) for trial in _trials(folder)]
    total = _total([metrics.cost for _, metrics in trials])
    if as_json:
        _print_json({"trials": [_figures(trial, metrics) for trial, metrics in trials], "total": _dumped(total)})
        return 0
    for trial, metrics in trials:
        for line in _explanation(trial, metrics):
            print(line)
    print(_closing([metrics.cost for _, metrics in trials], total))
    if any(metrics.cost.lacks_a_price for _, metrics in trials):
        print(f"what has no price wants a row in config/pricing.yaml; then: swetrials cost {folder} --reprice")
    return 0


def reprice_folder(folder: Path, prices: Path | None, rent: Rent | None, *, as_json: bool) -> int:
    """Apply other prices to every trial at or below a folder; nothing is written unless all records can be read.

    Args:
        folder: a trial's folder, or a tree of them.
        prices: the price file; ``None``: the project's own.
        rent: what the self-hosted trials ran on; ``None``: they keep the cost they have.
        as_json: print JSON.
    """
    from swetrials.cli.recovering import recover_below
    from swetrials.pricing.book import PriceBook
    from swetrials.pricing.repricing import default_book, reprice
    from swetrials.records.words import counted
    from swetrials.store.project import find_project

    book = PriceBook.load(prices) if prices else default_book(find_project().config)
    recover_below(folder)
    repriced = [reprice(trial, book, rent) for trial in _trials(folder)]
    for trial in repriced:
        if trial.changed:
            trial.write()
    before, after = _total([t.metrics.cost for t in repriced]), _total([t.cost for t in repriced])
    if as_json:
        rows = [_change(t.folder.path.name, t.metrics.cost, t.cost, changed=t.changed) for t in repriced]
        _print_json({"trials": rows, "total": {"old": _dumped(before), "new": _dumped(after)}})
        return 0
    for trial in repriced:
        print(f"  {trial.folder.path.name}: {_transition(trial)}")
    changed = [trial for trial in repriced if trial.changed]
    print(f"{len(changed)} of {counted(len(repriced), 'trial')} changed: {dollars(before)} -> {dollars(after)}")
    for scope in sorted({trial.folder.path.parent for trial in changed}):
        if (scope / "run-summary.json").exists():
            print(f"the summary still has the old prices: swetrials summarize --folder {scope}")
    return 0


def dollars(cost: Cost) -> str:
    """Return an amount in words: ``$1.2``, ``$1.2 to $1.5``, ``at least $1.2``, ``free`` or ``unknown``."""
    if cost.amount_usd is None:
        return "unknown"
    if cost.basis == "free" and cost.status == "complete":
        return "free"
    if cost.status != "complete" and cost.high_usd is not None:
        return f"${cost.amount_usd:,.4f} to ${cost.high_usd:,.4f}"
    return f"{'at least ' if cost.status != 'complete' else ''}${cost.amount_usd:,.4f}"


def _trials(folder: Path) -> list[TrialFolder]:
    from swetrials.store.results import none_in, told_apart, trial_folders

    found = list(trial_folders(folder))
    if not found:
        raise UsageError(f"{none_in(folder)}; name a results folder{told_apart(folder)}")
    return found


def _total(costs: Sequence[Cost]) -> Cost:
    total = costs[0]
    for cost in costs[1:]:
        total = total + cost
    return total


def _explanation(trial: TrialFolder, metrics: Metrics) -> Iterator[str]:
    where = " · ".join(part for part in (metrics.model, metrics.provider, metrics.aws_region) if part)
    yield f"{trial.path.name}  {where}"
    yield f"  tokens: {_witnessed(metrics.usage)}"
    for attempt in metrics.attempts:
        yield f"  attempt {attempt.number} ({attempt.reason}, {attempt.outcome.kind}): {_witnessed(attempt.usage)}"
        yield from (f"    {line}" for line in _bill(attempt.cost))
    if len(metrics.attempts) != 1:
        yield "  imported" if metrics.imported else f"  all {len(metrics.attempts)} attempts"
        yield f"    = {_statement(metrics.cost)}"
    for finding in metrics.findings:
        if finding.code.startswith(("usage_", "price_", "cost_")):
            yield f"  {finding.severity}: {finding.message}"
    yield ""


def _witnessed(usage: UsageBlock) -> str:
    report = usage.headline
    total = "unknown" if report.usage.total is None else f"{report.usage.total:,}"
    return f"{total}, {report.completeness.replace('_', ' ')}, witness: {usage.source}"


def _bill(cost: Cost) -> Iterator[str]:
    yield from map(_token_line, cost.lines)
    yield from map(_use_line, cost.uses)
    yield from map(_hardware_line, cost.hardware)
    yield f"= {_statement(cost)}"
    if cost.status == "complete" and cost.low_usd is not None and cost.high_usd is not None:
        yield f"  between ${cost.low_usd:,.4f} and ${cost.high_usd:,.4f}"
    if cost.note:
        yield f"  {cost.note}"
    if cost.reported_usd is not None:
        yield f"  reported by the agent: ${cost.reported_usd:,.4f} (never used as the cost)"


def _statement(cost: Cost) -> str:
    if cost.amount_usd is None:
        return "unknown"
    date = f", {cost.price_date}" if cost.price_date else ""
    origin = f"; {cost.source}{date}" if cost.source else ""
    return f"{dollars(cost)} ({cost.basis}, {cost.status.replace('_', ' ')}{origin})"


def _token_line(line: TokenLine) -> str:
    name = f"{line.model} ({line.terms})" if line.terms else line.model
    head = f"{name}  {line.bucket:<14} {line.tokens:>13,}"
    if line.usd_per_million is None or line.amount_usd is None:
        return f"{head} x no price"
    date = f", {line.price_date}" if line.price_date else ""
    figures = f"x ${line.usd_per_million:<7g} / 1M = ${line.amount_usd:>9,.4f}"
    return f"{head} {figures}  {line.source}{date} as {line.priced_as}"


def _use_line(line: UseLine) -> str:
    head = f"{line.model}  {line.tool:<14} {line.uses:>7,} uses"
    if line.usd_per_1000 is None or line.amount_usd is None:
        return f"{head} x no price"
    date = f", {line.price_date}" if line.price_date else ""
    figures = f"x ${line.usd_per_1000:<7g} / 1,000 = ${line.amount_usd:>9,.4f}"
    return f"{head} {figures}  {line.source}{date}"


def _hardware_line(line: HardwareLine) -> str:
    if line.tokens is not None and line.tokens_per_second:
        time = f"{line.tokens:,} tokens / {line.tokens_per_second:,.1f} tokens per second"
    else:
        time = f"{line.wall_seconds:,.1f} s / {line.concurrency} at one time"
    return f"{time} x ${line.usd_per_hour:g} per hour x {line.share_of_box:g} of the box = ${line.amount_usd:,.4f}"


def _closing(costs: Sequence[Cost], total: Cost) -> str:
    from swetrials.results.report import wording as figures

    unknown = sum(cost.amount_usd is None for cost in costs)
    suffix = f"; no price for {unknown} of them" if unknown else ""
    return f"{figures.counted(len(costs), 'trial')}: {dollars(total)}{suffix}"


def _transition(trial: Repriced) -> str:
    if not trial.changed:
        return f"{dollars(trial.cost)}, unchanged"
    return f"{dollars(trial.metrics.cost)} -> {_statement(trial.cost)}"


def _figures(trial: TrialFolder, metrics: Metrics) -> dict[str, object]:
    return {
        "trial": trial.path.name,
        "model": metrics.model,
        "provider": metrics.provider,
        "aws_region": metrics.aws_region,
        "witness": metrics.usage.source,
        "completeness": metrics.usage.headline.completeness,
        "cost": _dumped(metrics.cost),
        "cost_winning_attempt": _dumped(metrics.cost_winning_attempt),
        "attempts": [
            {
                "number": attempt.number,
                "reason": attempt.reason,
                "outcome": attempt.outcome.kind,
                "witness": attempt.usage.source,
                "completeness": attempt.usage.headline.completeness,
                "cost": _dumped(attempt.cost),
            }
            for attempt in metrics.attempts
        ],
    }


def _change(trial: str, old: Cost, new: Cost, *, changed: bool) -> dict[str, object]:
    return {"trial": trial, "changed": changed, "old": _dumped(old), "new": _dumped(new)}


def _dumped(cost: Cost) -> dict[str, object]:
    return cost.model_dump(mode="json")


def _print_json(data: object) -> None:
    import orjson

    print(orjson.dumps(data, option=orjson.OPT_INDENT_2).decode())
