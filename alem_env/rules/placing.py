"""Tables, furnaces, stones, torches and saplings, put on the cell in front."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from alem_env.core.batch import when_any
from alem_env.core.enums import Achievement, Action, Block, Item, Specialization
from alem_env.core.params import EnvParams, StaticParams
from alem_env.core.state import Plants, State
from alem_env.core.tables import MAP_SIZE, TAKES_ITEM, TORCH_LIGHT
from alem_env.rules import light
from alem_env.rules.chance import Chance
from alem_env.rules.common import (
    at,
    award,
    facing,
    in_bounds,
    is_in_player,
    is_occupied,
    is_role,
    is_solid,
    put,
    same_cell,
)
from alem_env.rules.specialization import gate

TABLE_WOOD = 2
FURNACE_STONE = 1


class _Placed(NamedTuple):
    """Who placed what, and what then lies on the cells in front of the players. All (A,)."""

    table: jax.Array
    furnace: jax.Array
    stone: jax.Array
    torch: jax.Array
    sapling: jax.Array
    block: jax.Array
    item: jax.Array


def place(
    chance: Chance, state: State, actions: jax.Array, params: EnvParams, static: StaticParams
) -> State:
    """Everyone who can places what their action names.

    Tables come first, then furnaces, stones, torches, saplings: what came before is in the way.
    Several players may pay for the same table, furnace or stone; of torches and saplings the first
    player's counts.
    """
    miner = is_role(state.players, Specialization.MINER)
    is_miner = gate(chance.miner_places, miner, params, static)
    cell = facing(state.players)
    placed = _decide(state, actions, cell, is_miner, static)
    inventory = state.inventory
    return state.replace(
        floor=state.floor.replace(
            block=put(state.floor.block, cell, placed.block),
            item=put(state.floor.item, cell, placed.item),
        ),
        light=light.shine(state.light, state.floor_index, cell, placed.torch, TORCH_LIGHT),
        plants=when_any(placed.sapling.any(), _plant, state.plants, cell, placed.sapling),
        inventory=inventory.replace(
            wood=inventory.wood - TABLE_WOOD * placed.table,
            stone=inventory.stone - FURNACE_STONE * placed.furnace - placed.stone,
            torches=inventory.torches - placed.torch,
            sapling=inventory.sapling - placed.sapling,
        ),
        achievements=award(
            state.achievements,
            {
                Achievement.PLACE_TABLE: placed.table,
                Achievement.PLACE_FURNACE: placed.furnace,
                Achievement.PLACE_STONE: placed.stone,
                Achievement.PLACE_TORCH: placed.torch,
                Achievement.PLACE_PLANT: placed.sapling,
            },
        ),
    )


def _decide(state: State, actions, cell, is_miner, static: StaticParams) -> _Placed:
    inventory, floor = state.inventory, state.floor
    terrain = at(floor.block, cell)
    item = at(floor.item, cell)
    same = same_cell(cell)
    is_free = in_bounds(cell) & ~is_in_player(state.players, cell) & ~is_occupied(floor, cell)
    is_water = terrain == np.uint8(Block.WATER)
    is_lava = terrain == np.uint8(Block.LAVA)
    takes_block = is_free & (item == np.uint8(Item.NONE))
    takes_building = takes_block & ~is_water & ~is_lava

    def on_each_cell(does):
        return (same & does[:, None]).any(0)

    def lay(block, does, kind):
        return jnp.where(on_each_cell(does), np.uint8(kind), block)

    table = takes_building & ~is_solid(terrain) & (inventory.wood >= TABLE_WOOD)
    table &= actions == Action.PLACE_TABLE
    block = lay(terrain, table, Block.CRAFTING_TABLE)

    furnace = takes_building & ~is_solid(block) & (inventory.stone >= FURNACE_STONE)
    furnace &= actions == Action.PLACE_FURNACE
    block = lay(block, furnace, Block.FURNACE)

    takes_stone = ~is_solid(block)
    if static.rules_version == "0.1.0":
        takes_stone &= ~is_lava
    stone = takes_block & (takes_stone | is_water) & (inventory.stone > 0) & is_miner
    stone &= actions == Action.PLACE_STONE
    block = lay(block, stone, Block.STONE)

    torch = takes_block & jnp.asarray(TAKES_ITEM)[block] & (inventory.torches > 0)
    torch = _first_on_cell(torch & (actions == Action.PLACE_TORCH), same)
    has_torch = on_each_cell(torch)

    sapling = takes_block & ~has_torch & (block == np.uint8(Block.GRASS))
    sapling &= (actions == Action.PLACE_PLANT) & (inventory.sapling > 0)
    sapling = _first_on_cell(sapling, same)
    # the n-th of them needs n free slots
    sapling &= _rank(sapling) < (~state.plants.growing).sum()

    # A player at the rim who looks off the map writes back what it read across the map (-1 wraps),
    # before torches and saplings are placed but after the rest.
    across = same_cell(cell % jnp.asarray(MAP_SIZE))
    is_lit = (across & torch[:, None]).any(0)
    is_planted = (across & sapling[:, None]).any(0)
    return _Placed(
        table, furnace, stone, torch, sapling,
        block=jnp.where(is_planted, np.uint8(Block.PLANT), block),
        item=jnp.where(is_lit, np.uint8(Item.TORCH), item),
    )  # fmt: skip


def _first_on_cell(does: jax.Array, same: jax.Array) -> jax.Array:
    """Those of `does` (A,) whom no earlier one stands in the way on the same cell."""
    earlier = np.tril(np.ones(same.shape, bool), -1)
    return does & ~(same & earlier & does[None, :]).any(-1)


def _rank(mask: jax.Array) -> jax.Array:
    """How many are set before each entry of a short mask (n,)."""
    earlier = np.tril(np.ones((mask.shape[0],) * 2, bool), -1)
    return (earlier & mask[None, :]).sum(-1)


def _plant(plants: Plants, cell: jax.Array, sapling: jax.Array) -> Plants:
    """Players' saplings (A,) take the free slots in order."""
    free = ~plants.growing
    takes = sapling & free[:, None] & (_rank(free)[:, None] == _rank(sapling))  # (P, A)
    taken = takes.any(-1)
    position = (takes[:, :, None] * cell).sum(1)
    return plants.replace(
        position=jnp.where(taken[:, None], position, plants.position),
        age=jnp.where(taken, 0, plants.age),
        growing=plants.growing | taken,
    )
