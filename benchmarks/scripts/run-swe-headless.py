#!/usr/bin/env python3
"""Runs the trials of one model, agent and skill over a dataset. Takes the options of ``swetrials run``."""

import sys

from swetrials.cli.app import main

if __name__ == "__main__":
    sys.exit(main(["run", *sys.argv[1:]]))
