"""Limits and achievements for what is held at the end of a step."""

import numpy as np
import pytest
from worlds import edit, plain_state, run_rule

from alem_env.core.enums import Achievement
from alem_env.core.params import StaticParams, make_params
from alem_env.rules import achievements

STATIC = StaticParams(num_agents=3)
clip = run_rule(achievements.clip)
award = run_rule(achievements.award_inventory)


@pytest.fixture(scope="module")
def plain():
    return plain_state(STATIC)


def earned(state, agent):
    return {Achievement(i) for i in np.flatnonzero(np.asarray(award(state).achievements[agent]))}


@pytest.mark.parametrize(
    "name, achievement",
    [
        ("wood", "COLLECT_WOOD"), ("stone", "COLLECT_STONE"), ("coal", "COLLECT_COAL"),
        ("iron", "COLLECT_IRON"), ("diamond", "COLLECT_DIAMOND"), ("ruby", "COLLECT_RUBY"),
        ("sapphire", "COLLECT_SAPPHIRE"), ("sapling", "COLLECT_SAPLING"), ("bow", "FIND_BOW"),
        ("arrows", "MAKE_ARROW"), ("torches", "MAKE_TORCH"),
    ],
)  # fmt: skip
def test_holding_earns(plain, name, achievement):
    state = edit(plain, **{f"inventory__{name}": [1, 0, 0]})
    assert earned(state, 0) == {Achievement[achievement]}
    assert earned(state, 1) == set()


def test_a_better_tool_counts_for_the_lesser_ones(plain):
    state = edit(plain, inventory__pickaxe=[4, 2, 0], inventory__sword=[0, 1, 3])
    assert {a.name for a in earned(state, 0)} == {
        f"MAKE_{kind}_PICKAXE" for kind in ("WOOD", "STONE", "IRON", "DIAMOND")
    }
    assert {a.name for a in earned(state, 1)} == {
        "MAKE_WOOD_PICKAXE", "MAKE_STONE_PICKAXE", "MAKE_WOOD_SWORD",
    }  # fmt: skip
    assert {a.name for a in earned(state, 2)} == {
        f"MAKE_{kind}_SWORD" for kind in ("WOOD", "STONE", "IRON")
    }


def test_potions_books_and_armour_earn_nothing_here(plain):
    state = edit(plain, inventory__potions=1, inventory__books=1, inventory__armour=2)
    assert earned(state, 0) == set()


def test_earned_stays_earned(plain):
    state = edit(plain, achievements=True)
    assert bool(award(state).achievements.all())


def test_limits(plain):
    state = edit(
        plain, inventory__wood=[99, 100, 7], inventory__potions=120,
        players__health=[-2.0, 4.5, 30.0], players__strength=[1, 1, 3],
        players__food=[-1, 50, 50], players__drink=[50, 50, -4], players__energy=50,
        players__mana=[50, -1, 5], players__intelligence=2, players__dexterity=2,
    )  # fmt: skip
    after = clip(state, make_params())
    assert after.inventory.wood.tolist() == [99, 99, 7]
    assert int(after.inventory.potions.max()) == 99
    assert after.players.health.tolist() == [0.0, 4.5, 11.0]
    assert after.players.food.tolist() == [0, 33, 11]  # foragers hold three times as much
    assert after.players.drink.tolist() == [11, 33, 0]
    assert after.players.energy.tolist() == [11] * 3
    assert after.players.mana.tolist() == [12, 0, 5]


def test_god_mode_keeps_health(plain):
    state = edit(plain, players__health=[0.0, 3.0, 9.0])
    assert clip(state, make_params(god_mode=True)).players.health.tolist() == [9.0] * 3
