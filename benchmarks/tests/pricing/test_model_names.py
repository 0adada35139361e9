"""Many spellings of one model, one price; similar models, none."""

import pytest

from swetrials.pricing.model_names import places, price_name, spellings


@pytest.mark.parametrize(
    "model",
    [
        "claude-opus-4-6",
        "Claude-Opus-4-6",
        "claude-opus-4-6-v1",
        "anthropic.claude-opus-4-6-v1:0",
        "us.anthropic.claude-opus-4-6-v1[1m]",
        "global.anthropic.claude-opus-4-6-20260205-v1:0",
        "anthropic/claude-opus-4-6",
        "bedrock/eu.anthropic.claude-opus-4-6",
        "claude-opus-4-6@20260205",
        "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-opus-4-6-v1",
    ],
)
def test_spellings_of_one_model_share_a_name(model: str) -> None:
    assert price_name(model) == "claude-opus-4-6"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("claude-opus-5", "claude-opus-5-5"),
        ("deepseek.v3.1", "deepseek.v3.2"),
        ("nvidia.nemotron-nano-9b-v2", "nvidia.nemotron-nano-9b-v3"),
        ("qwen3.6-35b", "qwen3-35b"),
        ("qwen.qwen3-coder-30b-a3b-instruct", "qwen.qwen3-coder-30b-a3b"),
    ],
)
def test_other_models_have_other_names(first: str, second: str) -> None:
    assert price_name(first) != price_name(second)


def test_the_most_specific_spelling_comes_first() -> None:
    assert spellings("bedrock/US.anthropic.claude-opus-5[1m]") == (
        "bedrock/us.anthropic.claude-opus-5",
        "us.anthropic.claude-opus-5",
        "claude-opus-5",
    )


@pytest.mark.parametrize(
    ("model", "region", "expected"),
    [
        ("claude-opus-5", None, ()),
        ("anthropic.claude-opus-5", "eu-west-1", ("eu-west-1", "eu")),
        ("eu.anthropic.claude-opus-5", "eu-west-1", ("eu-west-1", "eu")),
        ("global.anthropic.claude-opus-5", "eu-west-1", ("global",)),
        ("us.anthropic.claude-opus-5", None, ("us",)),
    ],
)
def test_a_profile_says_more_than_the_region_it_is_called_from(
    model: str, region: str | None, expected: tuple[str, ...]
) -> None:
    assert places(model, region) == expected
