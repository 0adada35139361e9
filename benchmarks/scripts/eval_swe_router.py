#!/usr/bin/env python3
"""Tells whether taking the router's advice pays. Takes the options of ``swetrials router evaluate``."""

import sys

from swetrials.cli.app import main

if __name__ == "__main__":
    sys.exit(main(["router", "evaluate", *sys.argv[1:]]))
