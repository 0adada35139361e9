"""The page on judged inputs: every figure from the record, and nothing in it that a judge's words could spoil."""

from swetrials.records.cost import Cost
from swetrials.records.judged_inputs import InputJudgment, JudgedInputs, RouterInputs
from swetrials.records.outcome import Outcome, OutcomeKind
from swetrials.records.usage import Usage, UsageReport
from swetrials.router.inputs.report import judged_inputs_markdown
from swetrials.router.inputs.totals import with_judgments

RECORD = JudgedInputs(
    dataset="shop",
    rehearsal=False,
    agent="claude-code",
    model="us.anthropic.claude-opus-5",
    provider="bedrock",
    aws_region="us-east-1",
    skill="swe-router",
    skill_sha256="0123456789abcdef",
    allowed_tools=("Glob", "Read"),
    permission_mode="dontAsk",
    sandbox="bubblewrap",
    harness_version="1",
    repeats=2,
    started_at="2026-11-29T10:00:00+00:00",
    ended_at="2026-11-29T10:05:00+00:00",
)


def judgment(repeat: int, inputs: RouterInputs | None, failure: str = "", task: str = "export") -> InputJudgment:
    return InputJudgment(
        task=task,
        repeat=repeat,
        inputs=inputs,
        failure=failure,
        outcome=Outcome.of(OutcomeKind.COMPLETED),
        agent_version="2.1.332",
        models_served=("claude-opus-5",),
        prompt_sha256="0",
        started_at="2026-11-29T10:00:00+00:00",
        seconds=61.5,
        usage=UsageReport(usage=Usage(fresh_input=1000, output=50), completeness="complete"),
        cost=Cost(amount_usd=0.25, basis="metered", status="complete"),
    )


def inputs(base_floor: int, adjustment: int, reason: str = "Because.") -> RouterInputs:
    return RouterInputs.model_validate(
        {
            "base_floor": base_floor, "adjustment": adjustment, "floor": base_floor + adjustment, "tier": "high",
            "consequence": "Money is lost.", "reason": reason,
        }
    )  # fmt: skip


def test_the_page_shows_each_task_each_judgment_and_each_failure() -> None:
    made = [
        judgment(2, inputs(75, 5, "Two | pipes,\n<b>and</b> a break.")),
        judgment(1, inputs(75, 0)),
        judgment(1, None, "no usable answer: <it> is\nempty", task="import"),
    ]
    page = judged_inputs_markdown(with_judgments(RECORD, made, ["import", "export"]))
    assert "| by | us.anthropic.claude-opus-5 by bedrock, us-east-1, in claude-code 2.1.332 |" in page
    assert "| answered by | claude-opus-5 |" in page
    assert "| judgments | 3, 1 of them failed; 2 asked for of each task |" in page
    assert "| cost | $0.7500 |" in page
    assert "| tokens | 3,150 |" in page
    assert "| import | - | - | - | - | - | - | - | 1 |" in page
    assert "| export | 77.5 | high | - | - | 75, 80 | high x2 | 5 | 0 |" in page
    first = "| export | 1 | 75 | high | Money is lost. | Because. | $0.2500 | 61.5 s |"
    second = "| export | 2 | 80 | high | Money is lost. | Two \\| pipes, &lt;b>and&lt;/b> a break. | $0.2500 | 61.5 s |"
    assert f"{first}\n{second}\n" in page
    assert "- import, repeat 1: no usable answer: &lt;it> is empty" in page
    assert "rehearsal" not in page


def test_an_unfinished_rehearsal_says_both() -> None:
    page = judged_inputs_markdown(RECORD.model_copy(update={"rehearsal": True, "ended_at": None}))
    assert "nothing about any task" in page
    assert "not everything that was asked for is judged" in page
    assert "## Failed" not in page
