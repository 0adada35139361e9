"""What an agent was given, as one hash."""

from collections.abc import Sequence

import orjson

from swetrials.records.dataset import Task
from swetrials.records.limits import Limits
from swetrials.records.metrics import Metrics
from swetrials.store.files import sha256_of
from swetrials.trials.plan import placeless_prompt

_SEEN = {"repo_instructions", "permission_mode", "allowed_tools", "settings_sha256"}


def given_sha256(task: Task, commit: str, skill_sha256: str, artifacts: Sequence[str], limits: Limits) -> str:
    """Return the hash of all that an agent is given in a trial, by content. While it is the same, the trial is valid.

    In it are:

    - the commit, which says what is in the checkout. Neither the repository's address nor the name of the ref is in
      it: both only lead to the commit, so that a moved branch is something else and a branch pinned to the commit
      that it stood for is the same;
    - the prompt: the task's id, its repository's name, complexity, problem statement, issue address and clarifying
      answers, in the template's words;
    - the text of the skill, and the artifacts asked for;
    - the settings that change what the agent sees or may do: ``repo_instructions``, ``permission_mode``,
      ``allowed_tools`` and the content of ``settings_file``.

    Not in it is what scores a trial (``verify``, hidden files, ground truth: see ``Judge.scored_sha256``), nor what its
    commands ran in, which the record tells: where the dataset asks for something else by now, the trial stands and is
    marked (:attr:`~swetrials.trials.resume_state.Standing.prepared_differently`). Model, provider, agent and the limits
    in numbers stand beside it in the fingerprint.

    Args:
        task: as the dataset words it.
        commit: what its ref was resolved to.
        skill_sha256: of the skill's text.
        artifacts: what the skill asks for.
        limits: of the run.
    """
    pinned = task.model_copy(update={"ref": commit})
    given = {
        "commit": commit,
        "prompt": placeless_prompt(pinned, artifacts),
        "skill_sha256": skill_sha256,
        "artifacts": artifacts,
        **limits.model_dump(mode="json", include=_SEEN),
    }
    return sha256_of(orjson.dumps(given, option=orjson.OPT_SORT_KEYS))


def still_given(task: Task, metrics: Metrics) -> bool | None:
    """Return whether a task, as it is worded now, is what a trial's agent was given.

    ``None``: the record is of before there was a hash of it, or does not tell enough.
    """
    told, ran = metrics.trial.given_sha256, metrics.provenance
    if told is None or ran.commit is None or ran.skill_sha256 is None or ran.limits is None:
        return None
    return given_sha256(task, ran.commit, ran.skill_sha256, metrics.artifacts_expected, ran.limits) == told
