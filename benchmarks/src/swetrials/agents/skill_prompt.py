"""The prompt for agents to which a skill is best brought as plain text."""

from swetrials.agents.base import Job, Skill
from swetrials.agents.skill_file import instructions_in

_PARAMETERS = "$ARGUMENTS"


def prompt_with_skill(job: Job) -> str:
    """Return a job's prompt with its skill's instructions around it.

    The prompt stands where the skill says ``$ARGUMENTS``, else after it. The front matter is left out.
    """
    return job.prompt if job.skill is None else _filled(job.skill, job.prompt)


def _filled(skill: Skill, parameters: str) -> str:
    instructions = instructions_in(skill.text)
    if _PARAMETERS not in instructions:
        return f"{instructions.rstrip()}\n\n{parameters}"
    return instructions.replace(_PARAMETERS, parameters)
