"""The books of one seed: what the host counts, logs, judges, saves and exports between updates.

Nothing here touches the state, so a run is the same with and without it.
"""

import uuid
from collections.abc import Collection
from pathlib import Path
from typing import NoReturn

import jax
import jax.numpy as jnp
import numpy as np

from marl.config import TrainConfig
from marl.host import folder as folders
from marl.host.heartbeat import Heartbeat
from marl.host.progress import Display
from marl.host.stopping import StopRequest
from marl.training.assembly import Assembly, End, Outcome
from marl.training.checkpoint import Checkpoints
from marl.training.counters import Counters
from marl.training.development import Development
from marl.training.episodes import add_sums, episode_record
from marl.training.loggers import (
    EVALUATION,
    METRICS_FILE,
    TRAINING,
    Logger,
    keep_saved,
    make_logger,
)
from marl.training.plots import plot_curve
from marl.types import PyTree

CHECKPOINTS_FOLDER = "checkpoints"
POLICY_FOLDER = "policy"
BEST_POLICY_FOLDER = "policy_best"
CHOSEN = "best on development worlds"  # what the best policy is
EVALUATION_FILE = "evaluation.json"  # of a finished run; marl.training.command writes it


class NonFiniteError(RuntimeError):
    """Training met numbers that are not finite; the message says where and what was kept."""


def is_finite(metrics: dict) -> bool:
    """Whether an update was sound, by its metrics."""
    return bool(metrics.get("finite", True)) and all(map(np.isfinite, _numbers(metrics).values()))


def _numbers(metrics: dict) -> dict[str, float]:
    return {name: float(value) for name, value in metrics.items() if name != "episodes"}


class Books:
    """The books of one seed.

    Args:
        config: the options, with this seed alone.
        assembly: learner, evaluator and exporter.
        folder: of this seed, prepared.
        keep: checkpoints that stay.
        display, heartbeat: of the run.
        stop: asked at times.
    """

    def __init__(
        self,
        config: TrainConfig,
        assembly: Assembly,
        folder: Path,
        *,
        keep: int,
        display: Display,
        heartbeat: Heartbeat,
        stop: StopRequest,
    ):
        self._config, self._assembly, self._folder = config, assembly, folder
        self._display, self._heartbeat, self._stop = display, heartbeat, stop
        self.checkpoints = Checkpoints(
            folder / CHECKPOINTS_FOLDER, keep=keep, versions=assembly.versions
        )
        self._place = folders.Place(folder)
        self._saved: tuple | None = None
        self._exported: int | None = None  # update whose parameters policy/ holds
        self._unlogged: dict | None = None  # the newest record, while it waits for others
        self._logger: Logger | None = None
        self.count_from(Counters(run_id=uuid.uuid4().hex[:8]))

    def count_from(self, counters: Counters) -> None:
        """Goes on from these numbers."""
        self.counters = counters
        self._development = Development(
            self._config.evaluation,
            self._assembly.evaluator,
            counters,
            self._stop,
            self._assembly.scoring,
        )

    @property
    def env_steps(self) -> int:
        """Environment steps so far."""
        return self.counters.update * self._config.steps_per_update

    def restored(
        self, template: PyTree, among: Collection[int]
    ) -> tuple[int, PyTree, Counters] | None:
        """The newest whole checkpoint among those updates; see `Checkpoints.restore_newest`."""
        return self.checkpoints.restore_newest(template, Counters.from_json, among)

    def go_on_from(self, counters: Counters, params: PyTree) -> None:
        """The run goes on from a checkpoint."""
        self.count_from(counters)
        self._saved = counters.saved_as
        # A crash between the two leaves a policy that is older, or newer, than the checkpoint.
        self._exported = self._assembly.exporter.update_of(self._folder / POLICY_FOLDER)
        self.export_newest(params)

    def open(self) -> list[str]:
        """Notes the versions, and starts to log. Returns remarks for the user."""
        remarks = list(folders.note_versions(self._folder, self.counters.update))
        records = keep_saved(self._folder, self.counters.know)
        remarks += self._lost_records(records)
        self._logger = make_logger(
            self._folder,
            self._config.logger,
            self._config.as_dict(),
            records=records,
            run_id=self.counters.run_id,
        )
        return remarks

    def _lost_records(self, records: list[dict]) -> list[str]:
        last = max((r["update"] for r in records if r["kind"] == TRAINING), default=0)
        if self.counters.update - last < self._config.run.log_every_updates:
            return []
        return [
            f"note: {METRICS_FILE} lacks the updates {last + 1} to {self.counters.update}, "
            "which were trained: the curve will have a gap"
        ]

    def close(self) -> None:
        """Ends logging and saving; raises what they met."""
        try:
            if self._logger is not None:
                self._logger.close()
        finally:
            self.checkpoints.close()

    def refuse_non_finite(self, metrics: dict, params: PyTree) -> NoReturn:
        """Ends the run at an update that is not finite: keeps what is whole, and raises
        NonFiniteError.

        Args:
            metrics: of that update, the next one.
            params: after it. The learner leaves them as they were when an update is not finite.
        """
        numbers = _numbers(metrics)
        bad = [name for name, value in numbers.items() if not np.isfinite(value)]
        update = self.counters.update + 1
        steps = update * self._config.steps_per_update
        self._logger.log(self._stamp(TRAINING) | {"update": update, "env_steps": steps} | numbers)
        self.checkpoints.wait()
        kept = f"its last checkpoint is of update {(self._saved or (0,))[0]}"
        if all(bool(jnp.isfinite(x).all()) for x in jax.tree.leaves(params)):
            self._export(POLICY_FOLDER, params)
            kept += f", {self._folder / POLICY_FOLDER} now holds the policy before update {update}"
        raise NonFiniteError(
            f"update {update} is not finite ({', '.join(bad) or 'gradients'}, "
            f"seed {self._config.seed}): the run stopped; "
            f"{kept}, and the last line of {METRICS_FILE} is the update that failed. "
            "Lower learner.lr or learner.max_grad_norm and start a new run"
        )

    def record(self, metrics: dict, seconds: float) -> None:
        """Takes note of an update that took so long."""
        counters = self.counters
        counters.update += 1
        counters.seconds += seconds
        if episodes := metrics.get("episodes"):
            counters.episodes = add_sums(counters.episodes, episodes)
        rate = self._config.steps_per_update / seconds
        self._unlogged = self._stamp(TRAINING) | {"steps_per_second": rate}
        self._unlogged |= _numbers(metrics)
        if counters.update % self._config.run.log_every_updates == 0:
            self.flush()

    def flush(self) -> None:
        """Logs the newest update, with the episodes since the last record."""
        if self._unlogged is not None:
            episodes = episode_record(self.counters.episodes, self._assembly.scoring)
            self._logger.log(self._unlogged | episodes)
            self._unlogged = self.counters.episodes = None

    def _stamp(self, kind: str) -> dict:
        return {
            "kind": kind,
            "update": self.counters.update,
            "env_steps": self.env_steps,
            "seconds": round(self.counters.seconds, 3),
        }

    def is_evaluation_due(self, at_end: bool = False) -> bool:
        """Whether the newest policy should be judged on development worlds, and was not yet."""
        return self._development.is_due(at_end)

    def evaluate(self, params: PyTree) -> None:
        """Plays development worlds; keeps the policy that scores best there."""
        with self._heartbeat.during("evaluating (the first time it compiles, for minutes), {}"):
            scores = self._development.play(params)
        if scores is None:  # the loop stops next
            return
        self._logger.log(self._stamp(EVALUATION) | scores)
        if self._development.note(scores):
            self._export(BEST_POLICY_FOLDER, params)

    @property
    def is_saved(self) -> bool:
        """Whether a checkpoint, perhaps on its way, has everything so far."""
        return self._saved == self.counters.saved_as

    def save(self, state: PyTree) -> None:
        """Starts to save the state, if that is new."""
        if not self.is_saved:
            self._place.require()
            self.checkpoints.save(self.counters.update, state, self.counters.as_json())
            self._saved = self.counters.saved_as

    def export_newest(self, params: PyTree) -> None:
        """Writes policy/ if it is of another update."""
        if self._exported != self.counters.update:
            self._export(POLICY_FOLDER, params)
            self._exported = self.counters.update

    def _export(self, name: str, params: PyTree) -> None:
        self._place.require()
        facts = self._facts() | ({"chosen": CHOSEN} if name == BEST_POLICY_FOLDER else {})
        self._assembly.exporter.save(self._folder / name, params, self._config, facts)

    def _facts(self) -> dict:
        return self.counters.facts() | {"env_steps": self.env_steps}

    def outcome(self, end: End, params: PyTree) -> Outcome:
        """What the call came to, for this seed."""
        code = self._stop.exit_code if end is End.SIGNAL else 0
        return Outcome(end, self._config, self._folder, params, self._facts(), code)

    def plot(self) -> None:
        """Draws the curve; a run does not end because that fails."""
        learner, env, seed = self._config.learner, self._config.env, self._config.seed
        title = f"{learner.name} on {env.title}, seed {seed}"
        try:
            plot_curve(self._folder, title, self._assembly.scoring.shares)
        except Exception as error:
            self._display.say(f"the curve could not be drawn ({error}); training is not affected")
