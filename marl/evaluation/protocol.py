"""Plays whole episodes on named worlds, so that the same seed is always the same test.

Which keys reset a world and make its steps, its track says (`marl.evaluation.tracks`).
Worlds are played in groups of one fixed width, short groups padded, so that a world's result does
not depend on which others are played, or in what order. Nothing of a training run is touched.
"""

import dataclasses
import operator
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from alem_env import compiled, struct
from marl.evaluation.tracks import RL, TRACKS
from marl.types import Policy, PyTree

FIRST_SEED = 9999  # protocol worlds
NUM_WORLDS = 20
MAX_STEPS = 10_000
DEVELOPMENT_FIRST_SEED = 20_000

WIDTH = 10  # worlds side by side
CHUNK = 100  # steps between two looks at the clock and at stop requests
RANDOM = "random"  # uniform over legal actions: a behaviour, and a player that needs no policy
BEHAVIOURS = ("greedy", "sampled", RANDOM)

_ACTION_STREAM = 1  # fold_in(step key, this) draws sampled and random actions


class Interrupted(Exception):
    """An evaluation was asked to stop before its end."""


@dataclasses.dataclass(frozen=True)
class WorldResults:
    """What happened in W worlds, one row each, in the order of the seeds.

    Attributes:
        seeds: (W,) reset seeds.
        length: (W,) steps played.
        team_return: (W,) sum of all agents' rewards.
        capped: (W,) bool, the step limit came before the episode's end. Such worlds count.
        achievements: (W, A, n) bool, what each agent unlocked.
        scores: name -> (W,), or (W, A) where each agent has its own: published metrics at the end
            of the episode, fractions.
    """

    seeds: np.ndarray
    length: np.ndarray
    team_return: np.ndarray
    capped: np.ndarray
    achievements: np.ndarray
    scores: dict[str, np.ndarray]


@struct.dataclass
class _Game:
    t: jax.Array  # () int32, steps played
    stream: jax.Array  # (W, ...), what the track makes keys of
    done: jax.Array  # (W,) bool
    length: jax.Array  # (W,) int32
    team_return: jax.Array  # (W,) float32
    state: PyTree  # (W, ...), stays as it was when the episode ended
    observation: Any  # (W, A, ...)
    carry: PyTree  # (W, A, ...)


class Evaluator:
    """Plays policies of one architecture in one environment. Compiles once, for all behaviours.

    Args:
        env: `alem_env.Environment`, or anything with its reset_batch and step_batch.
        env_params: the difficulty.
        policy: how parameters act; None if only random play is wanted.
        outcome: final states (W, ...) -> (achievements (W, A, n), scores: name -> (W, ...)).
        track: which keys the worlds get, one of `TRACKS`.
        width: worlds side by side; results may differ in the last bits between widths.
    """

    def __init__(
        self,
        env: Any,
        env_params: PyTree,
        policy: Policy | None,
        outcome: Callable[[PyTree], tuple[jax.Array, dict[str, jax.Array]]],
        width: int = WIDTH,
        track: str = RL,
    ):
        self._env, self._env_params, self._policy = env, env_params, policy
        self._width, self._track = width, TRACKS[track]
        self._start = compiled(self._start_games)
        self._advance = compiled(self._advance_games, donate_argnums=0)
        self._outcome = compiled(outcome)

    def play(
        self,
        params: PyTree,
        seeds: Sequence[int],
        *,
        behaviour: str = "greedy",
        max_steps: int = MAX_STEPS,
        on_progress: Callable[[float, str], None] | None = None,
        should_stop: Callable[[], bool] | None = None,
    ) -> WorldResults:
        """One episode in each world.

        Args:
            params: the policy's parameters; ignored by random play.
            seeds: reset seeds.
            behaviour: "greedy", "sampled", or "random" (uniform over legal actions).
            max_steps: steps after which a world counts as it stands.
            on_progress: told (worlds done, as a fraction of them also in part; text) at times.
            should_stop: asked at times; True raises `Interrupted`.

        Raises:
            ValueError: no behaviour, no seeds, a seed of more than 32 bits, or no steps.
        """
        if behaviour not in BEHAVIOURS:
            raise ValueError(f"behaviour={behaviour!r} must be one of {', '.join(BEHAVIOURS)}")
        if self._policy is None and behaviour != RANDOM:
            raise ValueError(f"behaviour={behaviour!r} needs a policy")
        seeds = _as_seeds(seeds)
        max_steps = operator.index(max_steps)
        if max_steps < 1:
            raise ValueError(f"max_steps={max_steps} must be at least 1")
        groups = [seeds[i : i + self._width] for i in range(0, len(seeds), self._width)]
        parts = []
        for index, group in enumerate(groups):

            def report(t: int, running: int, index=index):
                if on_progress is not None:
                    fraction = (index + min(1.0, t / max_steps)) / len(groups)
                    on_progress(fraction, f"{behaviour}: step {t:,}, {running} worlds running")

            parts.append(self._play_group(params, group, behaviour, max_steps, report, should_stop))
        joined = jax.tree.map(lambda *x: np.concatenate(x), *parts)
        return WorldResults(seeds=seeds, **joined)

    def _play_group(self, params, seeds, behaviour, max_steps, report, should_stop) -> dict:
        lanes = np.resize(seeds, self._width)  # repeats worlds to fill the width
        game = self._start(lanes.astype(np.uint32), self._env_params)
        mode = np.int32(BEHAVIOURS.index(behaviour))
        t, running = 0, self._width
        while t < max_steps and running:
            if should_stop is not None and should_stop():
                raise Interrupted
            until = np.int32(min(t + CHUNK, max_steps))
            game = self._advance(game, params, self._env_params, mode, until)
            t, done = int(game.t), np.asarray(game.done)
            running = int((~done).sum())
            report(t, int((~done[: len(seeds)]).sum()))
        achievements, scores = self._outcome(game.state)
        whole = dict(
            length=game.length, team_return=game.team_return, capped=~game.done,
            achievements=achievements, scores=scores,
        )  # fmt: skip
        return jax.tree.map(lambda x: np.array(x)[: len(seeds)], whole)

    def _start_games(self, seeds: jax.Array, env_params: PyTree) -> _Game:
        reset_keys, stream = self._track.start(seeds)
        observation, state = self._env.reset_batch(reset_keys, env_params)
        width, agents = observation.legal.shape[:2]
        return _Game(
            t=jnp.int32(0),
            stream=stream,
            done=jnp.zeros(width, bool),
            length=jnp.zeros(width, jnp.int32),
            team_return=jnp.zeros(width, jnp.float32),
            state=state,
            observation=observation,
            carry=self._policy.init_carry((width, agents)) if self._policy else (),
        )

    def _advance_games(self, game, params, env_params, mode, until) -> _Game:
        def is_running(game: _Game):
            return (game.t < until) & ~game.done.all()

        def step(game: _Game) -> _Game:
            step_keys, stream = self._track.step(game.stream, game.t)
            carry, actions = self._act(params, game, step_keys, mode)
            observation, state, reward, terminated, truncated, _ = self._env.step_batch(
                step_keys, game.state, actions, env_params
            )
            alive = ~game.done
            return _Game(
                t=game.t + 1,
                stream=stream,
                done=game.done | terminated | truncated,
                length=game.length + alive,
                team_return=game.team_return + jnp.where(alive, reward.sum(-1), 0.0),
                state=_where(game.done, game.state, state),
                observation=observation,
                carry=carry,
            )

        return lax.while_loop(is_running, step, game)

    def _act(self, params, game: _Game, step_keys, mode) -> tuple[PyTree, jax.Array]:
        """Recurrent state and actions (W, A). Each world draws from its own key."""
        keys = jax.vmap(lambda k: jax.random.fold_in(k, _ACTION_STREAM))(step_keys)
        width = game.done.shape[0]
        reset = jnp.broadcast_to(game.t == 0, (width,))

        def greedy():
            carry, actions, *_ = self._policy.act(
                params, game.carry, game.observation, reset, keys[0], True
            )
            return carry, actions.astype(jnp.int32)

        def sampled():
            def one(carry, observation, reset, key):
                alone = jax.tree.map(lambda x: x[None], (carry, observation, reset))
                carry, actions, *_ = self._policy.act(params, *alone, key, False)
                return jax.tree.map(lambda x: x[0], (carry, actions.astype(jnp.int32)))

            return jax.vmap(one)(game.carry, game.observation, reset, keys)

        def random():
            logits = jnp.where(game.observation.legal, 0.0, -jnp.inf)
            actions = jax.vmap(jax.random.categorical)(keys, logits)
            return game.carry, actions.astype(jnp.int32)

        if self._policy is None:
            return random()
        return lax.switch(mode, [greedy, sampled, random])


def _as_seeds(seeds: Sequence[int]) -> np.ndarray:
    """(W,) int64. Keys have 32 bits for a seed: others would be those of another world."""
    found = np.asarray(seeds)
    if found.ndim != 1 or found.size == 0:
        raise ValueError(f"seeds={seeds!r} must be a list of at least one world")
    if found.dtype.kind not in "iu" or found.min() < 0 or found.max() >= 2**32:
        raise ValueError(f"seeds={seeds!r} must be whole numbers from 0 to {2**32 - 1}")
    return found.astype(np.int64)


def _where(mask: jax.Array, a: PyTree, b: PyTree) -> PyTree:
    """Rows (W, ...) of a where the mask (W,) is set, else of b."""
    return jax.tree.map(
        lambda x, y: jnp.where(mask.reshape(mask.shape + (1,) * (x.ndim - 1)), x, y), a, b
    )
