"""Names of models: every spelling of one is understood, and no two versions are taken for each other."""

from collections.abc import Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fixtures.route_file import SKILL, load_route
from swetrials.records.models import ModelRegistry
from swetrials.store.documents import load_document
from swetrials.store.project import find_project

ROUTE = load_route()
MEASURED = [entry["model"] for entry in ROUTE.load_models(SKILL / "models.json")["models"]]
ALIASES = ROUTE.load_aliases(SKILL / "model-aliases.json")


def meant(name: str, models: Sequence[str] = MEASURED) -> list[str]:
    """Return the models that a name stands for: those left when it alone is available."""
    entries = [{"model": model, "mean_score": 50.0, "mean_cost_usd": 1.0} for model in models]
    answer = ROUTE.route(entries, tier="low", floor=0, available=[name], aliases=ALIASES)
    return [candidate["model"] for candidate in answer["cleared_floor"]]


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("claude-opus-5", "claude-opus-5"),
        ("opus-5", "claude-opus-5"),
        ("Claude Opus 5", "claude-opus-5"),
        ("anthropic/claude_opus.5", "claude-opus-5"),
        ("anthropic-claude-opus-5", "claude-opus-5"),
        ("us.anthropic.claude-opus-5-20260101-v1:0[1m]", "claude-opus-5"),
        ("us-gov.anthropic.claude-opus-5", "claude-opus-5"),
        ("bedrock/eu.anthropic.claude-opus-5-v1:0:200k", "claude-opus-5"),
        ("arn:aws:bedrock:us-east-1:123:inference-profile/global.anthropic.claude-opus-5", "claude-opus-5"),
        ("claude-opus-5@20260101", "claude-opus-5"),
        ("claude-opus-5-2026-01-01", "claude-opus-5"),
        ("claude-opus-4.6", "claude-opus-4-6"),
        ("global.anthropic.claude-opus-4-6-v1", "claude-opus-4-6"),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5"),
        ("deepseek.v3.2", "deepseek-v3.2"),
        ("deepseek-ai/DeepSeek-V3.2", "deepseek-v3.2"),
        ("minimax.minimax-m2.5", "minimax-m2.5"),
        ("mistral.devstral-2-123b", "devstral-2-123b"),
        ("moonshotai/Kimi-K2.7-Code", "kimi-k2.7-code"),
        ("zai.glm-5.3", "glm-5.3"),
        ("google.gemma-4-31b", "gemma-4-31b"),
        ("Qwen/Qwen3-Coder-30B-A3B-Instruct", "qwen3-coder-30b"),
        ("qwen.qwen3-coder-30b", "qwen3-coder-30b"),
        ("qwen3-coder:30b", "qwen3-coder-30b"),
        ("qwen-3.6-35b", "qwen3.6-35b"),
        ("/models/qwen3.8-27b/", "qwen3.8-27b"),
    ],
)
def test_a_spelling_that_is_in_use(name: str, model: str) -> None:
    assert meant(name) == [model]


@pytest.mark.parametrize(
    "name",
    [
        "claude-opus-45",
        "claude-opus-4",
        "claude-opus-4-55",
        "claude-opus",
        "opus",
        "qwen3-coder-480b",
        "qwen3-coder",
        "qwen36-35b",
        "deepseek-v32",
        "deepseek-v3",
        "minimax-m25",
        "kimi-k2.7",
        "glm-5.2",
        "glm-5.3-flash",
        "command-r+",
        "[1m]",
        "/",
    ],
)
def test_what_only_looks_alike_is_nobody(name: str) -> None:
    assert meant(name) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("claude-opus-4-5", "claude-opus-4-6"),
        ("qwen3-coder-30b", "qwen3-coder-480b"),
        ("qwen3.5-7b", "qwen35-7b"),
        ("gpt-5", "gpt-5-mini"),
        ("nemotron-nano-9b", "nemotron-nano-9b-v2"),
        ("claude-v2:1", "claude-v2"),
        ("command-r", "command-r+"),
        ("qwen3-235b", "qwen3-235b-2507"),
        ("deepseek-v3", "deepseek-v3.1"),
    ],
)
def test_two_models_stay_two(one: str, other: str) -> None:
    assert ROUTE.name_key(one) != ROUTE.name_key(other)


_prefixes = st.sampled_from(
    [
        "",
        "us.anthropic.",
        "eu.openai.",
        "global.amazon.",
        "anthropic/",
        "openrouter/google/",
        "bedrock/us.meta.",
        "x-ai/",
    ]
)
_suffixes = st.sampled_from(
    ["", "-20260101", "@20260101", "-2026-01-31", "-20260101-v1:0", "-v1", "-v1:0", "-v1:0:48k"]
)
_hints = st.sampled_from(["", "[1m]", " [200k]"])


@st.composite
def spelled(draw: st.DrawFn, parts: Sequence[str]) -> str:
    """Draw a spelling of a name that is made of these parts."""
    separators = [draw(st.sampled_from(["-", "_", ".", " "])) for _ in parts[1:]]
    name = parts[0] + "".join(separator + part for separator, part in zip(separators, parts[1:], strict=True))
    name = name.upper() if draw(st.booleans()) else name
    return draw(_prefixes) + name + draw(_suffixes) + draw(_hints)


@st.composite
def _parts(draw: st.DrawFn) -> tuple[str, ...]:
    """Draw a model's name in parts: a family, version numbers, and perhaps a size or a flavour."""
    family = draw(
        st.sampled_from([("claude", "opus"), ("claude", "sonnet"), ("gpt",), ("glm",), ("kimi", "k"), ("m",)])
    )
    version = draw(st.lists(st.integers(0, 99).map(str), min_size=1, max_size=3))
    return (*family, *version, *draw(st.sampled_from([(), ("8b",), ("80b",), ("mini",), ("code",), ("code", "8b")])))


@given(data=st.data(), parts=_parts())
def test_spellings_of_one_model_are_one(data: st.DataObject, parts: tuple[str, ...]) -> None:
    one, other = data.draw(spelled(parts)), data.draw(spelled(parts))
    assert ROUTE.name_key(one) == ROUTE.name_key(other)


@given(data=st.data(), one=_parts(), other=_parts())
def test_spellings_of_two_models_are_two(data: st.DataObject, one: tuple[str, ...], other: tuple[str, ...]) -> None:
    assume(one != other)
    assert ROUTE.name_key(data.draw(spelled(one))) != ROUTE.name_key(data.draw(spelled(other)))


@given(st.text(max_size=40))
def test_any_text_has_a_key(name: str) -> None:
    assert isinstance(ROUTE.name_key(name), str)


def test_an_exact_spelling_goes_before_a_likeness() -> None:
    dated = ["claude-3-5-sonnet-20240620", "claude-3-5-sonnet-20241022"]
    assert meant("claude-3-5-sonnet-20241022", dated) == [dated[1]]


def test_a_name_that_may_mean_two_is_said_and_neither_is_taken() -> None:
    dated = ["claude-3-5-sonnet-20240620", "claude-3-5-sonnet-20241022"]
    entries = [{"model": model, "mean_score": 50.0, "mean_cost_usd": 1.0} for model in dated]
    answer = ROUTE.route(entries, tier="low", floor=0, allowed=["claude-3.5-sonnet"])
    assert answer["status"] == "no_candidates"
    assert {one["model"]: one["reason"] for one in answer["excluded"]} == {
        "claude-3.5-sonnet": f"allowed, but it may mean {dated[0]} or {dated[1]}: write which",
        dated[0]: "not on the allow list",
        dated[1]: "not on the allow list",
    }


def test_an_alias_works_both_ways() -> None:
    assert meant("qwen3-coder-30b", ["Qwen3-Coder-30B-A3B-Instruct"]) == ["Qwen3-Coder-30B-A3B-Instruct"]


def test_an_alias_of_two_models_is_an_error() -> None:
    with pytest.raises(ROUTE.RouteError, match="'a' and 'b' share a name"):
        ROUTE.route([], tier="low", floor=0, allowed=["a"], aliases={"a": ["x-1"], "b": ["X.1"]})


def test_every_repository_that_can_be_served_is_known_by_name() -> None:
    unknown = [
        model.repository
        for model in load_document(find_project().config / "models.yaml", ModelRegistry).models
        if meant(model.repository, [model.served_name]) != [model.served_name]
    ]
    assert unknown == []


def test_the_allow_list_that_comes_with_it_names_every_measured_model_and_no_other() -> None:
    named = [meant(name) for name in ROUTE.load_allowed(SKILL / "allowed-models.txt")]
    assert sorted(named) == [[model] for model in sorted(MEASURED)]
