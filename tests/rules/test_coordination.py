"""Who gets through on cells that ask for company, and what company yields."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from alem_env.core.enums import Achievement
from alem_env.rules import coordination

ALL_SAME = np.ones((4, 4), bool)
APART = np.eye(4, dtype=bool)
UNLUCKY, LUCKY = 0.0, 0.9
together = jax.jit(coordination.together)


def check(acting, requirement, soft=False, same=ALL_SAME, roll=UNLUCKY, fail_chance=0.5):
    """`together` for four agents, as numpy."""
    sync = together(
        jnp.full(4, roll, jnp.float32),
        jnp.array(acting, bool),
        jnp.broadcast_to(jnp.asarray(requirement, jnp.int32), (4,)),
        jnp.broadcast_to(jnp.asarray(soft, bool), (4,)),
        same,
        jnp.float32(fail_chance),
    )
    return jax.tree.map(np.asarray, sync)


def test_cells_without_requirement_let_everyone_through():
    sync = check([1, 0, 1, 0], requirement=0)
    assert sync.succeeds.tolist() == [True, False, True, False]
    assert not sync.success.any() and not sync.attempt.any()
    assert sync.yields.tolist() == [1, 1, 1, 1]


def test_handed_over_cells_are_not_synchronous():
    sync = check([1, 1, 0, 0], requirement=-12)
    assert sync.succeeds.tolist() == [True, True, False, False]
    assert not sync.attempt.any() and (sync.yields == 1).all()


@pytest.mark.parametrize("agents, passes", [(1, False), (2, False), (3, True), (4, True)])
def test_hard_cells_need_their_number(agents, passes):
    acting = np.arange(4) < agents
    sync = check(acting, requirement=3, roll=LUCKY)
    assert sync.succeeds.tolist() == (acting & passes).tolist()
    assert sync.attempt.tolist() == acting.tolist()


@pytest.mark.parametrize("agents, yields", [(2, 3), (3, 6), (4, 10)])
def test_company_multiplies_the_yield(agents, yields):
    acting = np.arange(4) < agents
    sync = check(acting, requirement=2)
    assert (sync.yields[acting] == yields).all()
    assert (sync.yields[~acting] == 1).all()


def test_agents_on_other_cells_do_not_count():
    sync = check([1, 1, 1, 1], requirement=2, same=APART)
    assert not sync.succeeds.any()


def test_soft_cells_yield_to_one_by_luck_but_without_bonus():
    assert not check([1, 0, 0, 0], requirement=2, soft=True, roll=UNLUCKY).succeeds.any()
    sync = check([1, 0, 0, 0], requirement=2, soft=True, roll=LUCKY)
    assert sync.succeeds.tolist() == [True, False, False, False]
    assert sync.soft[0] and sync.alone[0] and not sync.enough[0]
    assert sync.yields[0] == 1


def test_soft_cells_never_refuse_enough_agents():
    sync = check([1, 1, 0, 0], requirement=2, soft=True, roll=UNLUCKY, fail_chance=1.0)
    assert sync.succeeds.tolist() == [True, True, False, False]
    assert sync.yields[:2].tolist() == [3, 3]
    assert not sync.alone.any()


def test_achievements_tell_soft_from_hard_and_two_from_three():
    requirement = jnp.array([2, 2, 3, 3])
    base = check([0, 0, 0, 0], requirement=0)
    yes = jnp.ones(4, bool)
    sync = dataclasses.replace(
        base,
        success=yes,
        soft=jnp.array([True, False, True, False]),
        agents=jnp.array([2, 2, 3, 3]),
    )
    earned = coordination.achievements(sync, requirement)
    names = [[a for a in earned if bool(earned[a][agent])] for agent in range(4)]
    assert names == [
        [Achievement.COORD_2_AGENTS_SOFT],
        [Achievement.COORD_2_AGENTS_HARD],
        [Achievement.COORD_3_AGENTS_SOFT],
        [Achievement.COORD_3_AGENTS_HARD],
    ]


def test_soft_achievement_needs_company():
    sync = check([1, 0, 0, 0], requirement=2, soft=True, roll=LUCKY)
    earned = coordination.achievements(sync, jnp.full(4, 2))
    assert not any(bool(who.any()) for who in earned.values())


def test_switched_off_everything_passes():
    acting = jnp.array([True, False])
    sync = coordination.no_coordination(acting, jnp.array([2, 2]), jnp.array([True, True]))
    assert sync.succeeds.tolist() == sync.attempt.tolist() == [True, False]
    assert sync.yields.tolist() == [1, 1] and not sync.success.any()
