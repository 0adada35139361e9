"""A run's spending limit: what it lets begin, and what it stops."""

from dataclasses import dataclass, field

from swetrials.trials.budget import Budget


@dataclass
class AgentSession:
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
    session = AgentSession(Budget())
    session.begin("a")
    session.count(a=1000.0)
    assert (session.budget.spent_usd, session.budget.closed) == (1000.0, False)
    session.budget.end("a", 1200.0)
    assert (session.budget.spent_usd, session.budget.closed, session.stopped) == (1200.0, False, [])


def test_nothing_begins_once_it_is_spent_and_what_runs_is_stopped() -> None:
    session = AgentSession(Budget(limit_usd=2.0, settled_usd=0.5))
    session.begin("a")
    session.begin("b")
    session.count(a=0.7, b=0.7)
    assert (session.budget.closed, session.stopped) == (False, [])
    session.count(b=0.9)
    assert (session.budget.closed, session.stopped) == (True, ["a", "b"])


def test_what_runs_may_finish_while_the_money_lasts() -> None:
    session = AgentSession(Budget(limit_usd=2.0, settled_usd=0.5, expected_usd=0.8))
    session.begin("a")
    assert not session.budget.closed
    session.begin("b")
    assert session.budget.closed
    session.count(a=0.9)
    session.budget.end("a", 0.6)
    session.budget.end("b", 0.2)
    assert session.stopped == []
    assert session.budget.settled_usd == 0.5 + 0.9 + 0.2
    assert not session.budget.closed


def test_an_unknown_cost_adds_nothing_and_forgets_nothing() -> None:
    session = AgentSession(Budget(limit_usd=2.0))
    session.begin("a")
    session.count(a=0.4)
    session.count(a=None)
    assert session.budget.spent_usd == 0.4
    session.budget.end("a", None)
    told = "at least $0.40 spent, of $2.00; 1 attempt has no known cost: the limit cannot be kept"
    assert session.budget.told == told


def test_without_a_limit_an_unknown_cost_breaks_none() -> None:
    session = AgentSession(Budget())
    for name in ("a", "b"):
        session.begin(name)
        session.budget.end(name, None)
    assert session.budget.told == "at least $0.00 spent, no limit; 2 attempts have no known cost"
