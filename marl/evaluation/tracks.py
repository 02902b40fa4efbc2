"""The benchmark's two tracks: they reset the same seed to different worlds, and draw differently.

`rl`, reinforcement learning: reset with `key(seed)`. The published trainers let step keys flow on
from training, which nobody can repeat; here step t takes `fold_in(key(seed), t)`.
`llm`, the language-model harness (recorded in tests/golden/llm_*): `key, k = split(key)`, reset
with k, and so on for each step; non-specialist efficiency 0.2 on every difficulty.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from alem_env import rng

GENERATOR = "threefry2x32"  # of the world's keys, whatever jax's default is


class Track(NamedTuple):
    """A track.

    Attributes:
        start: seeds (W,) uint32 -> (keys of the resets (W,), stream).
        step: (stream, t) -> (keys of step t (W,), stream).
        step_keys: in words.
        efficiency: of those who are no specialists; None: the difficulty's own.
    """

    start: Callable
    step: Callable
    step_keys: str
    efficiency: float | None


def _words(seeds: jax.Array) -> jax.Array:
    """(W, 2) uint32, those of key(seed)."""
    return jnp.stack([jnp.zeros_like(seeds), seeds], -1)


def _keys(words: jax.Array) -> jax.Array:
    return jax.random.wrap_key_data(words, impl=GENERATOR)


def _fold_in(stream: jax.Array, t: jax.Array) -> tuple[jax.Array, jax.Array]:
    return jax.vmap(jax.random.fold_in, (0, None))(stream, t), stream


def _start_split(seeds: jax.Array) -> tuple[jax.Array, jax.Array]:
    return _split(_words(seeds))


def _split(stream: jax.Array, t: jax.Array | None = None) -> tuple[jax.Array, jax.Array]:
    stream, used = rng.split_pair(stream)
    return _keys(used), stream


def _start_whole(seeds: jax.Array) -> tuple[jax.Array, jax.Array]:
    keys = _keys(_words(seeds))
    return keys, keys


RL, LLM = "rl", "llm"
TRACKS = {
    RL: Track(_start_whole, _fold_in, "fold_in(key(seed), step)", None),
    LLM: Track(_start_split, _split, "key, k = split(key) for the reset and each step", 0.2),
}
