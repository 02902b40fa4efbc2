"""The world as JaxMARL's environments are (Rutherford et al., 2024; `MultiAgentEnv`).

    env = AlemJaxMARL(alem_env.make(), alem_env.difficulty("hard"))
    obs, state = env.reset(key)
    obs, state, rewards, dones, infos = env.step(key, state, actions)

Dicts are keyed by agent. All functions are pure: jit them, vmap them, scan them. jaxmarl itself is
not needed.
"""

import functools
from collections.abc import Mapping

import jax
import jax.numpy as jnp

from alem_env.adapters.agents import agent_names, by_agent, in_order
from alem_env.adapters.batching import one_of_a_batch
from alem_env.adapters.spaces import Box, Discrete
from alem_env.core import rng
from alem_env.core.batch import over_worlds
from alem_env.core.compiled import compiled
from alem_env.core.params import EnvParams, StaticParams
from alem_env.core.state import State
from alem_env.core.state_check import check_state
from alem_env.env import Environment
from alem_env.observe import dense
from alem_env.observe.compact import observe
from alem_env.score import SHARES, team_score
from alem_env.vector import VectorEnv, VectorState

ByAgent = dict[str, jax.Array]


class AlemJaxMARL:
    """One world with automatic resets, of agents with names.

    Equal `env.static` share their compiled programs, whatever the parameters. `jax.vmap` of `reset`
    and `step` is one batch, as in `alem_env.VectorEnv`: only worlds whose episode ended are
    generated anew.

    Attributes:
        env: the environment. `params`: numbers of the game.
        agents: names, in the order of the arrays of `state`.
        observation_spaces: by agent; Box of the published vector (`observe.dense`).
        action_spaces: by agent; Discrete.
    """

    def __init__(self, env: Environment, params: EnvParams):
        self.agents = agent_names(env, params)
        self.env, self.params = env, params
        self.num_agents = env.num_agents
        seen = Box(-jnp.inf, jnp.inf, (dense.obs_dim(env.static),))
        self.observation_spaces = dict.fromkeys(self.agents, seen)
        self.action_spaces = dict.fromkeys(self.agents, Discrete(env.num_actions))

    @property
    def name(self) -> str:
        return type(self).__name__

    def observation_space(self, agent: str) -> Box:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Discrete:
        return self.action_spaces[agent]

    def reset(self, key: jax.Array) -> tuple[ByAgent, State]:
        """A new world: that of `env.reset` with the same key.

        Args:
            key: () typed or (2,) raw.

        Returns:
            Observations (obs_dim,) float32 by agent, and the state.
        """
        return _reset(self.env.static, _one_key(key), self.params)

    def step(
        self,
        key: jax.Array,
        state: State,
        actions: Mapping[str, jax.Array],
        reset_state: State | None = None,
    ) -> tuple[ByAgent, State, ByAgent, ByAgent, ByAgent]:
        """One transition, and a new world if the episode ended: `step_env` with the first half of
        the split key, `reset` with the second.

        Args:
            key: () typed or (2,) raw.
            state: the world.
            actions: () int by agent, dead ones too.
            reset_state: the world to go on with if the episode ended, in place of a new one.

        Returns:
            Observations (of the new world after an end), state, rewards () float32 by agent,
            dones () bool by agent and "__all__", and infos (A,): `terminated`, `truncated`, and
            the team's score `base`, `coord`, `total`, fractions, 0 unless the episode ended.
            Dead agents can be revived, so that all are done at once.

        Raises:
            ValueError: an agent's action is missing, or it, the key or the state, has another shape
                or dtype.
        """
        words, actions = _one_key(key), self._array(actions)
        check_state(state, self.env.static)
        if reset_state is None:
            return _step(self.env.static, words, state, actions, self.params)
        step_key, _ = rng.split_pair(words)
        obs, state, rewards, dones, infos = _step_env(
            self.env.static, step_key, state, actions, self.params
        )
        obs, state = jax.tree.map(
            functools.partial(jnp.where, dones["__all__"]),
            (self.get_obs(reset_state), reset_state),
            (obs, state),
        )
        return obs, state, rewards, dones, infos

    def step_env(
        self, key: jax.Array, state: State, actions: Mapping[str, jax.Array]
    ) -> tuple[ByAgent, State, ByAgent, ByAgent, ByAgent]:
        """`step` without the reset; the transition of `env.step` with the same key."""
        words, actions = _one_key(key), self._array(actions)
        check_state(state, self.env.static)
        return _step_env(self.env.static, words, state, actions, self.params)

    def get_obs(self, state: State) -> ByAgent:
        """Observations (obs_dim,) float32 by agent."""
        check_state(state, self.env.static)
        return _get_obs(self.env.static, state, self.params)

    def get_avail_actions(self, state: State) -> ByAgent:
        """Legal actions (num_actions,) bool by agent; who cannot act may only wait."""
        return by_agent(self.env.action_mask(state, self.params))

    def _array(self, actions: Mapping[str, jax.Array]) -> jax.Array:
        rows = []
        for name, action in zip(self.agents, in_order(self.agents, actions), strict=True):
            try:
                rows.append(row := jnp.asarray(action))
            except (TypeError, ValueError, OverflowError) as error:
                raise ValueError(
                    f"the action of {name} is {action!r}, and a whole number is needed ({error})"
                ) from error
            if row.shape:
                raise ValueError(
                    f"the action of {name} has shape {row.shape}, and a single one is needed; for "
                    "many worlds use jax.vmap(env.step)"
                )
        return self.env.checked_actions(jnp.stack(rows), (self.num_agents,))


def _one_key(key: jax.Array) -> jax.Array:
    """The words (2,) of a key. Raises ValueError for many."""
    words = rng.words(key)
    if words.ndim != 1:
        raise ValueError(
            f"key has shape {key.shape}, and one key is needed; for many worlds use "
            "jax.vmap(env.reset) and jax.vmap(env.step)"
        )
    return words


# --- The same as functions of arrays ------------------------------------------------------------


@functools.partial(compiled, static_argnums=0)
def _reset(static: StaticParams, key, params):
    def batch(keys, params):
        obs, states = _worlds(static, keys).reset(keys, params)
        return _vectors(obs, static), states.env_state

    return one_of_a_batch(batch)(key, params)


@functools.partial(compiled, static_argnums=0)
def _step(static: StaticParams, key, state, actions, params):
    def batch(worlds, params):
        keys, states, actions = worlds
        nothing = jnp.zeros(len(keys), jnp.float32)  # no returns are kept, no difficulty is drawn
        states = VectorState(states, jnp.zeros(actions.shape, jnp.float32), nothing)
        obs, states, *outcome, info = _worlds(static, keys).step(keys, states, actions, params)
        outcome = _outcome(*outcome, info["episode"]["achievements"])
        return _vectors(obs, static), states.env_state, *outcome

    return one_of_a_batch(batch)((key, state, actions), params)


@functools.partial(compiled, static_argnums=0)
def _step_env(static: StaticParams, key, state, actions, params):
    def batch(worlds, params):
        obs, states, *outcome, _ = Environment(static).step_batch(*worlds, params)
        return _vectors(obs, static), states, *_outcome(*outcome, states.achievements)

    return one_of_a_batch(batch)((key, state, actions), params)


@functools.partial(compiled, static_argnums=0)
def _get_obs(static: StaticParams, state, params):
    def batch(states, params):
        return _vectors(over_worlds(lambda one: observe(one, params, static))(states), static)

    return one_of_a_batch(batch)(state, params)


def _worlds(static: StaticParams, keys: jax.Array) -> VectorEnv:
    return VectorEnv(Environment(static), len(keys))


def _vectors(obs, static: StaticParams) -> ByAgent:
    """Published vectors (E, obs_dim) by agent, of observations (E, A, ...)."""
    return by_agent(jnp.moveaxis(dense.expand(obs, static), 1, 0))


def _outcome(reward, terminated, truncated, achievements) -> tuple[ByAgent, ByAgent, ByAgent]:
    """Rewards, dones and infos of E worlds, from (E, A), (E,), (E,) and (E, A, 93).

    Infos have a value for each agent, since the learners of JaxMARL reshape them to (E * A,).
    """
    done = terminated | truncated
    dones = {name: done for name in by_agent(reward.T)} | {"__all__": done}
    score = team_score(achievements)
    infos = dict(terminated=terminated, truncated=truncated)
    infos |= {name: score[name] * done for name in SHARES}
    infos = {name: jnp.broadcast_to(value[:, None], reward.shape) for name, value in infos.items()}
    return by_agent(reward.T), dones, infos
