"""Calling a function as somebody whom the modes of files bind, which they do not root."""

import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from typing import TypeVar

import pytest

R = TypeVar("R")

_CALL = "import pickle, sys; f, a = pickle.load(sys.stdin.buffer); pickle.dump(f(*a), sys.stdout.buffer)"

CAN_BE_ORDINARY = pytest.mark.skipif(
    os.geteuid() == 0 and shutil.which("setpriv") is None, reason="nobody can give up root's rights without setpriv"
)


def as_ordinary_user(function: Callable[..., R], *arguments: object) -> R:
    """Call a function of a module in a process that has no more rights than the modes of files give."""
    bound = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    argv = [*bound, sys.executable, "-c", _CALL]
    done = subprocess.run(argv, input=pickle.dumps((function, arguments)), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    result: R = pickle.loads(done.stdout)
    return result
