"""Floors of rooms and corridors. R rooms, A agents. One floor at a time; the caller vmaps."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from alem_env.core import rng, struct
from alem_env.core.enums import Block, Item
from alem_env.core.sampling import choose_slot_at
from alem_env.core.tables import MAP_SIZE

NUM_ROOMS = 8
_ROOM_SIZES = (5, 10)  # from, below
_CHUNK = 16  # a room starts in a chunk of its own, of these many rows and columns
_CHUNKS = (MAP_SIZE[0] // _CHUNK) * (MAP_SIZE[1] // _CHUNK)
_RARE = np.float32(0.9)
_FIRST_ROOM_SPECIAL = 2  # rows and columns from its corner


@struct.dataclass
class Rooms:
    corner: jax.Array  # (R, 2) int32, upper left; rooms may overlap and leave the map
    size: jax.Array  # (R, 2) int32
    chests: jax.Array  # (R, A, 2) int32, cells on the map
    fountain: jax.Array  # (R, 2) int32
    has_fountain: jax.Array  # (R,) bool
    joins: jax.Array  # (R,) int32, the room that a corridor leads to


def dig_dungeon(
    key: jax.Array, special, fountain, rare_floor, num_agents: int
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The map of a dungeon, without ladders.

    Args:
        key: (2,) uint32.
        special: block () uint8 in the first room; `fountain`, `rare_floor` as `biomes.Dungeon`.
        num_agents: each room has as many chests.

    Returns:
        blocks (48, 48) uint8, items (48, 48) uint8, keys (2, 2) of the ladders down and up.
    """
    first = rng.split(key, 3)
    key, size_key = first[0], first[2]
    _, subs = rng.chain(key, 5)
    room_key, corridor_key, rare_key, ladder_keys = subs[0], subs[1], subs[2], subs[3:]
    rooms = _draw_rooms(size_key, room_key, corridor_key, num_agents)

    blocks = _corridors(rooms, _build_rooms(rooms, fountain))
    spot = rooms.corner[0] + _FIRST_ROOM_SPECIAL
    blocks = jnp.where(_is_cell(spot), special, blocks)
    items = jnp.where(_torches(rooms), np.uint8(Item.TORCH), np.uint8(Item.NONE))

    # jax's choice among (common, rare) with chances 0.9, 0.1 draws 1 - u and compares it
    rare = 1 - rng.uniform(rare_key, MAP_SIZE) > _RARE
    wall, path = np.uint8(Block.WALL), np.uint8(Block.PATH)
    lit = _touches(blocks != wall)
    moss = jnp.where(rare, np.uint8(Block.WALL_MOSS), wall)
    ground = jnp.where(rare & (blocks == path) & (items == Item.NONE), rare_floor, blocks)
    dressed = jnp.where(blocks == wall, moss, ground)
    return jnp.where(lit, dressed, np.uint8(Block.DARKNESS)), items, ladder_keys


def _draw_rooms(size_key, room_key, corridor_key, num_agents: int) -> Rooms:
    def room_keys(key, _):
        keys = []
        for _ in range(3):
            key, sub = rng.split(key)
            keys.append(sub)
        three = rng.split(key, 3)
        return three[0], jnp.stack([*keys, three[1], three[2]])

    _, keys = lax.scan(room_keys, room_key, None, length=NUM_ROOMS)
    chunk_keys, corner_keys, chest_keys, fountain_keys, has_keys = keys.swapaxes(0, 1)
    size = rng.randint(size_key, (NUM_ROOMS, 2), *_ROOM_SIZES)
    draws = rng.uniform_each(
        jnp.concatenate([chunk_keys, has_keys, _corridor_keys(corridor_key)])
    ).reshape(3, NUM_ROOMS)

    def take_chunk(free, uniform):
        chunk = choose_slot_at(uniform, free)
        return free & (np.arange(_CHUNKS) != chunk), chunk

    free = jnp.ones(_CHUNKS, bool)
    _, chunk = lax.scan(take_chunk, free, draws[0])
    across = MAP_SIZE[1] // _CHUNK
    corner = jnp.stack([chunk % across, chunk // across], -1) * _CHUNK
    shift, chests, fountain = _draw_cells(
        jnp.stack([corner_keys, chest_keys, fountain_keys]), size, num_agents
    )
    corner = corner + shift
    return Rooms(
        corner=corner,
        size=size,
        chests=corner[:, None] + chests,
        fountain=corner + fountain,
        has_fountain=draws[1] > 0.5,
        joins=jax.vmap(choose_slot_at)(draws[2], jnp.asarray(_part_of_dungeon())),
    )


def _draw_cells(keys: jax.Array, size: jax.Array, num_agents: int):
    """Random shifts (R, 2) of the rooms, and cells in them of chests (R, A, 2), fountains (R, 2).

    Equal to `rng.randint` with the keys (3, R, 2), in that order, in one pass over all of them.
    """
    words = jax.vmap(jax.vmap(rng.split))(keys)  # high, low: (3, R, 2, 2)
    # a draw of 2 n words has counters (i, n + i)
    which = np.array([0, *[1] * num_agents, 2])
    first = np.array([0, *range(num_agents), 0], np.uint32)
    second = np.array([1, *range(num_agents, 2 * num_agents), 1], np.uint32)
    picked = words[which]  # (n, R, 2, 2)
    counters = (c[:, None, None] for c in (first, second))
    a, b = rng.threefry(picked[..., 0], picked[..., 1], *counters)  # (n, R, 2) each

    def cells(rows, low, high):
        """(R, len(rows), 2) int32 of draws in [low, high)."""
        bits = jnp.concatenate([a[rows], b[rows]])  # (2 n, R, 2)
        bits = jnp.moveaxis(bits, 0, -1).reshape(NUM_ROOMS, 2, -1, 2)
        return rng.fold_to_range(bits[:, 0], bits[:, 1], low, high)

    inner = (size - 1)[:, None, :]
    shift = cells(slice(0, 1), 0, _CHUNK - _ROOM_SIZES[0])
    chests = cells(slice(1, num_agents + 1), 1, inner)
    fountain = cells(slice(num_agents + 1, None), 1, inner)
    return shift[:, 0], chests, fountain[:, 0]


def _corridor_keys(key: jax.Array) -> jax.Array:
    """The keys (R, 2) of where each room's corridor leads."""

    def next_key(key, _):
        key, draw_key = rng.split(key)
        return rng.split(key)[1], draw_key

    return lax.scan(next_key, key, None, length=NUM_ROOMS)[1]


def _part_of_dungeon() -> np.ndarray:
    """(R, R) bool: the rooms that are part of the dungeon when room i is joined to it."""
    part = np.tri(NUM_ROOMS, k=-1, dtype=bool)
    part[:, -1] = True
    return part


def _build_rooms(rooms: Rooms, fountain) -> jax.Array:
    """Blocks (48, 48) uint8 of the rooms, each built over those before it."""
    rows, columns = np.arange(MAP_SIZE[0])[:, None], np.arange(MAP_SIZE[1])

    def build(blocks, room: Rooms):
        row, column = rows - room.corner[0], columns - room.corner[1]
        inside = (row >= 0) & (row < room.size[0]) & (column >= 0) & (column < room.size[1])
        blocks = jnp.where(inside, np.uint8(Block.PATH), blocks)
        for chest in range(room.chests.shape[0]):
            blocks = jnp.where(_is_cell(room.chests[chest]), np.uint8(Block.CHEST), blocks)
        return jnp.where(room.has_fountain & _is_cell(room.fountain), fountain, blocks), None

    return lax.scan(build, jnp.full(MAP_SIZE, np.uint8(Block.WALL)), rooms)[0]


def _corridors(rooms: Rooms, blocks: jax.Array) -> jax.Array:
    """Corridors along the row of each room to the column of the room it joins, then along that."""
    rows, columns = np.arange(MAP_SIZE[0])[:, None], np.arange(MAP_SIZE[1])
    dug = jnp.zeros(MAP_SIZE, bool)
    for room in range(NUM_ROOMS):
        start, end = rooms.corner[room], rooms.corner[rooms.joins[room]]
        low, high = jnp.minimum(start, end), jnp.maximum(start, end)
        moves = start != end  # a corridor of no length digs nothing
        dug |= moves[1] & (rows == start[0]) & (columns >= low[1]) & (columns <= high[1])
        dug |= moves[0] & (columns == end[1]) & (rows >= low[0]) & (rows <= high[0])
    return jnp.where(dug & (blocks == np.uint8(Block.WALL)), np.uint8(Block.PATH), blocks)


def _torches(rooms: Rooms) -> jax.Array:
    """(48, 48) bool: the four corners of each room."""
    rows, columns = np.arange(MAP_SIZE[0]), np.arange(MAP_SIZE[1])
    far = rooms.corner + rooms.size - 1

    def meets(line, axis):
        near_edge, far_edge = rooms.corner[:, axis, None], far[:, axis, None]
        return (line == near_edge) | (line == far_edge)

    return (meets(rows, 0)[:, :, None] & meets(columns, 1)[:, None, :]).any(0)


def _touches(open_cells: jax.Array) -> jax.Array:
    """(48, 48) bool: a cell or one of its four neighbours is open."""
    padded = jnp.pad(open_cells, 1)
    middle = slice(1, -1)
    return (
        open_cells
        | padded[:-2, middle]
        | padded[2:, middle]
        | padded[middle, :-2]
        | padded[middle, 2:]
    )


def _is_cell(cell: jax.Array) -> jax.Array:
    """(48, 48) bool: true at one cell (2,), nowhere if that is off the map."""
    rows, columns = np.arange(MAP_SIZE[0])[:, None], np.arange(MAP_SIZE[1])
    return (rows == cell[0]) & (columns == cell[1])
