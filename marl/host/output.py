"""Standard output that work outlives: a reader may leave (`| head`), a terminal may close."""

import os
import sys
from typing import TextIO


def say(text: str) -> None:
    """Prints a line at once; with nobody left to read it, does nothing."""
    if sys.stdout is not None:
        print(text, file=Lasting(sys.stdout), flush=True)


class Lasting:
    """A text stream that goes on when its other end is gone.

    The first failure points the file's descriptor at the null device, so that what is still
    buffered fails nobody later either: Python flushes once more on its way out, and would complain
    and change the exit code.

    Args:
        stream: what is written to; whatever is not writing is left to it.
    """

    def __init__(self, stream: TextIO):
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError:
            _discard(self._stream)
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError:
            _discard(self._stream)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def warn(text: str) -> None:
    """Writes to standard error below Python's buffers, so that a signal handler may call it."""
    try:
        os.write(2, text.encode())
    except OSError:
        pass  # nobody is left to read it


def _discard(stream: TextIO) -> None:
    try:
        descriptor = stream.fileno()
    except OSError:  # a stream in memory
        return
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    os.close(null)
