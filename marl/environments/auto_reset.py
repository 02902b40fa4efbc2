"""From a batch of environments to environments that start anew by themselves."""

import jax
import jax.numpy as jnp

from alem_env import struct
from marl.types import BatchEnv, HasLegal, PyTree


@struct.dataclass
class Running:
    """E environments, and what is kept of their running episodes."""

    inner: PyTree  # (E, ...)
    length: jax.Array  # (E,) int32, steps so far
    team_return: jax.Array  # (E,) float32, sum of all agents' rewards so far


class AutoReset:
    """`num_envs` environments of the kind `marl.types.VectorEnv`.

    Every step makes all of them anew and takes what it needs: meant for environments that are cheap
    to make, unlike worlds of ALEM.

    Args:
        env: what is played.
        num_envs: E.
    """

    def __init__(self, env: BatchEnv, num_envs: int):
        self.env, self.num_envs = env, num_envs
        self.num_agents, self.num_actions = env.num_agents, env.num_actions
        self.feature_size = env.feature_size

    def active_agents(self, state: Running) -> jax.Array:
        """(E, A) bool."""
        if hasattr(self.env, "active_agents"):
            return self.env.active_agents(state.inner)
        return jnp.ones((self.num_envs, self.num_agents), bool)

    def reset(self, key: jax.Array, params: PyTree) -> tuple[HasLegal, Running]:
        observation, inner = self.env.reset_batch(jax.random.split(key, self.num_envs), params)
        return observation, Running(
            inner=inner,
            length=jnp.zeros(self.num_envs, jnp.int32),
            team_return=jnp.zeros(self.num_envs, jnp.float32),
        )

    def step(self, key: jax.Array, state: Running, actions: jax.Array, params: PyTree) -> tuple:
        key_step, key_reset = jax.random.split(key)
        observation, inner, reward, terminated, truncated, _ = self.env.step_batch(
            jax.random.split(key_step, self.num_envs), state.inner, actions, params
        )
        length = state.length + 1
        team_return = state.team_return + jnp.sum(reward, axis=-1)
        ended = terminated | truncated
        info = {
            "final_observation": observation,
            "finished": ended,
            "episode": {"length": length, "team_return": team_return},
        }

        def choose(new, old):
            return jnp.where(ended.reshape(ended.shape + (1,) * (old.ndim - 1)), new, old)

        state = Running(inner, length, team_return)
        after = jax.tree.map(choose, self.reset(key_reset, params), (observation, state))
        return *after, reward, terminated, truncated, info
