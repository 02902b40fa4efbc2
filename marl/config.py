"""Options of a run: Hydra's nested values become frozen, checked dataclasses here, once.

Whatever cannot work is refused by name before anything compiles. Numbers that follow from others
are properties. `conf/` holds the values and says what each means.
"""

import dataclasses
import hashlib
import json
import math
import typing
from collections.abc import Mapping

from marl.env_config import EnvConfig
from marl.host.folder import flatten, is_free
from marl.learners.ppo_config import PPOConfig
from marl.learners.pqn_config import PQNConfig
from marl.learners.registry import LEARNERS
from marl.networks.centralised import CentralisedConfig
from marl.networks.factory import NetworkConfig
from marl.networks.hypernetwork import HyperConfig
from marl.networks.q_network import QNetworkConfig
from marl.options import (
    ConfigError,
    build,
    convert,
    in_range,
    one_of,
    plain,
    refuse_missing,
    refuse_unknown,
)

# Fields of those classes that follow from the run.
_DERIVED = frozenset({"num_envs", "num_steps", "total_updates"})
UNLIMITED = 2**31 - 1

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
    options: PPOConfig | PQNConfig


@dataclasses.dataclass(frozen=True)
class LoggerConfig:
    """Where metrics go besides metrics.jsonl. Meanings are in conf/logger/."""

    console: str
    wandb_mode: str
    wandb_project: str
    wandb_name: str | None

    def __post_init__(self):
        one_of("logger.console", self.console, ("auto", "bar", "lines", "none"))
        one_of("logger.wandb_mode", self.wandb_mode, ("disabled", "offline", "online"))


@dataclasses.dataclass(frozen=True)
class RunConfig:
    """The run's folder and time slices. Meanings are in conf/run/default.yaml."""

    dir: str | None
    minutes: float
    stop_after_updates: int | None
    checkpoint_every_updates: int
    keep_checkpoints: int
    log_every_updates: int

    def __post_init__(self):
        if not 0.0 < self.minutes < math.inf:
            raise ConfigError(f"run.minutes={self.minutes} must be above 0")
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
    env: EnvConfig
    learner: LearnerConfig
    network: NetworkConfig | CentralisedConfig | HyperConfig | QNetworkConfig
    logger: LoggerConfig
    run: RunConfig
    evaluation: EvaluationConfig

    def __post_init__(self):
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
        values["learner"].update({k: v for k, v in options.items() if k not in _DERIVED})
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


def make_train_config(values: Mapping) -> tuple[TrainConfig, list[str]]:
    """Checks the options of a training run.

    Args:
        values: Hydra's configuration, or a nested mapping of plain values.

    Returns:
        The options, and remarks on what was adapted, for the user to read.

    Raises:
        ConfigError: an option is unknown, missing, of the wrong type, or cannot work.
    """
    values = plain(values)
    names = [field.name for field in dataclasses.fields(TrainConfig)]
    groups = {name: values[name] for name in names if isinstance(values.get(name), Mapping)}
    refuse_unknown(values, names, "", elsewhere=list(flatten(groups)))
    learner = values.pop("learner", None)
    if not isinstance(learner, Mapping):
        raise ConfigError(f"learner={learner!r} must be a group of options; see conf/learner/")
    learner = dict(learner)
    name = learner.pop("name", None)
    one_of("learner.name", name, tuple(LEARNERS))
    options, remarks = _learner_options(LEARNERS[name].options, learner, values)
    values["learner"] = LearnerConfig(name, options)
    if "network" in values:
        values["network"] = _network(name, values["network"])
    config = build(TrainConfig, values, "")
    return config, remarks + _rounding(config)


def _rounding(config: TrainConfig) -> list[str]:
    """That a run takes whole updates, if that makes it shorter than was asked."""
    if config.total_steps is None or config.total_steps % config.steps_per_update == 0:
        return []
    return [
        f"total_steps={config.total_steps:,} is not a multiple of an update's num_envs * num_steps "
        f"= {config.num_envs} * {config.num_steps} = {config.steps_per_update:,}; doing "
        f"{config.num_updates:,} updates, which are "
        f"{config.num_updates * config.steps_per_update:,} steps"
    ]


def _network(learner: str, given: object) -> object:
    """The network's dataclass, of the kind that the learner takes."""
    kind = LEARNERS[learner].network
    try:
        return build(kind, given, "network.")
    except ConfigError as error:
        if isinstance(given, Mapping) and set(given) == {f.name for f in dataclasses.fields(kind)}:
            raise
        raise ConfigError(
            f"{error}; learner={learner} takes another kind of network: leave network=... out"
        ) from error


def _learner_options(
    cls: type, given: dict, run: Mapping
) -> tuple[PPOConfig | PQNConfig, list[str]]:
    """The learner's dataclass from its own options and those of the run."""
    types_of = typing.get_type_hints(cls)
    known = [f.name for f in dataclasses.fields(cls) if f.name not in _DERIVED]
    refuse_unknown(given, known, "learner.")
    refuse_missing(given, known, "learner.")
    options = {n: convert(v, types_of[n], f"learner.{n}") for n, v in given.items()}
    sizes = {n: convert(run.get(n), int, n) for n in ("num_envs", "num_steps")}
    total = convert(run.get("total_steps"), int | None, "total_steps")
    for name, size in {**sizes, "total_steps": total}.items():
        in_range(name, size, *SIZES[name])
    updates = UNLIMITED if total is None else total // math.prod(sizes.values())
    updates = min(max(1, updates), UNLIMITED)  # TrainConfig refuses what is beyond, by name
    agents = convert(_get(run, "env", "num_agents"), int, "env.num_agents")
    remarks = []
    if "num_minibatches" in options:
        in_range("learner.num_minibatches", options["num_minibatches"], 1, UNLIMITED)
        options["num_minibatches"], remarks = _fit_minibatches(
            options["num_minibatches"],
            sizes["num_envs"],
            agents if cls.splits_agents else None,
            convert(run.get("fit_minibatches"), bool, "fit_minibatches"),
        )
    try:
        return cls(**options, **sizes, total_updates=updates), remarks
    except ValueError as error:
        raise ConfigError(f"learner.{error}") from error


def _fit_minibatches(
    wanted: int, envs: int, agents: int | None, fit: bool
) -> tuple[int, list[str]]:
    """The largest number of minibatches, at most `wanted`, that divides the sequences: one for
    each agent, or one for each team if `agents` is None."""
    if agents is None:
        sequences, sum_of, factors = envs, "num_envs", f"{envs}"
    else:
        sequences, sum_of = envs * agents, "num_envs * env.num_agents"
        factors = f"{envs} * {agents} = {envs * agents}"
    if sequences % wanted == 0:
        return wanted, []
    if not fit:
        raise ConfigError(
            f"learner.num_minibatches={wanted} does not divide {sum_of} = "
            f"{factors}; change num_envs or learner.num_minibatches, "
            "or let it adapt with fit_minibatches=true"
        )
    fitting = max(n for n in range(1, min(wanted, sequences) + 1) if sequences % n == 0)
    remark = (
        f"learner.num_minibatches={wanted} does not divide {sum_of} = {sequences}; using {fitting}"
    )
    return fitting, [remark]


def _get(values: Mapping, group: str, name: str) -> object:
    inner = values.get(group)
    return inner.get(name) if isinstance(inner, Mapping) else None
