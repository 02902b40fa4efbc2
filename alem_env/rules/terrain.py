"""Which creatures may enter which blocks."""

import jax
import jax.numpy as jnp
import numpy as np

from alem_env.core.enums import Block
from alem_env.core.tables import MOB_COLLISION, SOLID
from alem_env.rules.common import at

# block -> column of the collision tables (ground, water, lava), or _NEVER
_NEVER = 3
_GROUND_CLASS = np.where(SOLID, _NEVER, 0).astype(np.uint8)
_GROUND_CLASS[Block.WATER] = 1
_GROUND_CLASS[Block.LAVA] = 2


def barriers(collision: np.ndarray) -> np.ndarray:
    """Collision rows (..., 3) as bits: bit k is set where ground class k may not be entered."""
    bits = (np.asarray(collision, np.uint8) << np.arange(3, dtype=np.uint8)).sum(-1)
    return (bits | (1 << _NEVER)).astype(np.uint8)


MOB_BARRIERS = barriers(MOB_COLLISION)  # (kind, class)


def passes(block: jax.Array, barrier_bits: jax.Array | np.ndarray) -> jax.Array:
    """Whether a creature with these barriers may enter blocks, of any shape."""
    return ((barrier_bits >> jnp.asarray(_GROUND_CLASS)[block]) & np.uint8(1)) == 0


def enterable(plane: jax.Array, position: jax.Array, collision: np.ndarray) -> jax.Array:
    """Whether (n, 2) cells of blocks (48, 48) may be entered by creatures of one collision row."""
    return passes(at(plane, position), barriers(collision))
