"""Starts the jobs of a queue, watches them, and reports those that fail. See `run_queue.py`."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from command_line import Status, note
from queue_jobs import Job, State
from queue_status import Failures, summary, survey

from marl.host.stopping import StopRequest

TRAIN = (sys.executable, str(Path(__file__).with_name("train.py")))
LOG_FILE = "train.log"
BUSY = 1  # of a job that another process has
ON_TERMINAL, ELSEWHERE = 2.0, 60.0  # seconds between two status lines
SECONDS_BETWEEN_LOOKS = 0.2


class Queue:
    """Starts jobs in their order, at most `parallel` at a time, until all have ended.

    Args:
        jobs: in the order to start them.
        out: folder of the runs, where failures are kept for `--status`.
        parallel: processes at a time.
        command: the training program; a job's options are added.
    """

    def __init__(self, jobs: Sequence[Job], out: Path, parallel: int, command: Sequence[str]):
        self._parallel, self._command = parallel, command
        self._failures = Failures(out)
        self._states = survey(jobs, self._failures.read())
        self._running: dict[Job, subprocess.Popen] = {}
        self._codes: list[int] = []
        self._status = Status()
        self._status.pause = ON_TERMINAL if self._status.on_terminal else ELSEWHERE

    def run(self, stop: StopRequest) -> int:
        """Works until all have ended or a stop is asked for, whose `pass_on` is for `stop`.

        Returns:
            The exit code: 0, the highest of the failed jobs, or of the signal.
        """
        waiting = [job for job, state in self._states.items() if state is not State.FINISHED]
        self._say(f"{len(self._states)} jobs, {len(self._states) - len(waiting)} finished before")
        try:
            while self._running or (waiting and not stop()):
                while waiting and not stop() and len(self._running) < self._parallel:
                    self._start(waiting.pop(0), stop)
                self._collect(stop)
                if self._status.is_due:
                    self._status.show(summary(self._states))
                time.sleep(SECONDS_BETWEEN_LOOKS)
        finally:  # of a second Ctrl-C; what they saved last is whole
            for process in self._running.values():
                process.kill()
                process.wait()
        self._say(summary(self._states))
        if stop():
            self._say("stopped; the same command goes on")
            return stop.exit_code
        return max(self._codes, default=0)

    def pass_on(self) -> bool:
        """Asks the running jobs to save and stop; true, since one may just be starting."""
        for process in list(self._running.values()):
            process.send_signal(signal.SIGTERM)
        return True

    def _start(self, job: Job, stop: StopRequest) -> None:
        if job.is_running():
            self._codes.append(BUSY)
            self._say(f"{job.name} is left out: another process is at work in {job.folder}")
            return
        self._failures.note(job, None)
        self._states[job] = State.RUNNING
        steps, _ = job.progress()
        job.folder.mkdir(parents=True, exist_ok=True)
        with open(job.folder / LOG_FILE, "ab") as log:
            # In a session of its own: Ctrl-C would reach it beside what is passed on, and the
            # second of two stops a run without saving.
            process = subprocess.Popen(
                [*self._command, *job.overrides],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        self._running[job] = process
        if stop():  # between the two lines above
            process.send_signal(signal.SIGTERM)
        self._say(f"{job.name} {'resumes' if steps else 'starts'} in {job.folder}")

    def _collect(self, stop: StopRequest) -> None:
        """Takes note of the jobs that ended."""
        for job, process in list(self._running.items()):
            code = process.poll()
            if code is None:
                continue
            del self._running[job]
            if code < 0:
                code = 128 - code  # killed by a signal, as shells have it
            if code == 0 and job.is_finished():
                self._states[job] = State.FINISHED
                self._say(f"{job.name} finished")
            elif stop() and code >= 128:
                self._states[job] = State.INTERRUPTED
                self._say(f"{job.name} stopped")
            else:
                self._fail(job, code)

    def _fail(self, job: Job, code: int) -> None:
        words = last_line(job.folder / LOG_FILE)
        self._codes.append(code or BUSY)
        self._states[job] = State.FAILED
        self._failures.note(job, {"code": code, "words": words})
        self._say(
            f"error: {job.name} failed with exit status {code}: {words}\n"
            f"       its options: {' '.join(job.overrides)}\n"
            f"       its output: {job.folder / LOG_FILE}"
        )

    def _say(self, text: str) -> None:
        self._status.clear()
        note(text)


def last_line(path: Path) -> str:
    """The last words of a log, which tell what went wrong."""
    with open(path, "rb") as file:
        file.seek(max(0, os.path.getsize(path) - 4096))
        lines = file.read().decode(errors="replace").splitlines()
    return next((line.strip() for line in reversed(lines) if line.strip()), "(no output)")
