"""Environments by the name that `env=NAME` gives them, and what the commands ask of each."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp

from marl.env_config import ALEM, EnvConfig, EnvOptions
from marl.environments import alem, spread
from marl.environments.auto_reset import AutoReset
from marl.options import ConfigError, build, one_of
from marl.types import BatchEnv, PyTree, Scoring


def describe(options: EnvOptions, env: BatchEnv) -> dict:
    """Everything that makes results comparable, and what a policy must fit, as plain values."""
    sizes = {"num_actions": env.num_actions, "feature_size": env.feature_size}
    return options.as_dict() | sizes


def no_scores(env: BatchEnv) -> Callable[[PyTree], tuple[jax.Array, dict]]:
    """(final states (W, ...)) -> (achievements (W, A, 0), scores): there are none."""

    def outcome(states):
        worlds = jax.tree.leaves(states)[0].shape[0]
        return jnp.zeros((worlds, env.num_agents, 0), bool), {}

    return outcome


class Entry(NamedTuple):
    """An environment.

    Attributes:
        options: class of its options.
        make: options -> `marl.types.BatchEnv`.
        vector: (what `make` made, E) -> `marl.types.VectorEnv`.
        describe: (options, what `make` made) -> plain values, for cards and reports.
        outcome: what `make` made -> (final states (W, ...)) -> (achievements (W, A, n) bool,
            scores: name -> (W,) or (W, A)).
        scoring: what those scores mean.
    """

    options: type[EnvOptions]
    make: Callable[..., BatchEnv]
    vector: Callable = AutoReset
    describe: Callable = describe
    outcome: Callable = no_scores
    scoring: Scoring = Scoring()


ENVIRONMENTS = {
    ALEM: Entry(
        EnvConfig,
        alem.make_environment,
        alem.make_vector,
        alem.describe,
        alem.outcome_of,
        alem.SCORING,
    ),
    spread.Spread.name: Entry(spread.Spread, spread.make),
}


def make_env_options(given: object) -> EnvOptions:
    """The options of the environment that `name` among them says; of ALEM without one.

    Raises:
        ConfigError: the name is unknown, or an option cannot work.
    """
    if not isinstance(given, Mapping):
        raise ConfigError(f"env={given!r} must be a group of options; see conf/env/")
    values = dict(given)
    name = values.pop("name", ALEM)
    one_of("env.name", name, tuple(ENVIRONMENTS))
    return build(ENVIRONMENTS[name].options, values, "env.")


def entry_of(options: EnvOptions) -> Entry:
    """The environment of these options."""
    return ENVIRONMENTS[options.name]


def name_of(world: Mapping) -> str:
    """The environment of a card, or of a report's protocol."""
    return world.get("name", ALEM)
