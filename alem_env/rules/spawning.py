"""New mobs appear around the team.

A class at a time (passive, melee, ranged), at most one mob each: its cell is drawn uniformly among
the floor's valid cells. These are counted in integers: a row first, then the cell in it. The
benchmark sums float probabilities instead, which picks a neighbouring cell about once in 100,000
draws; `core.sampling` repeats that sum where a draw is too close to tell.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from alem_env.core import masked_choice, sampling, struct
from alem_env.core.batch import when_any
from alem_env.core.enums import Block, MobClass
from alem_env.core.params import EnvParams, StaticParams
from alem_env.core.state import Floor, Mobs, Players, State
from alem_env.core.tables import (
    DUNGEON_FLOORS,
    FLOOR_MOB_KIND,
    FLOOR_SPAWN_CHANCE,
    MAP_SIZE,
    MOB_HEALTH,
    MONSTERS_TO_CLEAR_FLOOR,
)
from alem_env.rules.chance import Chance
from alem_env.rules.common import at, in_bounds, is_fighting_boss

# distances from the nearest player alive, squared
PASSIVE_BEYOND = 3**2
MONSTERS_BEYOND = 9**2
BOSS_WAVE_WITHIN = 6**2
SWIMMING_KIND = 5  # of ranged mobs
BOSS_WAVE_FACTOR = 1000
_NUM_CLASSES = len(MobClass)
# rows or columns; god mode lets players walk off the map, and twice its square must fit 16 bits
_OUT_OF_REACH = 100
_FAR_AWAY = np.int16(MAP_SIZE[0] ** 2 + MAP_SIZE[1] ** 2)  # no player alive


@struct.dataclass
class Taken:
    """Cells on which nothing may appear, none of them twice."""

    row: jax.Array  # (n,) int32
    column: jax.Array  # (n,) int32
    counts: jax.Array  # (n,) bool, False for entries to ignore


def spawn_mobs(chance: Chance, state: State, params: EnvParams, static: StaticParams) -> State:
    """At most one new mob of each class; later ones keep off the cells of earlier ones.

    Args:
        chance: the random numbers of the step.
        state: the world.
        params: `mob_despawn_distance`, `mob_health_multiplier`.
        static: numbers of slots.
    """
    boss = is_fighting_boss(state)
    kinds = _kinds(state, boss)
    wanted = _wanted(state, boss, chance.spawns, static)
    plane = valid_cells(state, kinds[MobClass.RANGED], boss, params)
    taken = _taken(state.floor, state.players)
    new = _find_cells(plane, taken, wanted, chance.spawn_cell)

    mobs = _fill_slots(state.floor.mobs, new, kinds, params.mob_health_multiplier)
    return state.replace(floor=state.floor.replace(mobs=mobs))


def valid_cells(
    state: State, ranged_kind: jax.Array, boss: jax.Array, params: EnvParams
) -> jax.Array:
    """Where mobs may appear, were no cell taken: (48, 48) uint8, bit k for MobClass k."""
    block = state.floor.block
    distance = _squared_distance(state.players)
    land = (block == Block.GRASS) | (block == Block.PATH)
    land |= (block == Block.FIRE_GRASS) | (block == Block.ICE_GRASS)
    grave = (block >= Block.GRAVE) & (block <= Block.GRAVE3)
    despawn = params.mob_despawn_distance
    within = distance < jnp.minimum(despawn * despawn, _FAR_AWAY + 1).astype(jnp.int16)

    melee_ground = jnp.where(boss, grave, land)
    swims = (ranged_kind == SWIMMING_KIND) & ~boss
    ranged_ground = jnp.where(swims, block == Block.WATER, melee_ground)
    monsters = jnp.where(boss, distance <= BOSS_WAVE_WITHIN, distance > MONSTERS_BEYOND) & within
    passive = land & (distance > PASSIVE_BEYOND) & within
    return (
        passive.astype(jnp.uint8)
        | (melee_ground & monsters).astype(jnp.uint8) << np.uint8(MobClass.MELEE)
        | (ranged_ground & monsters).astype(jnp.uint8) << np.uint8(MobClass.RANGED)
    )


def _squared_distance(players: Players) -> jax.Array:
    """(48, 48) int16: from each cell to the nearest player alive."""
    nearest = jnp.full(MAP_SIZE, _FAR_AWAY, jnp.int16)
    for agent in range(players.alive.shape[0]):
        row, column = players.position[agent]
        rows = _square(np.arange(MAP_SIZE[0]) - row)
        columns = _square(np.arange(MAP_SIZE[1]) - column)
        rows = jnp.where(players.alive[agent], rows, _FAR_AWAY)
        nearest = jnp.minimum(nearest, rows[:, None] + columns[None, :])
    return nearest


def _square(difference: jax.Array) -> jax.Array:
    """(n,) int16, of (n,) int32; beyond what any rule asks for, a large one."""
    return jnp.clip(difference, -_OUT_OF_REACH, _OUT_OF_REACH).astype(jnp.int16) ** 2


def _kinds(state: State, boss: jax.Array) -> jax.Array:
    """(3,) int32, the kind of each class that lives here; around the boss, of the floor reached."""
    table = jnp.asarray(FLOOR_MOB_KIND)
    monsters = table[jnp.where(boss, state.boss_progress, state.floor_index)]
    is_passive = np.arange(_NUM_CLASSES) == MobClass.PASSIVE
    return jnp.where(is_passive, table[state.floor_index], monsters)


def _wanted(state: State, boss: jax.Array, numbers: jax.Array, static: StaticParams) -> jax.Array:
    """(3,) bool, which classes get a mob if a cell is found: there is room, and a number of (3,)
    says so."""
    floor = state.floor
    chance = jnp.asarray(FLOOR_SPAWN_CHANCE * np.float32(static.num_agents))[state.floor_index]
    factor = 1 + 2 * (floor.monsters_killed < MONSTERS_TO_CLEAR_FLOOR)
    factor *= jnp.where(boss, (state.boss_spawn_steps >= 1) * BOSS_WAVE_FACTOR, 1)
    melee_chance = chance[1] + chance[3] * jnp.square(1 - state.light_level)

    in_dungeon = jnp.isin(state.floor_index, np.array(DUNGEON_FLOORS))
    crowd = jnp.where(in_dungeon, 1, static.num_agents)
    mobs = floor.mobs
    living = jnp.stack([mobs.alive[mobs.of(MobClass(c))].sum() for c in range(_NUM_CLASSES)])
    room = _by_class(
        static.max_passive_mobs,
        static.melee_mobs_per_agent * crowd,
        static.ranged_mobs_per_agent * crowd,
    )
    likely = _by_class(jnp.where(boss, 0.0, chance[0]), melee_chance * factor, chance[2] * factor)
    return (living < room) & (numbers < likely)


def _by_class(passive, melee, ranged) -> jax.Array:
    values = {MobClass.PASSIVE: passive, MobClass.MELEE: melee, MobClass.RANGED: ranged}
    return jnp.stack([values[c] for c in sorted(values)])


def _taken(floor: Floor, players: Players) -> Taken:
    """Cells of live mobs and of all players, dead or alive."""
    standing = jnp.where(
        players.position < 0, players.position + jnp.asarray(MAP_SIZE), players.position
    )
    mobs = floor.mobs
    on_mob = ((standing[:, None] == mobs.position).all(-1) & mobs.alive).any(axis=1)
    same = (standing[:, None] == standing[None]).all(-1)
    repeated = (same & np.tri(len(standing), k=-1, dtype=bool)).any(axis=1)
    cell = jnp.concatenate([mobs.position, standing])
    counts = jnp.concatenate([mobs.alive, in_bounds(standing) & ~on_mob & ~repeated])
    return Taken(row=cell[:, 0], column=cell[:, 1], counts=counts)


def _cumulative_counts(plane: jax.Array, taken: Taken) -> jax.Array:
    """(3, 48) int32: valid cells of each class that are not taken, up to and with each row.

    The counts of the three classes share a word, ten bits each.
    """
    lost = jnp.where(taken.counts, _spread(at(plane, _cells(taken))), 0)
    rows = np.arange(MAP_SIZE[0])
    counts = _spread(plane).sum(axis=1, dtype=jnp.int32)
    counts -= jnp.where(taken.row == rows[:, None], lost, 0).sum(axis=1, dtype=jnp.int32)
    shifts = np.array([0, 10, 20], np.int32)
    return jnp.cumsum((counts >> shifts[:, None]) & 1023, axis=1)


def _find_cells(plane: jax.Array, taken: Taken, wanted: jax.Array, numbers: jax.Array) -> Taken:
    """The cell of each class's new mob, one class after another; `counts` says which appear.

    Args:
        plane: (48, 48) uint8 of `valid_cells`.
        taken: cells of mobs and players.
        wanted: (3,) bool, by class.
        numbers: (3,) float32, the draws.
    """
    classes = np.arange(_NUM_CLASSES, dtype=np.int32)
    rows = np.arange(MAP_SIZE[0])

    def find(new, item):
        mob_class, counts, wanted, number = item
        lost = new.counts & _has(at(plane, _cells(new)), mob_class)
        counts = counts - (lost[:, None] & (rows >= new.row[:, None])).sum(axis=0)
        appears = wanted & (counts[-1] > 0)
        row, column = _choose(plane, mob_class, counts, (taken, new), number, appears)
        here = classes == mob_class
        new = Taken(
            row=jnp.where(here, row, new.row),
            column=jnp.where(here, column, new.column),
            counts=new.counts | (here & appears),
        )
        return new, None

    none = jnp.zeros_like(wanted)
    start = Taken(row=none.astype(jnp.int32), column=none.astype(jnp.int32), counts=none)
    # A loop of three rather than three copies: it compiles in a third of the time.
    new, _ = lax.scan(find, start, (classes, _cumulative_counts(plane, taken), wanted, numbers))
    return new


def _choose(
    plane: jax.Array,
    mob_class: jax.Array,
    counts: jax.Array,
    taken: tuple[Taken, ...],
    number: jax.Array,
    appears: jax.Array,
) -> tuple[jax.Array, jax.Array]:
    """Row and column of a uniformly drawn valid cell.

    Args:
        plane: (48, 48) uint8 of `valid_cells`.
        mob_class: () int32, its bit.
        counts: (48,) int32, valid cells up to each row.
        taken: cells to leave out.
        number: () float32 in [0, 1), the draw.
        appears: () bool, whether the result will be used.
    """
    total = counts[-1]
    rank = masked_choice.rank(total, number)  # 1 to total
    row = (counts < rank).sum(dtype=jnp.int32)
    row = jnp.minimum(row, MAP_SIZE[0] - 1)
    rank_in_row = rank - jnp.where(counts < rank, counts, 0).max()
    half = MAP_SIZE[1] // 2
    bit = np.uint32(1) << (np.arange(MAP_SIZE[1]) % half).astype(np.uint32)
    valid = jnp.where(_has(plane[row], mob_class), bit, np.uint32(0)).reshape(2, half).sum(axis=1)
    for cells in taken:
        here = cells.counts & (cells.row == row)
        mask = jnp.where(
            here, np.uint32(1) << (cells.column % half).astype(jnp.uint32), np.uint32(0)
        )
        side = cells.column >= half
        hidden = [jnp.where(side, 0, mask).sum(), jnp.where(side, mask, 0).sum()]
        valid = valid & ~jnp.stack(hidden)
    column = masked_choice.select_bit(valid[0], valid[1], rank_in_row, half)
    cell = row * MAP_SIZE[1] + column

    def exact(cell, plane, taken):
        mask = _has(plane, mob_class).reshape(-1)
        for cells in taken:
            number_of = cells.row * MAP_SIZE[1] + cells.column
            free = jnp.where(cells.counts, number_of, mask.size)
            mask = mask.at[free].set(False, mode="drop")
        return sampling.choose_at(number, mask).astype(cell.dtype)

    doubtful = appears & masked_choice.is_doubtful(total, number)
    cell = when_any(doubtful, exact, cell, plane, taken)
    return cell // MAP_SIZE[1], cell % MAP_SIZE[1]


def _fill_slots(mobs: Mobs, new: Taken, kinds: jax.Array, health_multiplier: jax.Array) -> Mobs:
    """A new mob in the first free slot of its class. The kind is written even if nothing appears,
    as published; with all slots full, to the class's first.

    Args:
        mobs: those there are.
        new: the cells (3,) of the classes' new mobs, and which appear.
        kinds: (3,) int32.
        health_multiplier: () float32.
    """
    mob_class = mobs.mob_class
    before = (mob_class[:, None] == mob_class) & np.tri(len(mob_class), k=-1, dtype=bool)
    free = ~mobs.alive
    is_first = ~(before & free).any(axis=1)
    is_full = ~((mob_class[:, None] == mob_class) & free).any(axis=1)
    slot = jnp.where(is_full, ~before.any(axis=1), free & is_first)
    appears = slot & new.counts[mob_class]
    kind = kinds[mob_class]
    health = jnp.asarray(MOB_HEALTH)[kind, mob_class] * health_multiplier
    return mobs.replace(
        position=jnp.where(appears[:, None], _cells(new)[mob_class], mobs.position),
        health=jnp.where(appears, health, mobs.health),
        alive=mobs.alive | appears,
        kind=jnp.where(slot, kind, mobs.kind),
    )


def _cells(taken: Taken) -> jax.Array:
    return jnp.stack([taken.row, taken.column], axis=-1)


def _has(bits: jax.Array, mob_class: jax.Array) -> jax.Array:
    return (bits >> mob_class.astype(jnp.uint8)) & 1 == 1


def _spread(bits: jax.Array) -> jax.Array:
    """Three bits as three counts of ten bits in one word."""
    bits = bits.astype(jnp.int32)
    return (bits & 1) | (bits & 2) << 9 | (bits & 4) << 18
