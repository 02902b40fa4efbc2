"""Where ladders stand: in a row, two columns apart, one for each player. A agents."""

import jax
import jax.numpy as jnp
import numpy as np

from alem_env.core import rng
from alem_env.core.sampling import choose_at
from alem_env.core.tables import MAP_SIZE


def draw_ladders(
    keys: jax.Array, ground: jax.Array, avoid_overlap, num_agents: int
) -> tuple[jax.Array, jax.Array]:
    """Ladders of one floor.

    Args:
        keys: (2, 2) uint32 of the draws of the ladders down and up.
        ground: (48, 48) bool, cells that may hold ladders.
        avoid_overlap: () bool; if an up-ladder would stand on a down-ladder, all up-ladders are
            drawn again (with the same number) clear of the down-ladders, if there is room. None
            leaves them where they are, as rules 0.1.0 have it.
        num_agents: ladders of each kind.

    Returns:
        The cells of the ladders down and up, (A, 2) int32 each. Without room they stand in the
        upper left corner.
    """
    down_draw, up_draw = rng.uniform_each(keys)
    spans = _spans(ground, num_agents)
    down = _cells(choose_at(down_draw, spans.reshape(-1)), num_agents)
    up = _cells(choose_at(up_draw, spans.reshape(-1)), num_agents)
    if avoid_overlap is None:
        return down, up
    overlap = (down[:, None] == up[None, :]).all(-1).any()
    rows, columns = np.arange(MAP_SIZE[0])[:, None], np.arange(MAP_SIZE[1])
    occupied = (rows == down[0, 0]) & (columns[:, None] == down[:, 1]).any(-1)
    clear = _spans(ground & ~occupied, num_agents)
    clear = jnp.where(clear.any(), clear, spans)
    redrawn = _cells(choose_at(up_draw, clear.reshape(-1)), num_agents)
    return down, jnp.where(overlap & avoid_overlap, redrawn, up)


def _spans(ground: jax.Array, num_agents: int) -> jax.Array:
    """(48, 48) bool: ladders fit from here to the right."""
    length = 2 * num_agents - 1
    starts = MAP_SIZE[1] - length + 1
    fits = ground[:, :starts]
    for step in range(1, length):
        fits = fits & ground[:, step : step + starts]
    return jnp.pad(fits, ((0, 0), (0, length - 1)))


def _cells(index: jax.Array, num_agents: int) -> jax.Array:
    """(A, 2) int32 cells of the ladders whose leftmost has this flat index."""
    row, column = index // MAP_SIZE[1], index % MAP_SIZE[1]
    columns = column + 2 * jnp.arange(num_agents, dtype=jnp.int32)
    return jnp.stack([jnp.broadcast_to(row, columns.shape), columns], -1)
