"""How fast a run is, and where its time goes. For `scripts/benchmark.py`."""

import dataclasses
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import jax

from marl.config import TrainConfig
from marl.host.folder import prepare
from marl.host.stopping import StopRequest
from marl.training.assembly import Assembly
from marl.training.loop import train
from marl.types import Learner, Policy, PyTree

WARM_UP = 1  # updates ahead of those that are measured


def time_updates(
    config: TrainConfig,
    assembly: Assembly,
    folder: Path,
    between: Callable[[], None] | None = None,
) -> dict[str, float]:
    """Does a run, as `scripts/train.py` would, and looks at the clock.

    Args:
        config: the options; its updates after the first are measured. Evaluations count as the
            host's: leave them out.
        assembly: learner and exporter. What the learner compiles must tell its two programs apart
            (`marl.learners.compiled_step.CompiledStep`).
        folder: where the run may be, an empty one.
        between: called between two updates; its time does not count.

    Returns:
        Medians over the measured updates: seconds of rollout and learning, and of the host, which
        is everything between two updates (metrics, log, counters, stop requests; savings where they
        fall); environment steps a second; and seconds to compile.
    """
    learner = _Timed(assembly.learner, between)
    train(config, dataclasses.replace(assembly, learner=learner), prepare(folder), StopRequest())
    measured = learner.updates[WARM_UP:]
    rollout = statistics.median(update.rollout for update in measured)
    learning = statistics.median(update.learning for update in measured)
    host = statistics.median(update.host for update in measured)
    return {
        "steps_per_s": config.steps_per_update / (rollout + learning + host),
        "rollout_s": rollout,
        "learning_s": learning,
        "host_s": host,
        "compile_s": learner.compile_s,
    }


@dataclasses.dataclass(frozen=True)
class _Update:
    """Seconds of an update, and of the host ahead of it."""

    host: float
    rollout: float
    learning: float


class _Timed:
    """In a `Learner`'s place in the loop: notes how long its updates take."""

    def __init__(self, learner: Learner, between: Callable[[], None] | None):
        self._learner, self._between = learner, between or (lambda: None)
        self.policy: Policy = learner.policy
        self.init, self.train_step = learner.init, learner.train_step
        self.updates: list[_Update] = []
        self.compile_s = 0.0

    def compile(self, state: PyTree) -> Callable:
        started = time.perf_counter()
        step = self._learner.compile(state)
        self.compile_s = time.perf_counter() - started
        ended = time.perf_counter()

        def timed(state):
            nonlocal ended
            host = time.perf_counter() - ended
            self._between()
            started = time.perf_counter()
            collected = jax.block_until_ready(step.collect(state))
            played = time.perf_counter()
            result = jax.block_until_ready(step.update(*collected))
            ended = time.perf_counter()
            self.updates.append(_Update(host, played - started, ended - played))
            return result

        return timed
