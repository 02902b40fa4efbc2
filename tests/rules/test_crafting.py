"""Recipes: price, role, place, result; diamonds need company at the same forge."""

import jax.numpy as jnp
import numpy as np
import pytest
from worlds import chance_of, edit, plain_state, run_rule, with_blocks

from alem_env.core import rng
from alem_env.core.enums import Achievement, Action, Block
from alem_env.core.params import StaticParams, make_params
from alem_env.core.recipes import RECIPES
from alem_env.rules import crafting

STATIC = StaticParams(num_agents=3)
WARRIOR, FORAGER, MINER = range(3)
STRICT = make_params(non_specialist_efficiency=0.0)  # specialists always, others never
SOLO = STRICT.replace(crafting_coordination_enabled=np.bool_(False))
KEY = jnp.array([1, 2], jnp.uint32)
MATERIALS = ("wood", "stone", "iron", "coal", "diamond")
craft = run_rule(lambda key, *args: crafting.craft(chance_of("craft", key, STATIC), *args, STATIC))


@pytest.fixture(scope="module")
def workshop():
    """All materials; players at (24, 24..26) share a table, a furnace and a forge."""
    state = plain_state(STATIC, **{f"inventory__{name}": 9 for name in MATERIALS})
    return with_blocks(
        state, r23_c25=Block.CRAFTING_TABLE, r25_c25=Block.FURNACE, r23_c24=Block.EPIC_FORGE
    )


def act(state, *actions, params=STRICT, key=KEY):
    return craft(key, state, jnp.array(actions, jnp.int32), params)


def changes(before, after):
    pairs = {n: (getattr(before, n), getattr(after, n)) for n in before.__dataclass_fields__}
    return {n: np.asarray(b - a).tolist() for n, (a, b) in pairs.items() if (a != b).any()}


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.action.name)
def test_each_recipe_takes_its_price_and_gives_its_result(workshop, recipe):
    agent = {0: FORAGER, 1: MINER, 2: WARRIOR}[recipe.role]
    actions = [0, 0, 0]
    actions[agent] = recipe.action
    after = act(workshop, *actions, params=SOLO)
    got = changes(workshop.inventory, after.inventory)
    row = np.arange(3) == agent
    want = {name: (-getattr(recipe, name) * row).tolist() for name in MATERIALS}
    for name in ("pickaxe", "sword", "arrows", "torches"):
        want[name] = (getattr(recipe, name) * row).tolist()
    want["armour"] = (recipe.armour * row[:, None] * np.array([1, 0, 0, 0])).tolist()
    assert got == {name: value for name, value in want.items() if np.any(value)}


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.action.name)
def test_one_unit_too_little_makes_nothing(workshop, recipe):
    agent = {0: FORAGER, 1: MINER, 2: WARRIOR}[recipe.role]
    actions = [0, 0, 0]
    actions[agent] = recipe.action
    for name in MATERIALS:
        price = getattr(recipe, name)
        if price:
            poor = edit(workshop, **{f"inventory__{name}": price - 1})
            after = act(poor, *actions, params=SOLO)
            assert changes(poor.inventory, after.inventory) == {}


def test_nothing_is_made_away_from_the_place(workshop):
    no_table = with_blocks(workshop, r23_c25=Block.GRASS)
    after = act(no_table, Action.MAKE_ARROW, Action.MAKE_WOOD_SWORD, Action.MAKE_IRON_PICKAXE)
    assert changes(no_table.inventory, after.inventory) == {}
    no_furnace = with_blocks(workshop, r25_c25=Block.GRASS)
    after = act(
        no_furnace, Action.MAKE_IRON_SWORD, Action.MAKE_IRON_ARMOUR, Action.MAKE_IRON_PICKAXE
    )
    assert changes(no_furnace.inventory, after.inventory) == {}


def test_other_roles_fail_when_their_efficiency_is_zero(workshop):
    after = act(workshop, Action.MAKE_WOOD_PICKAXE, Action.MAKE_STONE_SWORD, Action.MAKE_IRON_SWORD)
    assert changes(workshop.inventory, after.inventory) == {}


def test_other_roles_succeed_as_often_as_the_draw_says(workshop):
    params = make_params(non_specialist_efficiency=0.5)
    _, miner_key = rng.split_pair(KEY)
    lucky = np.asarray(rng.uniform(miner_key, (3,))) < 0.5
    lucky[MINER] = True
    after = act(workshop, *[Action.MAKE_WOOD_PICKAXE] * 3, params=params)
    assert np.asarray(after.inventory.pickaxe).tolist() == lucky.astype(int).tolist()


def test_worse_tools_are_not_made_and_armour_fills_the_first_gap(workshop):
    equipped = edit(workshop, inventory__pickaxe=2, inventory__armour=[1, 0, 1, 0])
    after = act(equipped, 0, Action.MAKE_IRON_ARMOUR, Action.MAKE_STONE_PICKAXE)
    assert np.asarray(after.inventory.armour[1]).tolist() == [1, 1, 1, 0]
    assert np.asarray(after.inventory.pickaxe).tolist() == [2, 2, 2]
    earned = np.argwhere(np.asarray(after.achievements)).tolist()
    assert earned == [[1, Achievement.MAKE_IRON_ARMOUR]]


def test_diamonds_need_two_of_the_same_wish_at_one_forge(workshop):
    alone = act(workshop, Action.MAKE_DIAMOND_ARMOUR, 0, 0)
    assert changes(workshop.inventory, alone.inventory) == {}
    assert int(alone.counters.craft_attempts) == 1
    assert int(alone.counters.craft_successes) == 0
    different = act(workshop, Action.MAKE_DIAMOND_ARMOUR, Action.MAKE_DIAMOND_SWORD, 0)
    assert changes(workshop.inventory, different.inventory) == {}
    together = act(workshop, Action.MAKE_DIAMOND_ARMOUR, Action.MAKE_DIAMOND_ARMOUR, 0)
    assert np.asarray(together.inventory.armour[:, 0]).tolist() == [2, 2, 0]
    assert int(together.counters.craft_successes) == 1
    assert int(together.counters.diamond_armours) == 1
    earned = np.asarray(together.achievements[:, Achievement.COORD_DIAMOND_ARMOUR])
    assert earned.tolist() == [True, True, False]


def test_two_forges_are_no_company(workshop):
    apart = edit(workshop, players__position=[[24, 24], [24, 34], [0, 0]])
    apart = with_blocks(apart, r23_c34=Block.EPIC_FORGE)
    after = act(apart, Action.MAKE_DIAMOND_ARMOUR, Action.MAKE_DIAMOND_ARMOUR, 0)
    assert changes(apart.inventory, after.inventory) == {}
