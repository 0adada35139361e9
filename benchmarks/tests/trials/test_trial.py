"""Whole trials, with a script for an agent: whatever it does, there is a record, and it says what happened."""

from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest

from swetrials.hosting.endpoint import Endpoint
from swetrials.records.metrics import EXPECTED_ARTIFACTS, AttemptRecord, HostingRecord, Metrics, NotKept, PatchRecord
from swetrials.records.outcome import Blame, OutcomeKind
from swetrials.store.files import read_record
from swetrials.trials import attempt_session as session_module
from swetrials.trials.earlier import Earlier
from swetrials.trials.identity import still_given
from swetrials.trials.trial import Progress, run_trial
from swetrials.workspace import space
from swetrials.workspace.patch import apply_patch
from trials.stand_in import DESIGN, IMPLEMENTED, SAID, SECRET, WHOLE, Yard

# A stream that shows its responses and never comes to a result.
ENDLESS = 'grep -v \'"type":"result"\' "$RECORDED/partial.jsonl"; sleep 60\n'


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    return Yard(tmp_path)


def codes(metrics: Metrics) -> list[str]:
    return [finding.code for finding in metrics.findings]


def test_a_good_trial(yard: Yard) -> None:
    seen: list[Progress] = []
    metrics = yard.run(observe=seen.append)
    assert metrics.outcome.kind is OutcomeKind.COMPLETED
    assert metrics.findings == ()
    assert (metrics.is_error, metrics.error, metrics.result_subtype) == (False, None, "success")
    assert metrics.artifacts_produced == EXPECTED_ARTIFACTS
    assert (metrics.input_tokens, metrics.cache_read_tokens, metrics.cache_creation_tokens) == (2400, 1800, 600)
    assert (metrics.output_tokens, metrics.num_turns) == (80, 2)
    assert (metrics.usage.source, metrics.usage.headline.completeness) == ("reported", "complete")
    assert (metrics.total_cost_usd, metrics.cost.status) == (None, "unknown")
    assert metrics.cost.reported_usd == pytest.approx(0.01516)
    assert (metrics.provenance.commit, metrics.provenance.sandbox) == (yard.commit, "none")
    assert seen[0].state == "checkout"
    assert seen[-1].state == "done"
    assert seen[-1].outcome == metrics.outcome
    assert yard.left("lld.md").read_text() == "# lld\n"
    assert (yard.left("attempts") / "1" / "stream.jsonl").read_bytes().count(b'"type":"result"') == 1


def test_the_patch_leads_from_the_pinned_commit_to_what_the_agent_left(yard: Yard, tmp_path: Path) -> None:
    yard.run()
    yard.repositories.check_out(str(yard.root / "upstream"), yard.commit, tmp_path / "fresh")
    apply_patch(tmp_path / "fresh", yard.left("patch.diff").read_bytes())
    assert (tmp_path / "fresh" / "greeting.txt").read_text() == "hello\nchanged\n"


@pytest.mark.parametrize(
    "way",
    [
        "git add -A && git -c user.name=a -c user.email=a@b commit -qm work\n"
        "git init -q nested && echo inside > nested/inside.txt\n",
        "rm -rf .git\n",
        "chmod -R a-w . && chmod a-w ..\n",
    ],
    ids=["commits", "deletes-git", "read-only"],
)
def test_the_work_is_in_the_patch_whatever_became_of_git(yard: Yard, way: str, tmp_path: Path) -> None:
    metrics = yard.run(DESIGN + IMPLEMENTED + way + SAID)
    assert metrics.outcome.kind is OutcomeKind.COMPLETED, metrics.outcome.detail
    assert codes(metrics) == []
    yard.repositories.check_out(str(yard.root / "upstream"), yard.commit, tmp_path / "fresh")
    apply_patch(tmp_path / "fresh", yard.left("patch.diff").read_bytes())
    assert (tmp_path / "fresh" / "greeting.txt").read_text() == "hello\nchanged\n"
    assert (tmp_path / "fresh" / "nested" / "inside.txt").exists() == ("nested" in way)


def test_the_record_says_how_the_model_was_hosted(yard: Yard) -> None:
    metrics = yard.run(WHOLE, instance_type="g6e.12xlarge", tensor_parallel_size=4)
    assert metrics.hosting == HostingRecord(instance_type="g6e.12xlarge", tensor_parallel_size=4)
    assert yard.run(WHOLE).hosting == HostingRecord()


ENDINGS = [
    ("exit 0\n", OutcomeKind.AGENT_CRASHED, Blame.AGENT, "exit code 0 without a final event"),
    ("echo 'bad flag' >&2; exit 64\n", OutcomeKind.AGENT_CRASHED, Blame.AGENT, "exit code 64 without a final event: b"),
    ("printf '\\377\\376{\\n\\000'; exit 3\n", OutcomeKind.AGENT_CRASHED, Blame.AGENT, "exit code 3"),
    ("echo 'write: No space left on device' >&2; exit 1\n", OutcomeKind.DISK_FULL, Blame.ENVIRONMENT, "No space left"),
    ('cat "$RECORDED/hangterm.jsonl"; sleep 60\n', OutcomeKind.TIMED_OUT, Blame.MODEL, "its wall limit"),
    ('cat "$RECORDED/err429.jsonl"\n', OutcomeKind.RATE_LIMITED, Blame.PROVIDER, "429"),
    ('grep retry "$RECORDED/err429.jsonl"; sleep 60\n', OutcomeKind.RATE_LIMITED, Blame.PROVIDER, "waiting to try"),
    (SAID, OutcomeKind.INCOMPLETE_ARTIFACTS, Blame.MODEL, "missing: github-issue.md"),
    (WHOLE + "exit 1\n", OutcomeKind.COMPLETED, None, ""),
]  # fmt: skip


@pytest.mark.parametrize(("script", "kind", "blame", "detail"), ENDINGS, ids=[ending[0].strip() for ending in ENDINGS])
def test_endings(yard: Yard, script: str, kind: OutcomeKind, blame: Blame | None, detail: str) -> None:
    metrics = yard.run(script, timeout_seconds=1 if "sleep" in script else 30)
    assert (metrics.outcome.kind, metrics.outcome.blame) == (kind, blame), metrics.outcome.detail
    assert detail in metrics.outcome.detail
    assert len(metrics.attempts) == 1
    if "sleep" in script:
        assert metrics.usage.headline.completeness != "complete"


def test_silence_is_told_from_slowness(yard: Yard) -> None:
    metrics = yard.run('cat "$RECORDED/hangterm.jsonl"; sleep 60\n', idle_timeout_seconds=0.5)
    assert (metrics.outcome.kind, metrics.attempts[0].ended_by) == (OutcomeKind.IDLE, "idle_limit")


def test_a_result_and_no_exit_is_a_finished_trial(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "_GRACE_SECONDS", 0.3)
    metrics = yard.run(WHOLE + "trap '' TERM\nsleep 60\n")
    assert metrics.outcome.kind is OutcomeKind.COMPLETED
    assert metrics.attempts[0].ended_by == "grace"
    assert codes(metrics) == ["did_not_exit"]
    assert metrics.latency_seconds is not None and metrics.latency_seconds < 20


def test_two_hundred_background_children_are_gone_afterwards(yard: Yard) -> None:
    children = "i=0; while [ $i -lt 200 ]; do sleep 61 & i=$((i+1)); done\n"
    metrics = yard.run(children + WHOLE)
    assert metrics.outcome.kind is OutcomeKind.COMPLETED
    assert metrics.attempts[0].survivors == 0


def test_invalid_utf8_in_stream_and_artifact_is_kept_as_it_is(yard: Yard) -> None:
    noise = "printf '\\377\\376 banner\\n'; printf 'caf\\351\\n' > \"$ARTIFACTS/lld.md\"\n"
    metrics = yard.run(DESIGN + IMPLEMENTED + noise + SAID)
    assert metrics.outcome.kind is OutcomeKind.COMPLETED
    assert yard.left("lld.md").read_bytes() == b"caf\xe9\n"
    assert (yard.left("attempts") / "1" / "stream.jsonl").read_bytes().startswith(b"\xff\xfe banner\n")


def test_secrets_are_masked_wherever_the_agent_put_them(yard: Yard) -> None:
    spill = f'echo "key {SECRET}" | tee -a "$ARTIFACTS/lld.md" >> greeting.txt\necho "{SECRET}"\necho "{SECRET}" >&2\n'
    metrics = yard.run(DESIGN + IMPLEMENTED + spill + "exit 5\n")
    assert metrics.outcome.kind is OutcomeKind.AGENT_CRASHED
    assert "[redacted]" in metrics.outcome.detail
    for name in ("lld.md", "patch.diff", "attempts/1/stream.jsonl", "attempts/1/stderr.log"):
        assert "[redacted]" in yard.left(name).read_text(), name


def test_an_artifact_of_25_megabytes_is_cut_and_said_to_be(yard: Yard) -> None:
    metrics = yard.run(
        DESIGN + IMPLEMENTED + 'head -c 25000000 /dev/zero | tr "\\0" x > "$ARTIFACTS/review.md"\n' + SAID
    )
    assert metrics.outcome.kind is OutcomeKind.COMPLETED
    assert yard.left("review.md").stat().st_size == 20_000_000
    assert codes(metrics) == ["artifact_cut"]


@pytest.mark.parametrize("blank", ["", " \\n\\t\\n"])
def test_an_empty_artifact_is_a_missing_one(yard: Yard, blank: str) -> None:
    metrics = yard.run(DESIGN + IMPLEMENTED + f"printf '{blank}' > \"$ARTIFACTS/review.md\"\n" + SAID)
    assert metrics.outcome.detail == "missing: review.md"
    assert not yard.left("review.md").exists()


def test_only_plain_files_are_artifacts(yard: Yard, tmp_path: Path) -> None:
    out = tmp_path / "private.md"
    out.write_text("somebody else's\n")
    ways = (
        f'ln -sf {out} "$ARTIFACTS/lld.md"\n'
        'rm "$ARTIFACTS/review.md" && mkfifo "$ARTIFACTS/review.md"\n'
        'rm "$ARTIFACTS/testing.md" && mkdir "$ARTIFACTS/testing.md"\n'
    )
    metrics = yard.run(DESIGN + IMPLEMENTED + ways + SAID)
    assert metrics.outcome.detail == "missing: lld.md, review.md, testing.md"
    assert not yard.left("lld.md").exists()


def test_a_folder_of_artifacts_that_became_a_link_is_not_followed(yard: Yard, tmp_path: Path) -> None:
    out = tmp_path / "private"
    out.mkdir()
    (out / "lld.md").write_text("somebody else's\n")
    metrics = yard.run(DESIGN + IMPLEMENTED + f'mv "$ARTIFACTS" ../old && ln -s {out} "$ARTIFACTS"\n' + SAID)
    assert metrics.outcome.kind is OutcomeKind.INCOMPLETE_ARTIFACTS
    assert not yard.left("lld.md").exists()


@pytest.mark.parametrize("way", ['ln -sf "$OUT"', "rm ../stderr.log; mkfifo"])
def test_the_error_log_is_not_a_way_to_other_files(yard: Yard, tmp_path: Path, way: str) -> None:
    out = tmp_path / "private.txt"
    out.write_text("somebody else's\n")
    metrics = yard.run(f"echo complaint >&2\nOUT={out}\n{way} ../stderr.log\n" + WHOLE)
    assert metrics.outcome.kind is OutcomeKind.COMPLETED, metrics.outcome.detail
    assert yard.left("attempts/1/stderr.log").read_text() == ""


def test_a_checkout_that_became_a_link_is_not_followed(yard: Yard, tmp_path: Path) -> None:
    out = tmp_path / "private"
    out.mkdir()
    (out / "diary.txt").write_text("somebody else's\n")
    metrics = yard.run(
        DESIGN + IMPLEMENTED + f"cd .. && mv checkout old && ln -s {out} checkout\n" + SAID, max_topups=0
    )
    assert codes(metrics) == ["patch_failed"]
    assert metrics.outcome.detail == "missing: patch.diff"
    assert not yard.left("patch.diff").exists()


def test_what_is_not_in_the_patch_is_in_the_record_and_the_rest_in_the_patch(tmp_path: Path) -> None:
    yard = Yard(tmp_path, instructions={".gitignore": "build/\n", "tracked.txt": "x\n"})
    made = "mkdir build && touch build/a build/b && rm tracked.txt && mkfifo tracked.txt && touch git~1\n"
    metrics = yard.run(DESIGN + IMPLEMENTED + made + SAID)
    assert metrics.outcome.kind is OutcomeKind.COMPLETED, metrics.outcome.detail
    [finding] = metrics.findings
    assert (finding.code, finding.severity) == ("patch_incomplete", "warning")
    assert finding.message == (
        "not in the patch, which holds the rest: tracked.txt (is a named pipe), git~1 (git refuses the name)"
    )
    assert metrics.attempts[0].patch == PatchRecord(
        not_kept_files=2,
        not_kept=(
            NotKept(path="tracked.txt", reason="is a named pipe"),
            NotKept(path="git~1", reason="git refuses the name"),
        ),
        ignored_files=2,
        ignored_named=("build/",),
    )
    patch = yard.left("patch.diff").read_text()
    assert "+++ b/greeting.txt" in patch
    assert "tracked.txt" not in patch


def test_a_topup_keeps_work_under_an_ignored_path(tmp_path: Path) -> None:
    yard = Yard(tmp_path, instructions={".gitignore": "lib/\n"})
    first = "mkdir lib && echo mine > lib/core.py && git add -f lib/core.py && git commit -qm mine\n"
    topup = 'echo changed >> greeting.txt\necho "# done" > "$ARTIFACTS/implementation.md"\n' + SAID
    metrics = yard.run({"only: implementation.md": topup, "": DESIGN + first + SAID})
    assert [attempt.reason for attempt in metrics.attempts] == ["first", "topup"]
    assert [attempt.patch for attempt in metrics.attempts] == [None, None]
    patch = yard.left("patch.diff").read_text()
    assert "+++ b/lib/core.py" in patch
    assert "+++ b/greeting.txt" in patch


def test_a_topup_asks_for_what_is_missing_and_adds_up(yard: Yard) -> None:
    topup = (
        'test "$(cat "$ARTIFACTS/lld.md")" = "# lld" && grep -q changed greeting.txt || exit 9\n'
        'echo "# done" > "$ARTIFACTS/implementation.md"\n' + SAID
    )
    metrics = yard.run({"only: implementation.md": topup, "": DESIGN + "echo changed >> greeting.txt\n" + SAID})
    assert metrics.outcome.kind is OutcomeKind.COMPLETED, metrics.outcome.detail
    first, second = metrics.attempts
    assert [first.reason, second.reason] == ["first", "topup"]
    assert first.outcome.detail == "missing: implementation.md"
    assert metrics.artifacts_produced == EXPECTED_ARTIFACTS
    assert (metrics.input_tokens, metrics.output_tokens, metrics.num_turns) == (4800, 160, 4)
    assert metrics.usage.by_model["some-model"].output == 160
    assert metrics.cost.reported_usd == pytest.approx(2 * 0.01516)
    assert metrics.cost_winning_attempt.reported_usd == pytest.approx(0.01516)
    assert metrics.latency_seconds == pytest.approx(
        (first.time.wall_seconds or 0) + (second.time.wall_seconds or 0), abs=0.002
    )
    assert codes(metrics) == ["topped_up"]
    assert yard.left("attempts/2/stream.jsonl").stat().st_size > 0
    assert yard.left("patch.diff").read_text().count("+changed") == 1


def test_topups_end_at_their_limit(yard: Yard) -> None:
    metrics = yard.run(DESIGN + SAID, max_topups=2)
    assert len(metrics.attempts) == 3
    assert metrics.outcome.detail == "missing: patch.diff, implementation.md"


def test_topups_can_be_forbidden(yard: Yard) -> None:
    assert len(yard.run(DESIGN + SAID, max_topups=0).attempts) == 1


def test_without_the_design_there_is_no_topup(yard: Yard) -> None:
    assert len(yard.run(IMPLEMENTED + SAID, max_topups=3).attempts) == 1


@pytest.fixture
def plain(yard: Yard) -> Yard:
    """A yard whose skill asks for the change alone."""
    (yard.root / "skills" / "swe3" / "SKILL.md").write_text("---\nmetadata:\n  artifacts: patch.diff\n---\nDo it.\n")
    return yard


def test_a_skill_without_documents_is_done_with_the_change(plain: Yard) -> None:
    metrics = plain.run('echo "# lld" > "$ARTIFACTS/lld.md"\necho changed >> greeting.txt\n' + SAID)
    assert (metrics.outcome.kind, codes(metrics)) == (OutcomeKind.COMPLETED, [])
    assert metrics.artifacts_produced == metrics.artifacts_expected == ("patch.diff",)
    assert plain.left("patch.diff").exists() and not plain.left("lld.md").exists()
    assert still_given(plain.dataset().dataset.tasks[0], metrics)


def test_an_empty_patch_is_all_that_can_be_missing_and_is_no_reason_for_another_try(plain: Yard) -> None:
    metrics = plain.run(DESIGN + SAID, max_topups=3)
    assert (metrics.outcome.kind, metrics.outcome.missing) == (OutcomeKind.INCOMPLETE_ARTIFACTS, ("patch.diff",))
    assert len(metrics.attempts) == 1


def test_a_prompt_without_documents_tells_of_no_place_for_them(plain: Yard) -> None:
    told = {"artifacts": "exit 9\n", "": "echo changed >> greeting.txt\n" + SAID}
    assert plain.run(told).outcome.kind is OutcomeKind.COMPLETED


FAILS_WITH_500 = 'sed s/429/500/g "$RECORDED/err429.jsonl"'


def once(yard: Yard, failing: str) -> str:
    """Return the beginning of a script that fails in one way the first time it gets there."""
    return f"if ! test -e {yard.root}/tried; then touch {yard.root}/tried; {failing}; exit; fi\n"


@pytest.mark.parametrize(
    ("failing", "kind"),
    [
        ('cat "$RECORDED/err429.jsonl"', OutcomeKind.RATE_LIMITED),
        (FAILS_WITH_500, OutcomeKind.PROVIDER_ERROR),
    ],
)
def test_a_failure_that_passes_is_tried_again_from_a_fresh_checkout(
    yard: Yard, failing: str, kind: OutcomeKind
) -> None:
    spoilt = f'echo spoilt > greeting.txt; echo "# old" > "$ARTIFACTS/lld.md"; {failing}'
    metrics = yard.run(once(yard, spoilt) + WHOLE, max_retries=2)
    assert metrics.outcome.kind is OutcomeKind.COMPLETED
    first, second = metrics.attempts
    assert [first.reason, second.reason] == ["first", "retry"]
    assert first.outcome.kind is kind
    assert codes(metrics) == ["retried"]
    assert "spoilt" not in yard.left("patch.diff").read_text()
    assert yard.left("lld.md").read_text() == "# lld\n"
    waited = second.time.queue_seconds or 0
    assert (waited >= 0.2) == (kind is OutcomeKind.RATE_LIMITED)
    assert (metrics.time.queue_seconds or 0) >= waited
    assert metrics.num_turns == (first.num_turns or 0) + (second.num_turns or 0)
    assert [read_record(yard.left(f"attempts/{n}/attempt.json"), AttemptRecord) for n in (1, 2)] == [first, second]


def test_tries_end_at_their_limit(yard: Yard) -> None:
    metrics = yard.run(FAILS_WITH_500, max_retries=2)
    assert [attempt.reason for attempt in metrics.attempts] == ["first", "retry", "retry"]
    assert metrics.outcome.kind is OutcomeKind.PROVIDER_ERROR


@pytest.mark.parametrize(
    "script",
    [
        'cat "$RECORDED/hangterm.jsonl"; sleep 60\n',
        'sed s/429/401/g "$RECORDED/err429.jsonl"\n',
        "exit 3\n",  # nobody counted its requests: it may well have worked for hours
        SAID,
    ],
    ids=["timed-out", "auth", "crashed", "incomplete"],
)
def test_what_model_agent_or_user_answer_for_is_not_tried_again(yard: Yard, script: str) -> None:
    assert len(yard.run(script, max_retries=3, timeout_seconds=1 if "sleep" in script else 30).attempts) == 1


def test_an_agent_that_crashed_before_its_first_request_is_started_again(yard: Yard) -> None:
    metrics = yard.run(once(yard, "exit 3") + WHOLE, max_retries=1, meter=True)
    first, second = metrics.attempts
    assert (first.outcome.kind, second.reason) == (OutcomeKind.AGENT_CRASHED, "retry")
    assert first.requests is not None and first.requests.count == 0


def test_an_agent_that_is_stopped_before_its_first_request_is_nobodys_and_is_started_again(yard: Yard) -> None:
    metrics = yard.run(once(yard, "sleep 60") + WHOLE, max_retries=1, meter=True, idle_timeout_seconds=2)
    first, second = metrics.attempts
    assert (first.outcome.kind, first.outcome.blame) == (OutcomeKind.IDLE, Blame.AMBIGUOUS)
    assert "before the agent had asked the model anything" in first.outcome.detail
    assert second.reason == "retry"


def test_a_topup_that_fails_is_repeated_as_one(yard: Yard) -> None:
    topup = (
        once(yard, FAILS_WITH_500)
        + 'test "$(cat "$ARTIFACTS/lld.md")" = "# lld" && grep -q changed greeting.txt || exit 9\n'
        'echo "# done" > "$ARTIFACTS/implementation.md"\n' + SAID
    )
    scripts = {"only: implementation.md": topup, "": DESIGN + "echo changed >> greeting.txt\n" + SAID}
    metrics = yard.run(scripts, max_retries=1)
    assert metrics.outcome.kind is OutcomeKind.COMPLETED, metrics.outcome.detail
    assert [attempt.reason for attempt in metrics.attempts] == ["first", "topup", "retry"]
    assert codes(metrics) == ["topped_up", "retried"]


def test_between_two_attempts_the_record_holds_the_first(yard: Yard) -> None:
    seen: list[Metrics] = []

    def look(progress: Progress) -> None:
        if progress.state == "working again" and not seen:
            seen.append(progress.trial.folder.metrics())

    yard.run(once(yard, FAILS_WITH_500) + WHOLE, observe=look, max_retries=1)
    assert seen[0].outcome.kind is OutcomeKind.INTERRUPTED
    assert [attempt.outcome.kind for attempt in seen[0].attempts] == [OutcomeKind.PROVIDER_ERROR]


def test_a_ref_that_is_not_there(yard: Yard) -> None:
    yard.write_dataset(ref="v9")
    metrics = yard.run()
    assert (metrics.outcome.kind, metrics.outcome.blame) == (OutcomeKind.CHECKOUT_FAILED, Blame.ENVIRONMENT)
    assert "v9" in metrics.outcome.detail
    assert (metrics.attempts, metrics.provenance.commit) == ((), None)
    assert (metrics.latency_seconds, metrics.num_turns, metrics.output_tokens) == (None, None, None)
    assert metrics.usage.source == "none"


def test_an_agent_that_cannot_be_started(yard: Yard) -> None:
    metrics = yard.run(WHOLE + "\0")
    assert (metrics.outcome.kind, metrics.outcome.blame) == (OutcomeKind.AGENT_CRASHED, Blame.ENVIRONMENT)
    assert metrics.outcome.detail.startswith("cannot start /bin/sh")


def test_the_record_exists_before_the_agent_does_anything(yard: Yard) -> None:
    early: list[Metrics] = []

    def look(progress: Progress) -> None:
        if progress.state == "working" and not early:
            early.append(progress.trial.folder.metrics())

    metrics = yard.run(observe=look)
    assert (early[0].outcome.kind, early[0].run_ended_at, early[0].attempts) == (OutcomeKind.INTERRUPTED, None, ())
    assert early[0].outcome.blame is Blame.HARNESS
    assert early[0].trial == metrics.trial


def test_cancelled_it_keeps_what_was_spent(yard: Yard) -> None:
    async def go() -> None:
        plan = yard.plan(DESIGN + ENDLESS)
        async with Endpoint().open(plan.config) as hosting, anyio.create_task_group() as group:

            def stop(progress: Progress) -> None:
                if progress.turns:
                    group.cancel_scope.cancel()

            await run_trial(
                yard.context(plan, hosting), plan.dataset, plan.trials[0], datetime.now(UTC), stop, Earlier()
            )

    anyio.run(go)
    plan = yard.plan()
    metrics = plan.trials[0].folder.metrics()
    yard.check(metrics, plan)
    assert (metrics.outcome.kind, metrics.attempts[0].ended_by) == (OutcomeKind.INTERRUPTED, "cancelled")
    assert metrics.usage.headline.usage.total
    assert metrics.usage.headline.completeness == "lower_bound"
    assert metrics.run_ended_at is not None
    assert yard.left("lld.md").exists()


def test_a_disk_that_fills_up_under_the_stream_costs_no_record(yard: Yard) -> None:
    log = yard.left("attempts/1/stream.jsonl")
    log.parent.mkdir(parents=True)
    log.symlink_to("/dev/full")
    metrics = yard.run(DESIGN + ENDLESS)
    assert (metrics.outcome.kind, metrics.outcome.blame) == (OutcomeKind.DISK_FULL, Blame.ENVIRONMENT)
    assert "No space left on device" in metrics.outcome.detail
    assert metrics.usage.headline.usage.fresh_input
    assert metrics.usage.headline.completeness == "lower_bound"
    assert yard.left("lld.md").exists()


def test_on_a_disk_without_room_nothing_begins(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    yard.repositories.resolve(str(yard.root / "upstream"), "v1")  # as the pre-flight does, when there still was room
    monkeypatch.setattr(space, "_BYTES_TO_GO_ON", 10**18)
    metrics = yard.run(f"touch {yard.root}/started\n")
    assert (metrics.outcome.kind, metrics.outcome.blame) == (OutcomeKind.DISK_FULL, Blame.ENVIRONMENT)
    assert "left on the disk" in metrics.outcome.detail
    assert metrics.attempts == ()
    assert not (yard.root / "started").exists()


def test_an_attempt_stays_when_the_disk_has_no_room_for_the_next(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill(progress: Progress) -> None:
        if progress.turns:
            monkeypatch.setattr(space, "_BYTES_TO_GO_ON", 10**18)

    metrics = yard.run(DESIGN + SAID, observe=fill, max_topups=1)
    [attempt] = metrics.attempts
    assert (metrics.outcome.kind, attempt.outcome.kind) == (OutcomeKind.DISK_FULL, OutcomeKind.INCOMPLETE_ARTIFACTS)
    assert metrics.input_tokens == attempt.usage.headline.usage.fresh_input
    assert yard.left("lld.md").exists()
    assert yard.left("attempts/1/attempt.json").exists()


def test_a_place_that_cannot_be_written(yard: Yard) -> None:
    yard.left("metrics.json").parent.parent.mkdir(parents=True)
    yard.left("metrics.json").parent.write_text("a file where the folder should be")
    plan = yard.plan()

    async def go() -> Metrics:
        async with Endpoint().open(plan.config) as hosting:
            context = yard.context(plan, hosting)
            return await run_trial(context, plan.dataset, plan.trials[0], datetime.now(UTC), lambda _: None, Earlier())

    metrics = anyio.run(go)
    assert (metrics.outcome.kind, metrics.outcome.blame) == (OutcomeKind.AGENT_CRASHED, Blame.ENVIRONMENT)
    assert str(yard.left("metrics.json").parent) in metrics.outcome.detail
    assert metrics.attempts == ()


def test_a_key_that_the_agent_holds_is_in_no_file(yard: Yard) -> None:
    key = "key-of-a-profile-7"  # which no variable and no flag has told the harness's own redactor
    talk = f'echo {key} >> greeting.txt; echo {key} >> "$ARTIFACTS/lld.md"; echo {key} >&2; echo {key}\n'
    metrics = yard.run(DESIGN + IMPLEMENTED + talk + SAID, api_key=key)
    assert metrics.outcome.kind is OutcomeKind.COMPLETED
    leaks = [path for path in yard.results.rglob("*") if path.is_file() and key.encode() in path.read_bytes()]
    assert leaks == []
    masked = [path.name for path in yard.results.rglob("*") if path.is_file() and b"[redacted]" in path.read_bytes()]
    assert sorted(masked) == ["lld.md", "patch.diff", "stderr.log", "stream.jsonl"]
