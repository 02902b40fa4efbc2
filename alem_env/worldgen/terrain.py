"""Floors grown from noise. F floors (the six of `biomes.TERRAINS`), A agents."""

import jax
import jax.numpy as jnp
import numpy as np

from alem_env.core import rng
from alem_env.core.enums import Block
from alem_env.core.tables import DARK_FLOORS, MAP_SIZE
from alem_env.worldgen.biomes import CAVE_THRESHOLD, MOUNTAIN_THRESHOLD, TERRAINS, column
from alem_env.worldgen.noise import angle_keys, noise

_SMALL, _LARGE, _STRIPES = (3, 3), (12, 12), (6, 24)
_NUM_ORES = 5
# (index of the floor, slot) of the ores with a chance above 0; others are not drawn
_ORES_THAT_EXIST = [
    (f, slot)
    for f, terrain in enumerate(TERRAINS.values())
    for slot in range(_NUM_ORES)
    if terrain.ores[slot][2] > 0
]
_LAVA_GLOW = np.float32([[0.2, 0.7, 0.2], [0.7, 1.0, 0.7], [0.2, 0.7, 0.2]])


def start_cells(num_agents: int) -> np.ndarray:
    """Where the players start: (A, 2), a block of cells in the middle of the map."""
    width = int(np.ceil(np.sqrt(num_agents)))
    index = np.arange(num_agents)
    return np.stack([MAP_SIZE[0] // 2 + index // width, MAP_SIZE[1] // 2 + index % width], -1)


def grow_terrain(keys: jax.Array, num_agents: int) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The maps of the terrain floors, without ladders.

    Args:
        keys: (F, 2) uint32, one key a floor.
        num_agents: players, whose start is kept clear.

    Returns:
        blocks (F, 48, 48) uint8, where lava springs (F, 48, 48) bool, and the keys (F, 2, 2) of
        the draws of the ladders down and up.
    """
    keys, subs = jax.vmap(lambda k: rng.chain(k, 6))(keys)
    tree_keys = keys
    _, more = jax.vmap(lambda k: rng.chain(k, 3))(keys)
    ore_keys, ladder_keys = more[:, 0], more[:, 1:]
    tree_draw, ore_draws = _draw_maps(tree_keys, ore_keys)
    small, stripes, woods = _draw_noise(subs[:, np.array([0, 2, 3, 5])])

    floors = len(TERRAINS)
    water = small[:floors] + _clearance(num_agents, "water_reach") - np.float32(1.0)
    mountain = small[floors:] + np.float32(0.05)
    mountain = mountain + _clearance(num_agents, "mountain_reach") - np.float32(1.0)
    rock = mountain > np.float32(MOUNTAIN_THRESHOLD)
    deep = mountain > np.float32(CAVE_THRESHOLD)

    blocks = _lay_ground(water, rock, deep, stripes)
    wooded = woods > column("tree_noise_threshold", np.float32)
    tree = wooded & (tree_draw > column("tree_rarity", np.float32))
    tree &= blocks == column("tree_ground")
    blocks = jnp.where(tree, column("tree"), blocks)
    blocks = _turn_to_ore(ore_draws, blocks)

    lava = deep & (woods > np.float32(0.7))
    blocks = jnp.where(lava, column("lava"), blocks)
    start = np.zeros(MAP_SIZE, bool)
    start[tuple(start_cells(num_agents).T)] = True
    return jnp.where(start, column("start"), blocks), lava, ladder_keys


def _clearance(num_agents: int, reach: str) -> np.ndarray:
    """Noise is raised by this (F, 48, 48) float32 with the distance from the players' start."""
    rows, columns = np.indices(MAP_SIZE)
    cells = start_cells(num_agents)[:, :, None, None]
    squared = (rows - cells[:, 0]) ** 2 + (columns - cells[:, 1]) ** 2
    distance = np.sqrt(squared.min(0).astype(np.float32))
    reaches = [getattr(t, reach) for t in TERRAINS.values()]
    return np.stack(
        [np.clip(distance / np.float32(d), np.float32(0), np.float32(cap)) for d, cap in reaches]
    )


def _lay_ground(water, rock, deep, stripes) -> jax.Array:
    """Water, shores, rock, paths through it and caves (F, 48, 48) uint8."""
    sea, coast = column("sea"), column("coast")
    blocks = jnp.where(water > column("water_threshold", np.float32), sea, column("ground"))
    shore = (water > column("sand_threshold", np.float32)) & (blocks != sea)
    blocks = jnp.where(shore, coast, blocks)
    blocks = jnp.where(rock, column("mountain"), blocks)
    stripe = stripes > np.float32(0.8)
    stripe |= stripe.swapaxes(1, 2)
    blocks = jnp.where(rock & stripe, column("path"), blocks)
    return jnp.where(deep & (water > np.float32(0.4)), column("cave"), blocks)


def _draw_noise(keys: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Noise of water and mountains (2 F, 48, 48), stripes and woods (F, 48, 48); keys (F, 4, 2)."""
    keys = angle_keys(keys.swapaxes(0, 1).reshape(-1, 2)).reshape(4, -1, 2)
    draw = jax.vmap(noise, in_axes=(0, None))
    return draw(keys[:2].reshape(-1, 2), _SMALL), draw(keys[2], _STRIPES), draw(keys[3], _LARGE)


def _draw_maps(tree_keys, ore_keys) -> tuple[jax.Array, jax.Array]:
    """Uniform draws for trees (F, 48, 48), and for those ores that exist (n, 48, 48)."""
    _, subs = jax.vmap(lambda k: rng.chain(k, _NUM_ORES))(ore_keys)
    floor, slot = np.array(_ORES_THAT_EXIST).T
    keys = jnp.concatenate([tree_keys, subs[floor, slot]])
    draws = jax.vmap(lambda k: rng.uniform(k, MAP_SIZE))(keys)
    return draws[: len(TERRAINS)], draws[len(TERRAINS) :]


def _turn_to_ore(draws: jax.Array, blocks: jax.Array) -> jax.Array:
    """Ores in the rock of blocks (F, 48, 48), tried one after the other."""
    floors = []
    for floor, terrain in enumerate(TERRAINS.values()):
        plane = blocks[floor]
        for draw, (of_floor, slot) in zip(draws, _ORES_THAT_EXIST, strict=True):
            if of_floor == floor:
                rock, ore, chance = terrain.ores[slot]
                hit = (draw < np.float32(chance)) & (plane == np.uint8(rock))
                plane = jnp.where(hit, np.uint8(ore), plane)
        floors.append(plane)
    return jnp.stack(floors)


def dark_light(lava: jax.Array, ladders_down: jax.Array, ladders_up: jax.Array) -> jax.Array:
    """Light of the dark floors: around ladders, and the glow of lava.

    Args:
        lava: (F, 48, 48) bool of `grow_terrain`.
        ladders_down: (9, A, 2) int32.
        ladders_up: (9, A, 2) int32.

    Returns:
        (4, 48, 48) float32 in [0, 1].
    """
    dark = list(DARK_FLOORS)
    light = jax.vmap(_ladder_light)(ladders_down[np.array(dark)], ladders_up[np.array(dark)])
    planes = []
    order = list(TERRAINS)
    for i, floor in enumerate(dark):
        plane = light[i]
        if TERRAINS[floor].lava == Block.LAVA:
            plane = jnp.minimum(plane + _glow(lava[order.index(floor)]), np.float32(1.0))
        planes.append(plane)
    return jnp.stack(planes)


def _glow(lava: jax.Array) -> jax.Array:
    """Sum (48, 48) of the light that lava (48, 48) bool sheds on its neighbours."""
    rows, columns = MAP_SIZE
    padded = jnp.pad(lava.astype(jnp.float32), 1)
    total = jnp.zeros(MAP_SIZE, jnp.float32)
    for (i, j), weight in np.ndenumerate(_LAVA_GLOW):
        total = total + weight * padded[i : i + rows, j : j + columns]
    return total


def _ladder_light(down: jax.Array, up: jax.Array) -> jax.Array:
    """Light (48, 48) around ladders (A, 2), 9 by 9 cells each, the later ladder over the earlier.

    The ladders of a kind stand in one row, from left to right.
    """
    radius, reach = 4, np.float32(5.0)
    light = jnp.zeros(MAP_SIZE, jnp.float32)
    rows, columns = np.arange(MAP_SIZE[0])[:, None], np.arange(MAP_SIZE[1])
    for ladders in (up, down):
        # As published: a corner before the first row or column counts from the far side.
        corner = ladders - radius
        corner = jnp.where(corner < 0, corner + np.array(MAP_SIZE), corner)
        corner = jnp.minimum(corner, np.array(MAP_SIZE) - 2 * radius - 1)
        row = rows - corner[0, 0] - radius
        column_ = jnp.full(MAP_SIZE[1], radius + 1)
        for ladder in range(ladders.shape[0]):
            offset = columns - corner[ladder, 1] - radius
            column_ = jnp.where(jnp.abs(offset) <= radius, offset, column_)
        distance = jnp.sqrt((row * row + column_ * column_).astype(jnp.float32))
        near = (jnp.abs(row) <= radius) & (jnp.abs(column_) <= radius)
        light = jnp.where(near, jnp.clip(1 - distance / reach, 0.0, 1.0), light)
    return light
