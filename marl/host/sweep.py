"""What the jobs of one sweep tell one another, in one process or several.

A sweep that is stopped must start no further job, in whichever process that would be, and each job
that runs must save. So the process that holds the sweep names a file in the environment, which its
children inherit: once it exists, the sweep is over.

Jobs that submitit runs are alone: each has a signal of its own from the batch system.
"""

import contextlib
import multiprocessing
import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

from marl.host.files import write_atomic

_STOP_FILE = "ALEM_MARL_SWEEP_STOP"
# By which submitit hears that a job shall be queued again, and the variable that names another.
_SUBMITIT, _SUBMITIT_SIGNAL = "SUBMITIT_EXECUTOR", "SUBMITIT_PREEMPT_SIGNAL"


@contextlib.contextmanager
def held() -> Iterator[None]:
    """A sweep of this process and of the children that it starts meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ[_STOP_FILE] = str(Path(folder) / "stopped")
        try:
            yield
        finally:
            del os.environ[_STOP_FILE]


def is_child() -> bool:
    """Whether this process was started to do jobs of a sweep that another one holds."""
    return _STOP_FILE in os.environ and multiprocessing.parent_process() is not None


def is_waited_for() -> bool:
    """Whether another process, or submitit, wants to know how this one's job ends."""
    return is_child() or _SUBMITIT in os.environ


def end(code: int) -> None:
    """Ends the sweep that this process works for, if any: a job was stopped with this code."""
    if _STOP_FILE in os.environ:
        with contextlib.suppress(OSError):  # the sweep is over already
            # Each job that was stopped says so: another, about to begin, must not read half of it.
            write_atomic(Path(os.environ[_STOP_FILE]), str(code))


def ended_with() -> int:
    """The code of the stop that ended this process's sweep, or 0 while it goes on."""
    try:
        return int(Path(os.environ[_STOP_FILE]).read_text())
    except (LookupError, OSError, ValueError):
        return 0


def ask_for_requeueing(code: int) -> None:
    """In a job of submitit that SIGUSR1 or SIGUSR2 stopped: has it queued again, and exits.

    Not after SIGTERM, which is what cancelling a job sends; a batch system that takes a job's
    place away with it queues the job again by itself.
    """
    if _SUBMITIT in os.environ and code - 128 in (signal.SIGUSR1, signal.SIGUSR2):
        name = os.environ.get(_SUBMITIT_SIGNAL, "USR2")
        signal.raise_signal(signal.Signals[f"SIG{name}"])  # submitit's own handler, by now
