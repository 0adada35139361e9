"""Source distributions of packages that nobody here wrote, from the configured registry."""

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest


def source_of(package: str, version: str, folder: Path) -> Path:
    """Download and unpack a release's source distribution, or skip where that is out of reach."""
    words = ["download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest", str(folder)]
    python = getattr(sys, "_base_executable", sys.executable)  # a virtual environment may come without pip
    done = subprocess.run(
        [python, "-m", "pip", *words, f"{package}=={version}"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    archives = list(folder.glob("*.tar.gz"))
    if done.returncode != 0 or not archives:
        pytest.skip(f"{package} {version} cannot be downloaded: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
    with tarfile.open(archives[0]) as archive:
        # The safe way is the default from Python 3.14 on, and is not there before 3.11.4.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(folder)
    return folder / f"{package}-{version}"
