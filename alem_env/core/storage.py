"""Floors the team is not on, each as one row of 16-bit words.

A compiled step pays for every array that a branch may change, far more than for their bytes: one
row is loaded and written in one go, where the fields of a floor would be forty arrays.

A row is (N,) uint16: the cells of the map (`pack_cells`), then the fields that fit into a word,
then the low and the high halves of those that do not.
"""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from alem_env.core.enums import Block, Item
from alem_env.core.params import MAX_AGENTS, MAX_HANDOVER_WINDOW
from alem_env.core.state import Floor, Mobs, Projectiles, Sites
from alem_env.core.tables import MAP_SIZE
from alem_env.core.values import check_bits

_NUM_CELLS = MAP_SIZE[0] * MAP_SIZE[1]
_PLANES = ("block", "item", "requirement", "soft")
_GROUPS = {
    "mobs": Mobs, "mob_projectiles": Projectiles, "player_projectiles": Projectiles, "sites": Sites,
}  # fmt: skip
# Fields whose range is not proven small. Idle projectiles fly on, cooldowns fall without limit.
_WIDE = {Mobs: ("health", "cooldown"), Projectiles: ("position",), Sites: ()}

Planes = tuple[jax.Array, jax.Array, jax.Array, jax.Array]


def planes(floor: Floor) -> Planes:
    """What a floor has for each cell (..., 48, 48): block, item, requirement, soft."""
    return tuple(getattr(floor, name) for name in _PLANES)


def fields(floor: Floor) -> tuple[dict, dict]:
    """All else that a floor has: what fits into a stored word, and what does not."""
    small, wide = {"chest_opened": floor.chest_opened}, {"monsters_killed": floor.monsters_killed}
    for name, kind in _GROUPS.items():
        for field in _arrays(kind):
            part = wide if field in _WIDE[kind] else small
            part[f"{field}.{name}"] = getattr(getattr(floor, name), field)
    return small, wide


def build_floor(planes: Planes, fields: tuple[dict, dict], like: Floor) -> Floor:
    """Inverse of `planes` and `fields`; `like` is a floor of the same sizes."""
    values = {**fields[0], **fields[1]}
    groups = {
        name: getattr(like, name).replace(
            **{field: values[f"{field}.{name}"] for field in _arrays(kind)}
        )
        for name, kind in _GROUPS.items()
    }
    return Floor(
        **dict(zip(_PLANES, planes, strict=True)),
        **groups,
        chest_opened=values["chest_opened"],
        monsters_killed=values["monsters_killed"],
    )


def _arrays(kind: type) -> list[str]:
    return [field for field in kind.__dataclass_fields__ if field != "slots"]


# --- Any values as one vector -------------------------------------------------------------------


def to_words(tree, batch: tuple[int, ...] = ()) -> jax.Array:
    """Leaves (*batch, ...) of a tree, one after another, (*batch, n) int32; floats by their bits.

    Neighbours of one dtype are joined before they are converted.
    """
    leaves = [jnp.asarray(leaf) for leaf in jax.tree.leaves(tree)]
    parts = []
    for dtype, run in itertools.groupby(leaves, key=lambda leaf: leaf.dtype):
        part = jnp.concatenate([leaf.reshape(*batch, -1) for leaf in run], axis=-1)
        if dtype == np.float32:
            part = lax.bitcast_convert_type(part, np.int32)
        parts.append(part.astype(np.int32))
    return jnp.concatenate(parts, axis=-1)


def from_words(words: jax.Array, like):
    """Inverse of `to_words`; `like` is a tree of the same shapes and dtypes, without batch axes."""
    batch = words.shape[:-1]
    leaves, structure = jax.tree.flatten(like)
    stops = np.cumsum([leaf.size for leaf in leaves])
    values = []
    for leaf, stop in zip(leaves, stops, strict=True):
        value = words[..., stop - leaf.size : stop].reshape(*batch, *leaf.shape)
        if leaf.dtype == np.float32:
            values.append(lax.bitcast_convert_type(value, np.float32))
        else:
            values.append(value.astype(leaf.dtype))
    return jax.tree.unflatten(structure, values)


# --- Rows ---------------------------------------------------------------------------------------


def pack_floor(floor: Floor) -> jax.Array:
    """Row (..., N) of a floor, whose leaves may have leading batch axes."""
    batch = floor.monsters_killed.shape
    small, wide = (to_words(part, batch) for part in fields(floor))
    return pack_row(planes(floor), small, wide)


def unpack_floor(row: jax.Array, like: Floor) -> Floor:
    """Inverse of `pack_floor`, but for the value of stamped items (see `Ladders.stamp`).

    Args:
        row: (..., N) uint16.
        like: a floor of the same shapes, without batch axes.
    """
    small, wide = fields(like)
    cells, small_words, wide_words = unpack_row(row, num_words(small))
    return build_floor(cells, (from_words(small_words, small), from_words(wide_words, wide)), like)


def pack_row(planes: Planes, small: jax.Array, wide: jax.Array) -> jax.Array:
    """Row (..., N) of planes, and of fields as words (..., n) int32."""
    cells = pack_cells(*planes)
    parts = (cells.reshape(*cells.shape[:-2], -1), small, wide, wide >> 16)
    return jnp.concatenate([part.astype(np.uint16) for part in parts], axis=-1)


def unpack_row(row: jax.Array, num_small: int) -> tuple[Planes, jax.Array, jax.Array]:
    """Inverse of `pack_row`."""
    cells = row[..., :_NUM_CELLS].reshape(*row.shape[:-1], *MAP_SIZE)
    words = row[..., _NUM_CELLS:]
    small, low, high = jnp.split(words, [num_small, (num_small + words.shape[-1]) // 2], axis=-1)
    wide = low.astype(np.int32) | high.astype(np.int32) << 16
    return unpack_cells(cells), small.astype(np.int16).astype(np.int32), wide


def num_words(tree) -> int:
    return sum(leaf.size for leaf in jax.tree.leaves(tree))


# A stored cell: block in bits 0-5, item in 6-8 (STAMPED_ITEM stands for any stamped block id of
# rules 0.1.0), requirement + 48 in 9-14, soft in 15. Requirements lie in [-48, 8].

_REQUIREMENT_OFFSET = MAX_HANDOVER_WINDOW
STAMPED_ITEM = len(Item)
check_bits("a stored cell's block", max(Block), 6)
check_bits("a stored cell's item", STAMPED_ITEM, 3)
check_bits("a stored cell's requirement", MAX_AGENTS + _REQUIREMENT_OFFSET, 6)


def pack_cells(block, item, requirement, soft) -> jax.Array:
    """The four planes of a floor (..., 48, 48) as one uint16 plane."""
    item = jnp.minimum(item, STAMPED_ITEM).astype(jnp.uint16)
    requirement = (requirement.astype(jnp.int16) + _REQUIREMENT_OFFSET).astype(jnp.uint16)
    return (
        block.astype(jnp.uint16)
        | (item << np.uint16(6))
        | (requirement << np.uint16(9))
        | (soft.astype(jnp.uint16) << np.uint16(15))
    )


def unpack_cells(cells) -> Planes:
    """Inverse of `pack_cells`: block uint8, item uint8, requirement int8, soft bool."""
    requirement = (cells >> np.uint16(9)) & np.uint16(0x3F)
    return (
        (cells & np.uint16(0x3F)).astype(jnp.uint8),
        ((cells >> np.uint16(6)) & np.uint16(0x7)).astype(jnp.uint8),
        (requirement.astype(jnp.int16) - _REQUIREMENT_OFFSET).astype(jnp.int8),
        (cells >> np.uint16(15)) > 0,
    )
