"""Choices among cells and slots, equal to `jax.random.choice(p=...)` of jax 0.4 bit for bit.

That draws `r = total * (1 - u)` and looks it up in the float32 cumulative sum of `p`. Where `p` is
1/n on n valid cells, the sum's rounding decides about one draw in 10^5, so its order of additions
is part of the benchmark. The CPU compiler of jax 0.4.38 makes a cumulative sum of 2,304 numbers in
three levels: sums within rows of 16, of the rows within groups of 16 rows, and of the 9 groups. The
sum up to an entry of a row or group is a tree over the 16 numbers that end there, zeros before the
first, which adds those 8 apart, then 4, 2 and 1 (16 lanes, halved). Only the sums within a row that
the lookup visits are made here.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from alem_env.core.tables import MAP_SIZE

CELLS = MAP_SIZE[0] * MAP_SIZE[1]
_WIDTH = 16
_ROWS = CELLS // _WIDTH
_GROUPS = _ROWS // _WIDTH
_STEPS = math.ceil(math.log2(CELLS + 1))  # of the lookup


def choose_at(uniform: jax.Array, valid: jax.Array) -> jax.Array:
    """Index () int32 of a true entry of `valid` (2304,), each as likely; 0 if there is none.

    Equals `jax.random.choice(key, 2304, p=valid / valid.sum())`, given its uniform draw () in
    [0, 1).
    """
    count = valid.sum(dtype=jnp.int32)
    share = np.float32(1.0) / jnp.maximum(count, 1).astype(jnp.float32)
    values = jnp.where(valid, share, np.float32(0.0)).reshape(_ROWS, _WIDTH)
    before_row = _before_rows(values)
    padded = jnp.pad(values, ((0, 0), (_WIDTH - 1, 0))).reshape(-1)
    stride = 2 * _WIDTH - 1

    def prefix(last):
        """Sum () of the entries up to `last`."""
        row, column = last // _WIDTH, last % _WIDTH
        window = row * stride + column + np.arange(_WIDTH)
        within = _tree(padded.at[window].get(mode="promise_in_bounds"))
        return within + before_row.at[row].get(mode="promise_in_bounds")

    target = prefix(np.int32(CELLS - 1)) * (np.float32(1.0) - uniform)

    def halve(_, bounds):
        low, high = bounds
        middle = (low + high) // 2
        left = target <= prefix(middle)
        return jnp.where(left, low, middle), jnp.where(left, middle, high)

    return lax.fori_loop(0, _STEPS, halve, (jnp.int32(0), jnp.int32(CELLS)))[1]


def _before_rows(values: jax.Array) -> jax.Array:
    """Sum (144,) of everything before each row of values (144, 16)."""
    of_rows = _tree(values)
    in_group = _sums_up_to(of_rows.reshape(_GROUPS, _WIDTH))
    of_groups = jnp.pad(in_group[:, -1], (0, _WIDTH - _GROUPS))
    before_group = _shift(_sums_up_to(of_groups))[:_GROUPS]
    return _shift((in_group + before_group[:, None]).reshape(-1))


def _sums_up_to(values: jax.Array) -> jax.Array:
    """Sum (..., 16) of the values (..., 16) up to each."""
    edges = [(0, 0)] * (values.ndim - 1)
    padded = jnp.pad(values, (*edges, (_WIDTH - 1, 0)))
    ends = np.arange(_WIDTH)
    return _tree(padded[..., ends[:, None] + ends])


def _tree(values: jax.Array) -> jax.Array:
    """Sum (...) of values (..., 16): each of the first half with its partner, and again."""
    while values.shape[-1] > 1:
        half = values.shape[-1] // 2
        values = values[..., :half] + values[..., half:]
    return values[..., 0]


def _shift(values: jax.Array) -> jax.Array:
    """Values (n,) one place later, after a zero."""
    return jnp.pad(values[:-1], (1, 0))


def choose_slot_at(uniform: jax.Array, valid: jax.Array) -> jax.Array:
    """Index () int32 of a true entry of a short `valid` (n,), 0 if there is none.

    Equals `jax.random.choice(key, n, p=valid)`, given its uniform draw () in [0, 1); those sums are
    whole numbers and so exact.
    """
    size = valid.shape[0]
    up_to = np.tri(size, dtype=bool)
    counts = (valid[None, :] & up_to).sum(-1, dtype=jnp.int32).astype(jnp.float32)
    target = counts[-1] * (np.float32(1.0) - uniform)
    return (counts < target).sum(dtype=jnp.int32)
