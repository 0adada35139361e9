"""One pause for a whole run: how long it is, and what ends it."""

import anyio
import pytest

from swetrials.trials.backoff import Backoff

pytestmark = pytest.mark.anyio


@pytest.fixture
def backoff() -> Backoff:
    return Backoff(spread=lambda: 1.0)


@pytest.mark.parametrize("status", [None, 200, 400, 401, 500, 502])
async def test_other_answers_hold_nobody_back(backoff: Backoff, status: int | None) -> None:
    backoff.saw(status, 30.0)
    assert backoff.seconds_left == 0
    assert await backoff.over() < 0.1


@pytest.mark.parametrize("status", [429, 529])
async def test_a_throttling_provider_is_left_alone_as_long_as_it_asks(backoff: Backoff, status: int) -> None:
    backoff.saw(status, 30.0)
    assert 29 < backoff.seconds_left <= 30
    backoff.saw(status, None)
    assert 29 < backoff.seconds_left <= 30


async def test_nobody_asks_for_more_than_an_hour(backoff: Backoff) -> None:
    backoff.saw(429, 1e9)
    assert 3590 < backoff.seconds_left <= 3600


async def test_pauses_double_until_an_answer_comes(backoff: Backoff, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(anyio, "current_time", lambda: now)
    pauses = []
    for _ in range(12):
        backoff.saw(429, None)
        backoff.saw(429, None)  # of another trial, at the same moment: the same news
        pauses.append(backoff.seconds_left)
        backoff.saw(200, None)  # an answer to what was asked before says nothing of now
        now += backoff.seconds_left
    assert pauses == [2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300, 300]
    backoff.saw(200, None)
    backoff.saw(429, None)
    assert backoff.seconds_left == 2


async def test_whoever_waits_goes_on_when_it_is_over_and_learns_how_long_it_took() -> None:
    backoff = Backoff(spread=lambda: 0.1)
    backoff.throttled()
    waits: list[float] = []

    async def wait() -> None:
        waits.append(await backoff.over())

    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(wait)
    assert waits == pytest.approx([0.2] * 3, abs=0.1)


async def test_pauses_are_spread() -> None:
    lengths = set()
    for _ in range(20):
        backoff = Backoff()
        backoff.throttled()
        lengths.add(round(backoff.seconds_left, 3))
    assert len(lengths) > 10
    assert all(0.9 < length <= 2 for length in lengths)
