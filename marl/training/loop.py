"""The host loop: updates, one after another, of one seed or of several side by side.

The learner's update is one compiled function of one state. Between two updates the loop logs,
shows progress, evaluates on development worlds, saves, and looks whether it should stop; none of
that touches the state, so a run is the same with and without it, and the same when it is resumed.
"""

import contextlib
import time
from pathlib import Path

import jax

from marl.config import TrainConfig
from marl.evaluation.tracks import GENERATOR
from marl.host import folder as folders
from marl.host.heartbeat import Heartbeat
from marl.host.progress import Display, make_display
from marl.host.stopping import StopRequest
from marl.sharding import on_one_device, place
from marl.training.assembly import Assembly, End, Outcome
from marl.training.books import Books, NonFiniteError, is_finite
from marl.training.checkpoint import CheckpointError, size_on_disk
from marl.training.claiming import claim, seed_folders
from marl.training.counters import Counters
from marl.training.devices import mesh_for, require_room, require_room_for_update
from marl.training.episodes import add_sums
from marl.training.seeds import part, stack, start
from marl.training.status import Status
from marl.types import PyTree

SECONDS_BETWEEN_PLOTS = 60.0
SECONDS_OF_PLOTS_AFTER_A_STOP = 5.0
PLOTTING_SHARE = 0.05  # of the time, at most: the curves of a thousand seeds take minutes


def train(
    config: TrainConfig, assembly: Assembly, folder: Path, stop: StopRequest
) -> list[Outcome]:
    """Starts a run, or goes on with the one in the folder, until it ends or must stop.

    Args:
        config: the options.
        assembly: learner, evaluator and exporter.
        folder: the run's folder, prepared and locked. Several seeds have a folder each in it, which
            are locked here.
        stop: asked between updates.

    Returns:
        What it came to, for each seed.

    Raises:
        NonFiniteError: numbers left the finite; the message says what was kept.
        RunFolderError, CheckpointError, LoggerError: the folder is another run's, or files fail.
        ConfigError, MemoryError: the devices cannot share the worlds, or hold too little.
    """
    return _Session(config, assembly, folder, stop).run()


class _Session:
    """One call of `train`."""

    def __init__(self, config: TrainConfig, assembly: Assembly, folder: Path, stop: StopRequest):
        self._config, self._assembly, self._folder = config, assembly, folder
        self._stop = stop
        self._mesh = mesh_for(config)
        self._display: Display = make_display(config.logger.console, "train")
        self._heartbeat = Heartbeat(
            lambda text: self._display.update(self._status.fraction(), text)
        )
        self._books: list[Books] = []
        self._state: PyTree = None  # the newest whole one, of all seeds; the books are of it
        self._next_plot = time.monotonic() + SECONDS_BETWEEN_PLOTS

    def run(self) -> list[Outcome]:
        with contextlib.ExitStack() as ending:  # all of it ends, whatever fails on the way
            claim(self._config, self._folder, ending)
            for alone, folder in seed_folders(self._config, self._folder):
                books = Books(
                    alone,
                    self._assembly,
                    folder,
                    keep=self._keep,
                    display=self._display,
                    heartbeat=self._heartbeat,
                    stop=self._stop,
                )
                ending.callback(books.close)
                self._books.append(books)
            self._status = Status(self._config, self._books[0].counters, self._assembly.scoring)
            self._display.start(1.0, 0.0)
            ending.callback(self._display.stop)
            ending.enter_context(self._heartbeat)
            self._state = self._start_state()
            remarks = [remark for books in self._books for remark in books.open()]
            for remark in dict.fromkeys(remarks):  # what is so for all seeds is told once
                self._display.say(remark)
            end = self._to_the_end()
            self._plot()
        return [books.outcome(end, self._params(seed)) for seed, books in enumerate(self._books)]

    @property
    def _keep(self) -> int:
        """Checkpoints of a seed that stay. Of several seeds, which are saved one after another,
        two at least, so that there always is an update that all have."""
        keep = self._config.run.keep_checkpoints
        return keep if self._config.num_seeds == 1 else max(2, keep)

    def _to_the_end(self) -> End:
        """Updates, and everything saved; also if an error ends them that nobody expected."""
        try:
            end = self._updates()
            if end is End.FINISHED:
                self._evaluate(at_end=True)
                for books in self._books:
                    books.flush()
            self._save()
            for books in self._books:
                books.checkpoints.wait()
            self._stop.nothing_to_save = True
        except (NonFiniteError, CheckpointError, folders.RunFolderError):
            raise
        except Exception:
            self._rescue()
            raise
        return end

    def _start_state(self) -> PyTree:
        """A new run's state, or the one to go on from."""
        learner = self._assembly.learner
        keys = [jax.random.key(seed, impl=GENERATOR) for seed in self._config.seeds]
        with self._heartbeat.during("looking at what is there, {}"):
            template = jax.eval_shape(learner.init, keys[0])
            require_room(self._config, template, self._mesh)
            self._require_space(template)
            restored = self._restore(template)
        if restored is None:
            with self._heartbeat.during("making the worlds, {}"):
                return place(start(learner, keys), self._mesh)
        for books, (_, state, counters) in zip(self._books, restored, strict=True):
            books.go_on_from(counters, state.params)
        self._status = Status(self._config, self._books[0].counters, self._assembly.scoring)
        self._display.say(self._status.resumed())
        self._show()
        return place(stack([state for _, state, _ in restored]), self._mesh)

    def _require_space(self, template: PyTree) -> None:
        """Refuses what cannot fit on the disk."""
        seeds = self._config.num_seeds
        there = sum(len(books.checkpoints.updates()) for books in self._books)
        more = seeds * (self._keep + 2) - min(there, seeds * self._keep)
        folders.require_space(self._folder, more * size_on_disk(template))

    def _restore(self, template: PyTree) -> list[tuple[int, PyTree, Counters]] | None:
        """The newest whole checkpoint that all seeds have, or None if some have none at all."""
        updates = [set(books.checkpoints.updates()) for books in self._books]
        if not all(updates):
            return None
        among = set.intersection(*updates)
        if not among:
            raise CheckpointError(
                f"the seeds in {self._folder} have no checkpoint of the same update; go on with "
                "each by itself (seed=N num_seeds=1 run.dir=FOLDER/seedN), or choose another "
                "run.dir"
            )
        while True:
            restored = [books.restored(template, among) for books in self._books]
            oldest = min(update for update, _, _ in restored)
            if all(update == oldest for update, _, _ in restored):
                return restored
            among = {update for update in among if update <= oldest}

    def _updates(self) -> End:
        config, status = self._config, self._status
        counters = self._books[0].counters  # updates and seconds are those of all seeds
        done_here = 0
        step = None
        self._evaluate()  # one that was cut short
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
            self._take(state, metrics, time.monotonic() - began)
            done_here += 1
            self._evaluate()
            if counters.update % config.run.checkpoint_every_updates == 0:
                self._save()
                self._plot_sometimes()
            for books in self._books:
                books.checkpoints.check()
            self._show()
        return End.FINISHED

    def _take(self, state: PyTree, metrics: dict, seconds: float) -> None:
        """Takes an update that is sound into the books."""
        count = len(self._books)
        each = [part(metrics, seed, count) for seed in range(count)]
        for seed, (books, numbers) in enumerate(zip(self._books, each, strict=True)):
            if not is_finite(numbers):
                books.refuse_non_finite(numbers, part(state.params, seed, count))
        self._state = state
        self._stop.nothing_to_save = False
        for books, numbers in zip(self._books, each, strict=True):
            books.record(numbers, seconds)
        episodes = None
        for numbers in each:
            if numbers.get("episodes"):
                episodes = add_sums(episodes, numbers["episodes"])
        self._status.add(seconds, episodes)

    def _show(self) -> None:
        remark = self._status.remark()
        if remark is not None:
            self._display.say(remark)
        self._display.update(self._status.fraction(), self._status.text())

    def _compile(self):
        """The compiled update: what it takes to compile does not count as training."""
        self._display.say("compiling; the first time takes minutes ...")
        began = time.monotonic()
        with self._heartbeat.during("compiling, {}"):
            step = self._assembly.learner.compile(self._state)
        self._display.say(f"compiled in {time.monotonic() - began:.0f} s")
        if memory := require_room_for_update(self._config, step, self._mesh):
            self._display.say(memory)
        return step

    def _params(self, seed: int) -> PyTree:
        """The newest parameters of a seed, to play with on one device."""
        return on_one_device(part(self._state.params, seed, len(self._books)))

    def _apart(self) -> list[PyTree]:
        """The state of each seed."""
        count = len(self._books)
        return [part(self._state, seed, count) for seed in range(count)]

    def _evaluate(self, at_end: bool = False) -> None:
        """Judges the newest policies on development worlds if it is time to."""
        due = [n for n, books in enumerate(self._books) if books.is_evaluation_due(at_end)]
        if due:
            count = self._config.evaluation.development_worlds
            worlds = f"{count} development worlds"
            self._display.say(f"evaluating on {worlds} (not in the time left) ...")
        for seed in due:
            self._show_seeds("evaluated", seed)
            self._books[seed].evaluate(self._params(seed))
            self._stop.nothing_to_save = False

    def _save(self) -> None:
        for number, (books, state) in enumerate(zip(self._books, self._apart(), strict=True)):
            self._show_seeds("saved", number)
            books.save(state)
            books.export_newest(state.params)

    def _show_seeds(self, done: str, number: int) -> None:
        """How many of many seeds are done with, which may take minutes."""
        if number:
            text = f"{done} {number} of {len(self._books)} seeds"
            self._display.update(self._status.fraction(), text)

    def _rescue(self) -> None:
        """Saves what there is before an error ends the run, if that can be done."""
        update = self._books[0].counters.update
        if update == 0 or all(books.is_saved for books in self._books):
            return
        if any(leaf.is_deleted() for leaf in jax.tree.leaves(self._state)):
            return  # the update that failed had its memory already
        try:
            for books, state in zip(self._books, self._apart(), strict=True):
                books.save(state)
            for books in self._books:
                books.checkpoints.wait()
        except Exception as error:  # the first error is the one to tell
            self._display.say(f"update {update} could not be saved ({error})")
        else:
            self._display.say(
                f"an error ends the run: update {update} was saved, and the same command goes on "
                "from there"
            )

    def _plot(self) -> None:
        """Draws the curve of each seed. Whoever stops a run does not wait long for pictures: the
        rest are drawn when it goes on."""
        latest = time.monotonic() + SECONDS_OF_PLOTS_AFTER_A_STOP
        for number, books in enumerate(self._books):
            if self._stop() and time.monotonic() > latest:
                return
            self._show_seeds("drew the curves of", number)
            books.plot()

    def _plot_sometimes(self) -> None:
        began = time.monotonic()
        if began > self._next_plot:
            self._plot()
            took = time.monotonic() - began
            self._next_plot = began + max(SECONDS_BETWEEN_PLOTS, took / PLOTTING_SHARE)
