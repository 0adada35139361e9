#!/usr/bin/env python3
"""Has an agent judge what the router needs to know of each task. Takes the options of ``swetrials router inputs``."""

import sys

from swetrials.cli.app import main

if __name__ == "__main__":
    sys.exit(main(["router", "inputs", *sys.argv[1:]]))
