"""A line of the pre-flight."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Check:
    """One line of the pre-flight: what was looked at, what was found, and the command that mends it.

    ``asks`` marks a warning that wants a person's yes (``--yes``) before anything is spent.
    """

    name: str
    status: Literal["ok", "warning", "failed", "skipped"]
    detail: str
    fix: str = ""
    asks: bool = False
