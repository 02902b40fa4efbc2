"""Handovers: one agent begins a task, another finishes it in time.

Mined blocks and construction sites share one table, `State.handovers`. A agents, H rows.
"""

import jax
import jax.numpy as jnp
import numpy as np

from alem_env.core.batch import when_any
from alem_env.core.enums import Block, Building
from alem_env.core.state import Handovers, State
from alem_env.rules.common import PRICED_GOODS, at, put, receive, refunds, same_cell


def expire(state: State) -> State:
    """Drops handovers that ran out of time.

    A begun building turns back to a site, and its price goes back to who began it.
    """
    table = state.handovers
    late = table.active & (table.deadline <= state.timestep)
    nothing = jnp.zeros((state.players.alive.shape[0], len(PRICED_GOODS)), jnp.int32)
    block, goods = when_any(late.any(), _revert, (state.floor.block, nothing), late, table)

    is_building = table.building != Building.NONE
    mined, built = jnp.stack([late & ~is_building, late & is_building]).sum(1, dtype=jnp.int32)
    return state.replace(
        floor=state.floor.replace(block=block),
        inventory=receive(state.inventory, goods),
        handovers=_clear(table, late),
        counters=state.counters.add(
            handover_expiries=mined + built,
            mine_handover_expiries=mined,
            construction_handover_expiries=built,
        ),
    )


def find(
    handovers: Handovers, position: jax.Array, timestep: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Rows that agents could complete: at the cell they face, in time, begun by another agent.

    Args:
        handovers: the table.
        position: (A, 2) int32.
        timestep: () int32.

    Returns:
        Whether there is such a row (A,) bool, and the first of them (A,) int32, H if none.
    """
    agents, num_rows = np.arange(position.shape[0]), handovers.active.shape[0]
    matches = (
        handovers.active
        & (handovers.deadline > timestep)
        & _are_at(handovers.position, position)
        & (handovers.initiator != agents[:, None])
    )  # (A, H)
    first = jnp.where(matches, np.arange(num_rows, dtype=np.int32), num_rows).min(axis=1)
    return first < num_rows, first


def first_of_row(completing: jax.Array, row: jax.Array) -> jax.Array:
    """(A,) bool: of the agents completing the same row, the first alone."""
    return completing & ~_any_earlier(completing[None, :] & (row[:, None] == row[None, :]))


def first_of_cell(same_cell: jax.Array) -> jax.Array:
    """(A,) bool: no earlier agent, acting or not, faces the same cell."""
    return ~_any_earlier(same_cell)


def update(
    handovers: Handovers,
    completing: jax.Array,
    row: jax.Array,
    beginning: jax.Array,
    position: jax.Array,
    deadline: jax.Array,
    building: jax.Array,
) -> tuple[Handovers, jax.Array]:
    """Frees completed rows, then fills free rows in agents' order.

    A cell has at most one row, whoever asks for a second; requests beyond the last row are lost.

    Args:
        handovers: the table.
        completing: (A,) bool, at most one agent a row.
        row: (A,) int32, the row completed.
        beginning: (A,) bool.
        position: (A, 2) int32.
        deadline: (A,) int32.
        building: (A,) int32, Building.

    Returns:
        The table, and the number of rows filled.
    """
    rows, begun = _update(
        _pack(handovers), completing, row, beginning, position, deadline, building
    )
    return _unpack(rows), begun


def _update(rows, completing, row, beginning, position, deadline, building):
    """`update` on the packed table: `rows` (H, 6) int32, all else as there.

    Returns:
        Rows (H, 6) int32, and () int32, the number of rows filled.
    """
    agents = np.arange(position.shape[0], dtype=np.int32)
    number = np.arange(rows.shape[0])
    freed = (completing[:, None] & (row[:, None] == number)).any(axis=0)
    rows = jnp.where(freed[:, None], 0, rows)
    active = rows[:, 0] > 0

    here = _are_at(rows[:, 1:3], position) & active  # (A, H)
    wants = beginning & ~here.any(axis=1)
    wants &= ~_any_earlier(same_cell(position) & wants[None, :])
    rank, turn = _num_earlier(~active), _num_earlier(wants)
    takes = wants[:, None] & ~active & (rank == turn[:, None])  # (A, H), one agent a row

    began = _pack(Handovers(jnp.ones_like(wants), position, deadline, agents, building))
    filled = takes.T.astype(jnp.int32) @ began
    return jnp.where(filled[:, :1] > 0, filled, rows), takes.sum(dtype=jnp.int32)


def hand_over_block(
    state: State, acting: jax.Array, position: jax.Array, requirement: jax.Array
) -> tuple[State, jax.Array, jax.Array]:
    """Begins or completes the handing over of blocks to be mined.

    Args:
        state: the world, with late handovers dropped.
        acting: (A,) bool, who acts on a block that is no construction.
        position: (A, 2) int32, cells.
        requirement: (A,) int32, negative where the block is handed over, within that many steps.

    Returns:
        The state, who completes (A,) bool, and who is let through (A,) bool: who completes, and
        all who act on other blocks.
    """
    handed = requirement < 0
    found, row = find(state.handovers, position, state.timestep)
    completing = first_of_row(acting & handed & found, row)
    beginning = acting & handed & ~found

    def run(table, completing, row, beginning, position, deadline):
        building = jnp.full_like(row, int(Building.NONE))
        return _update(table[0], completing, row, beginning, position, deadline, building)

    rows, begun = when_any(
        (completing | beginning).any(),
        run,
        (_pack(state.handovers), jnp.int32(0)),
        completing,
        row,
        beginning,
        position,
        state.timestep - requirement + 1,
    )
    completed = completing.sum(dtype=jnp.int32)
    counters = state.counters.add(
        handover_successes=completed, handover_setups=begun, mine_handover=completed
    )
    state = state.replace(handovers=_unpack(rows), counters=counters)
    return state, completing, jnp.where(handed, completing, acting)


def _revert(work, late, table):
    """The plane with sites where buildings (H,) are late, and the goods (A, 4) paid for them."""
    plane, goods = work
    block = at(plane, table.position)
    reverts = late & (block == Block.CONSTRUCTION_IN_PROGRESS)
    block = jnp.where(reverts, int(Block.CONSTRUCTION_SITE), block)
    goods = refunds(late, table.initiator, table.building, goods.shape[0])
    return put(plane, table.position, block), goods


# One array (H, 6) of the table: a fifth of the copies where it is changed as a whole.


def _pack(table: Handovers) -> jax.Array:
    columns = (table.active, *table.position.T, table.deadline, table.initiator, table.building)
    return jnp.stack([jnp.asarray(column, jnp.int32) for column in columns], axis=1)


def _unpack(rows: jax.Array) -> Handovers:
    return Handovers(rows[:, 0] > 0, rows[:, 1:3], rows[:, 3], rows[:, 4], rows[:, 5])


def _clear(table: Handovers, rows: jax.Array) -> Handovers:
    def zero(field):
        shape = (-1,) + (1,) * (field.ndim - 1)
        return jnp.where(rows.reshape(shape), jnp.zeros_like(field), field)

    return jax.tree.map(zero, table)


def _are_at(place: jax.Array, position: jax.Array) -> jax.Array:
    """(A, H) bool: which of places (H, 2) each cell (A, 2) is."""
    return (place[:, 0] == position[:, :1]) & (place[:, 1] == position[:, 1:])


def _any_earlier(pairs: jax.Array) -> jax.Array:
    """(A,) bool: some earlier agent j has pairs[i, j]."""
    agents = np.arange(pairs.shape[0])
    return (pairs & (agents[None, :] < agents[:, None])).any(axis=1)


def _num_earlier(marks: jax.Array) -> jax.Array:
    """(n,) int32: how many before each one are marked."""
    order = np.arange(marks.shape[0])
    return (marks[None, :] & (order[None, :] < order[:, None])).sum(axis=1, dtype=jnp.int32)
