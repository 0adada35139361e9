"""What a conversation's opening tells the scripted model: parameters and the working directory."""

import logging
import re

log = logging.getLogger(__name__)

_PLACEHOLDER = re.compile(r"\$\{(\w+)\}")
_VALUE = r"""[ \t]*[:=][ \t]*(?:"([^"\n]+)"|'([^'\n]+)'|([^\s<>"'`,;]+))"""

# Claude Code 2.1 writes "Primary working directory:", Codex 0.171 a <cwd> element, others "Working directory:".
_WORKING_DIRECTORY = (
    re.compile(r"^\W*Primary working directory: *(/.*?) *$", re.MULTILINE),
    re.compile(r"<cwd>(/[^<]*)</cwd>"),
    re.compile(r"working directory: *(/.*?) *$", re.MULTILINE | re.IGNORECASE),
)


def parameter(opening: str, name: str) -> str | None:
    """Return the first ``name: value`` or ``name=value`` of the opening.

    A value is one word; one with spaces stands in quotes. A name in backticks or after a dollar sign is
    documentation of the parameter, not the parameter.
    """
    found = re.search(rf"(?<![\w.$`{{-]){re.escape(name)}{_VALUE}", opening)
    return next((value for value in found.groups() if value), None) if found else None


def fill(text: str, opening: str) -> str:
    """Replace each ``${name}`` by the opening's parameter of that name; an unknown one stays, and is logged."""

    def value(found: re.Match[str]) -> str:
        known = parameter(opening, found[1])
        if known is None:
            log.info("the opening has no parameter %r: %s stays as it is", found[1], found[0])
            return found[0]
        return known

    return _PLACEHOLDER.sub(value, text)


def knows(text: str, opening: str) -> bool:
    """Whether the opening has a parameter for each ``${name}`` in a text."""
    return all(parameter(opening, name) is not None for name in _PLACEHOLDER.findall(text))


def working_directory(opening: str) -> str | None:
    """Return where the agent works: its ``checkout`` parameter, else what the agent's own prompt says."""
    checkout = parameter(opening, "checkout")
    if checkout is not None and checkout.startswith("/"):
        return checkout
    matches = (pattern.search(opening) for pattern in _WORKING_DIRECTORY)
    return next((found[1] for found in matches if found), None)
