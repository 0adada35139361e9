"""Members of families that are not ours: how they are found, what is said where they cannot be, who may name them."""

import subprocess
import sys
from pathlib import Path

import pytest

from swetrials.agents import AGENTS
from swetrials.environments import ENVIRONMENTS, environment_for
from swetrials.environments.base import Absence, sandbox_name
from swetrials.environments.bubblewrap import probe
from swetrials.errors import KnownError
from swetrials.hosting import PROVIDERS
from swetrials.judging import JUDGES
from swetrials.plugins import PluginError
from swetrials.records.config import RunnerConfig
from swetrials.store.documents import load_dataset
from swetrials.store.project import find_project
from swetrials.trials.executors import EXECUTORS

EXAMPLES = find_project().root / "examples"
PLUGINS = find_project().root / "tests" / "plugins"
QUICKSTART = find_project().dataset / "quickstart.yaml"


def module(folder: Path, name: str, text: str) -> None:
    (folder / f"{name}.py").write_text(text)


def test_code_in_the_folder_of_the_command_is_an_agent_by_its_module_and_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES)
    agent = AGENTS.named("own_agent:Scribe")
    assert (agent.name, agent.package.version) == ("scribe", "1.0")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("clade", "agent: 'clade' is not one of claude, codex, omp, opencode, pi"),
        ("no_such_module:Me", "agent: no_such_module:Me cannot be loaded: ModuleNotFoundError"),
        ("json:Nonsuch", "agent: json:Nonsuch cannot be loaded: AttributeError"),
        ("json:loads", "agent: json:loads lacks check_settings, dialects, folder, launch"),
        ("json:", "agent: 'json:' is not one of"),
        (":loads", "agent: ':loads' is not one of"),
        ("../evil:Me", "agent: '../evil:Me' is not one of"),
        ("os:system('true')", 'agent: "os:system'),
        ("swetrials.agents.pi.driver:Pi", "has the name of another, 'pi'"),
    ],
)
def test_what_is_no_agent_is_told_in_one_line(name: str, said: str) -> None:
    with pytest.raises(PluginError) as raised:
        AGENTS.named(name)
    assert said in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.parametrize("text", ["raise RuntimeError('two\\nlines')", "def f(:", "import nothing_of_that_name"])
def test_a_module_that_fails_is_told_in_one_line(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module(tmp_path, "fails_when_loaded", text)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PluginError, match=r"^provider: fails_when_loaded:Me cannot be loaded: \w+: [^\n]+$"):
        PROVIDERS.named("fails_when_loaded:Me")


def test_a_class_that_cannot_be_made_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module(tmp_path, "wants_arguments", "class Me:\n    def __init__(self, word):\n        pass\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PluginError, match=r"wants_arguments:Me\(\) fails: TypeError"):
        EXECUTORS.named("wants_arguments:Me")


def test_a_judge_is_what_makes_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module(tmp_path, "no_judges", "value = 3\nclass Half:\n    name = 'half'\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PluginError, match="no_judges:value cannot be called"):
        JUDGES.named("no_judges:value")
    with pytest.raises(PluginError, match="no_judges:Half lacks asks, prove, score, scored_sha256"):
        JUDGES.named("no_judges:Half")
    assert JUDGES.own == ("codex", "tests")


def test_an_environment_is_what_makes_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PLUGINS / "environment")
    polite = environment_for("polite:Polite", find_project())
    assert (polite.kind, polite.seals, sandbox_name(polite.kind)) == ("polite", False, "polite")
    with pytest.raises(PluginError, match="environment: 'podman' is not one of auto, host, bubblewrap"):
        environment_for("podman", find_project())
    with pytest.raises(PluginError, match="polite:Half lacks checks, command, hand_over, view"):
        environment_for("polite:Half", find_project())


def test_a_dataset_names_no_environment(tmp_path: Path) -> None:
    dataset = tmp_path / "dataset.yaml"
    dataset.write_text(QUICKSTART.read_text() + "\nenvironment: polite:Polite\n")
    with pytest.raises(KnownError, match="environment"):
        load_dataset(dataset)


def test_what_stands_in_a_record_loads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module(tmp_path, "loaded_by_a_record", "raise SystemExit('a record has named code, and it was loaded')")
    monkeypatch.chdir(tmp_path)
    for family in (AGENTS, PROVIDERS, JUDGES, EXECUTORS, ENVIRONMENTS):
        assert "loaded_by_a_record:Me" not in family
        assert family.get("loaded_by_a_record:Me") is None


def test_a_module_that_ends_the_program_or_moves_the_search_path_is_told_and_leaves_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module(tmp_path, "ends_the_program", "import sys\nsys.path.append('of-its-own')\nraise SystemExit(7)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(PluginError, match="ends_the_program:Me cannot be loaded: SystemExit: 7"):
        AGENTS.named("ends_the_program:Me")
    assert str(tmp_path) not in sys.path and "of-its-own" in sys.path


def test_a_member_with_the_results_folder_of_ours_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (EXAMPLES / "own_agent.py").read_text().replace('folder = "scribe"', 'folder = "claude-code"')
    module(tmp_path, "mixes_results", text.replace("name = folder", 'name = "mixer"; folder'))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PluginError, match="has the folder of another, 'claude-code'"):
        AGENTS.named("mixes_results:Scribe")


def test_what_the_user_has_named_is_among_the_members_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES)
    agent = AGENTS.named("own_agent:Scribe")
    assert agent in AGENTS.values()  # so that what is left of a killed attempt finds its reader


def test_a_stream_that_was_cut_gives_no_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES)
    reader = AGENTS.named("own_agent:Scribe").reader()
    assert [*reader.feed(b'{"scribe": {"id": "m'), *reader.finish()] == []


@pytest.mark.skipif(isinstance(probe(), Absence), reason="there is no sandbox here that could hide anything")
def test_an_agent_in_a_folder_that_has_to_be_hidden_is_told_in_one_line(tmp_path: Path) -> None:
    text = (EXAMPLES / "own_agent.py").read_text()
    everything = 'Program("scribe", "1.0", Path(__file__), Path("/"))'
    module(tmp_path, "shows_everything", text.replace('Program("scribe", "1.0", Path(__file__))', everything))
    (tmp_path / "shows_everything.py").chmod(0o755)
    words: list[str | Path] = [
        "run",
        "--dry-run",
        "--agent",
        "shows_everything:Scribe",
        "--dataset",
        QUICKSTART,
        "--sandbox",
        "bubblewrap",
    ]
    program = Path(sys.executable).with_name("swetrials")
    done = subprocess.run([program, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.startswith("the sandbox cannot hide ") and done.stderr.count("\n") == 1


def test_the_configuration_takes_names_of_all_four_places() -> None:
    named = RunnerConfig(agent="my:Agent", provider="my:Provider", executor="my:Executor", environment="my:Cell")
    assert (named.agent, named.provider, named.executor) == ("my:Agent", "my:Provider", "my:Executor")
    assert named.environment == "my:Cell"
