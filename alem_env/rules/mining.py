"""What can be mined, with what, and what comes of it."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from alem_env.core.enums import Achievement, Block
from alem_env.core.state import Inventory
from alem_env.rules.coordination import Sync


class Resource(NamedTuple):
    """A block that can be mined."""

    block: Block
    leaves: Block
    gives: str  # field of Inventory
    pickaxe: int  # least level
    together: tuple[Achievement, Achievement] | None = None  # for soft, hard coordination
    coordinated: bool = True  # company multiplies its yield and mining it ends the requirement


def _ore(name: str, pickaxe: int) -> Resource:
    soft, hard = (Achievement[f"COORD_MINE_{name}_{kind}"] for kind in ("SOFT", "HARD"))
    return Resource(Block[name], Block.PATH, name.lower(), pickaxe, (soft, hard))


RESOURCES = (
    Resource(Block.TREE, Block.GRASS, "wood", 0),
    Resource(Block.FIRE_TREE, Block.FIRE_GRASS, "wood", 0),
    Resource(Block.ICE_SHRUB, Block.ICE_GRASS, "wood", 0),
    Resource(Block.STALAGMITE, Block.PATH, "stone", 1, coordinated=False),
    _ore("STONE", 1),
    _ore("COAL", 1),
    _ore("IRON", 2),
    _ore("DIAMOND", 3),
    _ore("SAPPHIRE", 4),
    _ore("RUBY", 4),
)

_NEVER = 127
# by block: the pickaxe level it takes, what it leaves, whether coordination counts
PICKAXE_NEEDED = np.full(len(Block), _NEVER, np.int32)
LEAVES = np.zeros(len(Block), np.uint8)
COORDINATED = np.zeros(len(Block), bool)
for _r in RESOURCES:
    PICKAXE_NEEDED[_r.block] = _r.pickaxe
    LEAVES[_r.block] = _r.leaves
    COORDINATED[_r.block] = _r.coordinated
LEAVES[Block.CHEST] = Block.PATH
LEAVES[Block.RIPE_PLANT] = Block.PLANT


def who_mines(block: jax.Array, acting: jax.Array, inventory: Inventory) -> jax.Array:
    """(A,) bool: who acts on a block (A,) that can be mined, with a good enough pickaxe."""
    return acting & (inventory.pickaxe >= jnp.asarray(PICKAXE_NEEDED)[block])


def gather(inventory: Inventory, block: jax.Array, mines: jax.Array, yields: jax.Array):
    """Inventory with what each agent mined (A,) from a block (A,), times `yields` (A,)."""
    amount = jnp.where(jnp.asarray(COORDINATED)[block], yields, 1) * mines
    gained = {}
    for resource in RESOURCES:
        one = amount * (block == resource.block)
        gained[resource.gives] = gained.get(resource.gives, 0) + one
    return inventory.replace(**{name: getattr(inventory, name) + n for name, n in gained.items()})


def achievements(block: jax.Array, mines: jax.Array, sync: Sync) -> dict[Achievement, jax.Array]:
    """Conditions (A,) of the achievements for mining together."""
    soft, hard = mined_together(mines, sync)
    earned = {}
    for resource in RESOURCES:
        if resource.together:
            here = block == resource.block
            earned[resource.together[0]] = soft & here
            earned[resource.together[1]] = hard & here
    return earned


def mined_together(mines: jax.Array, sync: Sync) -> tuple[jax.Array, jax.Array]:
    """Who mines in company on a soft cell, and who mines a hard one. (A,) bool each."""
    soft = sync.soft & mines & (sync.agents >= 2)
    hard = sync.success & ~sync.soft & mines
    return soft, hard
