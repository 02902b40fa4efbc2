"""One world to write for, a batch to compute with.

Under `jax.vmap` each condition of a function becomes a select that runs both sides, and a new world
would be generated for every world of every step. A batch that is stepped as one runs rare rules and
resets only where they are needed (see `core.batch`). `one_of_a_batch` makes the first into the
second.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap


def one_of_a_batch(batch: Callable) -> Callable:
    """`batch` for one world; vmapped, however deeply, it is one call of `batch` for all worlds.

    Args:
        batch: (worlds, shared) -> result: leaves of `worlds` and `result` are (E, ...) for any E,
            and `shared` is the same for all of them.

    Returns:
        (world, shared) -> result, leaves without that axis. Mapped over `shared` too, each value of
        it is a batch of its own, vmapped as any function is.
    """
    mapped = custom_vmap(batch)

    @mapped.def_vmap
    def larger_batch(size, is_mapped, worlds, shared):
        def spread(leaf, is_mapped):
            return leaf if is_mapped else jnp.broadcast_to(leaf, (size, *jnp.shape(leaf)))

        worlds = jax.tree.map(spread, worlds, is_mapped[0])
        if any(jax.tree.leaves(is_mapped[1])):
            result = jax.vmap(batch)(worlds, jax.tree.map(spread, shared, is_mapped[1]))
        else:
            flat = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), worlds)
            result = jax.tree.map(
                lambda leaf: leaf.reshape(size, -1, *leaf.shape[1:]), mapped(flat, shared)
            )
        return result, jax.tree.map(lambda _: True, result)

    def one(world, shared):
        worlds = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], world)
        return jax.tree.map(lambda leaf: leaf[0], mapped(worlds, shared))

    return one
