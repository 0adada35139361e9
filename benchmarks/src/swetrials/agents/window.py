"""How a conversation is kept inside the window of the model that serves it."""

from dataclasses import dataclass

from swetrials.records.config import RunnerConfig
from swetrials.wire.route import Route

_LARGEST_RESERVE = 32_000
_OUTPUT_SHARE = 6
# What Claude Code asks for itself, and the share of a small window that still leaves room for the work.


@dataclass(frozen=True)
class Window:
    """A model's window, in tokens, and how it is shared out.

    ``output`` is what one response may have, ``compact_at`` the prompt above which a conversation is to be compacted.
    """

    tokens: int
    output: int
    compact_at: int

    @classmethod
    def of(cls, route: Route, config: RunnerConfig) -> "Window | None":
        """Return how a window is shared out, or ``None`` where nobody knows how large it is.

        A response may have ``max_output_tokens``, else a sixth of the window and at most 32,000. A conversation is
        compacted above ``window * auto_compact_fraction`` less that, so that prompt and response fit together.
        """
        tokens = route.context_window or config.context_window
        if tokens is None:
            return None
        output = config.max_output_tokens or min(_LARGEST_RESERVE, tokens // _OUTPUT_SHARE)
        return cls(tokens, output, max(1, int(tokens * config.auto_compact_fraction) - output))
