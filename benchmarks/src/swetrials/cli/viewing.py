"""What a person sees of a plan while it is carried out, from its first line on."""

from functools import partial

from rich.console import Console

from swetrials.cli.progress import ConsoleViewer
from swetrials.results.report import wording as figures
from swetrials.results.report.trace import trace_line
from swetrials.runs.prepared_run import PreparedRun, clear_up


def viewer_of(console: Console, prepared: PreparedRun, skill: str, unit: str, *, stream: bool) -> ConsoleViewer:
    """Clear up after harnesses that died, say what is going to run, and return who shows the rest.

    Args:
        console: where it is shown.
        prepared: what runs.
        skill: what the agents follow.
        unit: what one of the planned things is called.
        stream: also show what the agents do.
    """
    viewer = ConsoleViewer(console, partial(trace_line, redacted=prepared.place.redactor.text) if stream else None)
    clear_up(prepared.place.work_root, viewer.say)
    config = prepared.config
    label = " · REHEARSAL (scripted model, free)" if prepared.provider.scripted else ""
    viewer.say(
        f"{config.model} by {config.provider} · {prepared.agent.folder} · {skill} · "
        f"{prepared.plan.dataset.dataset.name}: {figures.counted(len(prepared.plan.trials), unit)}{label}"
    )
    return viewer
