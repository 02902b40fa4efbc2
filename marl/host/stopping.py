"""Stop requests: signals set a flag, and the loop stops where everything is whole."""

import contextlib
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

from marl.host import sweep
from marl.host.output import warn

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP)
# Seconds that the main thread has to end by itself; within the compiler it hears of no signal.
GRACE = 1.0
# Seconds within which a signal that comes twice was sent once, to a process and to its group.
_ECHO = 1.0
_LATER = "stopping as soon as the work at hand is done and saved; Ctrl-C again stops at once"
_NOW = "stopping at once; there is nothing to save"
_AGAIN = "stopping at once; what was saved before is kept"
_SHOW_CURSOR = b"\x1b[?25h\n"  # a bar that is torn off has hidden it


class StoppedAtOnce(KeyboardInterrupt):
    """Ends the work where it stands.

    Attributes:
        exit_code: 128 + signal number.
    """

    def __init__(self, exit_code: int):
        super().__init__()
        self.exit_code = exit_code


class StopRequest:
    """While entered, `SIGNALS` ask for a stop. A second SIGINT, or the same signal once more, stops
    at once: by `StoppedAtOnce` in the main thread, or the process ends where that does not listen.

    SIGHUP, of a terminal that closes, stays ignored where it was: that is what nohup is for.

    Python calls a handler in the main thread only, and only between two of its instructions: while
    that thread compiles, which takes minutes, nobody would be told anything. So signals are read
    from a pipe that Python writes them to at once, by whoever comes first, the handler or a thread.

    A process that others wait for never ends that way: in a sweep its end would take those with it
    that are still saving, and on a cluster nobody would queue its job again.

    Args:
        pass_on: called at the first signal, perhaps in that thread, by those who have others to
            stop. Returns whether there are any: they are to save before this process ends.

    Attributes:
        signal: what was received, or None.
        nothing_to_save: whatever is under way can be done again, so that the first signal stops at
            once, too. To be set by who has something to lose, and again when that is saved.
    """

    def __init__(self, pass_on: Callable[[], bool] = lambda: False):
        self._pass_on = pass_on
        self.signal: signal.Signals | None = None
        self.nothing_to_save = True
        self._since = 0.0  # when the signal came
        self._leaving = False  # the main thread is to end
        self._has_raised = False
        self._may_end_process = not sweep.is_waited_for()
        self._previous = {}
        self._lock = threading.RLock()  # a handler may interrupt a handler
        self._ends = contextlib.ExitStack()

    def __call__(self) -> bool:
        """Whether a stop was asked for."""
        return self.signal is not None

    @property
    def exit_code(self) -> int:
        """128 + signal number, as shells have it."""
        return 128 + int(self.signal) if self.signal is not None else 0

    def __enter__(self) -> "StopRequest":
        if code := sweep.ended_with():  # while this job was about to begin
            raise StoppedAtOnce(code)
        if threading.current_thread() is not threading.main_thread():
            return self  # which alone can listen
        self._pipe, self._wake = os.pipe()
        for end in (self._pipe, self._wake):
            os.set_blocking(end, False)
        former = signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        for number in SIGNALS:
            if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
                continue
            if number == signal.SIGINT and sweep.is_child():
                continue  # Ctrl-C reaches the whole group; the process that holds the sweep answers
            self._previous[number] = signal.signal(number, self._receive)
        thread = threading.Thread(target=self._listen, name="signals", daemon=True)
        thread.start()

        hook, sys.unraisablehook = sys.unraisablehook, self._take_dropped

        def end() -> None:
            sys.unraisablehook = hook
            for number, handler in self._previous.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(former)
            os.close(self._wake)  # which ends the thread
            thread.join()
            os.close(self._pipe)

        self._ends.callback(end)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._ends.close()
        # An import, or the compiler, that is interrupted may end with any error.
        if self._has_raised and kind is not None and not issubclass(kind, KeyboardInterrupt):
            raise StoppedAtOnce(self.exit_code) from None

    def _receive(self, number: int, frame: FrameType | None) -> None:
        self._read()
        if self._leaving:
            self._leaving, self._has_raised = False, True
            raise StoppedAtOnce(self.exit_code)

    def _take_dropped(self, dropped: "sys.UnraisableHookArgs") -> None:
        """Some callers drop what is raised in them, as jax's callback of the garbage collector:
        then the thread is to end the process."""
        if dropped.exc_type is StoppedAtOnce:
            self._leaving = True
            os.write(self._wake, b"\0")
        else:
            sys.__unraisablehook__(dropped)

    def _listen(self) -> None:
        while True:
            select.select([self._pipe], [], [])
            if not self._read():
                return
            if self._leaving:
                time.sleep(GRACE)
            if self._leaving and self._may_end_process:
                if os.isatty(1):
                    os.write(1, _SHOW_CURSOR)
                os._exit(self.exit_code)

    def _read(self) -> bool:
        """Answers the signals that nobody has answered yet. False: there will be none any more."""
        with self._lock:
            try:
                numbers = os.read(self._pipe, 64)
            except BlockingIOError:
                return True
            for number in numbers:
                if number in self._previous:
                    self._answer(signal.Signals(number))
            return bool(numbers)

    def _answer(self, number: signal.Signals) -> None:
        now = time.monotonic()
        if self.signal is None:
            self.signal, self._since = number, now
            self._leaving = not self._pass_on() and self.nothing_to_save
            words = _NOW if self._leaving and self._may_end_process else _LATER
        elif number == signal.SIGINT or (number == self.signal and now - self._since > _ECHO):
            self._leaving, words = True, _AGAIN
        else:
            return
        # Not `print`: the signal may have come in the middle of one.
        warn(f"\n{number.name}: {words}\n")


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt meanwhile, as Python has it by itself."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)


def ignore_stops_between_jobs() -> None:
    """In a child of the process that holds a sweep, signals do nothing but in a `StopRequest`: a
    child that ended by one would take the others with it, which are still saving. That no further
    job begins is known to all (`sweep.ended_with`)."""
    if sweep.is_child():
        for number in SIGNALS:
            signal.signal(number, lambda number, frame: None)
