"""Options of a run: Hydra's nested values become frozen, checked dataclasses here, once.

Whatever cannot work is refused by name before anything compiles. Numbers that follow from others
are properties. `conf/` holds the values and says what each means.
"""

import dataclasses
import difflib
import hashlib
import json
import math
import types
import typing
from collections.abc import Mapping

from alem_env import EnvParams, StaticParams, difficulty
from marl.learners.on_policy import PPOConfig
from marl.networks.factory import NetworkConfig

# What each learner is configured by; `learner.name` picks one.
LEARNER_OPTIONS = {"ippo": PPOConfig}
# Fields of those classes that follow from the run.
_DERIVED = frozenset({"num_envs", "num_steps", "total_updates"})
UNLIMITED = 2**31 - 1

# Options that may change when a run is resumed: they decide nothing about what is learnt.
FREE_OPTIONS = frozenset({"run.", "logger.", "evaluation."})


class ConfigError(ValueError):
    """An option that cannot work; the message names it, its value and the remedy."""


@dataclasses.dataclass(frozen=True)
class EnvConfig:
    """The world. Meanings are in conf/env/alem.yaml."""

    difficulty: str | float
    num_agents: int
    num_comm_channels: int
    rules_version: str
    shared_reward: bool
    non_specialist_efficiency: float | None

    def __post_init__(self):
        _in_range("env.num_agents", self.num_agents, 1, 8)
        _in_range("env.num_comm_channels", self.num_comm_channels, 0, 32)
        if self.non_specialist_efficiency is not None:
            _in_range("env.non_specialist_efficiency", self.non_specialist_efficiency, 0.0, 1.0)
        self.params()  # refuses an unknown difficulty
        self.static()  # refuses unknown rules

    @property
    def preset(self) -> str | None:
        """The preset that is a program of its own, or None."""
        return "none" if str(self.difficulty).lower() == "none" else None

    @property
    def label(self) -> str:
        """The difficulty as it appears in file names and tables."""
        return str(self.difficulty).lower()

    def params(self) -> EnvParams:
        """The traced parameters of this world."""
        overrides = {"shared_reward": self.shared_reward}
        if self.non_specialist_efficiency is not None:
            overrides["non_specialist_efficiency"] = self.non_specialist_efficiency
        try:
            return difficulty(self.difficulty, **overrides)
        except ValueError as error:
            raise ConfigError(f"env.{error}") from error

    def static(self) -> StaticParams:
        """What programs for this world depend on."""
        try:
            return StaticParams(
                num_agents=self.num_agents,
                num_comm_channels=self.num_comm_channels,
                rules_version=self.rules_version,
            )
        except ValueError as error:
            raise ConfigError(f"env.{error}") from error


@dataclasses.dataclass(frozen=True)
class LearnerConfig:
    """The learning algorithm.

    Attributes:
        name: key of `LEARNER_OPTIONS`.
        options: its hyper-parameters, an instance of the class found there.
    """

    name: str
    options: PPOConfig


@dataclasses.dataclass(frozen=True)
class LoggerConfig:
    """Where metrics go besides metrics.jsonl. Meanings are in conf/logger/."""

    console: str
    wandb_mode: str
    wandb_project: str
    wandb_name: str | None

    def __post_init__(self):
        _one_of("logger.console", self.console, ("auto", "bar", "lines", "none"))
        _one_of("logger.wandb_mode", self.wandb_mode, ("disabled", "offline", "online"))


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
        _in_range("run.stop_after_updates", self.stop_after_updates, 1, UNLIMITED)
        for name in ("checkpoint_every_updates", "keep_checkpoints", "log_every_updates"):
            _in_range(f"run.{name}", getattr(self, name), 1, UNLIMITED)
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
        _in_range("evaluation.every_updates", self.every_updates, 0, UNLIMITED)
        _in_range("evaluation.development_worlds", self.development_worlds, 1, 20)
        _in_range("evaluation.development_max_steps", self.development_max_steps, 1, 100_000)
        _in_range("evaluation.worlds", self.worlds, 0, 20)
        _in_range("evaluation.max_steps", self.max_steps, 1, 100_000)


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
    network: NetworkConfig
    logger: LoggerConfig
    run: RunConfig
    evaluation: EvaluationConfig

    def __post_init__(self):
        _in_range("seed", self.seed, 0, 2**31 - 1)
        _in_range("num_envs", self.num_envs, 1, 2**20)
        _in_range("num_steps", self.num_steps, 1, 2**16)
        if self.num_seeds != 1:
            raise ConfigError(
                f"num_seeds={self.num_seeds} is not supported yet, only 1; "
                "start one run a seed, for example with: -m seed=0,1,2"
            )
        if self.total_steps is None:
            if self.learner.options.anneal_lr:
                raise ConfigError(
                    "learner.anneal_lr=true needs to know the run's length; "
                    "give total_steps=N, or learner.anneal_lr=false"
                )
        elif self.total_steps < self.steps_per_update:
            raise ConfigError(
                f"total_steps={self.total_steps} is less than one update, which takes "
                f"num_envs * num_steps = {self.num_envs} * {self.num_steps} = "
                f"{self.steps_per_update} steps; raise total_steps or lower the others"
            )

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
        if self.learner.options.anneal_lr:
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
        """runs/<preset>_<learner>_<difficulty>_seed<seed>_<digest of what decides the learning>."""
        values = self.as_dict()
        for name in ("run", "logger", "evaluation"):
            del values[name]
        digest = hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:6]
        parts = (self.name, self.learner.name, self.env.label, f"seed{self.seed}", digest)
        return "runs/" + "_".join(parts)


@dataclasses.dataclass(frozen=True)
class EvaluateConfig:
    """Everything `scripts/evaluate.py` knows. Meanings are in conf/evaluate.yaml."""

    policy: str
    episodes: int
    first_seed: int
    max_steps: int
    sampled: bool
    random: bool
    transfer: bool
    out: str | None
    difficulty: str | float | None
    num_agents: int | None
    num_comm_channels: int | None
    rules_version: str | None

    def __post_init__(self):
        _in_range("episodes", self.episodes, 1, 100_000)
        _in_range("first_seed", self.first_seed, 0, 2**31 - 1 - self.episodes)
        _in_range("max_steps", self.max_steps, 1, 100_000)

    def env_config(self, made_for: EnvConfig) -> EnvConfig:
        """The world to evaluate in: what is not asked for is as the policy was made for."""
        asked = {
            name: getattr(self, name)
            for name in ("difficulty", "num_agents", "num_comm_channels", "rules_version")
            if getattr(self, name) is not None
        }
        return dataclasses.replace(made_for, **asked)


def make_train_config(values: Mapping) -> tuple[TrainConfig, list[str]]:
    """Checks the options of a training run.

    Args:
        values: Hydra's configuration, or a nested mapping of plain values.

    Returns:
        The options, and remarks on what was adapted, for the user to read.

    Raises:
        ConfigError: an option is unknown, missing, of the wrong type, or cannot work.
    """
    values = _plain(values)
    learner = values.pop("learner", None)
    if not isinstance(learner, Mapping):
        raise ConfigError(f"learner={learner!r} must be a group of options; see conf/learner/")
    learner = dict(learner)
    name = learner.pop("name", None)
    _one_of("learner.name", name, tuple(LEARNER_OPTIONS))
    options, remarks = _learner_options(LEARNER_OPTIONS[name], learner, values)
    values["learner"] = LearnerConfig(name, options)
    return _build(TrainConfig, values, ""), remarks


def make_evaluate_config(values: Mapping) -> EvaluateConfig:
    """Checks the options of an evaluation. Raises ConfigError as `make_train_config`."""
    values = _plain(values)
    env = values.pop("env", None)
    known = ("difficulty", "num_agents", "num_comm_channels", "rules_version")
    if not isinstance(env, Mapping):
        raise ConfigError(f"env={env!r} must be a group of options: {', '.join(known)}")
    _refuse_unknown(env, known, "env.")
    return _build(EvaluateConfig, {**values, **env}, "")


def _learner_options(cls: type, given: dict, run: Mapping) -> tuple[PPOConfig, list[str]]:
    """The learner's dataclass from its own options and those of the run."""
    types_of = typing.get_type_hints(cls)
    known = [f.name for f in dataclasses.fields(cls) if f.name not in _DERIVED]
    _refuse_unknown(given, known, "learner.")
    _refuse_missing(given, known, "learner.")
    options = {n: _convert(v, types_of[n], f"learner.{n}") for n, v in given.items()}
    sizes = {n: _convert(run.get(n), int, n) for n in ("num_envs", "num_steps")}
    for name, size in sizes.items():
        _in_range(name, size, 1, 2**20)
    total = _convert(run.get("total_steps"), int | None, "total_steps")
    updates = UNLIMITED if total is None else max(1, total // math.prod(sizes.values()))
    agents = _convert(_get(run, "env", "num_agents"), int, "env.num_agents")
    remarks = []
    if "num_minibatches" in options:
        _in_range("learner.num_minibatches", options["num_minibatches"], 1, UNLIMITED)
        options["num_minibatches"], remarks = _fit_minibatches(
            options["num_minibatches"],
            sizes["num_envs"],
            agents,
            _convert(run.get("fit_minibatches"), bool, "fit_minibatches"),
        )
    try:
        return cls(**options, **sizes, total_updates=updates), remarks
    except ValueError as error:
        raise ConfigError(f"learner.{error}") from error


def _fit_minibatches(wanted: int, envs: int, agents: int, fit: bool) -> tuple[int, list[str]]:
    """The largest number of minibatches, at most `wanted`, that divides the sequences."""
    sequences = envs * agents
    if sequences % wanted == 0:
        return wanted, []
    if not fit:
        raise ConfigError(
            f"learner.num_minibatches={wanted} does not divide num_envs * env.num_agents = "
            f"{envs} * {agents} = {sequences}; change num_envs or learner.num_minibatches, "
            "or let it adapt with fit_minibatches=true"
        )
    fitting = max(n for n in range(1, min(wanted, sequences) + 1) if sequences % n == 0)
    remark = (
        f"learner.num_minibatches={wanted} does not divide num_envs * env.num_agents = "
        f"{sequences}; using {fitting}"
    )
    return fitting, [remark]


def _plain(values: Mapping) -> dict:
    from omegaconf import DictConfig, OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    if not isinstance(values, DictConfig):
        return dict(values)
    try:
        return OmegaConf.to_container(values, resolve=True, throw_on_missing=True)
    except OmegaConfBaseException as error:
        raise ConfigError(str(error)) from error


def _get(values: Mapping, group: str, name: str) -> object:
    inner = values.get(group)
    return inner.get(name) if isinstance(inner, Mapping) else None


def _build(cls: type, values: object, prefix: str) -> object:
    """A dataclass from a nested mapping, by its annotations."""
    if dataclasses.is_dataclass(values) and isinstance(values, cls):
        return values
    if not isinstance(values, Mapping):
        raise ConfigError(f"{prefix.rstrip('.')}={values!r} must be a group of options")
    hints = typing.get_type_hints(cls)
    names = [f.name for f in dataclasses.fields(cls)]
    _refuse_unknown(values, names, prefix)
    _refuse_missing(values, names, prefix)
    converted = {n: _convert(values[n], hints[n], prefix + n) for n in names}
    try:
        return cls(**converted)
    except ConfigError:
        raise
    except ValueError as error:
        raise ConfigError(str(error)) from error


def _convert(value: object, kind: object, name: str) -> object:
    """A value as the annotation wants it; 1e9 is a whole number."""
    if dataclasses.is_dataclass(kind):
        return _build(kind, value, name + ".")
    if isinstance(kind, types.UnionType):
        kinds = typing.get_args(kind)
        if value is None and type(None) in kinds:
            return None
        kinds = [k for k in kinds if k is not type(None)]
        if len(kinds) > 1 and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        if type(value) in kinds:
            return value
        kind = kinds[0]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind is int and is_number and math.isfinite(value) and float(value).is_integer():
        return int(value)
    if kind is float and is_number and math.isfinite(value):
        return float(value)
    if kind in (bool, str) and type(value) is kind:
        return value
    if kind is str and is_number:
        raise ConfigError(f"{name}={value} must be a text; quote it: {name}='\"{value}\"'")
    wanted = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
    raise ConfigError(f"{name}={value!r} must be {wanted[kind]}")


def _refuse_unknown(values: Mapping, known: list[str] | tuple[str, ...], prefix: str) -> None:
    for name in values:
        if name in known:
            continue
        close = difflib.get_close_matches(str(name), known, 1)
        hint = f"did you mean {prefix}{close[0]}? " if close else ""
        raise ConfigError(
            f"unknown option {prefix}{name}={values[name]!r}; {hint}known are "
            + ", ".join(prefix + k for k in known)
        )


def _refuse_missing(values: Mapping, names: list[str], prefix: str) -> None:
    for name in names:
        if name not in values:
            raise ConfigError(f"{prefix}{name} is missing; give {prefix}{name}=VALUE")


def _in_range(name: str, value: float | None, low: float, high: float) -> None:
    if value is not None and not low <= value <= high:
        raise ConfigError(f"{name}={value} must lie between {low} and {high}")


def _one_of(name: str, value: object, choices: tuple) -> None:
    if value not in choices:
        raise ConfigError(
            f"{name}={value!r} is unknown; choose one of {', '.join(map(str, choices))}"
        )
