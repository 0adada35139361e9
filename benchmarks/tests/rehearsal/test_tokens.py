"""Counts that add up."""

from hypothesis import given
from hypothesis import strategies as st

from swetrials.rehearsal.tokens import FRAME_TOKENS, PromptPart, count, marked_prompt, part, pieces, unmarked_prompt

parts = st.lists(
    st.builds(PromptPart, st.integers(0, 10_000), st.booleans(), st.sampled_from([None, "5m", "1h"])), max_size=20
)


def test_a_token_is_four_bytes() -> None:
    assert [count(text) for text in ("", "a", "abcd", "abcde", "é" * 4)] == [0, 1, 1, 2, 2]


@given(st.text(), st.integers(1, 40))
def test_the_pieces_of_a_text_are_the_text(text: str, size: int) -> None:
    cut = list(pieces(text, size))
    assert "".join(piece for piece, _ in cut) == text
    assert sum(tokens for _, tokens in cut) == count(text)


def test_a_block_keeps_its_size_when_marks_and_wrapping_change() -> None:
    text = "some text of a message"
    marked = {"type": "text", "text": text, "cache_control": {"type": "ephemeral", "ttl": "1h"}}
    assert part(text).tokens == part({"type": "text", "text": text}).tokens == part(marked).tokens
    assert part(marked).cache_ttl == "1h"
    result = {"type": "tool_result", "content": text}
    assert part({**result, "cache_control": {"type": "ephemeral"}}) == PromptPart(part(result).tokens, cache_ttl="5m")


@given(parts)
def test_the_buckets_add_up_to_the_prompt(prompt: list[PromptPart]) -> None:
    size = sum(item.tokens for item in prompt) + FRAME_TOKENS
    marked = marked_prompt(prompt)
    assert marked.total == unmarked_prompt(prompt).total == size
    assert marked.cache_write == (marked.cache_write_5m or 0) + (marked.cache_write_1h or 0)


def test_an_hours_mark_behind_what_is_known_makes_the_write_an_hours() -> None:
    usage = marked_prompt(
        [
            PromptPart(10),
            PromptPart(5, by_model=True),
            PromptPart(7, cache_ttl="1h"),
            PromptPart(2, cache_ttl="5m"),
            PromptPart(1),
        ]
    )
    assert (usage.cache_read, usage.cache_write_1h, usage.cache_write_5m) == (10, 12, 2)
    assert usage.fresh_input == 1 + FRAME_TOKENS


def test_what_no_mark_covers_is_neither_read_nor_written() -> None:
    usage = marked_prompt([PromptPart(10, cache_ttl="5m"), PromptPart(20), PromptPart(5, by_model=True), PromptPart(7)])
    assert (usage.cache_read, usage.cache_write, usage.fresh_input) == (10, 0, 32 + FRAME_TOKENS)
