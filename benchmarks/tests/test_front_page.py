"""What the front page shows of the demo is what the demo prints today, but for figures that depend on the machine."""

import io
import re

from rich.console import Console

from swetrials.cli.rendering import show_summary
from swetrials.results.summary import read_trials, summarize
from swetrials.store.project import find_project

ROOT = find_project().root
EXAMPLE = ROOT / "swe-benchmark-data" / "example" / "rehearsal" / "claude-code" / "swe3" / "quickstart"
MARKS = re.compile(r"<!-- demo-sample: begin -->\n```\n(.*?)```\n<!-- demo-sample: end -->", re.DOTALL)


def sample() -> list[str]:
    """Return the lines of the front page's sample."""
    [shown] = MARKS.findall((ROOT.parent / "README.md").read_text(encoding="utf-8"))
    return [line for line in str(shown).splitlines() if line]


def shape(lines: list[str]) -> list[str]:
    """Return lines without their tokens, times, shares of times and canaries, and without what pads or frames them.

    There is a canary more where another run goes on beside it.
    """
    changing = r"[\d,.]{5,}|[\d.]+ s\b|(?<=[\d ] )\d{3}(?= )|\d+(?= canaries)|\d+(?=% of it)"
    within = (re.sub(changing, "#", line) for line in lines)
    return [re.sub(r"[━─]+|\s+", " ", line).strip() for line in within]


def printed() -> list[str]:
    """Return what the worked example's summary, of the same tasks and scripts, looks like on a terminal."""
    out = io.StringIO()
    show_summary(Console(file=out, highlight=False, width=200), summarize(read_trials(EXAMPLE)))
    return out.getvalue().splitlines()


def test_the_summary_on_the_front_page_is_of_todays_form() -> None:
    summary = shape(printed())
    shown = shape(sample())
    begins = shown.index(summary[0])
    assert shown[begins : begins + len(summary)] == summary


def test_every_task_is_told_to_its_end() -> None:
    shown = "\n".join(sample())
    for task in summarize(read_trials(EXAMPLE)).tasks:
        assert f"{task.task}: done: {task.outcome} · {task.num_turns} turns" in shown
        assert f"{task.task}: codex: {task.task_score:.1f}" in shown
        assert f"{task.task}: tests: {'resolved' if task.tests_passed else 'not resolved'}" in shown
