"""Choices among cells and slots, equal to `jax.random.choice(p=...)` of jax 0.4 bit for bit.

That draws `r = total * (1 - u)` and looks it up in the float32 cumulative sum of `p`. Where `p` is
1/n on n valid cells, the sum's rounding decides about one draw in 10^5, so its order of additions
is part of the benchmark: a prefix is the left-to-right sum of the aligned power-of-two blocks it is
made of, and a block is the sum of its two halves (jax 0.4.38 lowers `cumsum` on CPU to
`lax.associative_scan`). Only the prefixes that the lookup visits are summed here.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def choose_at(uniform: jax.Array, valid: jax.Array, rolled: bool = False) -> jax.Array:
    """Index () int32 of a true entry of `valid` (n,), each as likely; 0 if there is none.

    Equals `jax.random.choice(key, n, p=valid / valid.sum())`, given its uniform draw () in [0, 1).
    `rolled` compiles in a third of the time, and sums six times as slowly: for rare draws.
    """
    size = valid.shape[0]
    count = valid.sum(dtype=jnp.int32)
    share = np.float32(1.0) / jnp.maximum(count, 1).astype(jnp.float32)
    block_sums = _rolled_block_sums if rolled else _block_sums
    blocks, starts = block_sums(jnp.where(valid, share, np.float32(0.0)))
    levels = np.arange(len(starts))

    def prefix(last):
        """Sum () of the entries up to `last`."""
        whole = (last + 1) >> levels
        block = blocks.at[starts + jnp.maximum(whole - 1, 0)].get(mode="promise_in_bounds")
        block = jnp.where(whole & 1 > 0, block, np.float32(0.0))
        total = block[-1]
        for level in levels[-2::-1]:
            total = total + block[level]
        return total

    target = prefix(np.int32(size - 1)) * (np.float32(1.0) - uniform)

    def halve(_, bounds):
        low, high = bounds
        middle = (low + high) // 2
        left = target <= prefix(middle)
        return jnp.where(left, low, middle), jnp.where(left, middle, high)

    steps = math.ceil(math.log2(size + 1))
    return lax.fori_loop(0, steps, halve, (jnp.int32(0), jnp.int32(size)))[1]


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


def _block_sums(values: jax.Array) -> tuple[jax.Array, np.ndarray]:
    """Sums of aligned blocks of 1, 2, 4, ... of values (n,), and where each size of block begins.

    An incomplete last block is left out.
    """
    levels = [values]
    while levels[-1].shape[0] > 1:
        pairs = levels[-1][: levels[-1].shape[0] // 2 * 2].reshape(-1, 2)
        levels.append(pairs[:, 0] + pairs[:, 1])
    sizes = [level.shape[0] for level in levels]
    return jnp.concatenate(levels), np.cumsum([0, *sizes[:-1]]).astype(np.int32)


def _rolled_block_sums(values: jax.Array) -> tuple[jax.Array, np.ndarray]:
    """The same, each size of block filled up with zeros to one length."""
    size = values.shape[0]
    values = jnp.pad(values, (0, size % 2))

    def double(level, _):
        pairs = level.reshape(-1, 2)
        return jnp.concatenate([pairs[:, 0] + pairs[:, 1], jnp.zeros_like(pairs[:, 0])]), level

    _, levels = lax.scan(double, values, None, length=size.bit_length())
    return levels.reshape(-1), (np.arange(len(levels)) * len(values)).astype(np.int32)
