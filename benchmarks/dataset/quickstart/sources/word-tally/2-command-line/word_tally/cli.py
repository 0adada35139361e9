"""The command line: files in, one word a line out."""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from word_tally.counting import tally


def ranking(counts: Counter[str]) -> list[tuple[str, int]]:
    """Return words with their counts, the most frequent first; ties are in alphabetical order."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tally of the files, or of standard input, and return the exit code."""
    parser = argparse.ArgumentParser(prog="word-tally", description="Count the words of text files.")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="text files; none: standard input")
    options = parser.parse_args(arguments)
    try:
        counts = tally(_lines(options.files))
    except OSError as error:
        print(f"word-tally: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    for word, count in ranking(counts):
        print(f"{count}\t{word}")
    return 0


def _lines(files: Sequence[Path]) -> Iterable[str]:
    if not files:
        yield from sys.stdin
    for file in files:
        with file.open(encoding="utf-8", errors="replace") as stream:
            yield from stream
