#!/usr/bin/env python3
"""Validates a dataset and prints what is in it. Takes the options of ``swetrials dataset validate``."""

import sys

from swetrials.cli.app import main

if __name__ == "__main__":
    sys.exit(main(["dataset", "validate", *sys.argv[1:]]))
