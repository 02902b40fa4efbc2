"""Saplings grow to ripe plants on the overworld, wherever the team is."""

import jax
import jax.numpy as jnp
import numpy as np

from alem_env.core.enums import Block
from alem_env.core.state import Plants, State
from alem_env.rules.common import at, put

STEPS_TO_RIPEN = 500


def grow(state: State) -> State:
    """One step older; ripe plants show on the map while the team is on the overworld.

    While it is elsewhere only ages count: `ripen` is applied to the overworld when it is loaded,
    which gives the same map, since nothing else changes it meanwhile.
    """
    plants = state.plants.replace(age=(state.plants.age + 1) * state.plants.growing)
    on_overworld = state.floor_index == 0
    block = ripen(state.floor.block, plants, on_overworld)
    return state.replace(plants=plants, floor=state.floor.replace(block=block))


def ripen(block: jax.Array, plants: Plants, where: jax.Array | bool = True) -> jax.Array:
    """The overworld's blocks (48, 48) with a ripe plant at every grown slot.

    Slots write in order and an unripe slot writes what was there, so a later unripe slot on the
    same cell undoes an earlier ripe one.
    """
    here = at(block, plants.position)
    ripe = (plants.age >= STEPS_TO_RIPEN) & where
    grown = jnp.where(ripe, np.asarray(Block.RIPE_PLANT, block.dtype), here)
    return put(block, plants.position, grown)
