"""Three models of different quality on the quickstart, with their tests as the only judge: all that ranks them."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal

from e2e.harness import BENCHMARKS, QUICKSTART, Workplace, needs_agent
from swetrials.rehearsal import RehearsalServer, Scenario, rehearse
from swetrials.rehearsal.scenario import EditFile, Script, ScriptStep
from swetrials.store.documents import load_document

pytestmark = [pytest.mark.slow, needs_agent("claude")]

ROUTE = BENCHMARKS.parent / ".claude" / "skills" / "swe-router" / "route.py"
SCRIPTED = load_document(QUICKSTART.with_suffix("") / "scenario.yaml", Scenario)
"""Resolves two of the three tasks; in one of them it leaves documents out."""

ACCENTS = Script(
    when="task_id: slugify-unicode",
    steps=(
        ScriptStep(read="title_slug/slug.py"),
        ScriptStep(
            edit=EditFile(
                path="title_slug/slug.py",
                old="slug = _SEPARATORS.sub(\"-\", title.lower())",
                new="slug = _SEPARATORS.sub(\"-\", _to_ascii(title.lower()))",
            )
        ),
        ScriptStep(
            edit=EditFile(
                path="title_slug/slug.py",
                old="def _shortened(",
                new='''\
def _to_ascii(text: str) -> str:
    letters = str.maketrans({"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ł": "l", "þ": "th"})
    decomposed = unicodedata.normalize("NFKD", text).translate(letters)
    return "".join(character for character in decomposed if not unicodedata.combining(character))


def _shortened(''',
            )
        ),
        ScriptStep(edit=EditFile(path="title_slug/slug.py", old="import re\n", new="import re\nimport unicodedata\n")),
        ScriptStep(say="Letters keep their place without their accents."),
    ),
)
LAZY = tuple(
    Script(when=f"task_id: {task}", steps=(ScriptStep(say="I would have to think about that."),))
    for task in ("word-tally", "slugify-unicode", "temperature-table")
)
MODELS = {
    "claude-opus-4-5": SCRIPTED.model_copy(update={"scripts": (ACCENTS, *SCRIPTED.scripts)}),
    "claude-sonnet-4-5": SCRIPTED,
    "claude-haiku-4-5": SCRIPTED.model_copy(update={"scripts": LAZY}),
}
"""The best first: three, two and none of the tasks."""


@contextmanager
def endpoint(model: str) -> Iterator[RehearsalServer]:
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(rehearse(MODELS[model], model=model)) as server,
    ):
        yield server


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    """Return where each of them has done each task twice, and the tests have judged."""
    made = Workplace(tmp_path_factory.mktemp("ranked"), {"SWETRIALS_API_KEY": "key-of-the-endpoint"})
    for model in MODELS:
        with endpoint(model) as server:
            route = ["--provider", "endpoint", "--endpoint", server.base_url, "--model", model]
            words = ["run", *route, "--dataset", QUICKSTART, "--skip-probe", "--repeats", "2", "--concurrency", "2"]
            done = made.run(*words, timeout_seconds=300)
            assert done.returncode in {0, 1}, done.stdout + done.stderr
    judged = made.run("judge", "--recursive", "--folder", made.results, "--judge", "tests", timeout_seconds=300)
    assert judged.returncode == 0, judged.stdout + judged.stderr
    return made


def test_x(place: Workplace) -> None:
    print(place.root)
