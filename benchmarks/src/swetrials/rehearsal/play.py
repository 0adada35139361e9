"""Which script plays in a conversation, which step comes next, and what the model then says and does."""

import posixpath
from dataclasses import dataclass

from swetrials.rehearsal import tools
from swetrials.rehearsal.conversation import Call, Conversation, ScriptedReply, Stop
from swetrials.rehearsal.parameters import fill, knows, working_directory
from swetrials.rehearsal.scenario import Action, Fault, Scenario, Script, ScriptStep

UNSCRIPTED = "Ready. No script of this rehearsal fits the conversation."
CLOSING = "That is all; the script ends here."
PROBED = "Yes"
"""The one token that a request with room for one token gets."""


@dataclass(frozen=True)
class Cue:
    """The place in a scenario that a request asks for; no script where none fits."""

    script: Script | None
    step: int | None
    fault: Fault | None


def find_cue(scenario: Scenario, conversation: Conversation, key: str) -> Cue:
    """Return the place that a request asks for.

    The next step is told from the request alone, so a repeated request gets the same step again. Repeats of a task ask
    the same: what tells them apart is the key, which names the attempt (``rehearsal-slugify-unicode--r2-1-0a1b2c3d``).
    """
    for script in scenario.scripts:
        if script.when in conversation.opening or script.when in key:
            asked = _as_asked(script, conversation.opening)
            return Cue(asked, conversation.turn, scenario.fault or script.fault)
    return Cue(None, None, None)


def _as_asked(script: Script, opening: str) -> Script:
    """Return a script without the files that it would write into a place of which the opening does not tell.

    So one script does for a skill that asks for documents and for one that does not. A step is left out with the last
    of its actions.
    """
    steps = []
    for step in script.steps:
        actions = tuple(action for action in step.actions if action.write is None or knows(action.write.path, opening))
        if len(actions) == len(step.actions):
            steps.append(step)
        elif actions:
            steps.append(step.model_copy(update={"all": actions}))
    return script.model_copy(update={"steps": tuple(steps)})


def perform(cue: Cue, conversation: Conversation) -> ScriptedReply:
    """Return the response that the script has at a place, carried out with the tools the agent offers."""
    if conversation.max_tokens == 1:
        return ScriptedReply(conversation.model, conversation.prompt, PROBED, stop=Stop.MAX_TOKENS)
    if cue.script is None or cue.step is None:
        return _say(UNSCRIPTED, conversation)
    if cue.step >= len(cue.script.steps):
        return _say(CLOSING, conversation)
    return _perform_step(cue.script.steps[cue.step], conversation)


def _say(text: str, conversation: Conversation) -> ScriptedReply:
    return ScriptedReply(conversation.model, conversation.prompt, text)


def _perform_step(step: ScriptStep, conversation: Conversation) -> ScriptedReply:
    said = [fill(step.say, conversation.opening)] if step.say else []
    calls: list[Call] = []
    for action in step.actions:
        filled = _fill_action(action, conversation.opening)
        try:
            calls += tools.calls(filled, conversation.tools)
        except tools.NoTool:
            said.append(f"No tool is offered that could do this: {filled.model_dump_json(exclude_none=True)}")
    stop = Stop.TOOL_USE if calls else Stop.END_TURN
    model = step.model_as or conversation.model
    return ScriptedReply(model, conversation.prompt, "\n".join(said), tuple(calls), stop, told_as=step)


def _fill_action(action: Action, opening: str) -> Action:
    """Return the action with its placeholders filled and its path made absolute where that is known."""
    directory = working_directory(opening) or ""

    def place(path: str) -> str:
        return posixpath.join(directory, fill(path, opening))

    read, write, edit, shell, tool = action.read, action.write, action.edit, action.shell, action.tool
    if write is not None:
        write = write.model_copy(update={"path": place(write.path), "content": fill(write.content, opening)})
    if edit is not None:
        texts = {"old": fill(edit.old, opening), "new": fill(edit.new, opening)}
        edit = edit.model_copy(update={"path": place(edit.path), **texts})
    if tool is not None:
        filled = {name: fill(v, opening) if isinstance(v, str) else v for name, v in tool.arguments.items()}
        tool = tool.model_copy(update={"arguments": filled})
    return Action(
        read=None if read is None else place(read),
        write=write,
        edit=edit,
        shell=None if shell is None else fill(shell, opening),
        tool=tool,
    )
