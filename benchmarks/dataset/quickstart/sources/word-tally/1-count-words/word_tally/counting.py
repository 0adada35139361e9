"""What a word is, and how often each one occurs."""

import re
from collections import Counter
from collections.abc import Iterable

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


def tally(lines: Iterable[str]) -> Counter[str]:
    """Count the words of some lines; upper and lower case are the same word."""
    counts: Counter[str] = Counter()
    for line in lines:
        counts.update(word.lower() for word in _WORD.findall(line))
    return counts
