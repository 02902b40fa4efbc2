"""Several seeds side by side: their states stacked along a first axis, and apart again.

With one seed there is no such axis, so that it runs the very program of a run by itself.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

from marl.types import PyTree


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
