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
from jax import lax

from alem_env.core import struct
from alem_env.core.enums import Action, Block, Item, MobCoordination
from alem_env.core.params import EnvParams, StaticParams
from alem_env.core.state import MOVING_ORDER, Floor, Players, State, light_index
from alem_env.core.tables import MAP_SIZE, VIEW_SIZE
from alem_env.core.values import check_bits
from alem_env.observe.mask import action_mask
from alem_env.observe.numbers import numbers

VIEW_ROWS, VIEW_COLUMNS = VIEW_SIZE
NUM_CELLS = VIEW_ROWS * VIEW_COLUMNS
KINDS_PER_CLASS = 8
NO_ITEM_SHOWN = len(Item)  # rules 0.1.0 leave block ids in the item map
check_bits("an observed block", max(Block), 6)
check_bits("an observed item", NO_ITEM_SHOWN, 3)
LIGHT_THRESHOLD = 0.05
HANDOVER_STEPS_SHOWN = 15
NUM_REQUESTS = Action.REQUEST_SAPPHIRE - Action.REQUEST_FOOD + 1
NOWHERE = 127  # a cell that is not in view
_MESSAGE, _MESSAGES = 19, 63  # of `team`: lowest bit of the message, and its values
_FAR = -1000  # a row or column off every map and view


@struct.dataclass
class Observation:
    """One observation of each agent, packed; `unpack` names the bits. M mobs, P projectiles.

    674 bytes an agent for three agents and four channels.
    """

    ground: jax.Array  # (A, 9, 11) uint32, all 0 in the dark: see `_ground_codes`
    mobs: jax.Array  # (A, M) uint16: cell 0-6, channel 7-12, shown 13, requires 14, hard 15
    projectiles: jax.Array  # (A, P) uint16: cell 0-6, channel 7-12, shown 13
    handovers: jax.Array  # (A, H) uint16: cell 0-6, steps left (0 to 15) 7-10
    team: jax.Array  # (A, A) uint32, self first: see `_pack_team`
    health: jax.Array  # (A, A) float32, self first
    numbers: jax.Array  # (A, 45) int16, columns numbers.NUMBERS
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
    players = state.players
    codes = _ground_codes(state)
    slots, handovers = _slots(state.floor), state.handovers
    # As published: a handover just before the first row or column is shown on the far side.
    across = jnp.where(handovers.position < 0, np.array(MAP_SIZE), 0)
    # whatever has a cell is looked up at once
    things = [slots.position, handovers.position + across, players.position]
    position = jnp.concatenate(things)
    parts = np.cumsum([len(thing) for thing in things])[:-1]
    lit = jnp.split(_is_lit(codes, position), parts)
    places = [_Places(*p) for p in zip(
        *[jnp.split(field, parts, axis=1) for field in _places(position, players)], strict=True
    )]  # fmt: skip
    mobs, shots = _slot_lists(slots, places[0], lit[0])
    return Observation(
        ground=_ground(codes, players),
        mobs=mobs,
        projectiles=shots,
        handovers=_handover_list(state, things[1], places[1], lit[1]),
        team=_pack_team(players, places[2], lit[2]),
        health=players.health[team_order(static.num_agents)],
        numbers=numbers(state).astype(jnp.int16),
        daylight=jnp.broadcast_to(state.light_level, players.alive.shape),
        legal=action_mask(state, params, static),
    )


def unpack(obs: Observation) -> View:
    """Every field of an observation by name. Works on any leading axes."""
    ground = obs.ground.reshape(*obs.ground.shape[:-2], NUM_CELLS).astype(jnp.int32)
    lit = _bit(ground, _LIT)
    team = obs.team.astype(jnp.int32)
    mobs = obs.mobs.astype(jnp.int32)
    shots = obs.projectiles.astype(jnp.int32)
    handovers = obs.handovers.astype(jnp.int32)
    return View(
        block=ground & 63,
        item=(ground >> 6) & 7,
        lit=lit,
        soft=_bit(ground, 10),
        requirement=jnp.where(lit, (ground >> 11) - _REQUIREMENT_OFFSET, 0),
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
        mate_message=(team >> _MESSAGE) & _MESSAGES,
    )


def without_messages(obs: Observation) -> Observation:
    """The same observation, in which nobody has spoken. Works on any leading axes."""
    return obs.replace(team=obs.team & ~(_MESSAGES << _MESSAGE))


def team_order(num_agents: int) -> np.ndarray:
    """(A, A) int32: the players as each agent counts them, itself first, then by index."""
    agents = np.arange(num_agents)
    return np.array([[i, *np.delete(agents, i)] for i in agents], np.int32)


# --- The ground ---------------------------------------------------------------------------------

_LIT = 9
_REQUIREMENT_OFFSET = 64


def _ground_codes(state: State) -> jax.Array:
    """The team's floor (48, 48) uint32: block 0-5, item 6-8, lit 9, soft 10, requirement + 64 from
    bit 11; 0 where it is too dark to see anything.

    One pass over the floor is cheaper than looking up every plane for every agent.
    """
    floor, index = state.floor, light_index(state.floor_index)
    light = lax.dynamic_index_in_dim(state.light, jnp.maximum(index, 0), keepdims=False)
    lit = (index < 0) | (light > LIGHT_THRESHOLD)
    requirement = floor.requirement.astype(jnp.int32) + _REQUIREMENT_OFFSET
    code = (
        floor.block.astype(jnp.uint32)
        | jnp.minimum(floor.item, np.uint8(NO_ITEM_SHOWN)).astype(jnp.uint32) << np.uint32(6)
        | np.uint32(1 << _LIT)
        | floor.soft.astype(jnp.uint32) << np.uint32(10)
        | requirement.astype(jnp.uint32) << np.uint32(11)
    )
    return jnp.where(lit, code, np.uint32(0))


def _ground(codes: jax.Array, players: Players) -> jax.Array:
    """`Observation.ground`. Beyond the map it is dark."""
    rows, columns = VIEW_ROWS // 2, VIEW_COLUMNS // 2
    padded = jnp.pad(codes, ((rows, rows), (columns, columns)))
    return jax.vmap(lambda at: lax.dynamic_slice(padded, (at[0], at[1]), VIEW_SIZE))(
        players.position
    )


def _is_lit(codes: jax.Array, position: jax.Array) -> jax.Array:
    """Whether one can see what is on (n, 2) cells, on the map or not."""
    rows, columns = MAP_SIZE
    row, column = position[:, 0], position[:, 1]
    inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
    cell = jnp.clip(row, 0, rows - 1) * columns + jnp.clip(column, 0, columns - 1)
    code = codes.reshape(-1).at[cell].get(mode="promise_in_bounds", wrap_negative_indices=False)
    return inside & (code > 0)


# --- What stands or flies on it -----------------------------------------------------------------


class _Places(NamedTuple):
    """Where n cells lie in each agent's view, (A, n) each."""

    row: jax.Array  # from the view's upper left corner
    column: jax.Array
    in_view: jax.Array
    target: jax.Array  # cell that a write there reaches, -1 for none: the benchmark's indices wrap
    # below zero and are dropped beyond the edge


def _places(position: jax.Array, players: Players) -> _Places:
    row = position[:, 0] - players.position[:, 0, None] + VIEW_ROWS // 2
    column = position[:, 1] - players.position[:, 1, None] + VIEW_COLUMNS // 2
    wrapped_row = jnp.where(row < 0, row + VIEW_ROWS, row)
    wrapped_column = jnp.where(column < 0, column + VIEW_COLUMNS, column)
    writes = (wrapped_row >= 0) & (wrapped_row < VIEW_ROWS)
    writes &= (wrapped_column >= 0) & (wrapped_column < VIEW_COLUMNS)
    target = jnp.where(writes, wrapped_row * VIEW_COLUMNS + wrapped_column, -1)
    in_view = writes & (row >= 0) & (column >= 0)
    return _Places(row, column, in_view, target)


def _is_last(target: jax.Array) -> jax.Array:
    """(m, n) bool: of slots in a row of `target` (m, n) that write to one cell, the last, whose
    value stays.

    One term a slot rather than a reduction over pairs: that fuses into vector code. The barrier
    keeps the compiler from working out the targets anew in every term.
    """
    target = lax.optimization_barrier(target)
    slots = np.arange(target.shape[1])
    is_last = jnp.ones(target.shape, bool)
    for later in range(1, target.shape[1]):
        is_last &= (target != target[:, later, None]) | (slots >= later)
    return is_last


class _Slots(NamedTuple):
    """Mobs and projectiles: G groups of n slots each, the shorter ones filled up. (G * n, ...)"""

    position: jax.Array
    present: jax.Array
    channel: jax.Array
    coordination: jax.Array  # NORMAL for projectiles
    mobs: np.ndarray  # which slots are mobs', and which are projectiles', without those filled up
    projectiles: np.ndarray
    size: int  # n


def _slots(floor: Floor) -> _Slots:
    mobs = [floor.mobs.only(mob_class) for mob_class in MOVING_ORDER]
    shots = (floor.mob_projectiles, floor.player_projectiles)
    groups = [*mobs, *shots]
    size = max(len(group.kind) for group in groups)

    def fill(values, filler):
        missing = [(0, size - len(values))] + [(0, 0)] * (values.ndim - 1)
        return jnp.pad(values, missing, constant_values=filler)

    def join(values, filler):
        return jnp.concatenate([fill(value, filler) for value in values])

    real = np.stack([np.arange(size) < len(group.kind) for group in groups])
    is_mob = (np.arange(len(groups)) < len(mobs))[:, None]
    normal = jnp.full(size, int(MobCoordination.NORMAL))
    return _Slots(
        position=join([g.position for g in groups], _FAR),
        present=join([g.alive for g in mobs] + [g.active for g in shots], False),
        channel=join([g.kind + KINDS_PER_CLASS * k for k, g in enumerate(groups)], 0),
        coordination=join([g.coordination for g in mobs] + [normal] * len(shots), 0),
        mobs=np.flatnonzero(real & is_mob),
        projectiles=np.flatnonzero(real & ~is_mob),
        size=size,
    )


def _slot_lists(slots: _Slots, place: _Places, lit: jax.Array) -> tuple[jax.Array, jax.Array]:
    """`Observation.mobs` and `Observation.projectiles`."""
    visible = place.in_view & (slots.present & lit)
    # a slot that is hidden still writes; groups have channels of their own
    written = place.target * 64 + slots.channel
    shown = visible & _is_last(written.reshape(-1, slots.size)).reshape(visible.shape)
    # Only live mobs in view mark their cell, and no other slot takes a mark away.
    requires = visible & (slots.coordination > MobCoordination.NORMAL)
    hard = visible & (slots.coordination == MobCoordination.HARD)
    cell = jnp.where(visible, place.target, NOWHERE)
    words = _pack16(cell, slots.channel, shown, requires, hard)
    return words[:, slots.mobs], words[:, slots.projectiles]


def _handover_list(state: State, position, place: _Places, lit: jax.Array) -> jax.Array:
    """`Observation.handovers`; of several on one cell, the one with most time left is shown."""
    pending = state.handovers
    steps = jnp.clip(pending.deadline - state.timestep, 0, HANDOVER_STEPS_SHOWN)
    steps = jnp.where(pending.active, steps, 0)
    slots = np.arange(steps.shape[0])
    row, column = position[:, 0], position[:, 1]
    same = (row[:, None] == row) & (column[:, None] == column)
    beats = (steps > steps[:, None]) | ((steps == steps[:, None]) & (slots > slots[:, None]))
    shown = lit & ~(same & beats).any(-1)
    steps = jnp.where(place.in_view & shown, steps, 0)
    return (jnp.where(steps > 0, place.target, NOWHERE) | steps << 7).astype(jnp.uint16)


def _pack16(cell, channel, *flags) -> jax.Array:
    word = cell | channel << 7
    for bit, flag in enumerate(flags, start=13):
        word |= flag.astype(jnp.int32) << bit
    return word.astype(jnp.uint16)


# --- The team and the agent itself --------------------------------------------------------------


def _pack_team(players: Players, place: _Places, lit: jax.Array) -> jax.Array:
    """`Observation.team`: cell 0-6, alive shown 7, alive 8, direction 9-12, role 13-14,
    request 15-18, message 19-24; each row in the order of `team_order`.
    """
    agents = players.alive.shape[0]
    visible = place.in_view & lit
    alive_shown = visible & players.alive & _is_last(place.target)
    cell = jnp.where(visible, place.target, NOWHERE)
    direction = 3 * _side(place.row, VIEW_ROWS) + _side(place.column, VIEW_COLUMNS)

    request = players.request_type - (Action.REQUEST_FOOD - 1)
    asks = (players.request_duration > 0) & (request > 0) & (request <= NUM_REQUESTS)
    own = (
        players.alive.astype(jnp.int32) << 8
        | players.specialization << 13
        | jnp.where(asks, request, 0) << 15
        | (players.message + 1) << _MESSAGE
    )
    word = cell | alive_shown.astype(jnp.int32) << 7 | direction << 9 | own
    return word[np.arange(agents)[:, None], team_order(agents)].astype(jnp.uint32)


def _side(place: jax.Array, size: int) -> jax.Array:
    """0 within the view, 1 before it, 2 beyond it."""
    return jnp.where(place < 0, 1, jnp.where(place >= size, 2, 0))


def _bit(word: jax.Array, bit: int) -> jax.Array:
    return (word >> bit) & 1 > 0
