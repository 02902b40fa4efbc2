"""What a user sees while a run goes on: a bar on a terminal, a line now and then elsewhere."""

import math
import multiprocessing
import sys
import time
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from marl.host.output import Lasting, say

SECONDS_BETWEEN_LINES = 10.0
_WHEN_STILL = 3


class Display(Protocol):
    """Shows how far work is, and says things in between."""

    def start(self, total: float, done: float) -> None: ...

    def update(self, done: float, text: str) -> None: ...

    def say(self, text: str) -> None: ...

    def stop(self) -> None: ...


class Bar:
    """A progress bar."""

    def __init__(self, label: str, console: Console | None = None):
        self._progress = Progress(
            TextColumn(f"[bold]{label}"),
            BarColumn(bar_width=20),
            TaskProgressColumn(),
            TextColumn("{task.fields[text]}"),
            # a console of its own ends the process when its reader leaves
            console=console or Console(file=sys.stdout and Lasting(sys.stdout)),
            refresh_per_second=4,
        )
        self._task = None

    def start(self, total: float, done: float) -> None:
        self._task = self._progress.add_task("", total=total, completed=done, text="")
        self._progress.start()

    def update(self, done: float, text: str) -> None:
        self._progress.update(self._task, completed=done, text=text)

    def say(self, text: str) -> None:
        self._progress.console.print(text, markup=False, highlight=False)

    def stop(self) -> None:
        self._progress.stop()


class Lines:
    """A line every few seconds, for files and pipes; fewer while nothing is done."""

    def __init__(self, label: str, seconds: float = SECONDS_BETWEEN_LINES):
        self._label = label
        self._seconds = seconds
        self._total = 1.0
        self._last_time = -math.inf
        self._last_done = -math.inf
        self._pending = None

    def start(self, total: float, done: float) -> None:
        self._total = total

    def update(self, done: float, text: str) -> None:
        line = f"{self._label} {100 * min(1.0, done / self._total):3.0f}% {text}"
        now = time.monotonic()
        pause = self._seconds if done > self._last_done else _WHEN_STILL * self._seconds
        if now - self._last_time < pause:
            self._pending = line
            return
        self._last_time, self._last_done, self._pending = now, done, None
        say(line)

    def say(self, text: str) -> None:
        say(text)

    def stop(self) -> None:
        if self._pending:
            say(self._pending)
            self._pending = None


class Silent:
    """Shows nothing but what is said."""

    def start(self, total: float, done: float) -> None: ...

    def update(self, done: float, text: str) -> None: ...

    def say(self, text: str) -> None:
        say(text)

    def stop(self) -> None: ...


def make_display(kind: str, label: str) -> Display:
    """A display of kind "auto", "bar", "lines" or "none"."""
    if kind == "auto":
        is_terminal = sys.stdout is not None and sys.stdout.isatty()
        is_alone = multiprocessing.parent_process() is None  # bars of a sweep would mix
        kind = "bar" if is_terminal and is_alone else "lines"
    return {"bar": Bar, "lines": Lines}[kind](label) if kind != "none" else Silent()


def duration(seconds: float) -> str:
    """75 -> "1:15"; 3700 -> "1:01:40"."""
    hours, rest = divmod(int(max(0.0, seconds)), 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
