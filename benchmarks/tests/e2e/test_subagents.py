"""A run with the skill that sends subagents: what they do is counted in the whole and apart."""

import pathlib

import pytest

from e2e.harness import BENCHMARKS, QUICKSTART, Workplace, check_witness, needs_agent
from swetrials.records.outcome import OutcomeKind
from swetrials.records.trajectory import Trajectory
from swetrials.store.files import read_record, sha256_of
from swetrials.store.results import trial_folders

pytestmark = [pytest.mark.slow, needs_agent("claude")]

SKILL = BENCHMARKS.parent / ".claude" / "skills" / "swe2" / "SKILL.md"
SCENARIO = """
schema_version: "1.0"
name: fan-out
scripts:
  - when: "HELPER-READER"
    steps:
      - {say: I look., shell: cat word_tally/cli.py}
      - say: The command line is read in main.
  - when: "HELPER-REVIEWER"
    steps:
      - {say: I look., shell: "cat ${artifacts_dir}/lld.md"}
      - say: Nothing to find.
  - when: "task_id: word-tally"
    steps:
      - say: I send two readers.
        all:
          - tool: {name: Agent, arguments: {description: Read the code, subagent_type: general-purpose,
                   prompt: "HELPER-READER one\\ncheckout: ${checkout}", run_in_background: %(background)s}}
          - tool: {name: Agent, arguments: {description: Read the tests, subagent_type: general-purpose,
                   prompt: "HELPER-READER two\\ncheckout: ${checkout}", run_in_background: %(background)s}}
      - say: The documents.
        all:
          - write: {path: "${artifacts_dir}/github-issue.md", content: "# Issue\\n"}
          - write: {path: "${artifacts_dir}/lld.md", content: "# Design\\n"}
          - write: {path: "${artifacts_dir}/testing.md", content: "# Tests\\n"}
      - say: The review.
        tool: {name: Agent, arguments: {description: Review the design, subagent_type: general-purpose,
               prompt: "HELPER-REVIEWER\\nartifacts_dir: ${artifacts_dir}", run_in_background: %(background)s}}
      - say: The change and the report.
        all:
          - write: {path: "${artifacts_dir}/review.md", content: "# Review\\n"}
          - write: {path: "${artifacts_dir}/implementation.md", content: "# Report\\n"}
          - shell: "echo '# changed' >> word_tally/cli.py"
      - say: Done.
"""


@pytest.mark.parametrize("background", ["false", "true"], ids=["foreground", "background"])
def test_reported_is_metered_is_served_with_subagents(tmp_path: pathlib.Path, background: str) -> None:
    place = Workplace(tmp_path)
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(SCENARIO % {"background": background})
    done = place.run("run", "--dataset", QUICKSTART, "--tasks", "word-tally", "--scenario", scenario, "--skill", "swe2",
                     "--skip-probe")  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    [folder] = trial_folders(place.results)
    metrics = folder.metrics()
    assert metrics.outcome.kind is OutcomeKind.COMPLETED, metrics.outcome
    assert (metrics.skill, metrics.provenance.skill_sha256) == ("swe2", sha256_of(SKILL.read_bytes()))
    usage = metrics.usage
    assert usage.reported is not None and usage.served is not None and usage.metered is not None
    assert usage.reported == usage.served
    assert usage.metered.requests == usage.served.requests
    check_witness(usage.metered, usage.served.usage)
    assert metrics.findings == ()

    [attempt] = metrics.attempts
    trajectory = read_record(folder.path / "trajectory.json", Trajectory)
    helpers = trajectory.subagent_trajectories
    assert len(helpers) == 3
    assert attempt.subagent_usage is not None
    assert attempt.subagent_usage.output and usage.served.usage.output
    assert attempt.subagent_usage.output < usage.served.usage.output
    # Each of the three helpers has two responses of its own; those of the main agent alone are turns.
    assert usage.served.requests == (metrics.num_turns or 0) + 6
    if background == "false":
        assert metrics.num_turns == 5
