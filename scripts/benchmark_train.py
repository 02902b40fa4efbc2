"""Speed of whole updates, alone or in turns with the published trainer: `benchmark.py train`."""

import argparse
import contextlib
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmark_world import CHANNELS, DIFFICULTY, Reference
from command_line import note
from hydra_command import CONF
from reference_python import run_reference

from marl.config import TrainConfig
from marl.read_config import make_train_config
from marl.training.command import assemble
from marl.training.timing import WARM_UP, time_updates

_NEEDED = ("alem", "distrax", "jaxmarl", "omegaconf", "optax", "orbax", "wandb", "hydra", "imageio")
_WHAT_LACKS = (
    "import importlib.util as u, sys; print(*[n for n in sys.argv[1:] if u.find_spec(n) is None])"
)


def cases(args: argparse.Namespace) -> Iterator[tuple[int, str, str]]:
    """(worlds, preset, learner) of every measurement that is asked for."""
    for num_envs in args.num_envs:
        for preset in args.preset:
            for learner in args.learner:
                yield num_envs, preset, learner


def config_of(
    num_envs: int, num_steps: int, preset: str, learner: str, repeats: int
) -> TrainConfig:
    """The options of a measurement, as scripts/train.py would have them."""
    from hydra import compose, initialize_config_dir

    which = {"cpu": f"learner={learner}", "published": f"experiment=published_{learner}"}
    total = (WARM_UP + repeats) * num_envs * num_steps
    overrides = [
        which[preset], f"env.difficulty={DIFFICULTY}", f"env.num_comm_channels={CHANNELS}",
        f"num_envs={num_envs}", f"num_steps={num_steps}", f"total_steps={total}",
        "fit_minibatches=true", "logger.console=none", "evaluation.every_updates=0",
    ]  # fmt: skip
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return make_train_config(compose("train", overrides=overrides))[0]


def lacks_for_training(python: str) -> str:
    """The first package that the published trainer needs and that interpreter lacks; "" if none.

    Raises:
        ReferenceFailed: the interpreter cannot be run.
    """
    return run_reference(python, "-c", _WHAT_LACKS, *_NEEDED).partition(" ")[0]


class PublishedTrainer:
    """The benchmark's own IPPO at one size, compiled in its interpreter.

    Args:
        reference: the worker, entered.
        baselines: the folder `baselines` of a checkout of the benchmark.
        num_envs, num_steps: sizes.
    """

    def __init__(self, reference: Reference, baselines: Path, num_envs: int, num_steps: int):
        note(f"{num_envs} worlds: the published trainer compiles, some minutes ...")
        self._reference, self.num_envs = reference, num_envs
        self.compile_s = reference.ask(
            do="prepare_training", baselines=str(baselines.absolute()), num_envs=num_envs,
            num_steps=num_steps, difficulty=DIFFICULTY, channels=CHANNELS,
        )["compile_s"]  # fmt: skip

    def steps_per_s(self) -> float:
        """Of one update."""
        answer = self._reference.ask(do="train")
        return answer["world_steps"] / answer["seconds"]


def measure_training(
    case: tuple[int, str, str],
    args: argparse.Namespace,
    trainer: PublishedTrainer | None,
) -> dict:
    """Figures of one case; with `ratio_train` where there is a published trainer."""
    num_envs, preset, learner = case
    note(
        f"{learner} ({preset}), {num_envs} worlds: compiling, then {args.repeats} updates "
        + ("in turns with the published trainer ..." if trainer else "...")
    )
    config = config_of(num_envs, args.num_steps, preset, learner, args.repeats)
    theirs: list[float] = []
    between = (lambda: theirs.append(trainer.steps_per_s())) if trainer else None
    # what a run says of itself is no result
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):
        figures = time_updates(config, assemble(config), Path(folder) / "run", between)
    result = {
        "learner": learner, "preset": preset, "num_envs": num_envs, "num_steps": args.num_steps,
    } | figures  # fmt: skip
    if trainer:
        # the turn ahead of each measured update
        published = statistics.median(theirs[WARM_UP:])
        result["published_steps_per_s"] = published
        result["published_compile_s"] = trainer.compile_s
        result["ratio_train"] = figures["steps_per_s"] / published
    return result
