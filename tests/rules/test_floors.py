"""Ladders: who moves the team, what is earned, and floors that come back as they were left."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from worlds import edit, plain_state, run_rule, with_blocks, with_mob

from alem_env.core.enums import Achievement, Action, Block, Building, Item
from alem_env.core.params import StaticParams, make_params
from alem_env.rules import floors, plants

STATIC = StaticParams(num_agents=3)
PARAMS = make_params()
DOWN = (0, Action.DESCEND, 0)
UP = (0, Action.ASCEND, 0)
change = run_rule(lambda *args: floors.change_floor(*args))


def act(state, actions, params=PARAMS):
    return change(state, jnp.array(actions, jnp.int32), params)


@pytest.fixture(scope="module")
def at_ladders():
    """Player 1 stands on a ladder down; the ladders of floor k lie in row k."""
    rows = np.arange(9)[:, None, None] + np.zeros((9, 3, 1))
    columns = np.broadcast_to(np.arange(3)[None, :, None], (9, 3, 1))
    state = plain_state(
        STATIC,
        floor__monsters_killed=8,
        ladders__up=np.concatenate([rows, columns], -1),
        ladders__down=np.concatenate([rows, columns + 10], -1),
    )
    return with_blocks(state, "item", r24_c25=Item.LADDER_DOWN)


def test_one_player_takes_everyone_down(at_ladders):
    after = act(at_ladders, DOWN)
    assert int(after.floor_index) == 1 and int(after.deepest_floor) == 1
    assert after.players.position.tolist() == [[1, 0], [1, 1], [1, 2]]
    earned = np.argwhere(np.asarray(after.achievements)).tolist()
    assert earned == [[agent, Achievement.ENTER_DUNGEON] for agent in range(3)]
    assert after.players.xp.tolist() == [1, 1, 1]
    assert after.stored_slot.tolist() == [0, -1, 1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize(
    "edits, actions",
    [
        (dict(floor__monsters_killed=7), DOWN),
        ({}, (Action.DESCEND, 0, 0)),  # not on the ladder
        ({}, UP),
        ({}, (0, 0, 0)),
        (dict(floor_index=8), DOWN),
    ],
)
def test_otherwise_nothing_moves(at_ladders, edits, actions):
    state = edit(at_ladders, **edits)
    after = act(state, actions)
    assert int(after.floor_index) == int(state.floor_index)
    for name in ("floor", "stored", "stored_slot", "inventory", "handovers"):
        jax.tree.map(np.testing.assert_array_equal, getattr(after, name), getattr(state, name))
    np.testing.assert_array_equal(after.players.position, state.players.position)


def test_god_mode_needs_no_ladder(at_ladders):
    state = edit(at_ladders, floor__item=0, floor__monsters_killed=0)
    after = act(state, DOWN, make_params(god_mode=True))
    assert int(after.floor_index) == 1


def test_down_wins_over_up(at_ladders):
    state = edit(at_ladders, floor_index=3, stored_slot=[0, 1, 2, -1, 3, 4, 5, 6, 7])
    state = with_blocks(state, "item", r24_c24=Item.LADDER_UP, r24_c25=Item.LADDER_DOWN)
    both = act(state, (Action.ASCEND, Action.DESCEND, 0))
    assert int(both.floor_index) == 4
    up = act(state, (Action.ASCEND, 0, 0))
    assert int(up.floor_index) == 2
    assert up.players.position.tolist() == [[2, 10], [2, 11], [2, 12]]
    assert int(up.deepest_floor) == 2


def test_being_below_earns_in_every_step_but_experience_once(at_ladders):
    state = edit(at_ladders, floor_index=2, stored_slot=[0, 1, -1, 2, 3, 4, 5, 6, 7])
    once = act(state, (0, 0, 0))
    assert once.achievements[:, Achievement.ENTER_GNOMISH_MINES].all()
    assert once.players.xp.tolist() == [1, 1, 1]
    twice = act(once, (0, 0, 0))
    assert twice.players.xp.tolist() == [1, 1, 1]


def test_leaving_ends_handovers_and_pays_back_buildings(at_ladders):
    state = edit(
        at_ladders,
        handovers__active=[True, True, False, True, False, False, False, False],
        handovers__building=[Building.SHELTER, Building.NONE, 0, Building.BEACON, 0, 0, 0, 0],
        handovers__initiator=[2, 0, 0, 2, 0, 0, 0, 0],
        handovers__deadline=120,
    )
    after = act(state, DOWN)
    assert after.inventory.wood.tolist() == [0, 0, 10]
    assert after.inventory.stone.tolist() == [0, 0, 5]
    assert after.inventory.iron.tolist() == [0, 0, 3]
    assert after.inventory.coal.tolist() == [0, 0, 2]
    assert not any(leaf.any() for leaf in jax.tree.leaves(after.handovers))


@pytest.fixture(scope="module")
def lived_in(at_ladders):
    """An overworld with something in every field that a stored floor keeps."""
    state = with_blocks(at_ladders, r1_c2=Block.DIAMOND, r3_c4=Block.CONSTRUCTION_IN_PROGRESS)
    state = with_blocks(state, "requirement", r1_c2=3, r3_c4=-48)
    state = with_blocks(state, "soft", r1_c2=True)
    state = with_mob(state, "melee", 1, (7, 8), health=2.5, cooldown=-300, kind=6, coordination=2)
    state = with_mob(state, "ranged", 5, (47, 0), cooldown=4, agents_required=3)
    shots = state.floor.player_projectiles
    shots = shots.replace(
        position=shots.position.at[0].set(jnp.array([-40_000, 70_000])),
        active=shots.active.at[1].set(True),
        direction=shots.direction.at[1].set(jnp.array([-1, 0])),
        owner=shots.owner.at[1].set(2),
        kind=shots.kind.at[1].set(7),
    )
    state = edit(state, floor__chest_opened=[True, False, True], floor__sites__built=2)
    return state.replace(floor=state.floor.replace(player_projectiles=shots))


def test_a_floor_comes_back_as_it_was_left(lived_in):
    below = act(lived_in, DOWN)
    assert int(below.floor.block[1, 2]) == Block.GRASS
    below = edit(below, players__position=[[1, 1]] * 3)
    below = with_blocks(below, "item", r1_c1=Item.LADDER_UP)
    back = act(below, UP)
    assert int(back.floor_index) == 0
    jax.tree.map(np.testing.assert_array_equal, back.floor, lived_in.floor)
    jax.tree.map(lambda a, b: None if a.dtype == b.dtype else pytest.fail(str(a.dtype)),
                 back.floor, lived_in.floor)  # fmt: skip
    # the floor below went back to its slot, with the ladder that was put there
    assert back.stored_slot.tolist() == [-1, 0, 1, 2, 3, 4, 5, 6, 7]
    again = act(edit(back, players__position=lived_in.players.position), DOWN)
    jax.tree.map(np.testing.assert_array_equal, again.floor, below.floor)


def test_worlds_of_a_batch_move_by_themselves(lived_in):
    from alem_env.core.batch import over_worlds

    batch = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), lived_in)
    actions = jnp.array([DOWN, (0, 0, 0)], jnp.int32)
    after = jax.jit(over_worlds(floors.change_floor, in_axes=(0, 0, None)))(batch, actions, PARAMS)
    assert after.floor_index.tolist() == [1, 0]
    for name in ("floor", "stored", "stored_slot"):
        stays = jax.tree.map(lambda leaf: leaf[1], getattr(after, name))
        jax.tree.map(np.testing.assert_array_equal, stays, getattr(lived_in, name))
    moved = jax.tree.map(lambda leaf: leaf[0], after)
    jax.tree.map(np.testing.assert_array_equal, moved, act(lived_in, DOWN))


def test_plants_ripen_while_the_team_is_away(at_ladders):
    growing = np.arange(STATIC.max_plants) < 2
    position = np.zeros((STATIC.max_plants, 2), int)
    position[:2] = [[30, 30], [31, 31]]
    age = np.zeros(STATIC.max_plants, int)
    age[:2] = [plants.STEPS_TO_RIPEN - 1, 10]
    state = with_blocks(at_ladders, r30_c30=Block.PLANT, r31_c31=Block.PLANT)
    state = edit(state, plants__growing=growing, plants__position=position, plants__age=age)

    below = plants.grow(act(state, DOWN))
    assert int(below.plants.age[0]) == plants.STEPS_TO_RIPEN
    assert (np.asarray(below.floor.block) == Block.GRASS).all()
    below = edit(below, players__position=[[1, 1]] * 3)
    back = act(with_blocks(below, "item", r1_c1=Item.LADDER_UP), UP)
    assert int(back.floor.block[30, 30]) == Block.RIPE_PLANT
    assert int(back.floor.block[31, 31]) == Block.PLANT
