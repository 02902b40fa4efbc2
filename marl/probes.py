"""Tiny environments with known answers, of the protocol `marl.types.VectorEnv`.

A learner that is right solves each in seconds. When one fails, its name says where to look.
"""

import jax
import jax.numpy as jnp

from alem_env import struct
from marl.types import VectorObservation


@struct.dataclass
class ProbeState:
    clock: jax.Array  # (E,) int32, steps into the episode
    cue: jax.Array  # (E, A) int32, drawn at the start of the episode
    last: jax.Array  # (E, A) int32, the previous action
    team_return: jax.Array  # (E,) float32, so far
    active: jax.Array  # (E, A) bool, agents that are alive


class Probe:
    """What probes share: an episode of fixed length, a cue for each agent, automatic resets.

    Subclasses say what is seen (`_see`) and what is earned (`_earn`).
    """

    num_agents = 2
    num_actions = 2
    feature_size = 2
    length = 1
    ends_by_time_limit = False

    def __init__(self, num_envs: int = 16):
        self.num_envs = num_envs

    def _see(self, state: ProbeState) -> jax.Array:
        """(E, A, feature_size) float32."""
        raise NotImplementedError

    def _earn(self, state: ProbeState, actions: jax.Array) -> jax.Array:
        """(E, A) float32."""
        raise NotImplementedError

    def _legal(self, state: ProbeState) -> jax.Array:
        return jnp.ones((self.num_envs, self.num_agents, self.num_actions), bool)

    def active_agents(self, state: ProbeState) -> jax.Array:
        return state.active

    def reset(self, key, params=None):
        state = self._start(key)
        return self._observe(state), state

    def step(self, key, state, actions, params=None):
        reward = self._earn(state, actions)
        state = self._after(state, actions, reward)
        final_observation = self._observe(state)
        ended = state.clock >= self.length
        episode = {"team_return": state.team_return, "length": state.clock}
        fresh = self._start(key)

        def choose(new, old):
            return jnp.where(ended.reshape((-1,) + (1,) * (new.ndim - 1)), new, old)

        state = jax.tree.map(choose, fresh, state)
        info = {"finished": ended, "episode": episode, "final_observation": final_observation}
        none = jnp.zeros_like(ended)
        ends = (none, ended) if self.ends_by_time_limit else (ended, none)
        return self._observe(state), state, reward, *ends, info

    def _start(self, key) -> ProbeState:
        shape = (self.num_envs, self.num_agents)
        return ProbeState(
            clock=jnp.zeros(self.num_envs, jnp.int32),
            cue=jax.random.randint(key, shape, 0, 2),
            last=jnp.zeros(shape, jnp.int32),
            team_return=jnp.zeros(self.num_envs),
            active=jnp.ones(shape, bool),
        )

    def _after(self, state, actions, reward) -> ProbeState:
        return state.replace(
            clock=state.clock + 1,
            last=actions,
            team_return=state.team_return + jnp.sum(reward, axis=-1),
        )

    def _observe(self, state) -> VectorObservation:
        return VectorObservation(self._see(state), self._legal(state))

    def _clock(self, state) -> jax.Array:
        """(E, A) float32."""
        shape = (self.num_envs, self.num_agents)
        return jnp.broadcast_to(state.clock[:, None], shape).astype(jnp.float32)


class DelayedReward(Probe):
    """Two steps, a reward of 1 after the second: values are gamma, then 1, whatever is done."""

    length = 2

    def _see(self, state):
        clock = self._clock(state)
        return jnp.stack([clock, 1.0 - clock], axis=-1)

    def _earn(self, state, actions):
        return self._clock(state)


class TimeLimit(Probe):
    """A reward of 1 every step and no end but the time limit: with it taken for what it is, the
    value is 1 / (1 - gamma) in every step."""

    length = 4
    ends_by_time_limit = True

    def _see(self, state):
        return jnp.ones((self.num_envs, self.num_agents, self.feature_size))

    def _earn(self, state, actions):
        return jnp.ones((self.num_envs, self.num_agents))


class Memory(Probe):
    """The cue is shown in the first step only, and asked for in the last. Guessing earns half."""

    length = 4
    feature_size = 3

    def _see(self, state):
        clock = self._clock(state)
        cue = jnp.where(clock == 0, 2.0 * state.cue - 1.0, 0.0)
        is_last = (clock == self.length - 1).astype(jnp.float32)
        return jnp.stack([cue, is_last, jnp.ones_like(clock)], axis=-1)

    def _earn(self, state, actions):
        asked = state.clock[:, None] == self.length - 1
        return jnp.where(asked & (actions == state.cue), 1.0, 0.0)


class Coordination(Probe):
    """Everyone sees the first agent's cue and must act it, and all are paid only if all do."""

    num_agents = 3

    def _see(self, state):
        cue = jnp.broadcast_to(state.cue[:, :1], state.cue.shape).astype(jnp.float32)
        return jnp.stack([cue, 1.0 - cue], axis=-1)

    def _earn(self, state, actions):
        together = jnp.all(actions == state.cue[:, :1], axis=-1, keepdims=True)
        return jnp.broadcast_to(together, actions.shape).astype(jnp.float32)


class MaskedAction(Probe):
    """The action that pays most is illegal wherever the cue is 1; taking it there costs dearly.
    The mask is not in the observation. The best legal action earns 1, or 0.5."""

    num_actions = 3

    def _see(self, state):
        return jnp.ones((self.num_envs, self.num_agents, self.feature_size))

    def _legal(self, state):
        legal = jnp.ones((self.num_envs, self.num_agents, self.num_actions), bool)
        return legal.at[..., 2].set(state.cue == 0)

    def _earn(self, state, actions):
        pay = jnp.array([0.0, 0.5, 1.0])[actions]
        return jnp.where((actions == 2) & (state.cue == 1), -100.0, pay)


class TwoStepCredit(Probe):
    """Action 1 in the first step costs 0.1 and makes action 1 in the second worth 1."""

    length = 2
    feature_size = 3

    def _see(self, state):
        clock = self._clock(state)
        return jnp.stack([clock, 1.0 - clock, clock * state.last], axis=-1)

    def _earn(self, state, actions):
        first = jnp.where(actions == 1, -0.1, 0.0)
        second = jnp.where((state.last == 1) & (actions == 1), 1.0, 0.0)
        return jnp.where(state.clock[:, None] == 0, first, second)


class Mortal(Memory):
    """`Memory`, in which the second agent dies in the first step: nothing but a no-op is left to
    it, and it is not active until the episode ends."""

    def _legal(self, state):
        legal = jnp.ones((self.num_envs, self.num_agents, self.num_actions), bool)
        is_noop = jnp.arange(self.num_actions) == 0
        return jnp.where(state.active[..., None], legal, is_noop)

    def _after(self, state, actions, reward):
        active = state.active.at[:, 1].set(False)
        return super()._after(state, actions, reward).replace(active=active)


PROBES = {
    "delayed_reward": DelayedReward,
    "time_limit": TimeLimit,
    "memory": Memory,
    "coordination": Coordination,
    "masked_action": MaskedAction,
    "two_step_credit": TwoStepCredit,
    "mortal": Mortal,
}
