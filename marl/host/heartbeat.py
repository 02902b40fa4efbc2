"""Signs of life while one piece of work holds the main thread, as compiling does."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

from marl.host.progress import duration


class Heartbeat:
    """While entered, a thread tells how long the work of `during` has been going on.

    Args:
        tell: takes the text; called from the thread, but never once `during` has been left.
        patience: seconds before the first word; short work is not worth one.
        seconds: between two words.
    """

    def __init__(self, tell: Callable[[str], None], *, patience: float = 5.0, seconds: float = 1.0):
        self._tell, self._patience, self._seconds = tell, patience, seconds
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._text: str | None = None
        self._began = 0.0
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def __enter__(self) -> "Heartbeat":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    @contextlib.contextmanager
    def during(self, text: str) -> Iterator[None]:
        """Work to tell about: `text` with {} where the time so far belongs."""
        with self._lock:
            self._text, self._began = text, time.monotonic()
        try:
            yield
        finally:
            with self._lock:  # and not in the middle of a word
                self._text = None

    def _beat(self) -> None:
        while not self._ended.wait(self._seconds):
            with self._lock:
                elapsed = time.monotonic() - self._began
                if self._text is not None and elapsed >= self._patience:
                    self._tell(self._text.format(duration(elapsed)))
