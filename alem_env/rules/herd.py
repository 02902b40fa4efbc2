"""All mobs of the team's floor as one list, in the order in which they move.

Most rules about mobs are the same for the three classes; on one list they are one operation. M is
the number of slots of the three classes together, eight an agent.
"""

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from alem_env.core.enums import MobClass
from alem_env.core.params import StaticParams
from alem_env.core.state import Floor

_ORDER = ("melee", "passive", "ranged")


@struct.dataclass
class Herd:
    """Mobs of all classes; dead slots stay in the list."""

    position: jax.Array  # (M, 2) int32
    health: jax.Array  # (M,) float32
    alive: jax.Array  # (M,) bool
    cooldown: jax.Array  # (M,) int32
    kind: jax.Array  # (M,) int32


def slot_counts(static: StaticParams) -> tuple[int, int, int]:
    """Numbers of melee, passive and ranged slots."""
    return static.max_melee_mobs, static.max_passive_mobs, static.max_ranged_mobs


def slot_classes(static: StaticParams) -> np.ndarray:
    """(M,) int: MobClass of each slot."""
    order = [MobClass.MELEE, MobClass.PASSIVE, MobClass.RANGED]
    return np.repeat(np.array(order, np.int32), slot_counts(static))


def gather(floor: Floor) -> Herd:
    """The mobs of a floor."""
    groups = [getattr(floor, name) for name in _ORDER]
    fields = Herd.__dataclass_fields__
    return Herd(**{f: jnp.concatenate([getattr(mobs, f) for mobs in groups]) for f in fields})


def release(floor: Floor, herd: Herd) -> Floor:
    """The floor with its mobs as they are in the herd; kinds never change there."""
    groups, start = {}, 0
    for name in _ORDER:
        mobs = getattr(floor, name)
        part = slice(start, start + mobs.alive.shape[0])
        groups[name] = mobs.replace(
            position=herd.position[part],
            health=herd.health[part],
            alive=herd.alive[part],
            cooldown=herd.cooldown[part],
        )
        start = part.stop
    return floor.replace(**groups)


def cell_number(position: jax.Array) -> jax.Array:
    """One number for each of (..., 2) cells, on the map or within a thousand cells of it."""
    return position[..., 0] * 4096 + position[..., 1]
