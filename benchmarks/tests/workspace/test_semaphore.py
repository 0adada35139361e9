"""Places: never more holders than there are, of several processes too, and none lost with a holder that dies."""

import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from swetrials.workspace.semaphore import one_of

HOLDS_ONE = (
    "import sys, pathlib, anyio\n"
    "from swetrials.workspace.semaphore import one_of\n"
    "async def go():\n"
    "    async with one_of(pathlib.Path(sys.argv[1]), 2):\n"
    "        print('held', flush=True)\n"
    "        await anyio.sleep(60)\n"
    "anyio.run(go)\n"
)


@pytest.mark.anyio
async def test_no_more_hold_one_than_there_are(tmp_path: Path) -> None:
    holding, most = 0, 0

    async def hold() -> None:
        nonlocal holding, most
        async with one_of(tmp_path / "places", 2):
            holding += 1
            most = max(most, holding)
            await anyio.sleep(0.05)
            holding -= 1

    async with anyio.create_task_group() as group:
        for _ in range(6):
            group.start_soon(hold)
    assert most == 2


@pytest.mark.anyio
async def test_another_process_holds_one_until_it_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDS_ONE, str(tmp_path)], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdout.readline() == b"held\n"
        async with one_of(tmp_path, 2):
            with anyio.move_on_after(0.6) as waiting:
                async with one_of(tmp_path, 2):
                    pass
            assert waiting.cancelled_caught
            other.kill()
            with anyio.fail_after(5):
                async with one_of(tmp_path, 2):
                    pass
