"""Verifying one recording after another, and showing how far that is."""

import time

from command_line import Status, time_left

from alem_env import recording, verification


class Progress:
    """Says what is replayed. What compiling takes is told beforehand and is no part of the time
    left."""

    def __init__(self, total_files: int):
        self.status = Status()
        self.total_files = total_files
        self.number = 0  # of the file at hand, from 1
        self.lengths = 0  # steps of the files so far
        self.steps = self.seconds = 0  # after the first step of each file
        self.compiled = set()
        self.last_step = 0.0

    def start(self, name: object) -> None:
        self.number += 1
        self.name = f"[{self.number}/{self.total_files}] {name}"

    def load(self, loaded: recording.Transitions | recording.Facts) -> None:
        self.total = loaded.num_steps
        self.lengths += self.total
        if loaded.static not in self.compiled:
            self.compiled.add(loaded.static)
            self.status.show(f"{self.name}: compiling the world, up to some minutes ...")

    def step(self, done: int) -> None:
        now = time.monotonic()
        if done > 1:
            self.steps += 1
            self.seconds += now - self.last_step
        self.last_step = now
        if self.steps and self.status.is_due:
            left = time_left(self._steps_left(done) * self.seconds / self.steps)
            self.status.show(f"{self.name}: step {done} of {self.total}, {left}")

    def _steps_left(self, done: int) -> float:
        """Files that are not read yet are taken to be as long as those so far."""
        return self.total - done + (self.total_files - self.number) * self.lengths / self.number


def replay(path, progress: Progress, single_step: bool = False) -> tuple[verification.Outcome, int]:
    """Verifies a file.

    Returns:
        The outcome, and the steps that are recorded.

    Raises:
        recording.RecordingError: as `recording.load`.
    """
    progress.start(path)
    try:
        loaded = recording.load(path)
        progress.load(loaded)
        return verification.verify(loaded, single_step, progress.step), loaded.num_steps
    finally:
        progress.status.clear()
