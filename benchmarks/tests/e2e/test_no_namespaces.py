"""Where namespaces of networks are used up a run says so and does not begin; it does not go on unsealed by itself."""

import shlex
import subprocess
from pathlib import Path

import pytest

from e2e.harness import BENCHMARKS, QUICKSTART, Workplace, needs_agent
from swetrials.environments.bubblewrap import Bubblewrap, probe

pytestmark = [
    pytest.mark.slow,
    needs_agent("claude"),
    pytest.mark.skipif(not isinstance(probe(), Bubblewrap), reason="bubblewrap does not work here"),
]


def test_no_namespace_of_networks_is_left(tmp_path: Path) -> None:
    place = Workplace(tmp_path)
    words = place.words(
        "e2e", "--provider", "rehearsal", "--model", "rehearsal", "--dataset", QUICKSTART, "--tasks", "word-tally",
        "--judge", "tests", "--skip-probe",
    )  # fmt: skip
    # The limit is of a namespace of users, so that it is this command's alone (namespaces(7), user_namespaces(7)).
    script = f"echo 0 > /proc/sys/user/max_net_namespaces || exit 77; exec {shlex.join(words)}"
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "sh", "-c", script], cwd=BENCHMARKS, env=place.environ(),
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    if done.returncode == 77 or done.stderr.startswith("unshare:"):
        pytest.skip(f"no limit can be set here: {done.stderr.strip()}")
    assert done.returncode == 3, done.stdout + done.stderr
    said = " ".join(done.stdout.split())
    assert "sealing FAIL" in said and "Creating new namespace failed" in said, done.stdout
    assert "network: open in the dataset, or --environment host" in said
    assert place.records() == {}
