"""Results trees as earlier versions wrote them are read to the same figures, but for those changed on purpose."""

import json

import pytest

from corpus.reading import CASES, changed, differences, frozen


@pytest.mark.parametrize("case", CASES)
def test_an_old_tree_is_read_to_the_same_figures(case: str) -> None:
    found = differences(case)
    shown = json.dumps(dict(list(found.items())[:20]), indent=1)
    assert not found, f"{len(found)} figures differ from corpus/figures.json and changed.json; they are now:\n{shown}"


def test_each_figure_that_was_changed_on_purpose_was_another_one_and_has_a_reason() -> None:
    for case, entries in changed().items():
        before = frozen(case)
        for figure, entry in entries.items():
            assert figure in before and before[figure] != entry["value"], f"{case}: {figure} is no change"
            assert str(entry["reason"]).strip(), f"{case}: {figure} has no reason"


def test_every_way_of_writing_a_tree_is_there() -> None:
    assert set(CASES) >= {"killed", "resumed", "interrupted", "trash", "retried", "provider_error", "two_judges",
                          "topped_up", "imported", "batch", "agents"}  # fmt: skip
