"""What may be put where, who pays, and what is in the way."""

import jax.numpy as jnp
import numpy as np
import pytest
from worlds import chance_of, edit, plain_state, run_rule, with_blocks, with_mob

from alem_env.core.enums import Achievement, Action, Block, Item
from alem_env.core.params import StaticParams, make_params
from alem_env.core.tables import TORCH_LIGHT
from alem_env.rules import placing

STATIC = StaticParams(num_agents=3)
MINER = 2
PARAMS = make_params(non_specialist_efficiency=0.0)
KEY = jnp.array([1, 2], jnp.uint32)
STATIC_010 = StaticParams(rules_version="0.1.0")


def _rule(static):
    return run_rule(
        lambda key, *args: placing.place(chance_of("place", key, static), *args, static)
    )


place, place_010 = _rule(STATIC), _rule(STATIC_010)


@pytest.fixture(scope="module")
def rich():
    """Everyone holds everything, looks down, and has grass in front: (25, 24) to (25, 26)."""
    names = ("wood", "stone", "torches", "sapling")
    return plain_state(STATIC, **{f"inventory__{name}": 5 for name in names})


def act(state, *actions, rule=place):
    return rule(KEY, state, jnp.array(actions, jnp.int32), PARAMS)


def front(state):
    return np.asarray(state.floor.block[25, 24:27]).tolist()


def face_one_cell(state):
    """Players 0 and 1 stand left and right of (24, 25)'s neighbour and both look at (25, 25)."""
    return edit(
        state,
        players__position=[[25, 24], [25, 26], [24, 25]],
        players__direction=[2, 1, 4],
    )


def test_each_thing_lands_in_front_and_is_paid(rich):
    after = act(rich, Action.PLACE_TABLE, Action.PLACE_FURNACE, Action.PLACE_STONE)
    assert front(after) == [Block.CRAFTING_TABLE, Block.FURNACE, Block.STONE]
    assert np.asarray(after.inventory.wood).tolist() == [3, 5, 5]
    assert np.asarray(after.inventory.stone).tolist() == [5, 4, 4]
    earned = np.argwhere(np.asarray(after.achievements)).tolist()
    assert earned == [
        [0, Achievement.PLACE_TABLE],
        [1, Achievement.PLACE_FURNACE],
        [2, Achievement.PLACE_STONE],
    ]
    unchanged = np.asarray(after.floor.block == rich.floor.block)
    assert unchanged.sum() == 48 * 48 - 3


def test_torch_and_sapling(rich):
    after = act(rich, Action.PLACE_TORCH, Action.PLACE_PLANT, 0)
    assert int(after.floor.item[25, 24]) == Item.TORCH
    assert front(after) == [Block.GRASS, Block.PLANT, Block.GRASS]
    assert np.asarray(after.inventory.torches).tolist() == [4, 5, 5]
    assert np.asarray(after.inventory.sapling).tolist() == [5, 4, 5]
    assert bool(after.plants.growing[0]) and after.plants.position[0].tolist() == [25, 25]
    assert int(after.plants.growing.sum()) == 1


def test_without_material_or_role_nothing_is_placed(rich):
    poor = edit(rich, inventory__wood=1, inventory__stone=0)
    assert (
        front(act(poor, Action.PLACE_TABLE, Action.PLACE_FURNACE, Action.PLACE_STONE))
        == [Block.GRASS] * 3
    )
    assert front(act(rich, Action.PLACE_STONE, Action.PLACE_STONE, 0)) == [Block.GRASS] * 3


@pytest.mark.parametrize(
    "terrain, lands",
    [
        (Block.WATER, {Action.PLACE_STONE}),
        (Block.LAVA, {Action.PLACE_STONE}),
        (Block.TREE, set()),
        (Block.SAND, {Action.PLACE_TABLE, Action.PLACE_FURNACE, Action.PLACE_STONE}),
    ],
)
def test_terrain_decides(rich, terrain, lands):
    state = with_blocks(rich, r25_c26=terrain)
    for action in (
        Action.PLACE_TABLE, Action.PLACE_FURNACE, Action.PLACE_STONE, Action.PLACE_PLANT,
    ):  # fmt: skip
        changed = front(act(state, 0, 0, action))[MINER] != terrain
        assert changed == (action in lands), action.name


def test_old_rules_refuse_stone_on_lava_only(rich):
    lava, water = (with_blocks(rich, r25_c26=b) for b in (Block.LAVA, Block.WATER))
    assert front(act(lava, 0, 0, Action.PLACE_STONE, rule=place_010))[MINER] == Block.LAVA
    assert front(act(water, 0, 0, Action.PLACE_STONE, rule=place_010))[MINER] == Block.STONE


def test_mobs_players_items_and_the_rim_are_in_the_way(rich):
    mob = with_mob(rich, "passive", 0, (25, 26))
    player = edit(rich, players__position=[[25, 26], [24, 25], [24, 26]])
    item = with_blocks(rich, "item", r25_c26=Item.LADDER_DOWN)
    rim = edit(rich, players__position=[[24, 24], [24, 25], [47, 26]])
    for state in (mob, player, item, rim):
        after = act(state, 0, 0, Action.PLACE_STONE)
        np.testing.assert_array_equal(after.floor.block, state.floor.block)
        assert int(after.inventory.stone[MINER]) == 5


def test_two_players_pay_for_one_table_but_one_torch(rich):
    state = face_one_cell(rich)
    tables = act(state, Action.PLACE_TABLE, Action.PLACE_TABLE, 0)
    assert np.asarray(tables.inventory.wood).tolist() == [3, 3, 5]
    torches = act(state, Action.PLACE_TORCH, Action.PLACE_TORCH, 0)
    assert np.asarray(torches.inventory.torches).tolist() == [4, 5, 5]
    plants = act(state, Action.PLACE_PLANT, Action.PLACE_PLANT, 0)
    assert np.asarray(plants.inventory.sapling).tolist() == [4, 5, 5]


def test_tables_come_before_furnaces_whoever_places_them(rich):
    after = act(face_one_cell(rich), Action.PLACE_FURNACE, Action.PLACE_TABLE, 0)
    assert int(after.floor.block[25, 25]) == Block.CRAFTING_TABLE
    assert np.asarray(after.inventory.stone).tolist() == [5, 5, 5]


def test_saplings_take_free_slots_in_order_and_stop_when_full(rich):
    growing = np.ones(STATIC.max_plants, bool)
    growing[[4, 7]] = False
    state = edit(rich, plants__growing=growing, plants__age=9)
    after = act(state, *[Action.PLACE_PLANT] * 3)
    assert front(after) == [Block.PLANT, Block.PLANT, Block.GRASS]
    assert after.plants.position[jnp.array([4, 7])].tolist() == [[25, 24], [25, 25]]
    assert np.asarray(after.plants.age)[[3, 4, 7]].tolist() == [9, 0, 0]
    assert np.asarray(after.inventory.sapling).tolist() == [4, 4, 5]


def test_torches_light_dark_floors_only(rich):
    dark = edit(rich, floor_index=5)  # second of the dark floors
    after = act(dark, Action.PLACE_TORCH, 0, 0)
    np.testing.assert_array_equal(after.light[1, 21:30, 20:29], TORCH_LIGHT)
    assert float(after.light.sum()) == pytest.approx(float(TORCH_LIGHT.sum()), rel=1e-5)
    lit = act(rich, Action.PLACE_TORCH, 0, 0)
    assert float(lit.light.sum()) == 0.0


def test_torch_light_ends_at_the_rim_and_never_exceeds_one(rich):
    corner = edit(rich, floor_index=5, players__position=[[0, 1], [0, 3], [9, 9]],
                  players__direction=[1, 1, 1])  # fmt: skip
    after = act(corner, Action.PLACE_TORCH, Action.PLACE_TORCH, 0)
    light = np.asarray(after.light[1])
    assert light.max() == 1.0
    assert light[40:].sum() == 0.0 and light[:, 40:].sum() == 0.0
    both = np.clip(TORCH_LIGHT[4, 4] + TORCH_LIGHT[4, 2], 0, 1)
    assert light[0, 0] == pytest.approx(both)
