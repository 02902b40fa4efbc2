"""Hydra's nested values become the dataclasses of `marl.config` here, once, before
anything compiles.
"""

import dataclasses
import math
import typing
from collections.abc import Mapping

from marl.config import DERIVED, SIZES, UNLIMITED, LearnerConfig, TrainConfig
from marl.environments.registry import make_env_options
from marl.host.folder import flatten
from marl.learners.registry import LEARNERS
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
from marl.types import LearnerOptions


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
    refuse_missing(values, ["env"], "")
    values["env"] = make_env_options(values["env"])
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


def _learner_options(cls: type, given: dict, run: Mapping) -> tuple[LearnerOptions, list[str]]:
    """The learner's dataclass from its own options and those of the run."""
    types_of = typing.get_type_hints(cls)
    known = [f.name for f in dataclasses.fields(cls) if f.name not in DERIVED]
    refuse_unknown(given, known, "learner.")
    refuse_missing(given, known, "learner.")
    options = {n: convert(v, types_of[n], f"learner.{n}") for n, v in given.items()}
    sizes = {n: convert(run.get(n), int, n) for n in ("num_envs", "num_steps")}
    total = convert(run.get("total_steps"), int | None, "total_steps")
    for name, size in {**sizes, "total_steps": total}.items():
        in_range(name, size, *SIZES[name])
    updates = UNLIMITED if total is None else total // math.prod(sizes.values())
    updates = min(max(1, updates), UNLIMITED)  # TrainConfig refuses what is beyond, by name
    remarks = []
    if "num_minibatches" in options:
        in_range("learner.num_minibatches", options["num_minibatches"], 1, UNLIMITED)
        options["num_minibatches"], remarks = _fit_minibatches(
            options["num_minibatches"],
            sizes["num_envs"],
            run["env"].num_agents if cls.splits_agents else None,
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
