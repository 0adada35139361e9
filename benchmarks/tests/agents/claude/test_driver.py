"""How Claude Code is started: its words, its files, and whose settings win."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from swetrials.agents.base import Job, Launch, Skill
from swetrials.agents.claude.driver import ClaudeCode
from swetrials.records.config import RunnerConfig
from swetrials.wire.route import Route

KEY = "sk-secret-123"
HOME = Path("/w/home")


def launch(prompt: str = "Do it.", skill: str | None = "swe3", **config: object) -> Launch:
    job = Job(
        prompt=prompt,
        skill=Skill(skill, "I am the skill.\n") if skill else None,
        route=Route(frozenset({"anthropic"}), "http://127.0.0.1:9", SecretStr(KEY), "some-model"),
        checkout=Path("/w/checkout"),
        home=HOME,
        temporary=Path("/w/tmp"),
        artifacts=Path("/w/artifacts"),
        config=RunnerConfig.model_validate(config),
    )
    return ClaudeCode().launch(Path("/opt/claude"), job)


def options(started: Launch) -> dict[str, str]:
    """Return what stands behind each option."""
    words = started.argv[1:]
    pairs = zip(words, (*words[1:], "--"), strict=True)
    return {word: "" if value.startswith("--") else value for word, value in pairs if word.startswith("--")}


def settings(started: Launch) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(started.files[Path(options(started)["--settings"])])
    return read


def test_the_words() -> None:
    given = options(launch())
    assert {"--print", "--verbose", "--include-partial-messages"} <= given.keys()
    assert (given["--output-format"], given["--model"]) == ("stream-json", "some-model")
    assert (given["--permission-mode"], given["--add-dir"]) == ("acceptEdits", "/w/artifacts")
    assert set(given["--allowedTools"].split(",")) == {*RunnerConfig().allowed_tools}
    assert given["--max-turns"] == "200"
    assert "--max-budget-usd" not in given


def test_limits_are_handed_on_or_left_out() -> None:
    given = options(launch(max_turns=7, max_attempt_budget_usd=2.5, allowed_tools=["Read", "Bash(git log:*)"]))
    assert (given["--max-turns"], given["--max-budget-usd"]) == ("7", "2.5")
    assert given["--allowedTools"] == "Read,Bash(git log:*)"
    assert "--max-turns" not in options(launch(max_turns=None))
    assert "--allowedTools" not in options(launch(allowed_tools=[]))
    assert launch(request_retries=0).environment["CLAUDE_CODE_MAX_RETRIES"] == "0"


@pytest.mark.parametrize(
    ("allowed", "denied"),
    [
        (["Read"], "WebFetch,WebSearch"),
        (["WebSearch"], "WebFetch"),
        (["WebFetch(domain:example.org)"], "WebSearch"),
        (["WebFetch", "WebSearch"], None),
    ],
)
def test_a_web_tool_that_is_not_allowed_is_denied(allowed: list[str], denied: str | None) -> None:
    assert options(launch(allowed_tools=allowed)).get("--disallowedTools") == denied


@pytest.mark.parametrize(
    "prompt",
    ["--dangerously-skip-permissions", "/compact", "see @a.py and !`x` of ${CLAUDE_SESSION_ID}", "ä\n" * 100_000],
)
def test_a_prompt_is_a_message_on_standard_input_whatever_it_holds(prompt: str) -> None:
    started = launch(prompt, skill=None)
    assert started.stdin is not None
    assert prompt not in started.argv
    # What it looks for commands and files in is the last text alone.
    assert json.loads(started.files[started.stdin])["message"]["content"] == [
        {"type": "text", "text": prompt},
        {"type": "text", "text": ""},
    ]


def test_the_skill_is_part_of_the_prompt_and_nothing_lies_in_the_checkout() -> None:
    started = launch()
    assert all(path.is_relative_to(HOME) for path in started.files)
    assert started.environment["CLAUDE_CONFIG_DIR"] == str(HOME / ".claude")
    assert list(started.files) == [HOME / "settings.json", HOME / "prompt.jsonl"]


def test_the_key_is_on_no_command_line() -> None:
    assert not [word for word in launch().argv if KEY in word]


def test_a_persons_settings_are_kept_and_the_route_wins_over_them(tmp_path: Path) -> None:
    own = {"env": {"ANTHROPIC_BASE_URL": "http://elsewhere", "MY_FLAG": "1"}, "includeCoAuthoredBy": False}
    (tmp_path / "settings.json").write_text(json.dumps(own))
    merged = settings(launch(settings_file=str(tmp_path / "settings.json")))
    assert merged["includeCoAuthoredBy"] is False
    assert merged["env"]["MY_FLAG"] == "1"
    assert merged["env"]["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:9"
    assert merged["env"]["ANTHROPIC_MODEL"] == "some-model"


def test_settings_whose_env_is_none_are_no_reason_to_lose_the_route(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('{"env": null}')
    assert settings(launch(settings_file=str(tmp_path / "settings.json")))["env"]["ANTHROPIC_MODEL"] == "some-model"


def test_every_model_that_the_agent_may_ask_is_the_measured_one() -> None:
    started = launch()
    for environment in (started.environment, settings(started)["env"]):
        named = {name: value for name, value in environment.items() if name.endswith("_MODEL")}
        assert len(named) >= 5
        assert set(named.values()) == {"some-model"}


@pytest.mark.parametrize("data", [None, b"", b"{", b"[]", b"null", b'{"a": "\xff"}'])
def test_settings_that_cannot_be_read_are_named(tmp_path: Path, data: bytes | None) -> None:
    path = tmp_path / "settings.json"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(ValueError, match=r"settings\.json: "):
        ClaudeCode().check_settings(path)
    path.write_text('{"env": {}}')
    ClaudeCode().check_settings(path)


def test_its_own_sandbox_is_the_users_to_choose_and_not_the_repositorys(tmp_path: Path) -> None:
    own = tmp_path / "settings.json"
    own.write_text('{"sandbox": {"enabled": true, "enableWeakerNestedSandbox": true}}')
    assert settings(launch())["sandbox"] == {"enabled": False}
    assert settings(launch(settings_file=str(own)))["sandbox"] == {"enabled": True, "enableWeakerNestedSandbox": True}
