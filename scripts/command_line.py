"""What the plain commands share: numbers and files as options, and how Ctrl-C ends them.

Imports the standard library only, since the reference's interpreter imports it too.
"""

import argparse
import json
import math
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

LEVELS = ("none", "easy", "medium", "hard")
MAX_SEED = 2**32 - 1  # of a jax key
MAX_STEPS = 10**6  # of a recording or a measurement
MAX_WORLDS = 2**20
BAD_OPTION, STOPPED = 2, 130  # as shells have it: 128 + SIGINT
TRAINER = "ippo_rnn.py"  # one of the files of the published trainers
ON_TERMINAL, ELSEWHERE = 0.5, 10.0  # seconds between two signs of life


def run(main: Callable[[], int]) -> None:
    """Calls `main` and exits with its status; Ctrl-C is one line and status 130."""
    interrupts = []

    def interrupt(number, frame):
        interrupts.append(number)
        # Some callers drop what is raised in them (imports in C, jax's callback of the garbage
        # collector): once more then, unless it arrived here meanwhile.
        signal.setitimer(signal.ITIMER_REAL, 2.0)
        raise KeyboardInterrupt

    def unraisable(dropped):
        if dropped.exc_type is not KeyboardInterrupt:
            sys.__unraisablehook__(dropped)

    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGALRM, interrupt)
    sys.unraisablehook = unraisable
    try:
        status = main()
    except SystemExit as leaving:
        status = leaving.code
    except BaseException as error:
        if _is_memory(error):
            note(f"error: memory ran out; lower the number of worlds or steps ({error})")
            sys.exit(BAD_OPTION)
        if not interrupts:  # an import that is interrupted may end with any error
            raise
        note("stopped by Ctrl-C")
        status = STOPPED
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    if status == STOPPED:
        # The compiler's threads may still be at work; they crash the interpreter's orderly end.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(STOPPED)
    sys.exit(status)


def _is_memory(error: BaseException) -> bool:
    # by its name, since jax may be none of this interpreter's
    of_device = type(error).__name__ == "JaxRuntimeError" and "RESOURCE_EXHAUSTED" in str(error)
    return of_device or isinstance(error, MemoryError)


def note(text: str) -> None:
    """Tells what goes on, on standard error: standard output is for results."""
    print(text, file=sys.stderr, flush=True)


class Status:
    """How far work is, on standard error: one line on a terminal, overwritten; a line now and then
    elsewhere."""

    def __init__(self):
        self.on_terminal = sys.stderr.isatty()
        self.pause = ON_TERMINAL if self.on_terminal else ELSEWHERE
        self.last = 0.0

    @property
    def is_due(self) -> bool:
        """Whether it is time for a sign of life."""
        return time.monotonic() - self.last >= self.pause

    def show(self, text: str) -> None:
        self.last = time.monotonic()
        if self.on_terminal:
            width = os.get_terminal_size(sys.stderr.fileno()).columns
            sys.stderr.write(f"\r\x1b[K{text[: width - 1]}")
            sys.stderr.flush()
        else:
            note(text)

    def clear(self) -> None:
        """Before anything else is printed."""
        if self.on_terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def time_left(seconds: float) -> str:
    return f"about {int(seconds) // 60}:{int(seconds) % 60:02d} left"


def whole_number(low: int, example: int, high: int | None = None) -> Callable[[str], int]:
    """The type of an argparse option that is a whole number from `low` up, to `high` if given."""
    bounds = f"from {low} up" if high is None else f"from {low} to {high}"

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if value < low or (high is not None and value > high):
            raise argparse.ArgumentTypeError(
                f"{text!r} must be a whole number {bounds}, for instance {example}"
            )
        return value

    return read


def field_value(text: str) -> str:
    """The type of an argparse option FIELD=JSON: a number, true or false."""
    name, _, value = text.partition("=")
    try:
        is_number = math.isfinite(json.loads(value))
    except (ValueError, TypeError, OverflowError, RecursionError):
        is_number = False
    if not name.isidentifier() or not is_number:
        raise argparse.ArgumentTypeError(
            f"{text!r} must be FIELD=JSON, for instance shared_reward=true or p_max_agents=0.5"
        )
    return text


def difficulty_level(text: str) -> str:
    """The type of an argparse option that names a difficulty, as `alem_env.difficulty` knows it."""
    try:
        is_known = text.lower() in LEVELS or 0.0 <= float(text) <= 1.0
    except ValueError:
        is_known = False
    if not is_known:
        raise argparse.ArgumentTypeError(
            f"{text!r} is unknown; choose {', '.join(LEVELS)}, or a number in [0, 1]"
        )
    return text


def file_to_write(text: str) -> Path:
    """The type of an argparse option that names a file: refused now, not after the work."""
    path = Path(text)
    try:
        check_writable(path)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}; name another file") from error
    return path


def folder_of_baselines(text: str) -> Path:
    """The type of an argparse option that names the folder of the published trainers."""
    folder = Path(text)
    if not (folder / TRAINER).is_file() or not (folder / "config").is_dir():
        raise argparse.ArgumentTypeError(
            f"{text!r} holds no {TRAINER} and config/; name the folder `baselines` of a checkout "
            "of alem-env's repository"
        )
    return folder


def folder_to_make(text: str) -> Path:
    """The type of an argparse option that names a folder, new or empty: refused now as well."""
    path = Path(text)
    if path.is_dir() and os.access(path, os.R_OK) and any(path.iterdir()):
        raise argparse.ArgumentTypeError(f"{text!r}: is no empty folder; name a new one")
    return folder_to_fill(text)


def folder_to_fill(text: str) -> Path:
    """The type of an argparse option that names a folder, whatever else may be in it."""
    path = Path(text)
    try:
        there = next(place for place in (path, *path.absolute().parents) if place.exists())
        if not there.is_dir():
            raise NotADirectoryError(f"{there} is no folder")
        check_writable(there / "file")
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{text!r}: {error}; name a new one") from error
    return path


def check_writable(path: Path) -> None:
    """Proves that a file can be made there, and leaves none.

    Raises:
        OSError: why not, in words.
    """
    folder = path.resolve().parent
    if path.is_dir():
        raise IsADirectoryError("is a folder")
    if not folder.is_dir():
        problem = "is no folder" if folder.exists() else "does not exist"
        raise NotADirectoryError(f"{folder} {problem}")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OSError(f"nothing can be written to {folder} ({error.strerror})") from error
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError("the file is write-protected")
