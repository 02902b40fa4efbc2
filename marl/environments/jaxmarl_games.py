"""An environment of the library JaxMARL (arXiv 2311.10090) as one of ours."""

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

from alem_env import struct
from marl.types import PyTree, VectorObservation

if TYPE_CHECKING:
    from jaxmarl.environments import MultiAgentEnv


@struct.dataclass
class Games:
    """E games and how long they have been played."""

    inner: PyTree  # (E, ...), as JaxMARL has it
    length: jax.Array  # (E,) int32, steps so far


class JaxMARLGames:
    """Games of the kind `marl.types.BatchEnv` whose agents all see vectors of one length and may
    always take any of the same actions.

    Args:
        env: of JaxMARL.
        time_limit: steps after which a game that is still on is truncated, not terminated.

    Raises:
        ValueError: observations or actions differ between agents.
    """

    def __init__(self, env: "MultiAgentEnv", time_limit: int):
        self._env, self._time_limit = env, time_limit
        self.num_agents = env.num_agents
        shapes = {env.observation_space(agent).shape for agent in env.agents}
        actions = {env.action_space(agent).n for agent in env.agents}
        if len(shapes) != 1 or len(actions) != 1:
            raise ValueError(
                f"{env.name} has agents with observations of {sorted(shapes)} and actions of "
                f"{sorted(actions)}, and all must be alike; take an environment of equal agents"
            )
        ((self.feature_size,),) = shapes
        (self.num_actions,) = actions

    def reset_batch(self, keys: jax.Array, params: PyTree = None) -> tuple:
        seen, inner = jax.vmap(self._env.reset)(keys)
        return self._observe(seen), Games(inner, jnp.zeros(keys.shape, jnp.int32))

    def step_batch(
        self, keys: jax.Array, state: Games, actions: jax.Array, params: PyTree = None
    ) -> tuple:
        by_agent = {agent: actions[:, k] for k, agent in enumerate(self._env.agents)}
        seen, inner, rewards, done, _ = jax.vmap(self._env.step_env)(keys, state.inner, by_agent)
        length = state.length + 1
        # JaxMARL's own time limit looks like any other end, and comes a step later.
        truncated = length >= self._time_limit
        terminated = done["__all__"] & ~truncated
        return (
            self._observe(seen), Games(inner, length), self._stack(rewards), terminated, truncated,
            {},
        )  # fmt: skip

    def _observe(self, seen: dict) -> VectorObservation:
        vector = self._stack(seen)
        legal = jnp.ones(vector.shape[:2] + (self.num_actions,), bool)
        return VectorObservation(vector, legal)

    def _stack(self, by_agent: dict) -> jax.Array:
        """(E, A, ...) float32, in JaxMARL's order of agents."""
        leaves = [by_agent[agent] for agent in self._env.agents]
        return jnp.stack(leaves, axis=1).astype(jnp.float32)
