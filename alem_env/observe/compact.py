"""What each agent sees, in few bytes: the form that networks eat and rollouts store.

The published vector (`observe.dense`) is a 9 x 11 view with one-hot channels per cell and some
scalars. Here a cell's ground is a code, and whatever stands on the ground is kept as short lists
of (cell, channel), as the state has it, instead of planes that are nearly empty. The lists hold
exactly the ones of the published planes: the benchmark writes slots one after another, with
positions that wrap around the edge of the view, so that a dead or far slot can blank a visible one.
`unpack` gives every field a name.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from alem_env.core.enums import Action, Item, MobCoordination
from alem_env.core.params import EnvParams, StaticParams
from alem_env.core.state import Players, Projectiles, State, light_index
from alem_env.core.tables import MAP_SIZE, MONSTERS_TO_CLEAR_FLOOR, VIEW_SIZE
from alem_env.observe.mask import action_mask
from alem_env.rules.common import is_boss_vulnerable

VIEW_ROWS, VIEW_COLUMNS = VIEW_SIZE
NUM_CELLS = VIEW_ROWS * VIEW_COLUMNS
KINDS_PER_CLASS = 8
NO_ITEM_SHOWN = len(Item)  # rules 0.1.0 leave block ids in the item map
LIGHT_THRESHOLD = 0.05
HANDOVER_STEPS_SHOWN = 15
NUM_REQUESTS = Action.REQUEST_SAPPHIRE - Action.REQUEST_FOOD + 1
NOWHERE = 127  # a cell that is not in view

# Columns of `Observation.numbers`.
NUMBERS = (
    "wood", "stone", "coal", "iron", "diamond", "sapphire", "ruby", "sapling", "torches", "arrows",
    "books", "pickaxe", "sword", "sword_enchantment", "bow_enchantment", "bow",
    *(f"potion_{k}" for k in range(6)),
    "food", "drink", "energy", "mana", "xp", "dexterity", "strength", "intelligence", "direction",
    *(f"armour_{k}" for k in range(4)), *(f"armour_enchantment_{k}" for k in range(4)),
    "sleeping", "resting", "learned_spell", "floor", "floor_cleared", "boss_vulnerable",
)  # fmt: skip


@struct.dataclass
class Observation:
    """One observation of each agent, packed; `unpack` names the bits. M mobs, P projectiles.

    575 bytes an agent for three agents and four channels.
    """

    terrain: jax.Array  # (A, 9, 11) uint16: block 0-5, item 6-8, lit 9, soft 10
    requirement: jax.Array  # (A, 9, 11) int8, as `Floor.requirement`
    mobs: jax.Array  # (A, M) uint16: cell 0-6, channel 7-12, shown 13, requires 14, hard 15
    projectiles: jax.Array  # (A, P) uint16: cell 0-6, channel 7-12, shown 13
    handovers: jax.Array  # (A, H) uint16: cell 0-6, steps left (0 to 15) 7-10
    team: jax.Array  # (A, A) uint32, self first: see `_pack_team`
    health: jax.Array  # (A, A) float32, self first
    numbers: jax.Array  # (A, 45) int16, columns NUMBERS
    daylight: jax.Array  # (A,) float32
    legal: jax.Array  # (A, num_actions) bool


class View(NamedTuple):
    """The fields of an `Observation` by name; leading axes as there."""

    block: jax.Array  # (..., A, 99) int32; what is not lit is all zero
    item: jax.Array  # (..., A, 99) int32, NO_ITEM_SHOWN for none of Item
    lit: jax.Array  # (..., A, 99) bool
    soft: jax.Array  # (..., A, 99) bool
    requirement: jax.Array  # (..., A, 99) int32
    mob_cell: jax.Array  # (..., A, M) int32, NOWHERE if it is not in view
    mob_channel: jax.Array  # (..., A, M) int32, 8 * class + kind; melee 0, passive 1, ranged 2
    mob_shown: jax.Array  # (..., A, M) bool
    mob_requires: jax.Array  # (..., A, M) bool, cannot be fought like any other
    mob_hard: jax.Array  # (..., A, M) bool, cannot be hurt alone
    projectile_cell: jax.Array  # (..., A, P) int32
    projectile_channel: jax.Array  # (..., A, P) int32; mobs' 24 to 31, players' 32 to 39
    projectile_shown: jax.Array  # (..., A, P) bool
    handover_cell: jax.Array  # (..., A, H) int32
    handover_steps: jax.Array  # (..., A, H) int32, 0 where it is not shown
    mate_cell: jax.Array  # (..., A, A) int32
    mate_alive_shown: jax.Array  # (..., A, A) bool, the view's alive bit at that cell
    mate_alive: jax.Array  # (..., A, A) bool
    mate_direction: jax.Array  # (..., A, A) int32, 0 in view, 1 to 8 around it
    mate_role: jax.Array  # (..., A, A) int32, Specialization
    mate_request: jax.Array  # (..., A, A) int32, 0 none, 1 + what is asked for
    mate_message: jax.Array  # (..., A, A) int32, 0 none, 1 + channel


def observe(state: State, params: EnvParams, static: StaticParams) -> Observation:
    """The observation of every agent in one world."""
    players, floor = state.players, state.floor
    lit_map = _LitCells(state)
    terrain, requirement = _terrain(state, lit_map)
    mobs = [
        _mob_list(m, players, lit_map, k)
        for k, m in enumerate((floor.melee, floor.passive, floor.ranged))
    ]
    shots = [
        _projectile_list(p, players, lit_map, 3 + k)
        for k, p in enumerate((floor.mob_projectiles, floor.player_projectiles))
    ]
    order = team_order(static.num_agents)
    return Observation(
        terrain=terrain,
        requirement=requirement,
        mobs=jnp.concatenate(mobs, axis=1),
        projectiles=jnp.concatenate(shots, axis=1),
        handovers=_handover_list(state, lit_map),
        team=_pack_team(players, lit_map, order),
        health=players.health[order],
        numbers=_numbers(state),
        daylight=jnp.broadcast_to(state.light_level, players.alive.shape),
        legal=action_mask(state, params, static),
    )


def unpack(obs: Observation) -> View:
    """Every field of an observation by name. Works on any leading axes."""
    terrain = _flat_cells(obs.terrain).astype(jnp.int32)
    team = obs.team.astype(jnp.int32)
    mobs = obs.mobs.astype(jnp.int32)
    shots = obs.projectiles.astype(jnp.int32)
    handovers = obs.handovers.astype(jnp.int32)
    return View(
        block=terrain & 63,
        item=(terrain >> 6) & 7,
        lit=_bit(terrain, 9),
        soft=_bit(terrain, 10),
        requirement=_flat_cells(obs.requirement).astype(jnp.int32),
        mob_cell=mobs & 127,
        mob_channel=(mobs >> 7) & 63,
        mob_shown=_bit(mobs, 13),
        mob_requires=_bit(mobs, 14),
        mob_hard=_bit(mobs, 15),
        projectile_cell=shots & 127,
        projectile_channel=(shots >> 7) & 63,
        projectile_shown=_bit(shots, 13),
        handover_cell=handovers & 127,
        handover_steps=(handovers >> 7) & 15,
        mate_cell=team & 127,
        mate_alive_shown=_bit(team, 7),
        mate_alive=_bit(team, 8),
        mate_direction=(team >> 9) & 15,
        mate_role=(team >> 13) & 3,
        mate_request=(team >> 15) & 15,
        mate_message=(team >> 19) & 63,
    )


def team_order(num_agents: int) -> np.ndarray:
    """(A, A) int32: the players as each agent counts them, itself first, then by index."""
    agents = np.arange(num_agents)
    return np.array([[i, *np.delete(agents, i)] for i in agents], np.int32)


# --- The ground ---------------------------------------------------------------------------------


class _LitCells:
    """Whether cells of the team's floor are lit enough to see what is there."""

    def __init__(self, state: State):
        index = light_index(state.floor_index)
        self.is_day = index < 0
        self.light = state.light.reshape(-1)
        self.offset = jnp.maximum(index, 0) * (MAP_SIZE[0] * MAP_SIZE[1])

    def __call__(self, row: jax.Array, column: jax.Array) -> jax.Array:
        """Cells of any shape, on or off the map; beyond the map it is dark."""
        inside, flat = _on_map(row, column)
        return inside & (self.is_day | (_take(self.light, flat + self.offset) > LIGHT_THRESHOLD))


def _terrain(state: State, lit_map: _LitCells) -> tuple[jax.Array, jax.Array]:
    """`Observation.terrain` and `requirement`."""
    floor = state.floor
    corner = state.players.position - np.array(VIEW_SIZE) // 2
    row = corner[:, 0, None, None] + np.arange(VIEW_ROWS)[:, None]
    column = corner[:, 1, None, None] + np.arange(VIEW_COLUMNS)
    row, column = jnp.broadcast_arrays(row, column)
    _, flat = _on_map(row, column)
    lit = lit_map(row, column)

    def see(plane):
        return _take(plane.reshape(-1), flat)

    item = jnp.minimum(see(floor.item), np.uint8(NO_ITEM_SHOWN))
    code = see(floor.block).astype(jnp.uint16) | item.astype(jnp.uint16) << np.uint16(6)
    code |= see(floor.soft).astype(jnp.uint16) << np.uint16(10)
    code |= np.uint16(1 << 9)
    return jnp.where(lit, code, np.uint16(0)), jnp.where(lit, see(floor.requirement), np.int8(0))


def _on_map(row: jax.Array, column: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Whether cells are on the map, and their index into a flattened plane (clamped)."""
    rows, columns = MAP_SIZE
    inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
    flat = jnp.clip(row, 0, rows - 1) * columns + jnp.clip(column, 0, columns - 1)
    return inside, flat


def _take(flat_plane: jax.Array, index: jax.Array) -> jax.Array:
    return flat_plane.at[index].get(mode="promise_in_bounds", wrap_negative_indices=False)


# --- What stands or flies on it -----------------------------------------------------------------


def _local(position: jax.Array, players: Players) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Where (n, 2) cells lie in each agent's view.

    Returns:
        (A, n): the view's cell that a write there reaches (-1 for none: the benchmark's indices
        wrap below zero and drop beyond the edge), and whether the place is really in view;
        (A, n, 2): the place relative to the view's corner.
    """
    size = np.array(VIEW_SIZE)
    place = position[None, :, :] - players.position[:, None, :] + size // 2
    in_view = ((place >= 0) & (place < size)).all(-1)
    wrapped = jnp.where(place < 0, place + size, place)
    writes = ((wrapped >= 0) & (wrapped < size)).all(-1)
    cell = jnp.where(writes, wrapped[..., 0] * VIEW_COLUMNS + wrapped[..., 1], -1)
    return cell, in_view, place


def _is_last(target: jax.Array) -> jax.Array:
    """(A, n) bool: no later slot writes to the same target (A, n).

    One term a slot rather than a reduction over pairs: that fuses into vector code.
    """
    slots = np.arange(target.shape[1])
    is_last = jnp.ones(target.shape, bool)
    for later in range(1, target.shape[1]):
        is_last &= (target != target[:, later, None]) | (slots >= later)
    return is_last


def _slot_list(position, present, channel, players, lit_map):
    """Cell, channel and visibility (A, n) of slots that may be in view, and which are shown."""
    cell, in_view, _ = _local(position, players)
    visible = in_view & present
    shown = visible & _is_last(cell * 64 + channel)
    lit = lit_map(position[:, 0], position[:, 1])
    visible, shown = visible & lit, shown & lit
    return jnp.where(visible, cell, NOWHERE), visible, shown


def _mob_list(mobs, players: Players, lit_map: _LitCells, mob_class: int) -> jax.Array:
    channel = mobs.kind + KINDS_PER_CLASS * mob_class
    cell, visible, shown = _slot_list(mobs.position, mobs.alive, channel, players, lit_map)
    # Only live mobs that are in view mark their cell, and no other slot takes a mark away.
    requires = visible & (mobs.coordination > MobCoordination.NORMAL)
    hard = visible & (mobs.coordination == MobCoordination.HARD)
    return _pack16(cell, channel, shown, requires, hard)


def _projectile_list(shots: Projectiles, players, lit_map: _LitCells, shot_class: int) -> jax.Array:
    channel = shots.kind + KINDS_PER_CLASS * shot_class
    cell, _, shown = _slot_list(shots.position, shots.active, channel, players, lit_map)
    return _pack16(cell, channel, shown)


def _handover_list(state: State, lit_map: _LitCells) -> jax.Array:
    """Of several handovers on one cell, the one with most time left is shown."""
    pending = state.handovers
    steps = jnp.clip(pending.deadline - state.timestep, 0, HANDOVER_STEPS_SHOWN)
    steps = jnp.where(pending.active, steps, 0)
    slots = np.arange(steps.shape[0])
    same = (pending.position[:, None] == pending.position[None, :]).all(-1)
    beats = (steps[None, :] > steps[:, None]) | (
        (steps[None, :] == steps[:, None]) & (slots[None, :] > slots[:, None])
    )
    lit = lit_map(pending.position[:, 0], pending.position[:, 1])
    steps = jnp.where(lit & ~(same & beats).any(-1), steps, 0)
    cell, in_view, _ = _local(pending.position, state.players)
    cell = jnp.where(in_view & (steps > 0), cell, NOWHERE)
    return (cell | jnp.where(in_view, steps, 0) << 7).astype(jnp.uint16)


def _pack16(cell, channel, *flags) -> jax.Array:
    word = cell | channel << 7
    for bit, flag in enumerate(flags, start=13):
        word |= flag.astype(jnp.int32) << bit
    return word.astype(jnp.uint16)


# --- The team and the agent itself --------------------------------------------------------------


def _pack_team(players: Players, lit_map: _LitCells, order: np.ndarray) -> jax.Array:
    """`Observation.team` (A, A): cell 0-6, alive shown 7, alive 8, direction 9-12, role 13-14,
    request 15-18, message 19-24; each row in the order of `team_order`.
    """
    agents = order.shape[0]
    lit = lit_map(players.position[:, 0], players.position[:, 1])
    cell, in_view, place = _local(players.position, players)
    side = jnp.where(place < 0, 1, jnp.where(place >= np.array(VIEW_SIZE), 2, 0))
    direction = side[..., 0] * 3 + side[..., 1]
    visible = in_view & lit
    alive_shown = visible & players.alive & _is_last(cell)

    request = players.request_type - (Action.REQUEST_FOOD - 1)
    asks = (players.request_duration > 0) & (request > 0) & (request <= NUM_REQUESTS)
    own = (
        players.alive.astype(jnp.int32) << 8
        | players.specialization << 13
        | jnp.where(asks, request, 0) << 15
        | (players.message + 1) << 19
    )
    word = jnp.where(visible, cell, NOWHERE) | alive_shown.astype(jnp.int32) << 7 | direction << 9
    word |= own
    return word[np.arange(agents)[:, None], order].astype(jnp.uint32)


def _numbers(state: State) -> jax.Array:
    """`Observation.numbers`."""
    players, bag, floor = state.players, state.inventory, state.floor
    team = dict(
        floor=state.floor_index,
        floor_cleared=floor.monsters_killed >= MONSTERS_TO_CLEAR_FLOOR,
        boss_vulnerable=is_boss_vulnerable(state),
    )
    slots = dict(
        potion=bag.potions, armour=bag.armour, armour_enchantment=players.armour_enchantment
    )
    columns = []
    for name in NUMBERS:
        stem, _, slot = name.rpartition("_")
        if name in team:
            column = jnp.broadcast_to(team[name], players.alive.shape)
        elif slot.isdigit():
            column = slots[stem][:, int(slot)]
        else:
            column = getattr(bag if hasattr(bag, name) else players, name)
        columns.append(column.astype(jnp.int16))
    return jnp.stack(columns, axis=-1)


def _flat_cells(plane: jax.Array) -> jax.Array:
    return plane.reshape(*plane.shape[:-2], NUM_CELLS)


def _bit(word: jax.Array, bit: int) -> jax.Array:
    return (word >> bit) & 1 > 0
