"""Light on the dark floors."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

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
        The light, nowhere above 1. Sources are added in order, which decides the last bit.
    """
    index = light_index(floor_index)
    where = where & (index >= 0)

    def add(light, index, position, where):
        plane = lax.fori_loop(
            0,
            where.shape[0],
            lambda i, plane: _add_one(plane, position[i], where[i], pattern),
            light[index],
        )
        return light.at[jnp.where(where.any(), index, light.shape[0])].set(plane)

    return when_any(where.any(), add, light, index, position, where)


def _add_one(plane: jax.Array, cell: jax.Array, where: jax.Array, pattern: np.ndarray) -> jax.Array:
    reach = pattern.shape[0] // 2
    offset = np.arange(-reach, reach + 1)
    row = cell[0] + offset[:, None]
    column = cell[1] + offset[None, :]
    # -1 would wrap, so what falls off the map is sent beyond it
    row, column = jnp.broadcast_arrays(
        jnp.where(row < 0, MAP_SIZE[0], row), jnp.where(column < 0, MAP_SIZE[1], column)
    )
    lit = plane.at[row, column].add(pattern * where)
    return jnp.clip(lit, 0.0, 1.0)
