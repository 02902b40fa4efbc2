"""How far the jobs of a queue are: one line while it works, a table for `--status`."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from queue_jobs import Job, State

from marl.host.files import write_json
from marl.host.progress import duration

FAILURES_FILE = "failures.json"


class Failures:
    """Exit status and last words of the jobs that failed, kept in the folder of the runs."""

    def __init__(self, out: Path):
        self._path = out / FAILURES_FILE

    def read(self) -> dict[str, dict]:
        try:
            found = json.loads(self._path.read_text())
        except (OSError, ValueError):  # missing, or damaged: nothing depends on it
            return {}
        return found if isinstance(found, dict) else {}

    def note(self, job: Job, failure: dict | None) -> None:
        """Keeps a failure, or forgets the one that there was."""
        before = self.read()
        after = {name: kept for name, kept in before.items() if name != job.name}
        if failure is not None:
            after[job.name] = failure
        if after != before:
            write_json(self._path, after)


def survey(jobs: Sequence[Job], failures: Mapping[str, dict]) -> dict[Job, State]:
    """The state of each job, as its folder shows it."""
    return {job: _state(job, failures) for job in jobs}


def _state(job: Job, failures: Mapping[str, dict]) -> State:
    if job.is_running():
        return State.RUNNING
    if job.is_finished():
        return State.FINISHED
    if job.name in failures:
        return State.FAILED
    return State.INTERRUPTED if job.progress()[0] else State.WAITING


def summary(states: Mapping[Job, State]) -> str:
    """For example "3 of 15 done, 1 failed | mappo_seed0 42 % | about 5:10:00 left"."""
    count = list(states.values()).count
    text = f"{count(State.FINISHED)} of {len(states)} done"
    if State.FAILED in states.values():
        text += f", {count(State.FAILED)} failed"
    running = [job for job, state in states.items() if state is State.RUNNING]
    if running:
        text += " | " + ", ".join(f"{job.name} {percent(job)} %" for job in running)
    left = seconds_left(states)
    if left:
        text += f" | about {duration(left / max(1, len(running)))} left"
    return text


def percent(job: Job) -> int:
    return 100 * job.progress()[0] // job.steps


def seconds_left(states: Mapping[Job, State]) -> float:
    """Of all that is to do, one job after another: each at its own rate, or at the mean of those
    that are known. 0 if none is known. Compiling and evaluating are left out."""
    progress = {job: job.progress() for job in states}
    costs = {job: seconds / steps for job, (steps, seconds) in progress.items() if steps}
    if not costs:
        return 0.0
    mean = sum(costs.values()) / len(costs)
    return sum(
        max(0, job.steps - progress[job][0]) * costs.get(job, mean)
        for job, state in states.items()
        if state not in (State.FINISHED, State.FAILED)
    )


def show_table(states: Mapping[Job, State], failures: Mapping[str, dict]) -> None:
    """A row a job, and the summary."""
    width = max(len(job.name) for job in states)
    print(f"{'job':{width}}  {'state':11}  {'steps':>25}  {'time':>9}  remarks")
    for job, state in states.items():
        steps, seconds = job.progress()
        done = f"{steps:,} of {job.steps:,}"
        remark = ""
        if state is State.FAILED:
            remark = "exit status {code}: {words}".format(**failures[job.name])
        row = f"{job.name:{width}}  {state.value:11}  {done:>25}  {duration(seconds):>9}  {remark}"
        print(row.rstrip())
    print(summary(states))
