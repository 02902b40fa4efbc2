"""What can be mined, with what, and what comes of it."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from alem_env.core.enums import Achievement, Block
from alem_env.core.state import Inventory
from alem_env.core.tables import NO_ACHIEVEMENT
from alem_env.rules.coordination import Sync

NOTHING = -1


class Resource(NamedTuple):
    """A block that can be mined."""

    block: Block
    leaves: Block
    gives: str  # field of Inventory
    pickaxe: int  # least level
    # for soft, hard coordination
    together: tuple[int, int] = (NO_ACHIEVEMENT, NO_ACHIEVEMENT)
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
_GOODS = tuple(dict.fromkeys(resource.gives for resource in RESOURCES))


class Matter(NamedTuple):
    """What blocks are to those who use them. (A,) int32 each, or numbers of one block."""

    block: jax.Array | int
    pickaxe: jax.Array | int = _NEVER  # the level it takes to mine it
    leaves: jax.Array | int = Block.INVALID
    coordinated: jax.Array | int = False
    gives: jax.Array | int = NOTHING  # index into _GOODS
    soft: jax.Array | int = NO_ACHIEVEMENT  # for mining it together, where it may be tried alone
    hard: jax.Array | int = NO_ACHIEVEMENT  # where it may not


_ROWS = np.array([Matter(block) for block in Block], np.int32)
_ROWS[Block.CHEST] = Matter(Block.CHEST, leaves=Block.PATH)
_ROWS[Block.RIPE_PLANT] = Matter(Block.RIPE_PLANT, leaves=Block.PLANT)
for _r in RESOURCES:
    _ROWS[_r.block] = Matter(
        _r.block, _r.pickaxe, _r.leaves, _r.coordinated, _GOODS.index(_r.gives), *_r.together
    )


def look_up(block: jax.Array) -> Matter:
    """Of blocks (A,); nobody can do anything with an INVALID one."""
    rows = jnp.asarray(_ROWS)[block]
    return Matter(*(rows[:, column] for column in range(rows.shape[1])))


def gather(inventory: Inventory, matter: Matter, mines: jax.Array, yields: jax.Array):
    """Inventory with what each agent mined (A,), times `yields` (A,) where company counts."""
    amount = jnp.where(matter.coordinated > 0, yields, 1) * mines
    return inventory.replace(
        **{
            name: getattr(inventory, name) + amount * (matter.gives == good)
            for good, name in enumerate(_GOODS)
        }
    )


def achievement(matter: Matter, soft: jax.Array, hard: jax.Array) -> jax.Array:
    """The achievement (A,) for mining together, or NO_ACHIEVEMENT. See `mined_together`."""
    return jnp.where(soft, matter.soft, jnp.where(hard, matter.hard, NO_ACHIEVEMENT))


def mined_together(mines: jax.Array, sync: Sync) -> tuple[jax.Array, jax.Array]:
    """Who mines in company on a soft cell, and who mines a hard one. (A,) bool each."""
    soft = sync.soft & mines & (sync.agents >= 2)
    hard = sync.success & ~sync.soft & mines
    return soft, hard
