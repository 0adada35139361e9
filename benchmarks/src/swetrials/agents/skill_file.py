"""What a ``SKILL.md`` holds: front matter, for whoever chooses among skills, and the instructions.

The format is that of agentskills.io/specification: below ``metadata`` stand keys of one's own. ``artifacts`` is ours:
the names of what a trial is to leave, in one line.
"""

import re

from swetrials.records.metrics import EXPECTED_ARTIFACTS

_FRONT_MATTER = re.compile(r"\A---\r?\n.*?^---[ \t]*(?:\r?\n|\Z)\s*", re.DOTALL | re.MULTILINE)
_ARTIFACTS = re.compile(r"^[ \t]+artifacts:(.*)$", re.MULTILINE)


def instructions_in(text: str) -> str:
    """Return a skill without its front matter, so that what an agent is told never opens with ``---``."""
    return _FRONT_MATTER.sub("", text, count=1)


def artifacts_asked_in(text: str) -> tuple[str, ...]:
    """Return the artifacts that a skill asks for, in the order in which they are told everywhere; by default all.

    Raises:
        ValueError: it names none, or one that no trial can leave.
    """
    front = _FRONT_MATTER.match(text)
    found = _ARTIFACTS.search(front[0]) if front else None
    if found is None:
        return EXPECTED_ARTIFACTS
    named = re.findall(r"[^\s,'\"\[\]]+", found[1])
    if unknown := [name for name in named if name not in EXPECTED_ARTIFACTS]:
        raise ValueError(f"artifacts: {unknown[0]!r} is none; there are: {', '.join(EXPECTED_ARTIFACTS)}")
    if not named:
        raise ValueError(f"artifacts: names none in its line; there are: {', '.join(EXPECTED_ARTIFACTS)}")
    return tuple(name for name in EXPECTED_ARTIFACTS if name in named)
