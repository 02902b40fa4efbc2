"""What a run is made of, and what a call of `marl.training.loop.train` comes to."""

import dataclasses
import enum
from pathlib import Path
from typing import Protocol

from marl.config import TrainConfig
from marl.evaluation.protocol import Evaluator
from marl.types import Learner, PyTree, Scoring


class End(enum.Enum):
    """Why a call of `train` returned."""

    FINISHED = "finished"  # the whole run is done
    SLICE = "slice"  # run.stop_after_updates
    SIGNAL = "signal"


class Exporter(Protocol):
    """Writes policy bundles."""

    def save(self, folder: Path, params: PyTree, config: TrainConfig, facts: dict) -> None:
        """Writes a bundle with options and `facts` of the run, in place of one that is there."""
        ...

    def card_of(self, params: PyTree, config: TrainConfig, facts: dict) -> dict:
        """What the card of such a bundle says."""
        ...

    def update_of(self, folder: Path) -> int | None:
        """The update whose policy lies there, or None if there is no whole bundle."""
        ...


@dataclasses.dataclass(frozen=True)
class Assembly:
    """What a run is made of.

    Attributes:
        learner: how to learn.
        exporter: writes policy bundles.
        evaluator: plays development worlds; None if there are none.
        versions: what a checkpoint must agree with, such as the rules of the world.
        scoring: what episodes are judged by.
    """

    learner: Learner
    exporter: Exporter
    evaluator: Evaluator | None
    versions: dict[str, str]
    scoring: Scoring = Scoring()


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a call of `train` came to, for one seed.

    Attributes:
        end: why it returned.
        config: the options, with this seed alone.
        folder: the seed's folder.
        params: the newest parameters.
        facts: update, env_steps, seconds and the best development score so far.
        exit_code: for the process.
    """

    end: End
    config: TrainConfig
    folder: Path
    params: PyTree
    facts: dict
    exit_code: int
