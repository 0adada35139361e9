"""The limits and permissions of a run that change what an agent can do, and so what a trial measures."""

from typing import Self

from swetrials.records.config import RunnerConfig
from swetrials.records.record import Record


class Limits(Record):
    """What two trials must share to be compared, beside model, agent, skill and task.

    How often something is tried again is not among it, nor how many trials run at a time.
    """

    max_turns: int | None = None
    max_output_tokens: int | None = None
    max_topups: int
    max_attempt_budget_usd: float | None = None
    context_window: int | None = None
    auto_compact_fraction: float
    timeout_seconds: float
    idle_timeout_seconds: float
    repo_instructions: str = "keep"
    permission_mode: str
    allowed_tools: tuple[str, ...]
    settings_sha256: str | None = None

    @classmethod
    def of(cls, config: RunnerConfig, settings_sha256: str | None) -> Self:
        """Return the limits of a configuration.

        Args:
            config: of the run.
            settings_sha256: of the text in ``settings_file``, where there is one.
        """
        named = {name: getattr(config, name) for name in cls.model_fields if name != "settings_sha256"}
        return cls.model_validate({**named, "settings_sha256": settings_sha256})
