"""What chests hold, over many draws."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from worlds import edit, plain_state

from alem_env.core import rng
from alem_env.core.params import StaticParams, make_params
from alem_env.rules import chests

STATIC = StaticParams(num_agents=3)
HARD = StaticParams(num_agents=3, soft_specialization=False)
WARRIOR, FORAGER, MINER = range(3)
NUM_DRAWS = 2000
KEYS = rng.split(rng.words(rng.key(0)), NUM_DRAWS)


def loot_many(static):
    return jax.jit(
        lambda state, opens, params: jax.vmap(
            lambda key: chests.take(
                state.inventory,
                chests.loot(
                    key,
                    opens,
                    opens & ~state.floor.chest_opened,
                    state.players.specialization,
                    state.floor_index,
                    params,
                    static,
                ),
            )
        )(KEYS)
    )


soft, hard = loot_many(STATIC), loot_many(HARD)
PARAMS = make_params(non_specialist_efficiency=0.0)


@pytest.fixture(scope="module")
def found():
    opens = jnp.array([True, True, True])
    return jax.tree.map(np.asarray, hard(plain_state(HARD), opens, PARAMS))


def test_roles_find_what_is_theirs(found):
    for item in ("wood", "torches", "coal", "iron", "diamond", "sapphire", "ruby", "pickaxe"):
        counts = getattr(found, item)
        assert counts[:, MINER].any() and not counts[:, [WARRIOR, FORAGER]].any(), item
    assert found.arrows[:, WARRIOR].any() and not found.arrows[:, [FORAGER, MINER]].any()
    assert (found.potions[:, WARRIOR] == found.potions[:, MINER]).all()


@pytest.mark.parametrize(
    "item, agent, chance, amounts",
    [
        ("wood", MINER, 0.6, {1, 2, 3, 4, 5}),
        ("torches", MINER, 0.6, {4, 5, 6, 7}),
        ("coal", MINER, 0.18, {1, 2, 3}),
        ("iron", MINER, 0.18, {1, 2}),
        ("diamond", MINER, 0.09, {1}),
        ("sapphire", MINER, 0.075, {1}),
        ("ruby", MINER, 0.075, {1}),
        ("arrows", WARRIOR, 0.5, {4, 5, 6, 7, 8}),
        ("pickaxe", MINER, 0.1, {1, 2, 3, 4}),
    ],
)
def test_chances_and_amounts(found, item, agent, chance, amounts):
    counts = getattr(found, item)[:, agent]
    assert abs((counts > 0).mean() - chance) < 0.04
    assert set(np.unique(counts)) - {0} == amounts


def test_at_most_one_kind_of_potion(found):
    potions = found.potions[:, FORAGER]
    assert abs(potions.any(1).mean() - 0.5) < 0.04
    assert set(np.unique((potions > 0).sum(1))) == {0, 1}
    assert set(np.unique(potions)) == {0, 1, 2} and potions.any(0).all()


def test_soft_roles_share_by_luck():
    opens = jnp.array([True, True, True])
    found = soft(plain_state(STATIC), opens, make_params(non_specialist_efficiency=0.5))
    assert abs((found.wood[:, FORAGER] > 0).mean() - 0.3) < 0.04
    assert abs((found.wood[:, MINER] > 0).mean() - 0.6) < 0.04
    none = soft(plain_state(STATIC), opens, PARAMS)
    assert not none.wood[:, FORAGER].any()


def test_who_opens_nothing_keeps_everything():
    state = edit(plain_state(HARD), inventory__pickaxe=1, inventory__wood=7, floor_index=1)
    found = hard(state, jnp.array([False, False, False]), PARAMS)
    for before, after in zip(jax.tree.leaves(state.inventory), jax.tree.leaves(found), strict=True):
        assert (after == before).all()


def test_a_worse_pickaxe_is_left():
    state = edit(plain_state(HARD), inventory__pickaxe=3)
    found = hard(state, jnp.array([True] * 3), PARAMS)
    assert set(np.unique(found.pickaxe[:, MINER])) == {3, 4}


@pytest.mark.parametrize(
    "floor, opened, bow, book",
    [(1, False, 1, 0), (1, True, 0, 0), (3, False, 0, 1), (2, False, 0, 0)],
)
def test_first_chests_of_some_floors_hold_more(floor, opened, bow, book):
    state = edit(plain_state(HARD), floor_index=floor, floor__chest_opened=opened)
    found = hard(state, jnp.array([True, False, True]), PARAMS)
    assert (found.bow == np.array([bow, 0, 0])).all()
    assert (found.books == np.array([book, 0, book])).all()
