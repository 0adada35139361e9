"""The names under which each dialect tells its counts, and where each name comes from.

Nothing else is read as a count. ``docs/usage.md`` has an example for each name, and a test tries them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from swetrials.wire.usage import JsonObject, count, mapping

OPENAI_REFERENCE = "developers.openai.com/api/reference"
ANTHROPIC_REFERENCE = "platform.claude.com/docs/en/api/messages"
BEDROCK_REFERENCE = "docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_TokenUsage.html"
LITELLM = "docs.litellm.ai/docs/completion/prompt_caching; litellm 1.108.7, types/utils.py"


@dataclass(frozen=True)
class Spelling:
    """One name of one count: the keys that lead to it from the usage object, and who uses it."""

    path: str
    source: str


Spellings = Mapping[str, tuple[Spelling, ...]]
"""By what is counted; the names of one count in any order, for they have to agree where several are told."""

OPENAI_CHAT: Spellings = {
    "prompt": (Spelling("prompt_tokens", OPENAI_REFERENCE),),
    "read": (
        Spelling("prompt_tokens_details.cached_tokens", OPENAI_REFERENCE),
        Spelling("cached_tokens", "platform.kimi.ai/docs; AstrBotDevs/AstrBot issue 6614"),
        Spelling("num_cached_tokens", "docs.mistral.ai/api; vercel/ai pull request 14889"),
        Spelling("prompt_token_details.cached_tokens", "docs.mistral.ai/api; vercel/ai pull request 14889"),
        Spelling("prompt_cache_hit_tokens", "api-docs.deepseek.com/guides/kv_cache"),
        Spelling("cache_read_input_tokens", LITELLM),
    ),
    "miss": (Spelling("prompt_cache_miss_tokens", "api-docs.deepseek.com/guides/kv_cache"),),
    "write": (
        Spelling("prompt_tokens_details.cache_write_tokens", "openrouter.ai/docs/use-cases/usage-accounting"),
        Spelling("prompt_tokens_details.cache_creation_tokens", LITELLM),
        Spelling("cache_creation_input_tokens", LITELLM),
        Spelling(
            "prompt_tokens_details.cache_creation_input_tokens", "alibabacloud.com/help/model-studio/context-cache"
        ),
    ),
    "write_5m": (
        Spelling("prompt_tokens_details.cache_creation_token_details.ephemeral_5m_input_tokens", LITELLM),
        Spelling(
            "prompt_tokens_details.cache_creation.ephemeral_5m_input_tokens",
            "alibabacloud.com/help/model-studio/context-cache",
        ),
    ),
    "write_1h": (Spelling("prompt_tokens_details.cache_creation_token_details.ephemeral_1h_input_tokens", LITELLM),),
    "output": (Spelling("completion_tokens", OPENAI_REFERENCE),),
    "reasoning": (Spelling("completion_tokens_details.reasoning_tokens", OPENAI_REFERENCE),),
    "total": (Spelling("total_tokens", OPENAI_REFERENCE),),
}

OPENAI_RESPONSES: Spellings = {
    "prompt": (Spelling("input_tokens", OPENAI_REFERENCE),),
    "read": (
        Spelling("input_tokens_details.cached_tokens", OPENAI_REFERENCE),
        Spelling("cache_read_input_tokens", LITELLM),
    ),
    "write": (
        Spelling("input_tokens_details.cache_write_tokens", "openai/openai-python, types/responses/response_usage.py"),
        Spelling("input_tokens_details.cache_creation_tokens", LITELLM),
        Spelling("cache_creation_input_tokens", LITELLM),
    ),
    "output": (Spelling("output_tokens", OPENAI_REFERENCE),),
    "reasoning": (Spelling("output_tokens_details.reasoning_tokens", OPENAI_REFERENCE),),
    "total": (Spelling("total_tokens", OPENAI_REFERENCE),),
}

ANTHROPIC: Spellings = {
    "fresh_input": (Spelling("input_tokens", ANTHROPIC_REFERENCE),),
    "cache_read": (Spelling("cache_read_input_tokens", ANTHROPIC_REFERENCE),),
    "cache_write": (Spelling("cache_creation_input_tokens", ANTHROPIC_REFERENCE),),
    "cache_write_5m": (Spelling("cache_creation.ephemeral_5m_input_tokens", ANTHROPIC_REFERENCE),),
    "cache_write_1h": (Spelling("cache_creation.ephemeral_1h_input_tokens", ANTHROPIC_REFERENCE),),
    "output": (Spelling("output_tokens", ANTHROPIC_REFERENCE),),
    "reasoning": (Spelling("output_tokens_details.thinking_tokens", "the usage that Claude Code 2.1 reads"),),
}

CONVERSE: Spellings = {
    "fresh_input": (Spelling("inputTokens", BEDROCK_REFERENCE),),
    "cache_read": (Spelling("cacheReadInputTokens", BEDROCK_REFERENCE),),
    "cache_write": (Spelling("cacheWriteInputTokens", BEDROCK_REFERENCE),),
    "output": (Spelling("outputTokens", BEDROCK_REFERENCE),),
    "total": (Spelling("totalTokens", BEDROCK_REFERENCE),),
}


class Vocabulary:
    """Finds the counts of a usage object by the names that a dialect knows."""

    def __init__(self, spellings: Spellings) -> None:
        self._paths = {what: [tuple(each.path.split(".")) for each in names] for what, names in spellings.items()}

    def counts(self, usage: JsonObject) -> tuple[dict[str, int], list[str]]:
        """Return what is counted, and what is in doubt.

        Where several names of one count disagree, the greatest stands. A value under a known name that is no count
        (a text, a fraction, a negative number) is unknown, and says that there was something to know.
        """
        told: dict[str, int] = {}
        doubts: list[str] = []
        for what, paths in self._paths.items():
            for path in paths:
                found = _at(usage, path)
                value = count(found)
                if value is None:
                    if found is not None:
                        doubts.append(f"{'.'.join(path)} is no count")
                    continue
                if told.setdefault(what, value) != value:
                    doubts.append(f"{'.'.join(path)} is told otherwise under another name")
                    told[what] = max(told[what], value)
        return told, doubts


def _at(usage: JsonObject, path: tuple[str, ...]) -> object:
    """Return what stands at a path, or in its way; ``None`` where nothing does."""
    found: object = usage
    for key in path:
        if not isinstance(found, dict):
            return found or None
        found = found.get(key)
    return found


def counters(value: object, prefix: str = "") -> Iterator[tuple[str, int]]:
    """Yield the counters in an object that are more than 0, by their own names."""
    for name, each in mapping(value).items():
        if number := count(each):
            yield f"{prefix}{name}", number
