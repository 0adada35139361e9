"""A run's spending limit: what it lets begin, and what it stops."""

from dataclasses import dataclass, field

from swetrials.trials.budget import Budget


@dataclass
class Going:
    """Attempts under way, with what each has cost so far."""

    budget: Budget
    costs: dict[str, float | None] = field(default_factory=dict)
    stopped: list[str] = field(default_factory=list)

    def begin(self, name: str) -> None:
        self.costs[name] = None
        self.budget.begin(name, lambda: self.costs[name], lambda: self.stopped.append(name))

    def count(self, **costs: float | None) -> None:
        self.costs |= costs
        self.budget.count()


def test_without_a_limit_it_only_adds_up() -> None:
    going = Going(Budget())
    going.begin("a")
    going.count(a=1000.0)
    assert (going.budget.spent_usd, going.budget.closed) == (1000.0, False)
    going.budget.end("a", 1200.0)
    assert (going.budget.spent_usd, going.budget.closed, going.stopped) == (1200.0, False, [])


def test_nothing_begins_once_it_is_spent_and_what_runs_is_stopped() -> None:
    going = Going(Budget(limit_usd=2.0, settled_usd=0.5))
    going.begin("a")
    going.begin("b")
    going.count(a=0.7, b=0.7)
    assert (going.budget.closed, going.stopped) == (False, [])
    going.count(b=0.9)
    assert (going.budget.closed, going.stopped) == (True, ["a", "b"])


def test_what_runs_may_finish_while_the_money_lasts() -> None:
    going = Going(Budget(limit_usd=2.0, settled_usd=0.5, expected_usd=0.8))
    going.begin("a")
    assert not going.budget.closed
    going.begin("b")
    assert going.budget.closed
    going.count(a=0.9)
    going.budget.end("a", 0.6)
    going.budget.end("b", 0.2)
    assert going.stopped == []
    assert going.budget.settled_usd == 0.5 + 0.9 + 0.2
    assert not going.budget.closed


def test_an_unknown_cost_adds_nothing_and_forgets_nothing() -> None:
    going = Going(Budget(limit_usd=2.0))
    going.begin("a")
    going.count(a=0.4)
    going.count(a=None)
    assert going.budget.spent_usd == 0.4
    going.budget.end("a", None)
    told = "at least $0.40 spent, of $2.00; 1 attempt has no known cost: the limit cannot be kept"
    assert going.budget.told == told


def test_without_a_limit_an_unknown_cost_breaks_none() -> None:
    going = Going(Budget())
    for name in ("a", "b"):
        going.begin(name)
        going.budget.end(name, None)
    assert going.budget.told == "at least $0.00 spent, no limit; 2 attempts have no known cost"
