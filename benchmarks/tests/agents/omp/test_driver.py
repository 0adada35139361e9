"""omp: how it is launched, and what its recorded streams come to. Expected figures are read off the recordings."""

import json
from pathlib import Path

import pytest

from agents.jobs import job
from agents.streams import Streams
from swetrials.agents.base import Job
from swetrials.agents.events import Compaction, SubagentEnd, SubagentStart
from swetrials.agents.omp.driver import Omp
from swetrials.records.outcome import OutcomeKind
from swetrials.records.usage import Usage

STREAMS = Streams("omp")
recorded, events_of, tally_of = STREAMS.recorded, STREAMS.events_of, STREAMS.tally_of
MODULES = Path("/tools/omp/node_modules")
BUN = MODULES / "@oven" / "bun-linux-x64" / "bin" / "bun"


def settings_of(work: Job) -> dict[str, dict[str, object]]:
    read = json.loads(Omp().launch(BUN, work).files[work.home / "settings.yml"])
    assert isinstance(read, dict)
    return read


def test_it_is_a_program_for_the_bun_beside_it() -> None:
    argv = Omp().launch(BUN, job()).argv
    assert argv[:2] == (str(BUN), str(MODULES / "@oh-my-pi" / "pi-coding-agent" / "dist" / "cli.js"))


def test_it_does_not_pose_as_another_agent() -> None:
    work = job(api_key="sk-very-secret")
    launch = Omp().launch(BUN, work)
    provider = json.loads(launch.files[work.home / ".omp" / "agent" / "models.yml"])["providers"]["swetrials"]
    assert (provider["api"], provider["auth"]) == ("anthropic-messages", "apiKey")
    assert launch.environment[provider["apiKey"]] == "sk-very-secret"
    assert "sk-very-secret" not in "".join([*launch.argv, *launch.files.values()])


def test_every_role_has_the_measured_model() -> None:
    assert set(settings_of(job())["modelRoles"].values()) == {"swetrials/m"}


@pytest.mark.parametrize(("retries", "enabled", "own"), [(0, False, 0), (10, False, 0), (21, True, 1), (32, True, 2)])
def test_its_hidden_tries_count_as_retries(retries: int, enabled: bool, own: int) -> None:
    retry = settings_of(job(request_retries=retries))["retry"]
    assert (retry["enabled"], retry["maxRetries"], retry["modelFallback"]) == (enabled, own, False)


def test_a_conversation_is_compacted_in_time_and_what_is_kept_fits() -> None:
    small = settings_of(job(window=24_000))["compaction"]
    assert (small["thresholdTokens"], small["keepRecentTokens"]) == (24_000 * 0.8 - 4_000, 3_800)
    large = settings_of(job(window=200_000))["compaction"]
    assert (large["thresholdTokens"], large["keepRecentTokens"]) == (128_000, 20_000)
    assert "thresholdTokens" not in settings_of(job(window=None))["compaction"]


def test_settings_are_yaml_and_stay_where_ours_do_not_rule(tmp_path: Path) -> None:
    own = tmp_path / "config.yml"
    own.write_text("theme: {dark: nord}\ncompaction: {asyncEnabled: true, supersedeReads: false}\n")
    Omp().check_settings(own)
    merged = settings_of(job(settings_file=str(own)))
    assert merged["theme"] == {"dark": "nord"}
    assert (merged["compaction"]["asyncEnabled"], merged["compaction"]["supersedeReads"]) == (False, False)


def test_all_of_its_own_providers_are_disabled_but_the_one_that_the_route_has_the_name_of() -> None:
    own, on_bedrock = (
        settings_of(job(dialects={dialect}))["disabledProviders"] for dialect in ("anthropic", "bedrock")
    )
    assert set(own) - set(on_bedrock) == {"amazon-bedrock"}
    assert "ollama" in on_bedrock


def test_a_prompt_is_never_taken_for_a_command() -> None:
    launch = Omp().launch(BUN, job(prompt="/quit"))
    assert launch.stdin is not None
    assert launch.files[launch.stdin] == "\n/quit"


def test_the_one_extension_is_that_which_keeps_the_prompt_literal() -> None:
    launch = Omp().launch(BUN, job())
    assert "--no-extensions" in launch.argv
    assert "fileMention" in launch.files[Path(launch.argv[launch.argv.index("--extension") + 1])]


def test_only_tools_of_the_configuration_are_offered() -> None:
    argv = Omp().launch(BUN, job(allowed_tools=("Bash", "Task", "Skill"))).argv
    assert argv[argv.index("--tools") + 1] == "bash,task"
    assert "--no-tools" in Omp().launch(BUN, job(allowed_tools=("Skill",))).argv


def test_a_good_run() -> None:
    tally = tally_of(recorded("ok"))
    assert (tally.outcome.kind, tally.turns, dict(tally.tools)) == (OutcomeKind.COMPLETED, 3, {"bash": 3})
    assert tally.usage.completeness == "complete"
    assert tally.usage.usage == Usage(fresh_input=9, cache_read=18524, cache_write=9431, cache_write_5m=9431, output=29)
    assert tally_of(recorded("ok_chat")).usage.usage == Usage(
        fresh_input=9584, cache_read=18791, cache_write=0, output=29
    )


def test_the_status_of_a_failure_is_told_in_a_field() -> None:
    end = tally_of(recorded("err401")).end
    assert end is not None
    assert (end.api_error_status, end.is_error) == (401, True)


def test_subagents_are_in_the_total_and_apart_and_are_no_turns() -> None:
    tally = tally_of(recorded("subagent"))
    assert (tally.turns, tally.subagents) == (2, 1)
    assert tally.usage.usage == Usage(
        fresh_input=24, cache_read=88331, cache_write=25969, cache_write_5m=9375, output=86, reasoning=0
    )
    apart = tally.subagent_usage
    assert apart == Usage(fresh_input=18, cache_read=79105, cache_write=16594, output=59, reasoning=0)
    events = events_of(recorded("subagent"))
    started = [event for event in events if isinstance(event, SubagentStart)]
    ended = [event for event in events if isinstance(event, SubagentEnd)]
    assert [(event.kind, event.task) for event in started] == [("task", "SUBAGENT-ONE please read")]
    assert [(event.call_id, event.is_error) for event in ended] == [(started[0].call_id, False)]


def test_a_compaction_in_mid_run_loses_nothing_and_its_summary_makes_the_sum_a_lower_bound() -> None:
    tally = tally_of(recorded("compaction"))
    assert (tally.outcome.kind, tally.turns, tally.compactions) == (OutcomeKind.COMPLETED, 6, 1)
    assert (tally.usage.completeness, tally.usage.usage.cache_read, tally.usage.usage.output) == (
        "lower_bound",
        59240,
        70,
    )
    assert Compaction("threshold", 17904) in events_of(recorded("compaction"))
