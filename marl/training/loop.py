"""The host loop: updates, one after another, with everything a run needs around them.

The learner's update is one compiled function of one state. Between two updates the loop logs,
shows progress, evaluates on development worlds, saves, and looks whether it should stop; none of
that touches the state, so a run is the same with and without it, and the same when it is resumed.
"""

import time
import uuid
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from marl.config import TrainConfig
from marl.evaluation.protocol import DEVELOPMENT_FIRST_SEED, Interrupted
from marl.host import folder as folders
from marl.host.progress import Display, make_display
from marl.host.stopping import StopRequest
from marl.training.assembly import Assembly, End, Outcome
from marl.training.checkpoint import Checkpoints, size_of
from marl.training.counters import Counters
from marl.training.episodes import add_sums, episode_record
from marl.training.loggers import METRICS_FILE, Logger, make_logger
from marl.training.plots import plot_curve
from marl.training.status import Status
from marl.types import PyTree

CHECKPOINTS_FOLDER = "checkpoints"
POLICY_FOLDER = "policy"
BEST_POLICY_FOLDER = "policy_best"

SECONDS_BETWEEN_PLOTS = 60.0


class NonFiniteError(RuntimeError):
    """Training met numbers that are not finite; the message says where and what was kept."""


def train(config: TrainConfig, assembly: Assembly, folder: Path, stop: StopRequest) -> Outcome:
    """Starts a run, or goes on with the one in the folder, until it ends or must stop.

    Args:
        config: the options.
        assembly: learner, evaluator and exporter.
        folder: the run's folder, prepared and locked.
        stop: asked between updates.

    Raises:
        NonFiniteError: numbers left the finite; the message says what was kept.
        RunFolderError, CheckpointError, LoggerError: the folder is another run's, or files fail.
    """
    checkpoints = Checkpoints(
        folder / CHECKPOINTS_FOLDER, keep=config.run.keep_checkpoints, versions=assembly.versions
    )
    try:
        folders.claim(
            folder, config.as_dict(), config.free_options, begun=bool(checkpoints.updates())
        )
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
        self._counters = Counters(run_id=uuid.uuid4().hex[:8])
        self._saved: tuple | None = None
        self._exported: int | None = None  # update whose parameters policy/ holds
        self._unlogged: dict | None = None  # the newest record, while it waits for others
        self._last_plot = time.monotonic()

    def run(self) -> Outcome:
        state = self._start_state()
        self._status = Status(self._config, self._counters)
        logger = make_logger(
            self._folder,
            self._config.logger,
            self._config.as_dict(),
            is_saved=self._counters.know,
            run_id=self._counters.run_id,
        )
        self._display.start(1.0, self._status.fraction())
        try:
            state, end = self._updates(state, logger)
            if end is End.FINISHED:
                self._flush(logger)
            self._save(state)
            self._checkpoints.wait()
        finally:
            self._display.stop()
            logger.close()
        self._plot()
        code = self._stop.exit_code if end is End.SIGNAL else 0
        return Outcome(end, self._folder, state.params, self._facts(), code)

    def _start_state(self) -> PyTree:
        """A new run's state, or the one to go on from."""
        learner = self._assembly.learner
        key = jax.random.key(self._config.seed)
        template = jax.eval_shape(learner.init, key)
        folders.require_space(
            self._folder, (self._config.run.keep_checkpoints + 2) * size_of(template)
        )
        restored = self._checkpoints.restore_newest(template)
        if restored is not None:
            update, state, extra = restored
            self._counters = Counters(**extra)
            self._saved = self._counters.saved_as
            self._display.say(f"resuming at update {update} ({self._env_steps():,} steps)")
            # A crash between the two leaves a policy that is older, or newer, than the checkpoint.
            self._exported = self._assembly.exporter.update_of(self._folder / POLICY_FOLDER)
            self._export_newest(state)
        else:
            state = _strong_types(learner.init(key))
        for remark in folders.note_versions(self._folder, self._counters.update):
            self._display.say(remark)
        return state

    def _updates(self, state: PyTree, logger: Logger) -> tuple[PyTree, End]:
        config, counters, status = self._config, self._counters, self._status
        done_here = 0
        step = None
        self._evaluate(state, logger)  # one that was cut short
        while not status.is_finished():
            if self._stop():
                self._display.say(f"{self._stop.signal.name}: saving and stopping")
                return state, End.SIGNAL
            if done_here == config.run.stop_after_updates:
                return state, End.SLICE
            if step is None:
                step = self._compile(state)
                continue  # a stop may have been asked for meanwhile
            began = time.monotonic()
            state, metrics = step(state)
            metrics = jax.device_get(metrics)
            seconds = time.monotonic() - began
            self._refuse_non_finite(state, metrics, logger)
            counters.update += 1
            counters.seconds += seconds
            done_here += 1
            status.add(seconds, metrics.get("episodes"))
            self._record(metrics, config.steps_per_update / seconds, logger)
            self._evaluate(state, logger)
            if counters.update % config.run.checkpoint_every_updates == 0:
                self._save(state)
                self._plot_sometimes()
            self._display.update(status.fraction(), status.text())
        return state, End.FINISHED

    def _compile(self, state: PyTree):
        """The compiled update: what it takes to compile does not count as training."""
        self._display.say("compiling; the first time takes minutes, and a stop waits for it ...")
        began = time.monotonic()
        step = self._assembly.learner.compile(state)
        self._display.say(f"compiled in {time.monotonic() - began:.0f} s")
        return step

    def _env_steps(self) -> int:
        return self._counters.update * self._config.steps_per_update

    def _refuse_non_finite(self, state: PyTree, metrics: dict, logger: Logger) -> None:
        """The learner leaves parameters as they were when an update is not finite."""
        numbers = {name: float(value) for name, value in metrics.items() if name != "episodes"}
        bad = [name for name, value in numbers.items() if not np.isfinite(value)]
        if not bad and metrics.get("finite", True):
            return
        update = self._counters.update + 1
        steps = update * self._config.steps_per_update
        logger.log(self._stamp() | {"update": update, "env_steps": steps} | numbers)
        self._checkpoints.wait()
        kept = f"its last checkpoint is of update {(self._saved or (0,))[0]}"
        if all(bool(jnp.isfinite(x).all()) for x in jax.tree.leaves(state.params)):
            self._export(POLICY_FOLDER, state.params)
            kept += f", {self._folder / POLICY_FOLDER} now holds the policy before update {update}"
        raise NonFiniteError(
            f"update {update} is not finite ({', '.join(bad) or 'gradients'}): the run stopped; "
            f"{kept}, and the last line of {METRICS_FILE} is the update that failed. "
            "Lower learner.lr or learner.max_grad_norm and start a new run"
        )

    def _record(self, metrics: dict, rate: float, logger: Logger) -> None:
        counters = self._counters
        episodes = metrics.pop("episodes", None)
        if episodes:
            counters.episodes = add_sums(counters.episodes, episodes)
        self._unlogged = self._stamp() | {"steps_per_second": rate}
        self._unlogged |= {name: float(value) for name, value in metrics.items()}
        if counters.update % self._config.run.log_every_updates == 0:
            self._flush(logger)

    def _flush(self, logger: Logger) -> None:
        """Logs the newest update, with the episodes since the last record."""
        if self._unlogged is not None:
            logger.log(self._unlogged | episode_record(self._counters.episodes))
            self._unlogged = self._counters.episodes = None

    def _stamp(self) -> dict:
        return {
            "update": self._counters.update,
            "env_steps": self._env_steps(),
            "seconds": round(self._counters.seconds, 3),
        }

    def _evaluate(self, state: PyTree, logger: Logger) -> None:
        """Plays development worlds if it is time to; keeps the policy that scores best there."""
        options, counters = self._config.evaluation, self._counters
        if self._assembly.evaluator is None or not options.every_updates:
            return
        if counters.update % options.every_updates or counters.evaluated_update >= counters.update:
            return
        worlds = options.development_worlds
        self._display.say(f"evaluating on {worlds} development worlds (not in the time left) ...")
        seeds = range(DEVELOPMENT_FIRST_SEED, DEVELOPMENT_FIRST_SEED + worlds)
        try:
            results = self._assembly.evaluator.play(
                state.params, seeds, max_steps=options.development_max_steps,
                should_stop=self._stop,
            )  # fmt: skip
        except Interrupted:  # the loop stops next; the next call makes this evaluation again
            return
        scores = {
            f"evaluation/{k}": float(v.mean()) for k, v in results.scores.items() if v.ndim == 1
        }
        scores["evaluation/team_return"] = float(results.team_return.mean())
        scores["evaluation/length"] = float(results.length.mean())
        logger.log(self._stamp() | scores)
        counters.evaluated_update = counters.update
        self._keep_if_best(scores["evaluation/total"], state)

    def _keep_if_best(self, score: float, state: PyTree) -> None:
        counters, options = self._counters, self._config.evaluation
        setting = [options.development_worlds, options.development_max_steps]
        if counters.best_setting != setting:  # scores of another setting do not compare
            counters.best_setting, counters.best_score = setting, None
        if counters.best_score is None or score > counters.best_score:
            counters.best_score, counters.best_update = score, counters.update
            self._export(BEST_POLICY_FOLDER, state.params)

    def _save(self, state: PyTree) -> None:
        counters = self._counters
        if self._saved == counters.saved_as:
            return
        self._checkpoints.save(counters.update, state, counters.as_json())
        self._export_newest(state)
        self._saved = counters.saved_as

    def _export_newest(self, state: PyTree) -> None:
        if self._exported != self._counters.update:
            self._export(POLICY_FOLDER, state.params)
            self._exported = self._counters.update

    def _facts(self) -> dict:
        return self._counters.facts() | {"env_steps": self._env_steps()}

    def _export(self, name: str, params: PyTree) -> None:
        self._assembly.exporter.save(self._folder / name, params, self._facts())

    def _plot_sometimes(self) -> None:
        if time.monotonic() - self._last_plot > SECONDS_BETWEEN_PLOTS:
            self._plot()
            self._last_plot = time.monotonic()

    def _plot(self) -> None:
        """Draws the curve; a run does not end because that fails."""
        learner, env, seed = self._config.learner, self._config.env, self._config.seed
        try:
            plot_curve(self._folder, f"{learner.name} on ALEM {env.label}, seed {seed}")
        except Exception as error:
            self._display.say(f"the curve could not be drawn ({error}); training is not affected")


def _strong_types(state: PyTree) -> PyTree:
    """Without weak types, which would make the second update compile again."""

    def strengthen(leaf):
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return leaf
        return jax.lax.convert_element_type(leaf, leaf.dtype)

    return jax.tree.map(strengthen, state)
