#!/usr/bin/env python3
"""Writes run-summary.json and run-summary.md of one results folder. Takes the options of ``swetrials summarize``."""

import sys

from swetrials.cli.app import main

if __name__ == "__main__":
    sys.exit(main(["summarize", *sys.argv[1:]]))
