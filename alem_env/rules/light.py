"""Light on the dark floors."""

import jax
import jax.numpy as jnp
import numpy as np

from alem_env.core.batch import when_any
from alem_env.core.state import light_index
from alem_env.core.tables import MAP_SIZE


def shine(
    light: jax.Array,
    floor_index: jax.Array,
    position: jax.Array,
    where: jax.Array,
    pattern: np.ndarray,
) -> jax.Array:
    """Adds a light source around cells of the team's floor. Fully lit floors do not change.

    Args:
        light: (4, 48, 48) float32, `State.light`.
        floor_index: () int32, the team's floor.
        position: (A, 2) cells; those with `where` false may lie anywhere.
        where: (A,) bool, which of the sources are lit.
        pattern: square of odd side (9, 9), the source in its middle.

    Returns:
        The light, nowhere above 1. Sources are added in order (on CPU), which decides the last bit.
    """
    index = light_index(floor_index)
    where = where & (index >= 0)
    return when_any(where.any(), _add, light, index, position, where, pattern)


def _add(light, index, position, where, pattern) -> jax.Array:
    reach = pattern.shape[0] // 2
    around = position[:, :, None] + np.arange(-reach, reach + 1)  # (A, 2, 9)
    # -1 would wrap, so what falls off the map is sent beyond it
    row, column = jnp.where(around < 0, np.array(MAP_SIZE)[:, None], around).swapaxes(0, 1)
    # the plane of a source that is not lit lies beyond the last, where nothing is written
    plane = jnp.where(where, index, light.shape[0])
    lit = light.at[plane[:, None, None], row[:, :, None], column[:, None, :]].add(pattern)
    return jnp.minimum(lit, 1.0)  # as if after each source: none takes light away
