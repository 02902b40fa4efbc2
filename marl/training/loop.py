"""The host loop: updates, one after another, with everything a run needs around them.

The learner's update is one compiled function of one state. Between two updates the loop logs,
shows progress, evaluates on development worlds, saves, and looks whether it should stop; none of
that touches the state, so a run is the same with and without it, and the same when it is resumed.
"""

import dataclasses
import enum
import math
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from marl.config import TrainConfig
from marl.evaluation.protocol import DEVELOPMENT_FIRST_SEED, Evaluator, Interrupted
from marl.host import folder as folders
from marl.host.progress import Display, duration, make_display
from marl.host.stopping import StopRequest
from marl.training.checkpoint import Checkpoints
from marl.training.episodes import EpisodeWindow, add_sums, episode_record
from marl.training.loggers import Logger, make_logger
from marl.training.plots import plot_curve
from marl.types import Learner, PyTree
from marl.versions import package_versions

CHECKPOINTS_FOLDER = "checkpoints"
POLICY_FOLDER = "policy"
BEST_POLICY_FOLDER = "policy_best"
VERSIONS_FILE = "versions.json"

SECONDS_BETWEEN_PLOTS = 60.0


class NonFiniteError(RuntimeError):
    """Training met numbers that are not finite; the message says where and what was kept."""


class End(enum.Enum):
    """Why a call of `train` returned."""

    FINISHED = "finished"  # the whole run is done
    SLICE = "slice"  # run.stop_after_updates
    SIGNAL = "signal"


@dataclasses.dataclass(frozen=True)
class Assembly:
    """What a run is made of.

    Attributes:
        learner: how to learn.
        export: (folder, params, facts of the run) writes a policy bundle.
        evaluator: plays development worlds; None if there are none.
        versions: what a checkpoint must agree with, such as the rules of the world.
    """

    learner: Learner
    export: Callable[[Path, PyTree, dict], None]
    evaluator: Evaluator | None
    versions: dict[str, str]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a call of `train` came to.

    Attributes:
        end: why it returned.
        folder: the run's folder.
        params: the newest parameters.
        facts: update, env_steps, seconds and the best development score so far.
        exit_code: for the process.
    """

    end: End
    folder: Path
    params: PyTree
    facts: dict
    exit_code: int


@dataclasses.dataclass
class _Counters:
    """Host-side numbers that are saved with the state."""

    update: int = 0
    seconds: float = 0.0  # of training, over all calls
    best_score: float | None = None
    best_update: int | None = None
    run_id: str = ""

    def extra(self) -> dict:
        return dataclasses.asdict(self)


def train(config: TrainConfig, assembly: Assembly, folder: Path, stop: StopRequest) -> Outcome:
    """Starts a run, or goes on with the one in the folder, until it ends or must stop.

    Args:
        config: the options.
        assembly: learner, evaluator and exporter.
        folder: the run's folder, prepared and locked.
        stop: asked between updates.

    Raises:
        NonFiniteError: numbers left the finite; nothing good was overwritten.
        RunFolderError, CheckpointError: the folder is another run's, or files fail.
    """
    folders.claim(folder, config.as_dict(), config.free_options)
    folders.write_json(folder / VERSIONS_FILE, package_versions())
    checkpoints = Checkpoints(
        folder / CHECKPOINTS_FOLDER, keep=config.run.keep_checkpoints, versions=assembly.versions
    )
    try:
        return _Session(config, assembly, folder, checkpoints, stop).run()
    finally:
        checkpoints.close()


class _Session:
    """One call of `train`."""

    def __init__(
        self,
        config: TrainConfig,
        assembly: Assembly,
        folder: Path,
        checkpoints: Checkpoints,
        stop: StopRequest,
    ):
        self._config, self._assembly, self._folder = config, assembly, folder
        self._checkpoints, self._stop = checkpoints, stop
        self._display: Display = make_display(config.logger.console, "train")
        self._window = EpisodeWindow()
        self._episodes: dict | None = None  # sums since the last record
        self._saved_update: int | None = None
        self._last_plot = time.monotonic()
        self._update_seconds: float | None = None  # of late, smoothed
        self._counters = _Counters(run_id=uuid.uuid4().hex[:8])

    def run(self) -> Outcome:
        state = self._start_state()
        logger = make_logger(
            self._folder,
            self._config.logger,
            self._config.as_dict(),
            after_update=self._counters.update,
            run_id=self._counters.run_id,
        )
        self._display.start(1.0, self._fraction())
        try:
            state, end = self._updates(state, logger)
            self._save(state)
            self._checkpoints.wait()
        finally:
            self._display.stop()
            logger.close()
        self._plot()
        code = self._stop.exit_code if end is End.SIGNAL else 0
        return Outcome(end, self._folder, state.params, self._facts(), code)

    def _start_state(self) -> PyTree:
        learner = self._assembly.learner
        key = jax.random.key(self._config.seed)
        template = jax.eval_shape(learner.init, key)
        size = sum(math.prod(leaf.shape) * 4 for leaf in jax.tree.leaves(template))
        folders.require_space(self._folder, (self._config.run.keep_checkpoints + 2) * size)
        restored = self._checkpoints.restore_newest(template)
        if restored is None:
            return _strong_types(learner.init(key))
        update, state, extra = restored
        self._counters = _Counters(**extra)
        self._saved_update = update
        steps = update * self._config.steps_per_update
        self._display.say(f"resuming at update {update} ({steps:,} steps)")
        return state

    def _updates(self, state: PyTree, logger: Logger) -> tuple[PyTree, End]:
        config, counters = self._config, self._counters
        step = self._assembly.learner.train_step
        done_here = 0
        if not self._is_finished():
            self._display.say("compiling; this takes a minute or so ...")
        while not self._is_finished():
            if self._stop():
                self._display.say(f"{self._stop.signal.name}: saving and stopping")
                return state, End.SIGNAL
            if done_here == config.run.stop_after_updates:
                return state, End.SLICE
            began = time.monotonic()
            state, metrics = step(state)
            metrics = jax.device_get(metrics)
            seconds = time.monotonic() - began
            self._refuse_non_finite(state, metrics)
            counters.update += 1
            done_here += 1
            if done_here == 1:
                self._display.say(f"first update, with compiling: {seconds:.0f} s")
            else:
                counters.seconds += seconds
                before = self._update_seconds or seconds
                self._update_seconds = 0.9 * before + 0.1 * seconds
            rate = config.steps_per_update / seconds
            self._record(metrics, rate, logger)
            self._evaluate(state, logger)
            if counters.update % config.run.checkpoint_every_updates == 0:
                self._save(state)
                self._plot_sometimes()
            self._display.update(self._fraction(), self._text())
        return state, End.FINISHED

    def _is_finished(self) -> bool:
        updates = self._config.num_updates
        if updates is not None:
            return self._counters.update >= updates
        return self._counters.seconds >= 60 * self._config.run.minutes

    def _fraction(self) -> float:
        updates = self._config.num_updates
        if updates is not None:
            return self._counters.update / updates
        return min(1.0, self._counters.seconds / (60 * self._config.run.minutes))

    def _env_steps(self) -> int:
        return self._counters.update * self._config.steps_per_update

    def _refuse_non_finite(self, state: PyTree, metrics: dict) -> None:
        """The learner leaves parameters as they were when an update is not finite."""
        bad = [
            name
            for name, value in metrics.items()
            if name != "episodes" and not np.isfinite(np.asarray(value, np.float64)).all()
        ]
        if not bad and bool(metrics.get("finite", True)):
            return
        self._checkpoints.wait()
        kept = "the parameters of the last good update"
        if all(bool(jnp.isfinite(x).all()) for x in jax.tree.leaves(state.params)):
            self._export(POLICY_FOLDER, state.params)
        else:
            kept = f"the policy saved at update {self._saved_update}"
        raise NonFiniteError(
            f"update {self._counters.update + 1} is not finite "
            f"({', '.join(bad) or 'gradients'}); stopped, and nothing saved was overwritten. "
            f"{self._folder / POLICY_FOLDER} holds {kept}. "
            "Lower learner.lr or learner.max_grad_norm and start a new run"
        )

    def _record(self, metrics: dict, rate: float, logger: Logger) -> None:
        episodes = metrics.pop("episodes", None)
        if episodes:
            self._episodes = add_sums(self._episodes, episodes)
            self._window.add({k: np.asarray(v) for k, v in episodes.items()})
        if self._counters.update % self._config.run.log_every_updates:
            return
        record = self._stamp() | {"steps_per_second": rate}
        record |= {name: float(value) for name, value in metrics.items()}
        logger.log(record | episode_record(self._episodes))
        self._episodes = None

    def _stamp(self) -> dict:
        return {
            "update": self._counters.update,
            "env_steps": self._env_steps(),
            "seconds": round(self._counters.seconds, 3),
        }

    def _evaluate(self, state: PyTree, logger: Logger) -> None:
        """Plays development worlds; keeps the policy that scores best there."""
        options, counters = self._config.evaluation, self._counters
        if self._assembly.evaluator is None or not options.every_updates:
            return
        if counters.update % options.every_updates:
            return
        seeds = range(DEVELOPMENT_FIRST_SEED, DEVELOPMENT_FIRST_SEED + options.development_worlds)
        try:
            results = self._assembly.evaluator.play(
                state.params, seeds, max_steps=options.development_max_steps,
                should_stop=self._stop,
            )  # fmt: skip
        except Interrupted:  # the loop stops next; the evaluation is lost, training is not
            return
        scores = {
            f"evaluation/{k}": float(v.mean()) for k, v in results.scores.items() if v.ndim == 1
        }
        scores["evaluation/team_return"] = float(results.team_return.mean())
        scores["evaluation/length"] = float(results.length.mean())
        logger.log(self._stamp() | scores)
        score = scores["evaluation/total"]
        if counters.best_score is None or score > counters.best_score:
            counters.best_score, counters.best_update = score, counters.update
            self._export(BEST_POLICY_FOLDER, state.params)

    def _save(self, state: PyTree) -> None:
        if self._saved_update == self._counters.update:
            return
        self._checkpoints.save(self._counters.update, state, self._counters.extra())
        self._export(POLICY_FOLDER, state.params)
        self._saved_update = self._counters.update

    def _facts(self) -> dict:
        facts = self._counters.extra() | {"env_steps": self._env_steps()}
        del facts["run_id"]
        return facts

    def _export(self, name: str, params: PyTree) -> None:
        self._assembly.export(self._folder / name, params, self._facts())

    def _plot_sometimes(self) -> None:
        if time.monotonic() - self._last_plot > SECONDS_BETWEEN_PLOTS:
            self._plot()
            self._last_plot = time.monotonic()

    def _plot(self) -> None:
        config = self._config
        plot_curve(
            self._folder, f"{config.learner.name} on ALEM {config.env.label}, seed {config.seed}"
        )

    def _text(self) -> str:
        """Rate, time left, and how the last episodes went."""
        counters, window, seconds = self._counters, self._window, self._update_seconds
        text = f"{self._env_steps():,} steps"
        if seconds is not None:
            updates = self._config.num_updates
            if updates is not None:
                left = (updates - counters.update) * seconds
            else:
                left = 60 * self._config.run.minutes - counters.seconds
            rate = self._config.steps_per_update / seconds
            text += f", {rate:,.0f}/s, {duration(left)} left"
        value = window.mean("team_return")
        if value is not None:
            text += f" | return {value:.2f}"
        scores = [window.mean(name) for name in ("base", "coord", "total")]
        if all(score is not None for score in scores):
            text += " | Base/Coord/Total " + "/".join(f"{100 * s:.1f}" for s in scores)
        return text


def _strong_types(state: PyTree) -> PyTree:
    """Without weak types, which would make the second update compile again."""

    def strengthen(leaf):
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return leaf
        return jax.lax.convert_element_type(leaf, leaf.dtype)

    return jax.tree.map(strengthen, state)
