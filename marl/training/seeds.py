"""Several seeds side by side: their states stacked along a first axis, and apart again.

With one seed there is no such axis, so that it runs the very program of a run by itself.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

from marl.types import Learner, PyTree


def start(learner: Learner, keys: Sequence[jax.Array]) -> PyTree:
    """The state of new runs, a key each."""
    return stack([_strong_types(learner.init(key)) for key in keys])


def stack(states: Sequence[PyTree]) -> PyTree:
    """One state of all: leaves (S, ...); that of a single seed as it is."""
    if len(states) == 1:
        return states[0]
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)


def part(stacked: PyTree, seed: int, count: int) -> PyTree:
    """What belongs to one of the seeds; device arrays or host arrays."""
    if count == 1:
        return stacked
    return jax.tree.map(lambda leaf: leaf[seed], stacked)


def _strong_types(state: PyTree) -> PyTree:
    """Without weak types, which would make the second update compile again."""

    def strengthen(leaf):
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return leaf
        return jax.lax.convert_element_type(leaf, leaf.dtype)

    return jax.tree.map(strengthen, state)
