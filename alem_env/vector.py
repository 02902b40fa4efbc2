"""Many worlds that start anew by themselves, at a cost that follows how many episodes ended."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
from jax import lax

from alem_env.core import rng, struct
from alem_env.core.batch import over_worlds
from alem_env.core.compiled import compiled
from alem_env.core.params import EnvParams, params_from_alpha
from alem_env.core.params_check import check_params
from alem_env.core.state import State
from alem_env.core.state_check import check_state
from alem_env.core.values import real_number, whole_number
from alem_env.env import Environment, reset_world, step_world
from alem_env.observe.compact import Observation
from alem_env.score import SHARES, team_score

_FIRST_RESET_CHUNK = 32  # bounds the memory of generating all worlds at the start
_ENVS_FOR_A_RESET, _MOST_RESET_TOGETHER = 128, 8
_ALPHA_STREAM = 0xA19A


@struct.dataclass
class VectorState:
    """E worlds and what is kept of their running episodes."""

    env_state: State  # leading axis E
    episode_return: jax.Array  # (E, A) float32, sum of rewards since the reset
    alpha: jax.Array  # (E,) float32, difficulty drawn for each world; 0 without `alpha_range`


@dataclasses.dataclass(frozen=True)
class VectorEnv:
    """`num_envs` worlds with automatic resets.

    Worlds whose episode ended are generated anew, `reset_chunk` at a time, with the key each would
    have had in the benchmark's `step`; all others are left alone bit for bit.

    Attributes:
        env: the environment.
        num_envs: E, at least 1.
        alpha_range: (low, high); each world draws the difficulty of every episode from it, in place
            of what `params` say of it, efficiency of other roles included. It reaches the new world
            and its steps (`StaticParams.randomize_alpha`, the benchmark's, only the former, and
            goes with none). None: `params` as they are.
        reset_chunk: worlds generated together. None: one for every 128 worlds, at most 8, about as
            many as end in a step: more are generated for nothing, fewer take more turns.
    """

    env: Environment
    num_envs: int
    alpha_range: tuple[float, float] | None = None
    reset_chunk: int | None = None

    def __post_init__(self):
        if not isinstance(self.env, Environment):
            raise ValueError(f"env={self.env!r} is no environment; make one with alem_env.make()")
        object.__setattr__(self, "num_envs", whole_number("num_envs", self.num_envs, 1))
        chunk = self.reset_chunk
        if chunk is None:
            chunk = min(_MOST_RESET_TOGETHER, max(1, self.num_envs // _ENVS_FOR_A_RESET))
        object.__setattr__(self, "reset_chunk", whole_number("reset_chunk", chunk, 1))
        if self.alpha_range is not None:
            if not self.env.static.coordination_enabled:
                raise ValueError(
                    f"alpha_range={self.alpha_range!r} is for the game with coordination, and this "
                    "environment was made without (preset='none'); leave it out"
                )
            if self.env.static.randomize_alpha:
                raise ValueError(
                    f"alpha_range={self.alpha_range!r} and randomize_alpha=True both draw the "
                    "difficulty; leave one of them out"
                )
            object.__setattr__(self, "alpha_range", _as_range(self.alpha_range))

    @property
    def num_agents(self) -> int:
        return self.env.num_agents

    @property
    def num_actions(self) -> int:
        return self.env.num_actions

    def active_agents(self, state: VectorState) -> jax.Array:
        """(E, A) bool: who is alive."""
        return state.env_state.players.alive

    def reset(self, key: jax.Array, params: EnvParams) -> tuple[Observation, VectorState]:
        """New worlds.

        Args:
            key: one jax key, split for the worlds, or E keys.
            params: numbers of the game, for all worlds.

        Returns:
            Observation with leading axes (E, A), and the state.

        Raises:
            ValueError: no such keys, or parameters that cannot be meant.
        """
        keys = self.keys(key)
        params = check_params(params, self.env.static)
        return _reset(self, keys, params)

    def step(
        self, key: jax.Array, state: VectorState, actions: jax.Array, params: EnvParams
    ) -> tuple[Observation, VectorState, jax.Array, jax.Array, jax.Array, dict]:
        """One transition of every world, then resets of those whose episode ended.

        Args:
            key: one jax key, split for the worlds, or E keys.
            state: of `reset` or `step`.
            actions: (E, A) int.
            params: numbers of the game, for all worlds.

        Returns:
            Observation (of the new world where an episode ended), state, reward (E, A) float32,
            terminated (E,) bool, truncated (E,) bool, and info: a dict of
            `final_observation`, what would have been observed without the reset;
            `finished` (E,) bool, episodes that ended in this step; and `episode`, a dict of
            (E, ...) arrays that describe them and mean nothing elsewhere: `length`, `team_return`,
            `agent_return` (E, A), the fractions `base`, `coord`, `total`, and `achievements`
            (E, A, 93) bool.

        Raises:
            ValueError: no such keys, state or actions, or parameters that cannot be meant.
        """
        keys = self.keys(key)
        actions = self.env.checked_actions(actions, (self.num_envs, self.num_agents))
        params = check_params(params, self.env.static)
        if not isinstance(state, VectorState):
            raise ValueError(
                f"state is a {type(state).__name__}, and a VectorState is needed: the second "
                "result of this environment's reset and step"
            )
        check_state(state.env_state, self.env.static, self.num_envs)
        return _step(self, keys, state, actions, params)

    def keys(self, key: jax.Array) -> jax.Array:
        """What `reset` and `step` make of a key: (E, 2) words, one key for each world. Worlds that
        are stepped in parts, with their own of these keys, do as they would together."""
        words = rng.words(key)
        if words.ndim == 1:
            return rng.split(words, self.num_envs)
        if words.shape != (self.num_envs, 2):
            raise ValueError(f"key must be one key or {self.num_envs} of them, not {key.shape}")
        return words


def _as_range(alpha_range: object) -> tuple[float, float]:
    try:
        ends = alpha_range if isinstance(alpha_range, tuple | list) else ()
        low, high = (real_number("alpha_range", end, 0.0, 1.0) for end in ends)
    except (TypeError, ValueError):
        low, high = 1.0, 0.0
    if low > high:
        raise ValueError(
            f"alpha_range={alpha_range!r} must be two numbers, low <= high, within [0, 1]"
        )
    return low, high


@functools.partial(compiled, static_argnums=(0,))
def _reset(vector: VectorEnv, keys: jax.Array, params: EnvParams):
    chunk = min(_FIRST_RESET_CHUNK, vector.num_envs)
    count = -(-vector.num_envs // chunk)
    padded = jnp.concatenate([keys, keys[: count * chunk - vector.num_envs]])
    new = lax.map(
        over_worlds(lambda key: _new_world(vector, key, params)), padded.reshape(count, chunk, 2)
    )
    new = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:])[: vector.num_envs], new)
    (obs, env_state), alpha = new
    returns = jnp.zeros((vector.num_envs, vector.num_agents), jnp.float32)
    return obs, VectorState(env_state, returns, alpha)


@functools.partial(compiled, static_argnums=(0,))
def _step(vector: VectorEnv, keys: jax.Array, state: VectorState, actions, params: EnvParams):
    step_keys, reset_keys = rng.split_pair(keys)

    def one(key, world, action, alpha):
        of_world = _with_alpha(vector, params, alpha)
        return step_world(key, world, action, of_world, vector.env.static)

    obs, world, reward, terminated, truncated, _ = over_worlds(one)(
        step_keys, state.env_state, actions, state.alpha
    )
    finished = terminated | truncated
    returns = state.episode_return + reward
    info = dict(
        final_observation=obs,
        finished=finished,
        episode=_describe(world, returns, finished, params),
    )
    fresh = VectorState(world, returns * ~finished[:, None], state.alpha)
    obs, fresh = _restart(vector, finished, reset_keys, (obs, fresh), params)
    return obs, fresh, reward, terminated, truncated, info


def _describe(world: State, returns, finished, params: EnvParams) -> dict[str, jax.Array]:
    def scores():
        score = team_score(world.achievements)
        return [score[name] for name in SHARES]

    def nothing():
        return [jnp.zeros(finished.shape, jnp.float32) for _ in SHARES]

    return dict(
        length=world.timestep,
        # With shared rewards each agent's return is the team's already.
        team_return=jnp.where(params.shared_reward, returns.mean(-1), returns.sum(-1)),
        agent_return=returns,
        achievements=world.achievements,
        **dict(zip(SHARES, lax.cond(finished.any(), scores, nothing), strict=True)),
    )


def _restart(vector: VectorEnv, finished, keys, batch, params: EnvParams):
    """`batch` = (observations, state) with a new world in place of each that is finished.

    A loop over chunks of finished worlds; it does not run when there is none.
    """
    chunk = min(vector.reset_chunk, vector.num_envs)

    def restart_chunk(carry):
        left, batch = carry
        world = jnp.argsort(~left, stable=True)[:chunk]
        new = over_worlds(lambda key: _new_world(vector, key, params))(keys[world])

        def put_world(k, batch):
            obs, old = batch
            put = functools.partial(_put, world[k], k)
            (new_obs, new_env_state), new_alpha = new
            return jax.tree.map(put, obs, new_obs), old.replace(
                env_state=jax.tree.map(put, old.env_state, new_env_state),
                alpha=put(old.alpha, new_alpha),
            )

        count = jnp.minimum(left.sum(), chunk)
        batch = lax.fori_loop(0, count, put_world, batch)
        return left.at[world].set(False), batch

    return lax.while_loop(lambda carry: carry[0].any(), restart_chunk, (finished, batch))[1]


def _put(index: jax.Array, k: jax.Array, batch: jax.Array, new: jax.Array) -> jax.Array:
    """`batch` (E, ...) with new[k] at `index`."""
    row = lax.dynamic_index_in_dim(new, k, keepdims=False)
    return lax.dynamic_update_index_in_dim(batch, row, index, 0)


def _new_world(vector: VectorEnv, key: jax.Array, params: EnvParams):
    """(observation, state) of a new world, and its alpha."""
    alpha = jnp.float32(0.0)
    if vector.alpha_range is not None:
        low, high = vector.alpha_range
        alpha = low + (high - low) * rng.uniform(rng.fold_in(key, _ALPHA_STREAM))
    return reset_world(key, _with_alpha(vector, params, alpha), vector.env.static), alpha


def _with_alpha(vector: VectorEnv, params: EnvParams, alpha: jax.Array) -> EnvParams:
    if vector.alpha_range is None:
        return params
    return params.replace(**params_from_alpha(alpha, vector.env.static.scale_base_difficulty))
