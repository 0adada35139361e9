"""What repeats say: estimates against a count of all choices of repeats."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swetrials.results.reliability import flip_rate, pass_at_k, pass_k, reliability, repeat_sd

ENDINGS = st.lists(st.booleans(), min_size=2, max_size=7)


@given(ENDINGS, st.integers(1, 7))
def test_pass_k_is_the_share_of_choices_in_which_all_passed(endings: list[bool], k: int) -> None:
    if k > len(endings):
        with pytest.raises(ValueError, match="cannot be chosen"):
            pass_k(len(endings), sum(endings), k)
        return
    choices = list(itertools.combinations(endings, k))
    assert pass_k(len(endings), sum(endings), k) == pytest.approx(sum(map(all, choices)) / len(choices))


@given(ENDINGS, st.integers(1, 7))
def test_pass_at_k_is_the_share_of_choices_in_which_one_passed(endings: list[bool], k: int) -> None:
    if k <= len(endings):
        choices = list(itertools.combinations(endings, k))
        assert pass_at_k(len(endings), sum(endings), k) == pytest.approx(sum(map(any, choices)) / len(choices))


@given(ENDINGS)
def test_the_flip_rate_is_the_share_of_pairs_that_differ(endings: list[bool]) -> None:
    pairs = list(itertools.combinations(endings, 2))
    assert flip_rate(len(endings), sum(endings)) == pytest.approx(sum(a != b for a, b in pairs) / len(pairs))


def test_one_trial_cannot_flip() -> None:
    with pytest.raises(ValueError, match="two trials"):
        flip_rate(1, 1)


def test_tasks_that_were_run_once_say_nothing_of_repeats() -> None:
    assert reliability({"a": [1.0], "b": [0.0]}) is None
    found = reliability({"a": [1.0], "b": [1.0, 0.0, 1.0], "c": [1.0, 1.0]})
    assert found is not None
    assert (found.tasks, found.repeats) == (2, 2)
    assert [one.k for one in found.pass_k] == [one.k for one in found.pass_at_k] == [1, 2]
    assert found.pass_k[0].probability.value == pytest.approx((2 / 3 + 1) / 2)
    assert found.pass_k[1].probability.value == pytest.approx((1 / 3 + 1) / 2)
    assert found.flip_rate.value == pytest.approx((2 / 3 + 0) / 2)


@given(st.dictionaries(st.text(max_size=2), st.lists(st.sampled_from([0.0, 1.0]), min_size=2, max_size=5), min_size=1))
def test_more_repeats_in_a_row_never_become_likelier(passes: dict[str, list[float]]) -> None:
    found = reliability(passes)
    assert found is not None
    chances = [one.probability.value or 0.0 for one in found.pass_k]
    assert chances == sorted(chances, reverse=True)


def test_the_noise_of_repeats_is_pooled_over_tasks() -> None:
    assert repeat_sd({"a": [1.0, 3.0], "b": [10.0, 10.0, 13.0], "once": [99.0]}) == pytest.approx(((2 + 6) / 3) ** 0.5)
    assert repeat_sd({"a": [1.0], "b": [3.0]}) is None
