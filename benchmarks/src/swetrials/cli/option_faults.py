"""What an option refuses, in the words that a configuration's faults are told in."""

from collections.abc import Iterable

import typer
from pydantic import ValidationError

from swetrials.cli.options import CONFIG_KEYS
from swetrials.errors import UsageError
from swetrials.records.config import RunnerConfig

_NUMBERS = {int: "a whole number", float: "a number"}


def in_our_words(error: typer.BadParameter) -> Exception:
    """Return the fault of an option with what it takes; one that does not come of a value as it is.

    The limits of a key of the configuration are those of its record, whoever gives the value.
    """
    option, cause = error.param, error.__cause__
    if option is None or not isinstance(cause, ValidationError):
        return error
    wanted = getattr(getattr(option, "type_descriptor", None), "annotation", None)
    given, told = (cause.errors(include_url=False)[0][key] for key in ("input", "msg"))
    if wanted not in _NUMBERS:
        return UsageError(f"{' / '.join(option.opts)}: {str(told).removeprefix('Value error, ')}")
    within = _between(least=getattr(option, "min", None), most=getattr(option, "max", None))
    if not within and option.name in CONFIG_KEYS:
        within = _within(RunnerConfig.model_fields[option.name].metadata)
    return UsageError(f"{' / '.join(option.opts)}: expected {_NUMBERS[wanted]}{within}, got {str(given)!r}")


def _within(limits: Iterable[object]) -> str:
    """Return the limits of a field of a record in words; pydantic keeps each as an object with one of these names."""
    bounds: dict[str, float] = {}
    for limit in limits:
        bounds |= {
            name: bound for name in ("ge", "gt", "le", "lt") if (bound := getattr(limit, name, None)) is not None
        }
    return _between(bounds.get("ge"), bounds.get("gt"), bounds.get("le"), bounds.get("lt"))


def _between(
    least: float | None = None, above: float | None = None, most: float | None = None, below: float | None = None
) -> str:
    if least is not None and most is not None:
        return f" from {least:,} to {most:,}"
    told = {"of at least": least, "greater than": above, "of at most": most, "less than": below}
    words = " and ".join(f"{word} {bound:,}" for word, bound in told.items() if bound is not None)
    return f" {words}" if words else ""
