"""Options of a run, as frozen dataclasses that refuse by name what cannot work.

Numbers that follow from others are properties. `conf/` holds the values and says what each means;
`marl.read_config` makes these of them.
"""

import dataclasses
import hashlib
import json
import math
import re
from importlib.util import find_spec

from marl.env_config import EnvOptions
from marl.host.folder import flatten, is_free
from marl.networks.sizes import CentralisedConfig, HyperConfig, NetworkConfig, QNetworkConfig
from marl.options import ConfigError, in_range, one_of
from marl.types import LearnerOptions

# Fields of a learner's options that follow from the run.
DERIVED = frozenset({"num_envs", "num_steps", "total_updates"})
UNLIMITED = 2**31 - 1
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}", re.ASCII)

# Smallest and largest values of the numbers that decide how big a run is.
SIZES = {
    "num_seeds": (1, 1000),
    "num_envs": (1, 2**20),
    "num_steps": (1, 2**16),
    "total_steps": (1, 10**11),  # a hundred times the published runs
}

# Options that may change when a run is resumed: they decide nothing about what is learnt.
FREE_OPTIONS = frozenset({"run.", "logger.", "evaluation."})


@dataclasses.dataclass(frozen=True)
class LearnerConfig:
    """The learning algorithm.

    Attributes:
        name: key of `marl.learners.registry.LEARNERS`.
        options: its hyper-parameters, an instance of the class found there.
    """

    name: str
    options: LearnerOptions


@dataclasses.dataclass(frozen=True)
class LoggerConfig:
    """Where metrics go besides metrics.jsonl. Meanings are in conf/logger/."""

    console: str
    tensorboard: bool
    wandb_mode: str
    wandb_project: str
    wandb_name: str | None

    def __post_init__(self):
        one_of("logger.console", self.console, ("auto", "bar", "lines", "none"))
        if self.tensorboard and find_spec("tensorboardX") is None:
            raise ConfigError(
                "logger.tensorboard=true needs a package that is not installed: "
                "pip install -e '.[tensorboard]', or give logger.tensorboard=false"
            )
        one_of("logger.wandb_mode", self.wandb_mode, ("disabled", "offline", "online"))


@dataclasses.dataclass(frozen=True)
class RunConfig:
    """The run's folder and time slices. Meanings are in conf/run/default.yaml."""

    dir: str | None
    devices: int | None
    minutes: float
    stop_after_updates: int | None
    checkpoint_every_updates: int
    keep_checkpoints: int
    log_every_updates: int

    def __post_init__(self):
        if not 0.0 < self.minutes < math.inf:
            raise ConfigError(f"run.minutes={self.minutes} must be above 0")
        in_range("run.devices", self.devices, 1, UNLIMITED)
        in_range("run.stop_after_updates", self.stop_after_updates, 1, UNLIMITED)
        for name in ("checkpoint_every_updates", "keep_checkpoints", "log_every_updates"):
            in_range(f"run.{name}", getattr(self, name), 1, UNLIMITED)
        if self.dir is not None and not self.dir.strip():
            raise ConfigError("run.dir is empty; give a folder, or null for one under runs/")


@dataclasses.dataclass(frozen=True)
class EvaluationConfig:
    """Evaluations of a training run. Meanings are in conf/evaluation/."""

    every_updates: int
    development_worlds: int
    development_max_steps: int
    worlds: int
    max_steps: int

    def __post_init__(self):
        in_range("evaluation.every_updates", self.every_updates, 0, UNLIMITED)
        in_range("evaluation.development_worlds", self.development_worlds, 1, 20)
        in_range("evaluation.development_max_steps", self.development_max_steps, 1, 100_000)
        in_range("evaluation.worlds", self.worlds, 0, 20)
        in_range("evaluation.max_steps", self.max_steps, 1, 100_000)


@dataclasses.dataclass(frozen=True)
class TrainConfig:
    """Everything `scripts/train.py` knows. Meanings are in conf/train.yaml."""

    name: str
    seed: int
    num_seeds: int
    num_envs: int
    num_steps: int
    total_steps: int | None
    fit_minibatches: bool
    env: EnvOptions
    learner: LearnerConfig
    network: NetworkConfig | CentralisedConfig | HyperConfig | QNetworkConfig
    logger: LoggerConfig
    run: RunConfig
    evaluation: EvaluationConfig

    def __post_init__(self):
        if not _NAME.fullmatch(self.name):
            raise ConfigError(
                f"name={self.name!r} must be 1 to 64 letters (a to z), digits or - _ . and begin "
                "with a letter or digit: it is part of the folder's name"
            )
        for name, bounds in SIZES.items():
            in_range(name, getattr(self, name), *bounds)
        in_range("seed", self.seed, 0, 2**31 - self.num_seeds)
        if self.total_steps is None:
            if (needs := self.learner.options.needs_length) is not None:
                what, instead = needs
                raise ConfigError(
                    f"learner.{what} needs to know the run's length; "
                    f"give total_steps=N, or learner.{instead}"
                )
        elif self.total_steps < self.steps_per_update:
            raise ConfigError(
                f"total_steps={self.total_steps} is less than one update, which takes "
                f"num_envs * num_steps = {self.num_envs} * {self.num_steps} = "
                f"{self.steps_per_update} steps; raise total_steps or lower the others"
            )
        elif self.num_updates > UNLIMITED:
            raise ConfigError(
                f"total_steps={self.total_steps} is {self.num_updates} updates of num_envs * "
                f"num_steps = {self.num_envs} * {self.num_steps} steps, and at most {UNLIMITED} "
                "can be counted; lower total_steps or raise the others"
            )

    @property
    def seeds(self) -> range:
        """The seeds that are trained side by side."""
        return range(self.seed, self.seed + self.num_seeds)

    @property
    def steps_per_update(self) -> int:
        """Environment steps of one update."""
        return self.num_envs * self.num_steps

    @property
    def num_updates(self) -> int | None:
        """Updates of the whole run, or None if time decides."""
        return None if self.total_steps is None else self.total_steps // self.steps_per_update

    @property
    def free_options(self) -> frozenset[str]:
        """Options that may differ when the run is resumed."""
        if self.learner.options.needs_length is not None:
            return FREE_OPTIONS
        return FREE_OPTIONS | {"total_steps"}  # a longer run begins the same

    def as_dict(self) -> dict:
        """Nested plain values that `make_train_config` would accept again."""
        values = dataclasses.asdict(self)
        options = values["learner"].pop("options")
        values["learner"].update({k: v for k, v in options.items() if k not in DERIVED})
        values["env"] = self.env.as_dict()
        return values

    @property
    def default_folder(self) -> str:
        """runs/<name>_<learner>_<difficulty>_seed<seed>_<digest of what decides the learning>; of
        several seeds the first and the last."""
        free = self.free_options
        values = {k: v for k, v in flatten(self.as_dict()).items() if not is_free(k, free)}
        digest = hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:6]
        seeds = f"seed{self.seed}"
        if self.num_seeds > 1:
            seeds = f"seeds{self.seeds[0]}-{self.seeds[-1]}"
        parts = (self.name, self.learner.name, self.env.label, seeds, digest)
        return "runs/" + "_".join(parts)
