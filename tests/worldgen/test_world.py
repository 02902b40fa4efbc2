"""Worlds against those of the benchmark: pinned digests, recordings, batch sizes, stream flags."""

import dataclasses

import jax
import numpy as np
import pytest
from protocol_worlds import DIFFICULTIES, STATIC, generate, generator, keys_of, pinned
from reference.digests import digest

from alem_env.core.enums import Block, Item
from alem_env.core.params import difficulty
from alem_env.core.tables import NUM_FLOORS
from alem_env.reference import from_reference
from alem_env.worldgen.biomes import DUNGEONS, TERRAINS
from alem_env.worldgen.terrain import start_cells


@pytest.fixture(scope="module")
def hard_worlds():
    return generate("rl", "hard")


@pytest.mark.parametrize("level", DIFFICULTIES)
def test_protocol_worlds_are_the_benchmarks(level):
    assert [digest(w) for w in generate("rl", level)] == pinned()[f"0.2.1/rl/{level}"]


def test_language_model_worlds_are_the_benchmarks():
    worlds = [digest(w) for w in generate("llm", "easy")]
    assert worlds == pinned()["0.2.1/llm/easy"]
    assert not set(worlds) & set(pinned()["0.2.1/rl/easy"])


def test_digests_see_single_cells_and_floats(hard_worlds):
    world = dict(hard_worlds[0])
    before = digest(world)
    for name, change in (("map", 1), ("light_map", -0.001), ("item_map", 1)):
        changed = world | {name: world[name].copy()}
        changed[name][5, 20, 20] += change
        assert digest(changed) != before


def test_a_new_world_makes_sense(hard_worlds):
    for world in hard_worlds:
        starts = tuple(start_cells(3).T)
        assert (world["map"][0][starts] == Block.GRASS).all()
        assert world["mob_map"].sum() == 0
        assert world["light_map"].min() >= 0 and world["light_map"].max() <= 1
        assert set(np.unique(world["item_map"])) <= set(Item) - {Item.LADDER_DOWN_BLOCKED}
        for floor, terrain in TERRAINS.items():
            allowed = terrain.blocks | {Block.CONSTRUCTION_SITE}
            assert set(np.unique(world["map"][floor])) <= allowed
        for floor in DUNGEONS:
            assert (world["map"][floor] == Block.CHEST).any()
        needs = world["coordination_map"]
        assert ((needs == 0) | (needs == 2) | (needs == 3) | ((needs <= -3) & (needs >= -6))).all()
        assert not (world["soft_coordination_mask"] & (needs <= 0)).any()


def test_ladders_stand_on_their_cells(hard_worlds):
    """Rules 0.2.1: an up-ladder never stands on a down-ladder."""
    for world in hard_worlds:
        for floor in range(NUM_FLOORS):
            for field, item in (("down_ladders", Item.LADDER_DOWN), ("up_ladders", Item.LADDER_UP)):
                absent = floor == NUM_FLOORS - 1 or (floor == 0 and item == Item.LADDER_UP)
                count = (world["item_map"][floor] == item).sum()
                assert count == (0 if absent else 3)
                if not absent:
                    cells = tuple(world[field][floor].T)
                    assert (world["item_map"][floor][cells] == item).all()


def test_construction_sites_are_listed_and_marked(hard_worlds):
    for world in hard_worlds:
        for floor, wanted in ((0, 8), (2, 4), (5, 4), (7, 0), (1, 0), (8, 0)):
            cells = world["construction_site_positions"][floor]
            assert (cells[wanted:] == 0).all()
            marked = np.argwhere(world["map"][floor] == Block.CONSTRUCTION_SITE)
            assert {tuple(c) for c in cells[:wanted]} == {tuple(c) for c in marked}
            assert (world["coordination_map"][floor][tuple(marked.T)] != 0).all()


@pytest.mark.slow
def test_the_state_survives_the_benchmarks_fields(hard_worlds):
    state = generator()(keys_of("rl"), difficulty("hard"))
    first = jax.tree.map(lambda leaf: leaf[0], state)
    restored = from_reference(hard_worlds[0], STATIC)
    assert jax.tree.structure(restored) == jax.tree.structure(first)
    paths = jax.tree_util.tree_leaves_with_path(restored)
    for (path, found), expected in zip(paths, jax.tree.leaves(first), strict=True):
        name = jax.tree_util.keystr(path)
        assert found.dtype == expected.dtype, name
        np.testing.assert_array_equal(found, expected, err_msg=name)


def test_god_mode_and_supplies_are_parameters():
    """Of the same compiled program, since they are traced."""
    params = difficulty("hard", god_mode=True, starting_resource_multiplier=0.7)
    state = generator()(keys_of("rl"), params)
    assert (state.inventory.wood == 99).all() and (state.inventory.armour == 2).all()
    assert (state.players.food == 6).all() and (state.players.mana == 9).all()


def test_numbers_of_sites_are_parameters():
    none = generator()(keys_of("rl"), difficulty("hard", num_construction_sites=0))
    assert (none.floor.sites.position == 0).all()
    assert not (none.floor.block == Block.CONSTRUCTION_SITE).any()
    most = generator()(keys_of("rl"), difficulty("hard", num_construction_sites=50))
    assert ((most.floor.block == Block.CONSTRUCTION_SITE).sum((1, 2)) == 12).all()


@pytest.mark.slow
@pytest.mark.parametrize("level", DIFFICULTIES)
def test_protocol_worlds_of_rules_0_1_0(level):
    static = dataclasses.replace(STATIC, rules_version="0.1.0")
    for track in ("rl", "llm"):
        key = f"0.1.0/{track}/{level}"
        if key in pinned():
            assert [digest(w) for w in generate(track, level, static)] == pinned()[key], key


@pytest.mark.slow
def test_batch_size_does_not_matter():
    params, seeds = difficulty("medium"), range(512)
    keys = keys_of("rl", seeds)
    expected = jax.tree.map(np.asarray, generator()(keys, params))
    for size in (1, 15, 64):
        for start in range(0, 64, size):
            part = generator()(keys[start : start + size], params)
            for found, whole in zip(jax.tree.leaves(part), jax.tree.leaves(expected), strict=True):
                np.testing.assert_array_equal(found, whole[start : start + len(found)])
            if size == 1 and start == 16:
                break


@pytest.mark.slow
@pytest.mark.parametrize("partitionable", [True, False])
def test_jaxs_own_stream_does_not_matter(partitionable):
    with jax.threefry_partitionable(partitionable):
        worlds = generate("rl", "hard", seeds=range(9999, 10003))
    assert [digest(w) for w in worlds] == pinned()["0.2.1/rl/hard"][:4]


def test_digests_are_of_all_protocol_worlds():
    for key, digests in pinned().items():
        assert len(set(digests)) == 20, key
