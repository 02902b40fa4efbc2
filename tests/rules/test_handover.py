"""The table of handovers: beginning, completing, expiring."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from worlds import plain_state, run_rule, with_blocks

from alem_env.core.enums import Block, Building
from alem_env.core.params import StaticParams
from alem_env.rules import handover

STATIC = StaticParams(num_agents=3)
EMPTY = plain_state(STATIC).handovers
HERE = np.array([[20, 20], [20, 20], [20, 20]])
APART = np.array([[20, 20], [21, 20], [22, 20]])
NOW = 100

update = jax.jit(handover.update)
find = jax.jit(handover.find)
expire = run_rule(handover.expire)
hand_over = run_rule(handover.hand_over_block)


def begin(table, who, cells=APART, deadline=NOW + 5, building=0):
    zero = jnp.zeros(3, jnp.int32)
    return update(
        table, zero.astype(bool), zero, jnp.array(who, bool), jnp.asarray(cells, jnp.int32),
        zero + deadline, zero + building,
    )  # fmt: skip


def test_begun_tasks_fill_rows_in_agents_order():
    table, begun = begin(EMPTY, [0, 1, 1])
    assert begun == 2
    assert table.active.tolist() == [True, True] + [False] * 6
    assert table.initiator[:2].tolist() == [1, 2]
    assert table.position[:2].tolist() == APART[1:].tolist()
    assert table.deadline[:2].tolist() == [NOW + 5] * 2


def test_a_cell_gets_one_row():
    table, begun = begin(EMPTY, [1, 1, 1], cells=HERE)
    assert begun == 1 and int(table.active.sum()) == 1
    table, begun = begin(table, [0, 1, 0], cells=HERE)
    assert begun == 0 and int(table.active.sum()) == 1


def test_a_full_table_takes_no_more():
    full = EMPTY.replace(active=EMPTY.active.at[:].set(True).at[3].set(False))
    table, begun = begin(full, [1, 1, 1])
    assert begun == 1 and table.active.all()
    assert table.initiator[3] == 0 and table.position[3].tolist() == APART[0].tolist()


def test_a_completed_row_is_freed_before_rows_fill():
    table, _ = begin(EMPTY, [1, 1, 1])
    table, begun = update(
        table, jnp.array([False, False, True]), jnp.array([0, 0, 1], jnp.int32),
        jnp.array([True, False, False]), jnp.array([[5, 5], [0, 0], [0, 0]], jnp.int32),
        jnp.full(3, NOW + 9, jnp.int32), jnp.zeros(3, jnp.int32),
    )  # fmt: skip
    assert begun == 1
    assert table.position[:3].tolist() == [[20, 20], [5, 5], [22, 20]]


@pytest.mark.parametrize(
    "agent, now, expected", [(1, NOW, True), (0, NOW, False), (1, NOW + 5, False)]
)
def test_only_another_agent_in_time_can_complete(agent, now, expected):
    table, _ = begin(EMPTY, [1, 0, 0])
    found, row = find(table, jnp.asarray(HERE, jnp.int32), jnp.int32(now))
    assert bool(found[agent]) == expected
    if expected:
        assert row[agent] == 0


def test_one_agent_gets_the_credit():
    credit = handover.first_of_row(jnp.array([False, True, True]), jnp.array([0, 0, 0]))
    assert credit.tolist() == [False, True, False]


def test_first_to_act_begins_and_second_completes():
    state = plain_state(STATIC)
    cells = jnp.asarray(HERE, jnp.int32)
    window = jnp.full(3, -4, jnp.int32)
    state, completes, passes = hand_over(state, jnp.array([True, False, False]), cells, window)
    assert not completes.any() and not passes.any()
    assert state.handovers.deadline[0] == NOW + 5
    assert state.counters.handover_setups == 1 and state.counters.handover_successes == 0

    state, completes, passes = hand_over(state, jnp.array([False, True, True]), cells, window)
    assert completes.tolist() == passes.tolist() == [False, True, False]
    assert not state.handovers.active.any()
    assert state.counters.mine_handover == 1


def test_who_began_begins_again_when_acting_while_another_completes():
    # a quirk of the benchmark: the freed cell is taken again in the same step
    cells, window = jnp.asarray(HERE, jnp.int32), jnp.full(3, -4, jnp.int32)
    table, _ = begin(EMPTY, [1, 0, 0], cells=HERE)
    state = plain_state(STATIC).replace(handovers=table)
    state, completes, _ = hand_over(state, jnp.array([True, True, False]), cells, window)
    assert completes.tolist() == [False, True, False]
    assert state.handovers.active.tolist() == [True] + [False] * 7
    assert state.handovers.initiator[0] == 0


def test_other_blocks_pass():
    state = plain_state(STATIC)
    acting = jnp.array([True, False, True])
    after, completes, passes = hand_over(
        state, acting, jnp.asarray(APART, jnp.int32), jnp.array([0, 0, 2])
    )
    assert passes.tolist() == acting.tolist() and not completes.any()
    assert not after.handovers.active.any()


def late_state(building, block):
    state = with_blocks(plain_state(STATIC), r20_c20=block)
    table, _ = begin(EMPTY, [0, 1, 0], cells=HERE, deadline=NOW, building=building)
    return state.replace(handovers=table)


def test_late_building_reverts_and_is_paid_back():
    after = expire(late_state(Building.FORGE, Block.CONSTRUCTION_IN_PROGRESS))
    assert after.floor.block[20, 20] == Block.CONSTRUCTION_SITE
    assert after.inventory.stone.tolist() == [0, 10, 0]
    assert after.inventory.iron.tolist() == [0, 3, 0]
    assert after.inventory.coal.tolist() == [0, 2, 0]
    assert not after.inventory.wood.any()
    assert not after.handovers.active.any() and not after.handovers.building.any()
    assert after.counters.construction_handover_expiries == 1
    assert after.counters.mine_handover_expiries == 0


def test_late_mining_only_ends():
    before = late_state(Building.NONE, Block.STONE)
    after = expire(before)
    assert (after.floor.block == before.floor.block).all()
    assert not after.handovers.active.any() and not after.inventory.stone.any()
    assert after.counters.mine_handover_expiries == after.counters.handover_expiries == 1


def test_tasks_in_time_stay():
    state = plain_state(STATIC)
    table, _ = begin(EMPTY, [0, 1, 0], deadline=NOW + 1, building=Building.SHELTER)
    after = expire(state.replace(handovers=table))
    assert after.handovers.active.tolist() == table.active.tolist()
    assert not after.inventory.wood.any() and after.counters.handover_expiries == 0
