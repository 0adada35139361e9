"""The prompt for agents to which a skill is best brought as plain text."""

import re

from swetrials.agents.base import Job, Skill

_FRONT_MATTER = re.compile(r"\A---\r?\n.*?^---[ \t]*(?:\r?\n|\Z)\s*", re.DOTALL | re.MULTILINE)
_PARAMETERS = "$ARGUMENTS"


def prompt_with_skill(job: Job) -> str:
    """Return a job's prompt with its skill's instructions around it.

    The prompt stands where the skill says ``$ARGUMENTS``, else after it. The front matter, which is there for
    agents that choose among skills, is left out: so the text never opens with ``---``.
    """
    return job.prompt if job.skill is None else _filled(job.skill, job.prompt)


def _filled(skill: Skill, parameters: str) -> str:
    instructions = _FRONT_MATTER.sub("", skill.text, count=1)
    if _PARAMETERS not in instructions:
        return f"{instructions.rstrip()}\n\n{parameters}"
    return instructions.replace(_PARAMETERS, parameters)
