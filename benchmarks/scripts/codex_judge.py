#!/usr/bin/env python3
"""Scores finished trials with the codex judge. Takes the options of ``swetrials judge``."""

import sys

from swetrials.cli.app import main

if __name__ == "__main__":
    sys.exit(main(["judge", "--judge", "codex", *sys.argv[1:]]))
