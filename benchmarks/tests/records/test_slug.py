"""Model ids as folder names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swetrials.records.record import safe_path_part
from swetrials.records.slug import model_slug

SLUGS = {
    "us.anthropic.claude-opus-5[1m]": "claude-opus-5",
    "global.anthropic.claude-haiku-4-5-20251001-v1:0": "claude-haiku-4-5",
    "us-gov.anthropic.claude-sonnet-5": "claude-sonnet-5",
    "amazon-bedrock/us.anthropic.claude-opus-4-8": "claude-opus-4-8",
    "arn:aws:bedrock:us-east-1:123:inference-profile/us.anthropic.claude-sonnet-5": "claude-sonnet-5",
    "claude-sonnet-4-5@20250929": "claude-sonnet-4-5",
    "moonshotai.kimi-k2.5": "kimi-k2.5",
    "moonshotai.kimi-k2-thinking": "kimi-k2-thinking",
    "qwen.qwen3-coder-480b-a35b-instruct": "qwen3-coder-480b-a35b-instruct",
    "qwen.qwen3-235b-a22b-2507": "qwen3-235b-a22b-2507",
    "deepseek.v3.1": "deepseek.v3.1",
    "us.deepseek.v3.2": "deepseek.v3.2",
    "mistral.devstral-2-123b": "devstral-2-123b",
    "mistral.mistral-large-3-675b-instruct": "mistral-large-3-675b-instruct",
    "minimax.minimax-m2.5": "minimax-m2.5",
    "zai.glm-4.7-flash": "glm-4.7-flash",
    "nvidia.nemotron-super-3-120b": "nemotron-super-3-120b",
    "openai.gpt-5.6-sol": "gpt-5.6-sol",
    "openai.gpt-oss-120b": "gpt-oss-120b",
    "google.gemma-3-27b-it": "gemma-3-27b-it",
    "Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8": "Qwen3-Coder-480B-A35B-Instruct-FP8",
    "moonshotai/Kimi-K2.7-Code": "Kimi-K2.7-Code",
    "mistralai/Devstral-2-123B-Instruct-2512": "Devstral-2-123B-Instruct-2512",
    "hosted_vllm/qwen3-32b": "qwen3-32b",
    "qwen3.6-35b": "qwen3.6-35b",
    "glm-5.2": "glm-5.2",
    "deepseek-v3.2": "deepseek-v3.2",
    "gpt-4o-2024-08-06": "gpt-4o",
    "rehearsal": "rehearsal",
}


@pytest.mark.parametrize(("model", "slug"), SLUGS.items())
def test_real_ids(model: str, slug: str) -> None:
    assert model_slug(model) == slug


@pytest.mark.parametrize("model", ["", "  ", "///", "[1m]", ".."])
def test_an_id_that_leaves_nothing_is_refused(model: str) -> None:
    with pytest.raises(ValueError, match="no name for a folder"):
        model_slug(model)


_ids = st.one_of(
    st.text(max_size=60),
    st.text("abz019.-_/:@[]v", max_size=60),
    st.sampled_from(sorted(SLUGS)).flatmap(lambda model: st.text("abv.-/[]0:", max_size=8).map(model.__add__)),
)


@given(_ids)
def test_a_slug_is_one_safe_folder_name_and_its_own_slug(model: str) -> None:
    try:
        slug = model_slug(model)
    except ValueError:
        return
    assert safe_path_part(slug) == slug
    assert model_slug(slug) == slug
