"""``swetrials router inputs`` where it runs no agent: rendering again, and flags that it does not take."""

import subprocess
import sys
from pathlib import Path

from router.inputs.test_report import RECORD, inputs, judgment
from swetrials.router.inputs.report import judged_inputs_markdown
from swetrials.router.inputs.totals import with_judgments
from swetrials.store.files import write_record


def router_inputs(*arguments: object) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("swetrials")
    return subprocess.run(
        [program, "router", "inputs", *map(str, arguments)], capture_output=True, text=True, check=False
    )


def test_a_page_is_made_again_from_the_json_alone(tmp_path: Path) -> None:
    record = with_judgments(RECORD, [judgment(1, inputs(70, 5))], ["export"])
    file = tmp_path / "metrics" / "judged.json"
    write_record(file, record)
    done = router_inputs("--render", file)
    assert (done.returncode, done.stdout) == (0, f"written to {tmp_path / 'judged.md'}\n"), done.stderr
    assert (tmp_path / "judged.md").read_text(encoding="utf-8") == judged_inputs_markdown(record)

    done = router_inputs("--render", file, "--out-md", tmp_path / "other.md")
    assert (tmp_path / "other.md").read_bytes() == (tmp_path / "judged.md").read_bytes()


def test_a_json_that_is_not_there_is_told_in_a_line(tmp_path: Path) -> None:
    done = router_inputs("--render", tmp_path / "none.json")
    assert (done.returncode, done.stderr) == (2, f"{tmp_path / 'none.json'}: No such file or directory\n")


def test_what_a_judgment_settles_is_no_flag_of_it() -> None:
    done = router_inputs("--skill", "swe3", "--allowed-tools", "Bash")
    assert done.returncode == 2
    assert done.stderr == "--skill, --allowed-tools: every judgment settles this by itself; leave it out\n"
