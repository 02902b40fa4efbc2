"""Players walk: what stops them and what does not."""

import jax.numpy as jnp
import numpy as np
import pytest
from worlds import MIDDLE, edit, plain_state, run_rule, with_blocks, with_mob

from alem_env.core.enums import Action, Block
from alem_env.core.params import StaticParams, difficulty
from alem_env.rules.movement import move_players

STATIC = StaticParams()
NOOP, LEFT, RIGHT, UP, DOWN = 0, Action.LEFT, Action.RIGHT, Action.UP, Action.DOWN


@pytest.fixture(scope="module")
def walk():
    rule = run_rule(move_players)

    def run(state, *actions, **overrides):
        params = difficulty("easy", **overrides)
        players = rule(state, jnp.array(actions, jnp.int32), params).players
        return np.asarray(players.position) - [MIDDLE, MIDDLE], np.asarray(players.direction)

    return run


def test_free_cells_are_entered(walk):
    position, direction = walk(plain_state(STATIC), UP, DOWN, RIGHT)
    assert position.tolist() == [[-1, 0], [1, 1], [0, 3]]
    assert direction.tolist() == [UP, DOWN, RIGHT]


def test_other_actions_neither_move_nor_turn(walk):
    position, direction = walk(plain_state(STATIC), NOOP, Action.DO, Action.GIVE)
    assert position.tolist() == [[0, 0], [0, 1], [0, 2]]
    assert direction.tolist() == [DOWN, DOWN, DOWN]


def test_players_block_each_other_even_when_they_leave(walk):
    position, direction = walk(plain_state(STATIC), RIGHT, UP, LEFT)
    assert position.tolist() == [[0, 0], [-1, 1], [0, 2]]
    assert direction.tolist() == [RIGHT, UP, LEFT]


def test_two_that_want_one_cell_both_stay(walk):
    state = edit(plain_state(STATIC), players__position=np.array([[24, 24], [24, 26], [10, 10]]))
    position, _ = walk(state, RIGHT, LEFT, NOOP)
    assert position[:2].tolist() == [[0, 0], [0, 2]]


@pytest.mark.parametrize(
    ("block", "enters"),
    [(Block.STONE, False), (Block.WATER, False), (Block.LAVA, False), (Block.SAND, True)],
)
def test_blocks(walk, block, enters):
    state = with_blocks(plain_state(STATIC), r23_c24=block)
    position, direction = walk(state, UP, NOOP, NOOP)
    assert position[0].tolist() == [-1 if enters else 0, 0]
    assert direction[0] == UP


@pytest.mark.parametrize("alive", [True, False])
def test_live_mobs_block(walk, alive):
    state = with_mob(plain_state(STATIC), "ranged", 2, [23, 24], alive=alive)
    position, _ = walk(state, UP, NOOP, NOOP)
    assert position[0].tolist() == [0 if alive else -1, 0]


def test_the_map_ends(walk):
    corner = np.array([[0, 0], [47, 47], [10, 10]])
    state = edit(plain_state(STATIC), players__position=corner)
    position, _ = walk(state, UP, RIGHT, NOOP)
    assert (position + MIDDLE).tolist() == corner.tolist()


def test_god_mode_walks_through_walls(walk):
    state = with_blocks(plain_state(STATIC), r23_c24=Block.STONE)
    position, _ = walk(state, UP, NOOP, NOOP, god_mode=True)
    assert position[0].tolist() == [-1, 0]
