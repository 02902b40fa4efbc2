"""Construction sites. S slots a floor."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from alem_env.core import rng
from alem_env.core.enums import Block
from alem_env.core.params import EnvParams, StaticParams
from alem_env.core.sampling import choose_at
from alem_env.core.tables import CONSTRUCTION_FLOORS, MAP_SIZE
from alem_env.worldgen.biomes import SITE_GROUND, TERRAINS

_MARGIN = 5  # cells along the rim of the map that hold no site

# Of the floors meant to have sites, those that can have any: the ice realm has no fitting ground.
SITE_FLOORS = tuple(f for f in CONSTRUCTION_FLOORS if TERRAINS[f].blocks & set(SITE_GROUND))


def place_sites(
    key: jax.Array,
    blocks: jax.Array,
    requirement: jax.Array,
    soft: jax.Array,
    num_sites: jax.Array,
    params: EnvParams,
    static: StaticParams,
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """Place the construction sites of one floor.

    Args:
        key: (2,) uint32.
        blocks: (48, 48) uint8, and `requirement` int8 and `soft` bool of the same shape.
        num_sites: () int32 sites wanted.

    Returns:
        The three planes with the sites in them, and the sites' cells (S, 2) int32, which are
        (0, 0) for slots beyond the wanted number or without room.
    """
    slots = static.max_construction_sites
    keys = rng.split(key, slots + 1)
    draws = rng.uniform_each(keys[1:])
    wanted = jnp.minimum(jnp.asarray(num_sites, jnp.int32), slots)
    free = _free_ground(blocks).reshape(-1)
    cells = np.arange(free.shape[0])

    def place(slot, carry):
        free, chosen = carry
        cell = choose_at(draws[slot], free)
        chosen = jnp.where((np.arange(slots) == slot) & free.any(), cell, chosen)
        return free & (cells != cell), chosen

    _, chosen = lax.fori_loop(0, wanted, place, (free, jnp.full(slots, -1, jnp.int32)))
    position = jnp.stack([chosen // MAP_SIZE[1], chosen % MAP_SIZE[1]], -1)
    position = jnp.where((chosen >= 0)[:, None], position, 0)

    needs, is_soft = _draw_site_requirements(keys[0], params, static)
    # slots without a site write beyond the map, which XLA drops
    at = jnp.where(chosen >= 0, chosen, cells.size)

    def put(plane, values):
        flat = plane.reshape(-1).at[at].set(values.astype(plane.dtype), mode="drop")
        return flat.reshape(MAP_SIZE)

    site = jnp.full(slots, np.uint8(Block.CONSTRUCTION_SITE))
    return put(blocks, site), put(requirement, needs), put(soft, is_soft), position


def _draw_site_requirements(key, params: EnvParams, static: StaticParams):
    """Requirement (S,) int32 and soft (S,) bool of the sites."""
    slots = static.max_construction_sites
    _, keys = rng.chain(key, 4)
    keys = jnp.concatenate([keys[np.array([0, 2, 3])], rng.split(keys[1])])
    words = jax.vmap(lambda k: rng.random_bits(k, slots))(keys)
    draws = rng.to_unit(words[:3])
    handover = draws[0] < params.handover_ratio
    everyone = draws[1] < params.p_max_agents
    soft = draws[2] < params.soft_construction_ratio
    longest = jnp.asarray(params.handover_window_max)
    window = rng.fold_to_range(words[3], words[4], params.handover_window_min, longest + 1)
    agents = jnp.where(everyone, np.int32(static.num_agents), np.int32(2))
    return jnp.where(handover, -window, agents), soft & ~handover


def _free_ground(blocks: jax.Array) -> jax.Array:
    """(48, 48) bool: cells that may become a site."""
    inner = np.zeros(MAP_SIZE, bool)
    inner[_MARGIN:-_MARGIN, _MARGIN:-_MARGIN] = True
    fitting = blocks == np.uint8(SITE_GROUND[0])
    for block in SITE_GROUND[1:]:
        fitting |= blocks == np.uint8(block)
    return fitting & inner
