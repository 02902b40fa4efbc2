"""The table of what can be mined."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from worlds import edit, plain_state

from alem_env.core.enums import Achievement, Block
from alem_env.core.params import StaticParams
from alem_env.core.tables import NO_ACHIEVEMENT
from alem_env.rules import coordination, mining

STATIC = StaticParams(num_agents=3)
INVENTORY = plain_state(STATIC).inventory


@jax.jit
def mine(inventory, block, acting, yields):
    matter = mining.look_up(jnp.where(acting, block, Block.INVALID))
    mines = inventory.pickaxe >= matter.pickaxe
    return mines, mining.gather(inventory, matter, mines, yields)


def try_mining(block, pickaxe, acting=(True, True, False), yields=1):
    blocks = jnp.full(3, int(block), jnp.uint8)
    inventory = edit(INVENTORY, pickaxe=pickaxe)
    mines, after = mine(inventory, blocks, jnp.array(acting), jnp.full(3, yields, jnp.int32))
    gained = jax.tree.map(lambda a, b: np.asarray(a - b), after, inventory)
    names = INVENTORY.__dataclass_fields__
    return mines.tolist(), {n: v.tolist() for n in names if (v := getattr(gained, n)).any()}


@pytest.mark.parametrize(
    "block, level, item",
    [
        (Block.TREE, 0, "wood"),
        (Block.FIRE_TREE, 0, "wood"),
        (Block.ICE_SHRUB, 0, "wood"),
        (Block.STONE, 1, "stone"),
        (Block.STALAGMITE, 1, "stone"),
        (Block.COAL, 1, "coal"),
        (Block.IRON, 2, "iron"),
        (Block.DIAMOND, 3, "diamond"),
        (Block.SAPPHIRE, 4, "sapphire"),
        (Block.RUBY, 4, "ruby"),
    ],
)
def test_blocks_give_their_item_to_a_good_enough_pickaxe(block, level, item):
    mines, gained = try_mining(block, level)
    assert mines == [True, True, False]
    assert gained == {item: [1, 1, 0]}
    if level:
        assert try_mining(block, level - 1) == ([False] * 3, {})


@pytest.mark.parametrize("block", [Block.GRASS, Block.WALL, Block.WATER, Block.CHEST, Block.PLANT])
def test_other_blocks_give_nothing(block):
    assert try_mining(block, 4) == ([False] * 3, {})


def test_company_multiplies_all_but_stalagmites():
    assert try_mining(Block.IRON, 2, yields=6)[1] == {"iron": [6, 6, 0]}
    assert try_mining(Block.STALAGMITE, 2, yields=6)[1] == {"stone": [1, 1, 0]}


@pytest.mark.parametrize(
    "block, leaves",
    [
        (Block.TREE, Block.GRASS),
        (Block.FIRE_TREE, Block.FIRE_GRASS),
        (Block.ICE_SHRUB, Block.ICE_GRASS),
        (Block.RIPE_PLANT, Block.PLANT),
        (Block.CHEST, Block.PATH),
        (Block.RUBY, Block.PATH),
    ],
)
def test_what_blocks_leave(block, leaves):
    assert mining.look_up(jnp.array([block])).leaves[0] == leaves


def test_achievements_are_for_the_ore_mined_in_company():
    yes = jnp.array([True, True, True])
    sync = coordination.no_coordination(yes, jnp.zeros(3), yes).replace(
        success=yes, soft=jnp.array([True, False, True]), agents=jnp.array([2, 1, 1])
    )
    blocks = jnp.array([Block.COAL, Block.RUBY, Block.COAL], jnp.uint8)
    together = mining.mined_together(jnp.array([True, True, True]), sync)
    earned = mining.achievement(mining.look_up(blocks), *together)
    assert earned.tolist() == [
        Achievement.COORD_MINE_COAL_SOFT, Achievement.COORD_MINE_RUBY_HARD, NO_ACHIEVEMENT
    ]  # fmt: skip
