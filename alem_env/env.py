"""The multi-agent environment: one world, or a batch of them, without automatic resets.

    env = alem_env.make(num_agents=3, num_comm_channels=4)
    params = alem_env.difficulty("hard")
    obs, state = env.reset(key, params)
    obs, state, reward, terminated, truncated, info = env.step(key, state, actions, params)

Keys are jax keys, typed or raw; worlds of equal keys are those of the benchmark.
`alem_env.VectorEnv` adds resets.
"""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from alem_env.core import rng
from alem_env.core.batch import over_worlds, single_world
from alem_env.core.compiled import compiled
from alem_env.core.params import EnvParams, StaticParams, difficulty
from alem_env.core.params_check import check_params
from alem_env.core.state import State
from alem_env.core.state_check import check_state
from alem_env.core.values import switch
from alem_env.observe.compact import Observation, observe
from alem_env.observe.mask import action_mask
from alem_env.score import score
from alem_env.step import is_terminated, is_truncated, step
from alem_env.worldgen.world import generate_world

PRESETS = (None, "none")


def make(
    num_agents: int = 3,
    num_comm_channels: int = 4,
    rules_version: str = "0.2.1",
    preset: str | None = None,
    checked: bool = False,
    **switches: Any,
) -> "Environment":
    """An environment.

    Args:
        num_agents: players in the team, 1 to 8.
        num_comm_channels: message actions.
        rules_version: "0.2.1", or "0.1.0" for the rules of the published scores.
        preset: "none" is the game without any coordination (use it with `difficulty("none")`).
        checked: look at the actions of every step and refuse those that do not exist. Calls under
            `jax.jit` check shapes and dtypes only.
        **switches: other fields of `StaticParams`.

    Raises:
        ValueError: an argument is unknown or out of range; the message names it.
    """
    if preset not in PRESETS:
        raise ValueError(
            f"preset={preset!r} is unknown; choose None or 'none'. Difficulties are parameters: "
            "pass alem_env.difficulty(...) to reset and step"
        )
    known = [f.name for f in dataclasses.fields(StaticParams)]
    unknown = sorted(set(switches) - set(known))
    if unknown:
        raise ValueError(f"unknown option {', '.join(unknown)}; known are {', '.join(known)}")
    if preset == "none":
        switches = dict(coordination_enabled=False, construction_enabled=False) | switches
    static = StaticParams(
        num_agents=num_agents,
        num_comm_channels=num_comm_channels,
        rules_version=rules_version,
        **switches,
    )
    return Environment(static, checked)


@dataclasses.dataclass(frozen=True)
class Environment:
    """One world, or a batch, of the shapes and switches in `static`. Holds no arrays.

    Equal environments share their compiled programs.
    """

    static: StaticParams
    check_actions: bool = False

    def __post_init__(self):
        if not isinstance(self.static, StaticParams):
            raise ValueError(
                f"static={self.static!r} is no StaticParams; make environments with alem_env.make()"
            )
        object.__setattr__(self, "check_actions", switch("checked", self.check_actions))

    @property
    def num_agents(self) -> int:
        return self.static.num_agents

    @property
    def num_actions(self) -> int:
        return self.static.num_actions

    @property
    def default_params(self) -> EnvParams:
        """Medium, or the game without coordination if that is what `static` has; no more
        construction sites than slots."""
        params = difficulty("medium" if self.static.coordination_enabled else "none")
        slots = np.int32(self.static.max_construction_sites)
        return params.replace(
            num_construction_sites=min(params.num_construction_sites, slots),
            num_mining_construction_sites=min(params.num_mining_construction_sites, slots),
        )

    def reset(self, key: jax.Array, params: EnvParams) -> tuple[Observation, State]:
        """A new world.

        Args:
            key: () typed or (2,) raw.
            params: numbers of the game.

        Returns:
            The observation, leaves with leading axis A, and the state.

        Raises:
            ValueError: no such key, or parameters that cannot be meant.
        """
        words = _words(key, many=False)
        params = check_params(params, self.static)
        return _reset(self.static, words, params)

    def step(
        self, key: jax.Array, state: State, actions: jax.Array, params: EnvParams
    ) -> tuple[Observation, State, jax.Array, jax.Array, jax.Array, dict]:
        """One transition; an episode that has ended is not reset.

        Args:
            key: () typed or (2,) raw.
            state: the world.
            actions: (A,) int. What is not possible does nothing.
            params: numbers of the game.

        Returns:
            Observation, state, reward (A,) float32, terminated () bool, truncated () bool, and
            info, which is empty: `score(state)` tells of an episode, `VectorEnv` of those that end.

        Raises:
            ValueError: no such key, state or actions (see `checked_actions`), or parameters that
                cannot be meant.
        """
        words = _words(key, many=False)
        actions = self.checked_actions(actions, (self.num_agents,))
        params = check_params(params, self.static)
        check_state(state, self.static)
        return _step(self.static, words, state, actions, params)

    def reset_batch(
        self, keys: jax.Array, params: EnvParams, params_axis: int | None = None
    ) -> tuple[Observation, State]:
        """`reset` of E worlds: keys (E,) typed or (E, 2) raw; every result has leading axis E.

        Args:
            keys: one for each world.
            params: numbers of the game, the same for all worlds, or with leading axis E.
            params_axis: 0 for the latter.

        Raises:
            ValueError: as `reset`, or another `params_axis`.
        """
        words = _words(keys, many=True)
        params = check_params(params, self.static, _num_params(params_axis, len(words)))
        return _reset_batch(self.static, params_axis, words, params)

    def step_batch(
        self,
        keys: jax.Array,
        states: State,
        actions: jax.Array,
        params: EnvParams,
        params_axis: int | None = None,
    ) -> tuple[Observation, State, jax.Array, jax.Array, jax.Array, dict]:
        """`step` of E worlds: actions (E, A); every result has leading axis E.

        Raises:
            ValueError: as `step`, or another `params_axis`.
        """
        words = _words(keys, many=True)
        actions = self.checked_actions(actions, (len(words), self.num_agents))
        params = check_params(params, self.static, _num_params(params_axis, len(words)))
        check_state(states, self.static, len(words))
        return _step_batch(self.static, params_axis, words, states, actions, params)

    def action_mask(self, state: State, params: EnvParams) -> jax.Array:
        """Legal actions (A, num_actions) bool of one world; also `observation.legal`.

        Raises:
            ValueError: no such state, or parameters that cannot be meant.
        """
        params = check_params(params, self.static)
        check_state(state, self.static)
        return _action_mask(self.static, state, params)

    def score(self, state: State) -> dict[str, jax.Array]:
        """The published metrics of one world, as if its episode ended now.

        Raises:
            ValueError: no such state.
        """
        check_state(state, self.static)
        return _score(self.static, state)

    def checked_actions(self, actions: jax.typing.ArrayLike, shape: tuple[int, ...]) -> jax.Array:
        """The actions as an array of int32: other integers would make the world compile anew.

        Raises:
            ValueError: they have another shape or are no integers, or with `check_actions` have no
                meaning.
        """
        if not hasattr(actions, "dtype"):
            try:
                actions = jnp.asarray(actions)
            except (TypeError, ValueError, OverflowError) as error:
                raise ValueError(
                    f"actions={actions!r} are no array ({error}); needed are integers of shape "
                    f"{shape}"
                ) from error
        if actions.shape != shape:
            raise ValueError(f"actions have shape {actions.shape}; needed is {shape}")
        if not jnp.issubdtype(actions.dtype, jnp.integer):
            raise ValueError(f"actions have dtype {actions.dtype}; needed are integers")
        if self.check_actions and not isinstance(actions, jax.core.Tracer):
            self._refuse_unknown_actions(np.asarray(actions))
        return actions if actions.dtype == np.int32 else actions.astype(np.int32)

    def _refuse_unknown_actions(self, values: np.ndarray) -> None:
        bad = values[(values < 0) | (values >= self.num_actions)]
        if bad.size:
            raise ValueError(
                f"actions {sorted(set(bad.tolist()))} do not exist; they run from 0 to "
                f"{self.num_actions - 1}"
            )


def _num_params(params_axis: object, num_worlds: int) -> int | None:
    """How many sets of parameters there are, None for one that all worlds share."""
    if params_axis is None:
        return None
    if isinstance(params_axis, bool) or params_axis != 0:
        raise ValueError(
            f"params_axis={params_axis!r} is unknown; choose None (parameters that all worlds "
            "share) or 0 (fields with an entry for each world)"
        )
    return num_worlds


# many worlds -> what is wrong with a key, and the remedy
_WRONG_KEY = {
    False: "key has shape {}, and one key is needed; for many worlds use reset_batch and "
    "step_batch",
    True: "keys have shape {}, and one for each world is needed: jax keys of shape (E,), or raw "
    "uint32 words of shape (E, 2)",
}


def _words(key: jax.Array, many: bool) -> jax.Array:
    """(2,) words of a key, or (E, 2) of many. Raises ValueError for another shape."""
    words = rng.words(key)
    if words.ndim != 1 + many:
        raise ValueError(_WRONG_KEY[many].format(key.shape))
    if many and not len(words):
        raise ValueError("keys are none; give one for each world, at least one")
    return words


# --- The same as functions of arrays ------------------------------------------------------------


def reset_world(key: jax.Array, params: EnvParams, static: StaticParams):
    """Observation and state of a new world; runs under `core.batch.over_worlds`."""
    state = generate_world(key, params, static)
    return observe(state, params, static), state


def step_world(
    key: jax.Array, state: State, actions: jax.Array, params: EnvParams, static: StaticParams
):
    """`Environment.step` of one world; runs under `core.batch.over_worlds`."""
    state, reward = step(key, state, actions, params, static)
    obs = observe(state, params, static)
    return obs, state, reward, is_terminated(state), is_truncated(state, params), {}


def _compiled(function):
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    static = [n for n, name in enumerate(names) if name in ("static", "params_axis")]
    return compiled(function, static_argnums=static)


@_compiled
def _reset(static, key, params):
    return single_world(functools.partial(reset_world, static=static))(key, params)


@_compiled
def _step(static, key, state, actions, params):
    return single_world(functools.partial(step_world, static=static))(key, state, actions, params)


@_compiled
def _reset_batch(static, params_axis, keys, params):
    rule = functools.partial(reset_world, static=static)
    return over_worlds(rule, (0, params_axis))(keys, params)


@_compiled
def _step_batch(static, params_axis, keys, states, actions, params):
    rule = functools.partial(step_world, static=static)
    return over_worlds(rule, (0, 0, 0, params_axis))(keys, states, actions, params)


@_compiled
def _action_mask(static, state, params):
    return action_mask(state, params, static)


@_compiled
def _score(static, state):
    return score(state, static)
