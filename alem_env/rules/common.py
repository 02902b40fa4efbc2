"""Small questions that several rules ask. Shapes: A agents, n positions."""

import jax
import jax.numpy as jnp
import numpy as np

from alem_env.core.enums import Achievement, Action, Block, MobClass, Specialization
from alem_env.core.state import NUM_ACHIEVEMENTS, Floor, Inventory, Players, State
from alem_env.core.tables import (
    BOSS_FLOOR,
    BUILDING_COST,
    DIRECTIONS,
    MAP_SIZE,
    MAX_STACK,
    NEIGHBOURS,
    SOLID,
)
from alem_env.core.values import check_bits

# in the order of the actions that ask for them, after food and drink
MATERIALS_ASKED = ("wood", "stone", "iron", "coal", "diamond", "ruby", "sapphire")
NOWHERE_NEAR = len(NEIGHBOURS)


def facing(players: Players) -> jax.Array:
    """Cell (A, 2) in front of each player; may lie outside the map."""
    return players.position + jnp.asarray(DIRECTIONS)[players.direction]


def in_bounds(position: jax.Array) -> jax.Array:
    """Whether each of (..., 2) cells is on the map."""
    row, column = position[..., 0], position[..., 1]
    return (row >= 0) & (row < MAP_SIZE[0]) & (column >= 0) & (column < MAP_SIZE[1])


def at(plane: jax.Array, position: jax.Array) -> jax.Array:
    """Values of a plane (48, 48) at cells (..., 2). -1 wraps, beyond the map reads the rim."""
    return plane[position[..., 0], position[..., 1]]


def put(plane: jax.Array, position: jax.Array, value: jax.Array) -> jax.Array:
    """`plane` with values (n,) written at cells (n, 2). -1 wraps, beyond the map nothing is
    written, and of several values for one cell the last wins (on CPU).
    """
    value = value.astype(plane.dtype)
    return plane.at[position[..., 0], position[..., 1]].set(value)


def same_cell(position: jax.Array) -> jax.Array:
    """(n, n) bool: which of (n, 2) cells coincide."""
    return (position[:, None] == position[None, :]).all(-1)


def neighbour_blocks(floor: Floor, position: jax.Array) -> jax.Array:
    """Blocks (A, 8) uint8 around each of (A, 2) cells, INVALID outside the map."""
    cells = position[:, None, :] + jnp.asarray(NEIGHBOURS)
    return jnp.where(in_bounds(cells), at(floor.block, cells), np.uint8(Block.INVALID))


def is_near(blocks_around: jax.Array, block: Block) -> jax.Array:
    """(A,) bool: `block` is among `neighbour_blocks(...)` (A, 8)."""
    return (blocks_around == np.uint8(block)).any(-1)


def first_near(blocks_around: jax.Array, *blocks: Block) -> jax.Array:
    """Place (A, K) among `neighbour_blocks(...)` (A, 8) of the first of each of K blocks.

    NOWHERE_NEAR where there is none. One pass, however many blocks are asked for.
    """
    found = blocks_around[:, :, None] == np.array(blocks, np.uint8)
    places = np.arange(NOWHERE_NEAR, dtype=np.int32)[:, None]
    return jnp.where(found, places, NOWHERE_NEAR).min(axis=1)


def is_solid(block: jax.Array) -> jax.Array:
    """Whether blocks of any shape cannot be walked through."""
    return jnp.asarray(SOLID)[block]


def is_occupied(floor: Floor, position: jax.Array) -> jax.Array:
    """Whether a live mob stands on each of (n, 2) cells; -1 wraps and beyond reads the rim."""
    rows, columns = MAP_SIZE
    size = jnp.asarray((rows, columns))
    cell = jnp.where(position < 0, position + size, position)
    cell = jnp.clip(cell, 0, size - 1)
    there = (cell[..., None, :] == floor.mobs.position).all(-1) & floor.mobs.alive
    return there.any(-1)


def cell_number(position: jax.Array) -> jax.Array:
    """One number for each of (..., 2) cells, on the map or within a thousand cells of it."""
    return position[..., 0] * 4096 + position[..., 1]


def is_in_player(players: Players, position: jax.Array) -> jax.Array:
    """Whether any player, dead or alive, is on each of (n, 2) cells."""
    return (position[..., None, :] == players.position).all(-1).any(-1)


def is_fighting_boss(state: State) -> jax.Array:
    return state.floor_index == BOSS_FLOOR


def is_boss_vulnerable(state: State) -> jax.Array:
    """No live melee or ranged mob on the floor, and no more of them to come."""
    mobs = state.floor.mobs
    monsters = mobs.alive & (mobs.mob_class != MobClass.PASSIVE)
    return ~monsters.any() & (state.boss_spawn_steps <= 0)


def has_beaten_boss(state: State) -> jax.Array:
    return state.boss_progress >= BOSS_FLOOR


def is_role(players: Players, role: Specialization) -> jax.Array:
    return players.specialization == int(role)


def max_health(players: Players) -> jax.Array:
    return 8 + players.strength


def max_food(players: Players) -> jax.Array:
    forager = is_role(players, Specialization.FORAGER)
    return (7 + 2 * players.dexterity) * (1 + 2 * forager)


max_drink = max_food


def max_energy(players: Players) -> jax.Array:
    return 7 + 2 * players.dexterity


def max_mana(players: Players) -> jax.Array:
    return 6 + 3 * players.intelligence


def award_each(achievements: jax.Array, *earned: jax.Array) -> jax.Array:
    """Achievements (A, 93) with those that each player earned, (A,) int32 or NO_ACHIEVEMENT."""
    columns = np.arange(NUM_ACHIEVEMENTS)
    for achievement in earned:
        achievements = achievements | (achievement[:, None] == columns)
    return achievements


def award(achievements: jax.Array, earned: dict[Achievement, jax.Array]) -> jax.Array:
    """Achievements (A, 93) with each (A,) condition of `earned` or-ed into its column.

    One pass over the matrix, however many achievements are named (at most 31): an agent's
    conditions are the bits of one number, of which each column reads its own.
    """
    check_bits("the number of achievements awarded together", len(earned), 5)
    bit_of = np.full(NUM_ACHIEVEMENTS, 31, np.int32)  # a bit that is never set
    bit_of[[int(a) for a in earned]] = np.arange(len(earned))
    bits = jnp.zeros(achievements.shape[0], jnp.int32)
    for bit, condition in enumerate(earned.values()):
        bits |= condition.astype(jnp.int32) << bit
    return achievements | ((bits[:, None] >> bit_of) & 1 > 0)


PRICED_GOODS = ("wood", "stone", "iron", "coal")  # columns of BUILDING_COST


def refunds(refund: jax.Array, initiator: jax.Array, building: jax.Array, agents: int):
    """Goods (A, 4) that get back to `initiator` (H,) of buildings (H,) where `refund` (H,)."""
    price = jnp.asarray(BUILDING_COST)[building] * refund[:, None]  # (H, 4)
    to_agent = initiator[None, :] == np.arange(agents)[:, None]  # (A, H)
    return to_agent.astype(price.dtype) @ price


def receive(inventory: Inventory, goods: jax.Array) -> Inventory:
    """Inventory with goods (A, 4) added, in the order of PRICED_GOODS."""
    return inventory.replace(
        **{good: getattr(inventory, good) + goods[:, k] for k, good in enumerate(PRICED_GOODS)}
    )


def cap_stacks(inventory: Inventory) -> Inventory:
    return jax.tree.map(lambda count: jnp.minimum(count, MAX_STACK), inventory)


def goods_wanted(state: State) -> tuple[jax.Array, jax.Array]:
    """How much of each good players hold, and which they ask for and have room for: (A, 9) both.

    Goods are food, drink and MATERIALS_ASKED. A player asks for one at most.
    """
    players, inventory = state.players, state.inventory
    goods = 2 + len(MATERIALS_ASKED)
    held = jnp.stack(
        [players.food, players.drink, *(getattr(inventory, name) for name in MATERIALS_ASKED)],
        axis=-1,
    )
    needs = np.arange(goods) < 2  # food and drink, whose limits are alike
    limit = jnp.where(needs, max_food(players)[:, None], MAX_STACK)
    asked = players.request_type[:, None] - Action.REQUEST_FOOD == np.arange(goods)
    is_asking = (players.request_duration > 0) & players.alive
    return held, asked & is_asking[:, None] & (held < limit)
