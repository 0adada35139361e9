"""Responses count once, whenever and however often they are told."""

import tracemalloc

import pytest

from swetrials.agents.responses import Responses
from swetrials.records.usage import Usage


def test_long_past_responses_are_in_the_sum_and_are_not_counted_again() -> None:
    responses = Responses()
    for index in range(3_000):
        usage = Usage(fresh_input=10, output=index % 2)
        responses.add(f"r{index}", usage, final=True, subagent=index % 3 == 0)
    responses.add("r0", Usage(fresh_input=99), final=True, subagent=True)
    responses.add("r2999", Usage(fresh_input=10, output=501), final=True, subagent=False)
    assert (responses.count, responses.of_main_agent) == (3_000, 2_000)
    assert responses.usage == Usage(fresh_input=30_000, output=1_500 + 500)
    assert responses.subagent_usage == Usage(fresh_input=10_000, output=500)


def test_what_nobody_tells_stays_unknown() -> None:
    responses = Responses()
    assert responses.usage == Usage()
    responses.add("a", Usage(output=3), final=False, subagent=False)
    assert (responses.usage, responses.subagent_usage) == (Usage(output=3), Usage())


@pytest.mark.slow
def test_a_long_run_takes_a_few_bytes_for_each_response() -> None:
    tracemalloc.start()
    try:
        responses = Responses()
        for index in range(50_000):
            responses.add(f"msg_{index:024}", Usage(fresh_input=10, output=5), final=False, subagent=False)
        held_bytes = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert responses.count == 50_000
    assert held_bytes < 200 * 50_000
