"""From an environment to the functions a learner needs of it."""

import dataclasses
from collections.abc import Mapping

import jax.numpy as jnp

from alem_env import StaticParams, VectorEnv, dense
from marl.sharding import by_worlds, num_shards
from marl.types import Sparse, Task, VectorObservation


def make_task(env) -> Task:
    """The task of `alem_env.VectorEnv`, or of another environment of that protocol.

    Others observe `VectorObservation`s of `env.feature_size` numbers and may have
    `env.active_agents(state)`; without it every agent is always active.
    """
    is_alem = hasattr(getattr(env, "env", None), "static")
    parts = _alem_parts(env.env.static) if is_alem else _plain_parts(env.feature_size)
    step = _step_by_worlds(env) if is_alem else env.step
    return Task(
        num_envs=env.num_envs,
        num_agents=env.num_agents,
        num_actions=env.num_actions,
        active=getattr(env, "active_agents", _everyone(env)),
        reset=env.reset,
        step=step,
        **parts,
    )


def _step_by_worlds(env: VectorEnv):
    """`env.step`. Of many devices each steps its own worlds, so that it does what is rare when one
    of its own needs it, and new worlds stay where the old ones were."""

    def step(key, state, actions, params):
        count = num_shards()
        if count == 1:
            return env.step(key, state, actions, params)
        # A chunk was for all worlds: each device makes as many at a time as suits its own.
        own = dataclasses.replace(env, num_envs=env.num_envs // count, reset_chunk=None)
        stepped = by_worlds(own.step, in_axes=(0, 0, 0, None), out_axes=0)
        return stepped(env.keys(key), state, actions, params)

    return step


def task_for_static(env: Mapping) -> Task:
    """A task to build a policy's network for, without an environment: it has no `step`.

    Args:
        env: as in a policy's card. Of ALEM "num_agents" and "num_comm_channels"; of others, which
            need not be installed, "num_agents", "num_actions" and "feature_size".
    """
    if "feature_size" in env:
        agents, actions = env["num_agents"], env["num_actions"]
        parts = _plain_parts(env["feature_size"])
    else:
        static = StaticParams(
            num_agents=env["num_agents"], num_comm_channels=env["num_comm_channels"]
        )
        agents, actions = static.num_agents, static.num_actions
        parts = _alem_parts(static)
    return Task(
        num_envs=1,
        num_agents=agents,
        num_actions=actions,
        active=_no_environment,
        reset=_no_environment,
        step=_no_environment,
        **parts,
    )


def _everyone(env):
    return lambda state: jnp.ones((env.num_envs, env.num_agents), bool)


def _no_environment(*_, **__):
    raise TypeError("this task only has the shapes of an environment")


def _plain_parts(feature_size: int) -> dict:
    return dict(
        feature_size=feature_size, dense_columns=(), features=lambda observation: observation.vector
    )


def _alem_parts(static) -> dict:
    def features(observation) -> Sparse:
        # Exported policies also act on the published vector.
        if isinstance(observation, VectorObservation):
            return observation.vector
        return Sparse(*dense.embedding_inputs(observation, static))

    return dict(
        feature_size=dense.obs_dim(static),
        dense_columns=tuple(dense.dense_columns(static).tolist()),
        features=features,
    )
