"""The host loop: updates, one after another, with everything a run needs around them.

The learner's update is one compiled function of one state. Between two updates the loop logs,
shows progress, evaluates on development worlds, saves, and looks whether it should stop; none of
that touches the state, so a run is the same with and without it, and the same when it is resumed.
"""

import contextlib
import time
import uuid
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from marl.config import TrainConfig
from marl.host import folder as folders
from marl.host.device import require_memory
from marl.host.heartbeat import Heartbeat
from marl.host.progress import Display, make_display
from marl.host.stopping import StopRequest
from marl.training.assembly import Assembly, End, Outcome
from marl.training.checkpoint import CheckpointError, Checkpoints, size_of
from marl.training.counters import Counters
from marl.training.development import Development
from marl.training.episodes import add_sums, episode_record
from marl.training.loggers import EVALUATION, METRICS_FILE, TRAINING, Logger, make_logger
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
        self._heartbeat = Heartbeat(
            lambda text: self._display.update(self._status.fraction(), text)
        )
        self._count_from(Counters(run_id=uuid.uuid4().hex[:8]))
        self._state: PyTree = None  # the newest whole one; the counters are of it
        self._saved: tuple | None = None
        self._exported: int | None = None  # update whose parameters policy/ holds
        self._unlogged: dict | None = None  # the newest record, while it waits for others
        self._last_plot = time.monotonic()

    def _count_from(self, counters: Counters) -> None:
        config = self._config
        self._counters, self._status = counters, Status(config, counters)
        self._development = Development(
            config.evaluation, self._assembly.evaluator, counters, self._stop
        )

    def run(self) -> Outcome:
        with contextlib.ExitStack() as stack:  # all of it ends, whatever fails on the way
            self._display.start(1.0, 0.0)
            stack.callback(self._display.stop)
            stack.enter_context(self._heartbeat)
            with self._heartbeat.during("making the first worlds, {}"):
                self._state = self._start_state()
            logger = make_logger(
                self._folder,
                self._config.logger,
                self._config.as_dict(),
                is_saved=self._counters.know,
                run_id=self._counters.run_id,
            )
            stack.callback(logger.close)
            end = self._to_the_end(logger)
        self._plot()
        code = self._stop.exit_code if end is End.SIGNAL else 0
        return Outcome(end, self._folder, self._state.params, self._facts(), code)

    def _to_the_end(self, logger: Logger) -> End:
        """Updates, and everything saved; also if an error ends them that nobody expected."""
        try:
            end = self._updates(logger)
            if end is End.FINISHED:
                self._flush(logger)
            self._save()
            self._checkpoints.wait()
        except (NonFiniteError, CheckpointError):
            raise
        except Exception:
            self._rescue()
            raise
        return end

    def _start_state(self) -> PyTree:
        """A new run's state, or the one to go on from."""
        learner = self._assembly.learner
        key = jax.random.key(self._config.seed)
        template = jax.eval_shape(learner.init, key)
        self._require_room(template)
        restored = self._checkpoints.restore_newest(template, Counters.from_json)
        if restored is not None:
            update, state, counters = restored
            self._count_from(counters)
            self._saved = self._counters.saved_as
            self._display.say(f"resuming at update {update} ({self._env_steps():,} steps)")
            # A crash between the two leaves a policy that is older, or newer, than the checkpoint.
            self._exported = self._assembly.exporter.update_of(self._folder / POLICY_FOLDER)
            self._export_newest(state.params)
        else:
            state = _strong_types(learner.init(key))
        for remark in folders.note_versions(self._folder, self._counters.update):
            self._display.say(remark)
        return state

    def _require_room(self, template: PyTree) -> None:
        """Refuses what cannot fit on disk or device, before anything compiles."""
        size = size_of(template)
        rollout = self._config.num_steps * size_of(getattr(template, "observation", ()))
        require_memory(size + rollout)
        folders.require_space(self._folder, (self._config.run.keep_checkpoints + 2) * size)

    def _updates(self, logger: Logger) -> End:
        config, counters, status = self._config, self._counters, self._status
        done_here = 0
        step = None
        self._evaluate(logger)  # one that was cut short
        while not status.is_finished():
            if self._stop():
                self._display.say(f"{self._stop.signal.name}: saving and stopping")
                return End.SIGNAL
            if done_here == config.run.stop_after_updates:
                return End.SLICE
            if step is None:
                step = self._compile()
                continue  # a stop may have been asked for meanwhile
            began = time.monotonic()
            with self._heartbeat.during(f"update {counters.update + 1} is taking {{}} so far"):
                state, metrics = step(self._state)
                metrics = jax.device_get(metrics)
            seconds = time.monotonic() - began
            self._refuse_non_finite(state, metrics, logger)
            self._state = state
            counters.update += 1
            counters.seconds += seconds
            done_here += 1
            status.add(seconds, metrics.get("episodes"))
            self._record(metrics, config.steps_per_update / seconds, logger)
            self._evaluate(logger)
            if counters.update % config.run.checkpoint_every_updates == 0:
                self._save()
                self._plot_sometimes()
            self._checkpoints.check()
            self._show()
        return End.FINISHED

    def _show(self) -> None:
        remark = self._status.remark()
        if remark is not None:
            self._display.say(remark)
        self._display.update(self._status.fraction(), self._status.text())

    def _compile(self):
        """The compiled update: what it takes to compile does not count as training."""
        self._display.say("compiling; the first time takes minutes, and a stop waits for it ...")
        began = time.monotonic()
        with self._heartbeat.during("compiling, {}"):
            step = self._assembly.learner.compile(self._state)
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
        logger.log(self._stamp(TRAINING) | {"update": update, "env_steps": steps} | numbers)
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
        self._unlogged = self._stamp(TRAINING) | {"steps_per_second": rate}
        self._unlogged |= {name: float(value) for name, value in metrics.items()}
        if counters.update % self._config.run.log_every_updates == 0:
            self._flush(logger)

    def _flush(self, logger: Logger) -> None:
        """Logs the newest update, with the episodes since the last record."""
        if self._unlogged is not None:
            logger.log(self._unlogged | episode_record(self._counters.episodes))
            self._unlogged = self._counters.episodes = None

    def _stamp(self, kind: str) -> dict:
        return {
            "kind": kind,
            "update": self._counters.update,
            "env_steps": self._env_steps(),
            "seconds": round(self._counters.seconds, 3),
        }

    def _evaluate(self, logger: Logger) -> None:
        """Plays development worlds if it is time to; keeps the policy that scores best there."""
        if not self._development.is_due():
            return
        worlds = self._config.evaluation.development_worlds
        self._display.say(f"evaluating on {worlds} development worlds (not in the time left) ...")
        with self._heartbeat.during("evaluating, {}"):
            scores = self._development.play(self._state.params)
        if scores is None:  # the loop stops next
            return
        logger.log(self._stamp(EVALUATION) | scores)
        if self._development.note(scores["evaluation/total"]):
            self._export(BEST_POLICY_FOLDER, self._state.params)

    def _save(self) -> None:
        if self._saved != self._counters.saved_as:
            self._start_saving()
            self._export_newest(self._state.params)

    def _start_saving(self) -> None:
        counters = self._counters
        self._checkpoints.save(counters.update, self._state, counters.as_json())
        self._saved = counters.saved_as

    def _rescue(self) -> None:
        """Saves what there is before an error ends the run, if that can be done."""
        update = self._counters.update
        if update == 0 or self._saved == self._counters.saved_as:
            return
        if any(leaf.is_deleted() for leaf in jax.tree.leaves(self._state)):
            return  # the update that failed had its memory already
        try:
            self._start_saving()
            self._checkpoints.wait()
        except Exception as error:  # the first error is the one to tell
            self._display.say(f"update {update} could not be saved ({error})")
        else:
            self._display.say(
                f"an error ends the run: update {update} was saved, and the same command goes on "
                "from there"
            )

    def _export_newest(self, params: PyTree) -> None:
        if self._exported != self._counters.update:
            self._export(POLICY_FOLDER, params)
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
