"""Taking shell commands apart, as far as it takes to see which programs are called with which words."""

import re
import shlex
from collections.abc import Iterator

_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1[^\n]*\n.*?^\s*\2\s*$", re.DOTALL | re.MULTILINE)
_SHELLS = {"sh", "bash", "zsh", "dash"}
_PREFIXES = {"command", "env", "exec", "nice", "nohup", "sudo", "time", "timeout", "xargs"}
_ASSIGNMENT = re.compile(r"\w+=")
_DURATION = re.compile(r"\d+(?:\.\d+)?[smhd]?")
_DEEPEST = 4


def simple_commands(script: str, depth: int = 0) -> Iterator[list[str]]:
    """Yield the words of each simple command of a script, quotes taken off, the program first.

    What stands in a here-document is data and is left out; what ``bash -c`` is given is taken apart as well.
    Variable assignments and programs that only call another one are left out in front. A script with a syntax that is
    not understood is cut at blanks.
    """
    for words in _commands(_HEREDOC.sub(" ", script)):
        called = _program_first(words)
        if not called:
            continue
        yield called
        program = called[0].rpartition("/")[2]
        flags = [index for index, word in enumerate(called[:-1]) if re.fullmatch(r"-[a-z]*c", word)]
        if program in _SHELLS and flags and depth < _DEEPEST:
            yield from simple_commands(called[flags[0] + 1], depth + 1)


def _commands(script: str) -> Iterator[list[str]]:
    lexer = shlex.shlex(script.replace("\n", " ; "), posix=True, punctuation_chars="();<>|&`")
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    try:
        for token in lexer:
            if token and set(token) <= set("();|&`"):
                yield words
                words = []
            elif not (token and set(token) <= set("<>&")):
                words.append(token)
    except ValueError:  # a quote that is never closed
        words = script.split()
    yield words


def _program_first(words: list[str]) -> list[str]:
    for index, word in enumerate(words):
        name = word.rpartition("/")[2]
        passed_over = index and (word.startswith("-") or _DURATION.fullmatch(word))
        if not (passed_over or _ASSIGNMENT.match(word) or name in _PREFIXES):
            return words[index:]
    return []
