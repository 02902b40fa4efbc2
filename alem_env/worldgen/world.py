"""A new world: nine floors, the team in the middle of the first.

`generate_world` is written for one world and runs under vmap. Keys are handed out in the order of
the benchmark; what it draws and never uses is not drawn here. F terrain floors, D dungeons,
A agents.
"""

import jax
import jax.numpy as jnp
import numpy as np

from alem_env.core import rng
from alem_env.core import state as st
from alem_env.core.counters import no_counts
from alem_env.core.enums import Block, Item
from alem_env.core.params import EnvParams, StaticParams, params_from_alpha
from alem_env.core.storage import pack_floor
from alem_env.core.tables import (
    BOSS_SPAWN_STEPS,
    MAP_SIZE,
    NUM_FLOORS,
    NUM_POTIONS,
    OVERWORLD_KILLS,
    SUNRISE,
)
from alem_env.worldgen.biomes import DUNGEONS, MINABLE_FLOORS, TERRAINS
from alem_env.worldgen.coordination import draw_requirements
from alem_env.worldgen.dungeon import dig_dungeon
from alem_env.worldgen.elites import draw_elites
from alem_env.worldgen.ladders import draw_ladders
from alem_env.worldgen.sites import SITE_FLOORS, place_sites
from alem_env.worldgen.team import new_inventory, new_players
from alem_env.worldgen.terrain import dark_light, grow_terrain

_LADDER_GROUND = np.array(
    [TERRAINS[f].ladder_ground if f in TERRAINS else Block.PATH for f in range(NUM_FLOORS)],
    np.uint8,
)
_HAS_DOWN = np.array([f not in TERRAINS or TERRAINS[f].ladder_down for f in range(NUM_FLOORS)])
_HAS_UP = np.array([f not in TERRAINS or TERRAINS[f].ladder_up for f in range(NUM_FLOORS)])
# terrains, then dungeons -> floors in order
_FLOOR_ORDER = np.argsort([*TERRAINS, *DUNGEONS])
_PLANES_WITHOUT_COORDINATION = ((NUM_FLOORS, *MAP_SIZE), jnp.int8), ((NUM_FLOORS, *MAP_SIZE), bool)


def generate_world(key: jax.Array, params: EnvParams, static: StaticParams) -> st.State:
    """A new world.

    Args:
        key: (2,) uint32.
        params: parameters of the game.
        static: shapes and switches.

    Returns:
        The state before the first step. Equal to the benchmark's of the same key and parameters.
    """
    alpha = jnp.float32(0.0)
    if static.randomize_alpha:
        key, alpha_key = rng.split_pair(key)
        width = jnp.asarray(params.alpha_max) - params.alpha_min
        alpha = rng.uniform(alpha_key) * width + params.alpha_min
        alpha = jnp.maximum(alpha, params.alpha_min).astype(jnp.float32)
        params = params.replace(**params_from_alpha(alpha, static.scale_base_difficulty))

    key, blocks, items, light, ladders = _shape_floors(key, static)
    key, potion_key = rng.split_pair(key)
    potion_effect = rng.permutation(potion_key, NUM_POTIONS)
    keys = rng.split(key, NUM_FLOORS + 1)
    requirement, soft = _draw_requirements(keys[1:], blocks, params, static)
    keys = rng.split(keys[0], NUM_FLOORS + 1)
    planes, sites = _place_sites(keys[1:], (blocks, requirement, soft), params, static)
    key, elites = draw_elites(keys[0], params, static)
    _, last_key = rng.split_pair(key)

    floors = _populate(planes, items, sites, elites, static)
    return st.State(
        floor=jax.tree.map(lambda leaf: leaf[0], floors),
        floor_index=jnp.int32(0),
        stored=pack_floor(jax.tree.map(lambda leaf: leaf[1:], floors)),
        stored_slot=jnp.arange(-1, NUM_FLOORS - 1, dtype=jnp.int32),
        light=light,
        ladders=ladders,
        players=new_players(params, static),
        inventory=new_inventory(params, static),
        plants=st.Plants(
            position=jnp.zeros((static.max_plants, 2), jnp.int32),
            age=jnp.zeros(static.max_plants, jnp.int32),
            growing=jnp.zeros(static.max_plants, bool),
        ),
        handovers=_no_handovers(static),
        counters=no_counts(static.num_agents),
        achievements=jnp.zeros((static.num_agents, st.NUM_ACHIEVEMENTS), bool),
        potion_effect=potion_effect,
        boss_progress=jnp.int32(0),
        boss_spawn_steps=jnp.int32(BOSS_SPAWN_STEPS),
        deepest_floor=jnp.int32(0),
        light_level=jnp.float32(1 - abs(np.cos(np.pi * np.float32(SUNRISE))) ** 3),
        timestep=jnp.int32(0),
        sampled_alpha=alpha,
        last_key=last_key,
    )


# --- Maps ----------------------------------------------------------------------------------------


def _shape_floors(key: jax.Array, static: StaticParams):
    """The next key, blocks (9, 48, 48) uint8, items (9, 48, 48) uint8, light and ladders."""
    agents = static.num_agents
    keys = rng.split(key, len(TERRAINS) + 1)
    terrain, lava, terrain_ladders = grow_terrain(keys[1:], agents)
    keys = rng.split(keys[0], len(DUNGEONS) + 1)
    kinds = [
        np.array([getattr(d, name) for d in DUNGEONS.values()], np.uint8)
        for name in ("special", "fountain", "rare_floor")
    ]
    dungeon, torches, dungeon_ladders = jax.vmap(dig_dungeon, in_axes=(0, 0, 0, 0, None))(
        keys[1:], *kinds, agents
    )

    def in_order(of_terrain, of_dungeon):
        return jnp.concatenate([of_terrain, of_dungeon])[_FLOOR_ORDER]

    blocks = in_order(terrain, dungeon)
    items = in_order(jnp.zeros_like(terrain), torches)
    ladder_keys = in_order(terrain_ladders, dungeon_ladders)
    ground = blocks == _LADDER_GROUND[:, None, None]
    first_version = static.rules_version == "0.1.0"
    avoid_overlap = None if first_version else _HAS_DOWN & _HAS_UP
    down, up = jax.vmap(draw_ladders, in_axes=(0, 0, None if first_version else 0, None))(
        ladder_keys, ground, avoid_overlap, agents
    )
    items = _put_ladders(items, blocks, down, _HAS_DOWN, Item.LADDER_DOWN, first_version)
    items = _put_ladders(items, blocks, up, _HAS_UP, Item.LADDER_UP, first_version)
    light = dark_light(lava, down, up)
    ladders = st.Ladders(
        down=down.astype(jnp.int8), up=up.astype(jnp.int8), stamp=_stamps(items, down, up)
    )
    return keys[0], blocks, items, light, ladders


def _put_ladders(items, blocks, cells, has_ladder, item: Item, stamp: bool) -> jax.Array:
    """Items with ladders at cells (9, A, 2). Floors without the ladder stay as they are; with
    `stamp` (rules 0.1.0) the block's number is written there instead.
    """
    rows, columns = np.arange(MAP_SIZE[0])[:, None], np.arange(MAP_SIZE[1])
    here = (rows == cells[:, 0, 0, None, None]) & (
        (columns == cells[:, :, 1, None]).any(1)[:, None, :]
    )
    has_ladder = has_ladder[:, None, None]
    written = jnp.where(has_ladder, np.uint8(item), blocks if stamp else items)
    return jnp.where(here, written, items)


def _stamps(items, down, up) -> jax.Array:
    """`Ladders.stamp` (3, A): block numbers among the items."""
    rows = []
    for floor, cells in ((0, up), (NUM_FLOORS - 1, down), (NUM_FLOORS - 1, up)):
        item = items[floor][cells[floor, :, 0], cells[floor, :, 1]]
        rows.append(jnp.where(item > max(Item), item, np.uint8(0)))
    return jnp.stack(rows)


def _draw_requirements(keys, blocks, params, static: StaticParams):
    """Requirement (9, 48, 48) int8 and soft (9, 48, 48) bool."""
    planes = [jnp.zeros(shape, dtype) for shape, dtype in _PLANES_WITHOUT_COORDINATION]
    if not static.coordination_enabled:
        return planes
    floors = np.array(MINABLE_FLOORS)
    drawn = jax.vmap(draw_requirements, in_axes=(0, 0, None, None))(
        keys[floors], blocks[floors], params, static.num_agents
    )
    return [
        _replace_floors(plane, dict(zip(MINABLE_FLOORS, of_floors, strict=True)))
        for plane, of_floors in zip(planes, drawn, strict=True)
    ]


def _place_sites(keys, planes, params, static: StaticParams):
    """Planes (9, 48, 48) of blocks, requirement and soft with sites, whose cells are (9, S, 2)."""
    sites = jnp.zeros((NUM_FLOORS, static.max_construction_sites, 2), jnp.int32)
    if not static.construction_enabled:
        return planes, sites
    floors = np.array(SITE_FLOORS)
    wanted = jnp.stack(
        [
            jnp.asarray(
                params.num_construction_sites if f == 0 else params.num_mining_construction_sites
            )
            for f in SITE_FLOORS
        ]
    )
    placed = jax.vmap(place_sites, in_axes=(0, 0, 0, 0, 0, None, None))(
        keys[floors], *(plane[floors] for plane in planes), wanted, params, static
    )
    replaced = [
        _replace_floors(plane, dict(zip(SITE_FLOORS, of_floors, strict=True)))
        for plane, of_floors in zip((*planes, sites), placed, strict=True)
    ]
    return tuple(replaced[:3]), replaced[3]


def _replace_floors(plane: jax.Array, floors: dict[int, jax.Array]) -> jax.Array:
    """A plane (9, ...) with some floors replaced."""
    return jnp.stack([floors.get(f, plane[f]) for f in range(plane.shape[0])])


# --- What is on them -----------------------------------------------------------------------------


def _populate(planes, items, sites, elites, static: StaticParams) -> st.Floor:
    """All floors, without creatures yet; leading axis 9."""
    blocks, requirement, soft = planes
    kills = np.zeros(NUM_FLOORS, np.int32)
    kills[0] = OVERWORLD_KILLS
    return st.Floor(
        block=blocks,
        item=items,
        requirement=requirement,
        soft=soft,
        mobs=_no_mobs(elites, static),
        mob_projectiles=_no_projectiles(static.max_mob_projectiles),
        player_projectiles=_no_projectiles(static.max_player_projectiles),
        sites=st.Sites(position=sites, built=jnp.zeros(sites.shape[:2], jnp.int32)),
        chest_opened=jnp.zeros((NUM_FLOORS, static.num_agents), bool),
        monsters_killed=jnp.asarray(kills),
    )


def _no_mobs(elites, static: StaticParams) -> st.Mobs:
    coordination, agents_required = elites
    shape = coordination.shape
    return st.Mobs(
        position=jnp.zeros((*shape, 2), jnp.int32),
        health=jnp.ones(shape, jnp.float32),
        alive=jnp.zeros(shape, bool),
        cooldown=jnp.zeros(shape, jnp.int32),
        kind=jnp.zeros(shape, jnp.int32),
        coordination=coordination,
        agents_required=agents_required,
        slots=st.mob_slots(static),
    )


def _no_projectiles(slots: int) -> st.Projectiles:
    shape = (NUM_FLOORS, slots)
    return st.Projectiles(
        position=jnp.zeros((*shape, 2), jnp.int32),
        active=jnp.zeros(shape, bool),
        kind=jnp.zeros(shape, jnp.int32),
        direction=jnp.ones((*shape, 2), jnp.int32),
        owner=jnp.zeros(shape, jnp.int32),
    )


def _no_handovers(static: StaticParams) -> st.Handovers:
    slots = static.max_pending_handovers
    return st.Handovers(
        active=jnp.zeros(slots, bool),
        position=jnp.zeros((slots, 2), jnp.int32),
        deadline=jnp.zeros(slots, jnp.int32),
        initiator=jnp.zeros(slots, jnp.int32),
        building=jnp.zeros(slots, jnp.int32),
    )
