"""From a vector environment to the functions a learner needs of it."""

import jax.numpy as jnp

from marl.types import Sparse, Task


def make_task(env) -> Task:
    """The task of `alem_env.VectorEnv`, or of another environment of that protocol.

    Others observe a float `vector` of `env.feature_size` numbers and may have
    `env.active_agents(state)`; without it every agent is always active.
    """
    is_alem = hasattr(env, "env") and hasattr(env.env, "static")
    parts = _alem_parts(env) if is_alem else _plain_parts(env)
    return Task(
        num_envs=env.num_envs,
        num_agents=env.num_agents,
        num_actions=env.num_actions,
        reset=env.reset,
        step=env.step,
        **parts,
    )


def _plain_parts(env) -> dict:
    def everyone(state):
        return jnp.ones((env.num_envs, env.num_agents), bool)

    return dict(
        feature_size=env.feature_size,
        features=lambda observation: observation.vector,
        active=getattr(env, "active_agents", everyone),
    )


def _alem_parts(env) -> dict:
    from alem_env.observe import dense

    static = env.env.static

    def features(observation) -> Sparse:
        indices, values = dense.active_indices(observation, static)
        return Sparse(indices, values)

    return dict(
        feature_size=dense.size(static),
        features=features,
        active=env.active_agents,
    )
