"""Stop requests: signals set a flag, and the loop stops where everything is whole."""

import signal
from collections.abc import Callable
from types import FrameType

from marl.host.output import warn

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP)
_AGAIN = "Ctrl-C again stops at once"


class StopRequest:
    """While entered, `SIGNALS` ask for a stop; a second SIGINT stops at once.

    SIGHUP, of a terminal that closes, stays ignored where it was: that is what nohup is for.

    Args:
        pass_on: called at the first signal, by those who have others to stop.

    Attributes:
        signal: what was received, or None.
    """

    def __init__(self, pass_on: Callable[[], None] = lambda: None):
        self._pass_on = pass_on
        self.signal: signal.Signals | None = None
        self._previous = {}

    def __call__(self) -> bool:
        """Whether a stop was asked for."""
        return self.signal is not None

    @property
    def exit_code(self) -> int:
        """128 + signal number, as shells have it."""
        return 128 + int(self.signal) if self.signal is not None else 0

    def __enter__(self) -> "StopRequest":
        for number in SIGNALS:
            if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
                continue
            try:
                self._previous[number] = signal.signal(number, self._receive)
            except ValueError:  # not the main thread: nothing to listen to
                break
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        is_first, self.signal = self.signal is None, signal.Signals(number)
        if is_first:
            self._pass_on()
        # Not `print`: the signal may have come in the middle of one.
        warn(f"\n{self.signal.name}: stopping where it can be resumed; {_AGAIN}\n")
