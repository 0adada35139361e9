"""Runs the performance suites that are named on the command line, or all of them."""

import os
import sys

import meter
import readers
import report
from figures import show

import results
import trials

SUITES = {
    "meter": meter.measure,
    "readers": readers.measure,
    "report": report.measure,
    "results": results.measure,
    "trials": trials.measure,
}


def main(names: list[str]) -> int:
    """Return 0 when every limit is kept, 1 when one is not, 2 for a suite that is not there."""
    if unknown := set(names) - SUITES.keys():
        print(f"no such suite: {', '.join(sorted(unknown))}; there are: {', '.join(SUITES)}", file=sys.stderr)
        return 2
    kept = True
    for name in names or SUITES:
        print(f"{name} (load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors)")
        figures = SUITES[name]()
        show(figures)
        kept = kept and all(figure.within for figure in figures)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
