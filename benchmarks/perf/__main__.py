"""Runs the performance suites that are named on the command line, or all of them."""

import argparse
import os
import sys
from collections.abc import Sequence

import meter
import readers
import report
import verification
from figures import show

import environments
import results
import trials

SUITES = {
    "environments": environments.measure,
    "meter": meter.measure,
    "readers": readers.measure,
    "report": report.measure,
    "results": results.measure,
    "trials": trials.measure,
    "verification": verification.measure,
}


def main(words: Sequence[str]) -> int:
    """Return 0 when every limit is kept, 1 when one is not; what is no suite or option ends the program with 2."""
    parser = argparse.ArgumentParser(prog="perf", description=__doc__, allow_abbrev=False)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=", ".join(SUITES))
    parser.add_argument(
        "--trials", type=int, default=environments.TRIALS, help="environments: of Claude Code, sealed and open each"
    )
    asked = parser.parse_args(words)
    if unknown := set(asked.suites) - SUITES.keys():
        parser.error(f"no such suite: {', '.join(sorted(unknown))}; there are: {', '.join(SUITES)}")
    kept = True
    for name in asked.suites or SUITES:
        print(f"{name} (load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors)")
        figures = environments.measure(asked.trials) if name == "environments" else SUITES[name]()
        show(figures)
        kept = kept and all(figure.within for figure in figures)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
