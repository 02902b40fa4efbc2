"""Handovers: one agent begins a task, another finishes it in time.

Mined blocks and construction sites share one table, `State.handovers`. A agents, H rows.
"""

import jax
import jax.numpy as jnp
import numpy as np

from alem_env.core.batch import when_any
from alem_env.core.enums import Block, Building
from alem_env.core.state import Handovers, State
from alem_env.rules.common import at, pay_back, put


def expire(state: State) -> State:
    """Drops handovers that ran out of time.

    A begun building turns back to a site, and its price goes back to who began it.
    """
    work = (state.floor.block, state.inventory, state.handovers, state.counters)
    late = state.handovers.active & (state.handovers.deadline <= state.timestep)
    block, inventory, handovers, counters = when_any(late.any(), _expire, work, late)
    return state.replace(
        floor=state.floor.replace(block=block),
        inventory=inventory,
        handovers=handovers,
        counters=counters,
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
        Whether there is such a row (A,) bool, and the first of them (A,) int32.
    """
    agents = jnp.arange(position.shape[0])
    matches = (
        handovers.active
        & (handovers.deadline > timestep)
        & (handovers.position == position[:, None, :]).all(-1)
        & (handovers.initiator != agents[:, None])
    )  # (A, H)
    return matches.any(axis=1), jnp.argmax(matches, axis=1)


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
    agents = np.arange(position.shape[0], dtype=np.int32)
    rows = np.arange(handovers.active.shape[0])
    freed = (completing[:, None] & (row[:, None] == rows)).any(axis=0)
    used = handovers.active & ~freed

    same_cell = (position[:, None] == position[None]).all(-1)
    here = (handovers.position == position[:, None, :]).all(-1) & used  # (A, H)
    wants = beginning & ~here.any(axis=1)
    wants &= ~_any_earlier(same_cell & wants[None, :])
    free_before = (~used & (rows < rows[:, None])).sum(axis=1)  # (H,)
    takes = wants[:, None] & ~used & (free_before == _num_earlier(wants)[:, None])  # (A, H)

    # all columns at once: active, position, deadline, initiator, building
    old = _columns(handovers) * ~freed[:, None]
    new = _columns(Handovers(jnp.ones_like(wants), position, deadline, agents, building))
    new = (takes[:, :, None] * new[:, None, :]).sum(axis=0)  # (H, 6)
    table = jnp.where(new[:, :1] > 0, new, old)
    handovers = Handovers(table[:, 0] > 0, table[:, 1:3], *(table[:, k] for k in (3, 4, 5)))
    return handovers, takes.sum(dtype=jnp.int32)


def _columns(table: Handovers) -> jax.Array:
    columns = [table.active, *table.position.T, table.deadline, table.initiator, table.building]
    return jnp.stack([jnp.asarray(column, jnp.int32) for column in columns], axis=1)


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

    def run(work, completing, row, beginning, position, deadline):
        handovers, counters = work
        building = jnp.full_like(row, int(Building.NONE))
        handovers, begun = update(
            handovers, completing, row, beginning, position, deadline, building
        )
        completed = completing.sum(dtype=jnp.int32)
        return handovers, counters.replace(
            handover_successes=counters.handover_successes + completed,
            handover_setups=counters.handover_setups + begun,
            mine_handover=counters.mine_handover + completed,
        )

    handovers, counters = when_any(
        (completing | beginning).any(),
        run,
        (state.handovers, state.counters),
        completing,
        row.astype(jnp.int32),
        beginning,
        position,
        state.timestep - requirement + 1,
    )
    state = state.replace(handovers=handovers, counters=counters)
    return state, completing, jnp.where(handed, completing, acting)


def _expire(work, late):
    plane, inventory, table, counters = work
    block = at(plane, table.position)
    reverts = late & (block == Block.CONSTRUCTION_IN_PROGRESS)
    block = jnp.where(reverts, int(Block.CONSTRUCTION_SITE), block)
    built = late & (table.building != Building.NONE)
    buildings = built.sum(dtype=jnp.int32)
    mined = (late & ~built).sum(dtype=jnp.int32)
    return (
        put(plane, table.position, block),
        pay_back(inventory, late, table.initiator, table.building),
        _clear(table, late),
        counters.replace(
            handover_expiries=counters.handover_expiries + mined + buildings,
            mine_handover_expiries=counters.mine_handover_expiries + mined,
            construction_handover_expiries=counters.construction_handover_expiries + buildings,
        ),
    )


def _clear(table: Handovers, rows: jax.Array) -> Handovers:
    def zero(field):
        shape = (-1,) + (1,) * (field.ndim - 1)
        return jnp.where(rows.reshape(shape), jnp.zeros_like(field), field)

    return jax.tree.map(zero, table)


def _any_earlier(pairs: jax.Array) -> jax.Array:
    """(A,) bool: some earlier agent j has pairs[i, j]."""
    agents = jnp.arange(pairs.shape[0])
    return (pairs & (agents[None, :] < agents[:, None])).any(axis=1)


def _num_earlier(agents: jax.Array) -> jax.Array:
    """(A,) int32: how many agents before each one are marked."""
    order = jnp.arange(agents.shape[0])
    return (agents[None, :] & (order[None, :] < order[:, None])).sum(axis=1)
