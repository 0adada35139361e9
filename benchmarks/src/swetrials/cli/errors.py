"""From exceptions to exit codes and messages a stranger can act on."""

import errno
import io
import os
import signal
import sys
from types import FrameType

import typer

from swetrials.errors import KnownError, first_error

USAGE, PREFLIGHT, REFUSED, INTERRUPTED = 2, 3, 4, 130
_NOT_WRITTEN = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO})


def guarded(app: typer.Typer, argv: list[str]) -> int:
    """Run the command line and return its exit code. Known errors are printed in a line or two, without a traceback."""
    _take_signals()
    for stream in (sys.stdout, sys.stderr):
        # Under a locale without UTF-8 a character that it lacks is a question mark, not the end of a run.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    code = _code_of(app, argv)
    try:
        _flush()
    except OSError as error:
        # A second attempt, at the end of Python, would complain for itself.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1 if isinstance(error, BrokenPipeError) else _say(f"cannot write the output: {error.strerror}", 1)
    return code


def _flush() -> None:
    if sys.stdout is not None:  # as it is when the command was started with it closed
        sys.stdout.flush()


def _reader_is_gone() -> bool:
    """Whether standard output is a pipe that nobody reads any more, as behind ``| head``."""
    try:
        _flush()
    except BrokenPipeError:
        return True
    except OSError:
        return False
    return False


def _take_signals() -> None:
    # A shell starts what it puts into the background with SIGINT ignored, and then nothing could end a run.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        # Ended by its terminal or its supervisor, a run stops its agents and saves, as with Ctrl-C; under nohup it
        # is to outlive the terminal.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


def _code_of(app: typer.Typer, argv: list[str]) -> int:
    debug = "--debug" in argv
    argv = [word for word in argv if word != "--debug"]
    try:
        app(argv, prog_name="swetrials")
    except (Exception, SystemExit, BaseExceptionGroup) as raised:
        error = first_error(raised)
        if isinstance(error, SystemExit):
            # Typer ends like this always: after success, after its own complaint about an argument, after Ctrl-C.
            code = error.code if isinstance(error.code, int) else 0
            return _interrupted() if code == INTERRUPTED else code
        return 1 if _reader_is_gone() else _known(error, debug)
    return 0


def _interrupt(number: int, frame: FrameType | None) -> None:
    signal.raise_signal(signal.SIGINT)


def _known(error: BaseException, debug: bool) -> int:
    if isinstance(error, KeyboardInterrupt):
        return _interrupted()
    if debug:
        raise error
    if isinstance(error, KnownError):
        return _say(str(error), error.exit_code)
    if isinstance(error, OSError) and error.strerror and error.filename:
        # Where something was to be renamed into place, the second name is the one that somebody asked for.
        return _say(f"{error.filename2 or error.filename}: {error.strerror}", 1)
    if isinstance(error, OSError) and error.errno in _NOT_WRITTEN:
        # What is printed has no name to tell.
        return _say(f"cannot write the output: {error.strerror}", 1)
    return _say(f"unexpected {type(error).__name__}: {error}\nrun it again with --debug and report what it prints", 1)


def _interrupted() -> int:
    return _say(
        "interrupted; what has finished is saved: the same command goes on, run and e2e with --resume", INTERRUPTED
    )


def _say(message: str, code: int) -> int:
    print(message, file=sys.stderr)
    return code
