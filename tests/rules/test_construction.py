"""Shelter, forge and beacon on construction sites."""

import jax.numpy as jnp
import numpy as np
import pytest
from worlds import MIDDLE, edit, plain_state, run_rule, with_blocks

from alem_env.core.enums import Achievement, Action, Block, Building
from alem_env.core.params import StaticParams
from alem_env.rules.construction import construct

STATIC = StaticParams(num_agents=3)
SHELTER, FORGE, BEACON = (
    int(a) for a in (Action.BUILD_SHELTER, Action.BUILD_FORGE, Action.BUILD_BEACON)
)
NOOP = int(Action.NOOP)
SITE = (MIDDLE, MIDDLE)
RICH = dict(inventory__wood=20, inventory__stone=20, inventory__iron=20, inventory__coal=20)
POOR = dict(inventory__wood=0, inventory__stone=0, inventory__iron=0, inventory__coal=0)
_construct = run_rule(lambda s, a: construct(s, a, STATIC))


def build(state, *actions):
    return _construct(state, jnp.array(actions, jnp.int32))


def at_site(requirement=2, soft=False, block=Block.CONSTRUCTION_SITE, **edits):
    """All three agents stand around one site and face it, with materials in plenty."""
    state = edit(
        plain_state(STATIC),
        players__position=np.array([[MIDDLE - 1, MIDDLE], [MIDDLE + 1, MIDDLE], [MIDDLE, 23]]),
        players__direction=np.array([4, 3, 2]),
        floor__sites__position=np.array([[3, 3], SITE] + [[0, 0]] * 10),
        **{**RICH, **edits},
    )
    cell = f"r{MIDDLE}_c{MIDDLE}"
    state = with_blocks(state, **{cell: block})
    state = with_blocks(state, "requirement", **{cell: requirement})
    return with_blocks(state, "soft", **{cell: soft})


def site(state, plane="block"):
    return int(getattr(state.floor, plane)[SITE])


def earned(state):
    return [{Achievement(int(a)).name for a in np.flatnonzero(row)} for row in state.achievements]


def spent(state):
    held = state.inventory
    return [20 - np.asarray(x) for x in (held.wood, held.stone, held.iron, held.coal)]


def test_a_hard_site_refuses_one_agent():
    after = build(at_site(), SHELTER, NOOP, NOOP)
    assert site(after) == Block.CONSTRUCTION_SITE and not np.any(spent(after))
    assert after.counters.construction_attempts == 1
    assert after.counters.construction_successes == 0


@pytest.mark.parametrize(
    "action, block, price, achievement",
    [
        (SHELTER, Block.EPIC_SHELTER, [10, 5, 0, 0], "COORD_BUILD_SHELTER"),
        (FORGE, Block.EPIC_FORGE, [0, 10, 3, 2], "COORD_BUILD_FORGE"),
        (BEACON, Block.EPIC_BEACON, [0, 0, 3, 2], "COORD_BUILD_BEACON"),
    ],
)
def test_two_agents_build_and_the_first_who_can_pays(action, block, price, achievement):
    state = at_site(
        inventory__wood=np.array([0, 20, 20]), inventory__stone=np.array([0, 20, 20]),
        inventory__coal=np.array([0, 20, 20]),
    )  # fmt: skip
    after = build(state, action, action, action)
    assert site(after) == block and site(after, "requirement") == 0
    assert [int(x[1]) for x in spent(after)] == price
    assert not any(x[2] for x in spent(after))
    assert earned(after) == [{achievement}] * 3
    assert after.floor.sites.built.tolist()[:2] == [0, block - Block.EPIC_SHELTER + 1]
    assert after.counters.construction_successes == 1


def test_different_plans_do_not_add_up():
    after = build(at_site(), SHELTER, FORGE, NOOP)
    assert site(after) == Block.CONSTRUCTION_SITE and not np.any(spent(after))


def test_nobody_pays_nothing_is_built():
    after = build(at_site(**POOR), SHELTER, SHELTER, NOOP)
    assert site(after) == Block.CONSTRUCTION_SITE
    assert after.counters.construction_unfunded == 1
    assert after.counters.construction_attempts == 0


def test_one_agent_builds_a_soft_site_without_honours():
    after = build(at_site(soft=True), NOOP, NOOP, SHELTER)
    assert site(after) == Block.EPIC_SHELTER and site(after, "soft") == 0
    assert earned(after) == [set()] * 3 and after.counters.shelters_built == 1


def test_the_dearer_of_two_buildings_stands_on_a_soft_site():
    after = build(at_site(soft=True), FORGE, SHELTER, NOOP)
    assert site(after) == Block.EPIC_FORGE
    assert after.counters.shelters_built == after.counters.forges_built == 1
    assert after.floor.sites.built[1] == Building.SHELTER  # the last agent's, as published


def test_one_begins_and_another_completes():
    begun = build(at_site(requirement=-6), FORGE, FORGE, NOOP)
    assert site(begun) == Block.CONSTRUCTION_IN_PROGRESS and site(begun, "requirement") == -6
    assert [x.tolist() for x in spent(begun)] == [[0, 0, 0], [10, 0, 0], [3, 0, 0], [2, 0, 0]]
    assert begun.handovers.building[0] == Building.FORGE
    assert begun.handovers.deadline[0] == 107
    assert begun.counters.construction_handover_setups == 1

    wrong = build(begun, NOOP, SHELTER, NOOP)
    assert site(wrong) == Block.CONSTRUCTION_IN_PROGRESS and wrong.handovers.active[0]
    own = build(begun, FORGE, NOOP, NOOP)
    assert site(own) == Block.CONSTRUCTION_IN_PROGRESS

    done = build(begun, NOOP, FORGE, FORGE)
    assert site(done) == Block.EPIC_FORGE and site(done, "requirement") == 0
    assert not done.handovers.active.any()
    assert [x.tolist() for x in spent(done)] == [x.tolist() for x in spent(begun)]
    assert earned(done) == [
        {"HANDOVER_COMPLETE"}, {"HANDOVER_COMPLETE", "COORD_BUILD_FORGE"}, set(),
    ]  # fmt: skip


def test_beginning_takes_the_price():
    after = build(at_site(requirement=-6, **POOR), FORGE, NOOP, NOOP)
    assert site(after) == Block.CONSTRUCTION_SITE and not after.handovers.active.any()


def test_a_beacon_lights_a_dark_floor():
    dark = build(at_site(soft=True, floor_index=2), BEACON, NOOP, NOOP)
    assert dark.light[0][SITE] == 1.0 and not dark.light[1].any()
    day = build(at_site(soft=True), BEACON, NOOP, NOOP)
    assert not day.light.any()


def test_nothing_elsewhere():
    state = at_site(block=Block.STONE)
    after = build(state, SHELTER, SHELTER, SHELTER)
    assert site(after) == Block.STONE and not np.any(spent(after))
    assert after.counters.construction_unfunded == 0


def test_switched_off():
    static = StaticParams(num_agents=3, construction_enabled=False)
    state = at_site()
    assert construct(state, jnp.full(3, SHELTER), static) is state
