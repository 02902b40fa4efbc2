"""Tables, furnaces, stones, torches and saplings, put on the cell in front."""

import jax
import jax.numpy as jnp
import numpy as np

from alem_env.core.batch import when_any
from alem_env.core.enums import Block, Item, Specialization
from alem_env.core.params import EnvParams, StaticParams
from alem_env.core.recipes import ANYONE, THINGS
from alem_env.core.state import Plants, State
from alem_env.core.tables import MAP_SIZE, NO_ACHIEVEMENT, SOLID, TAKES_ITEM, TORCH_LIGHT
from alem_env.rules import light
from alem_env.rules.chance import Chance
from alem_env.rules.common import (
    at,
    award_each,
    facing,
    in_bounds,
    is_in_player,
    is_occupied,
    is_role,
    put,
    same_cell,
)
from alem_env.rules.specialization import gate

_TABLE, _FURNACE, _STONE, _TORCH, _SAPLING = range(len(THINGS))
_ACTIONS = np.array([thing.action for thing in THINGS])
_NUMBER = np.array([thing.number for thing in THINGS])
_FOR_ANYONE = np.array([thing.role == ANYONE for thing in THINGS])
_EARNS = np.array([NO_ACHIEVEMENT, *[thing.earns for thing in THINGS]], np.int32)
_KEEPS = 255  # no code of a block or item
# what lies on a cell after nothing and each thing was placed there
_LAID_BLOCK, _LAID_ITEM = (
    np.array([_KEEPS, *[_KEEPS if code is None else code for code in codes]], np.uint8)
    for codes in ([t.block for t in THINGS], [t.item for t in THINGS])
)


def _terrain(rules_version: str) -> np.ndarray:
    """Which of THINGS each block takes, (blocks, 5) bool."""
    takes = np.zeros((len(Block), len(THINGS)), bool)
    takes[:] = ~SOLID[:, None]
    takes[[Block.WATER, Block.LAVA], :_STONE] = False
    takes[Block.WATER, _STONE] = True
    if rules_version == "0.1.0":
        takes[Block.LAVA, _STONE] = False
    takes[:, _TORCH] = TAKES_ITEM
    takes[:, _SAPLING] = np.arange(len(Block)) == Block.GRASS
    return takes


def place(
    chance: Chance, state: State, actions: jax.Array, params: EnvParams, static: StaticParams
) -> State:
    """Everyone who can places what their action names.

    Several players may pay for the same table, furnace or stone; of torches and saplings the first
    player's counts.
    """
    miner = is_role(state.players, Specialization.MINER)
    is_miner = gate(chance.miner_places, miner, params, static)
    cell = facing(state.players)
    terrain, item = at(state.floor.block, cell), at(state.floor.item, cell)
    wants = (actions[:, None] == _ACTIONS) & _can_place(state, cell, terrain, item, static)
    wants &= is_miner[:, None] | _FOR_ANYONE
    placed = _settle(state, cell, wants)
    laid = _laid(cell, placed)

    does = (placed[:, None] == np.arange(1, len(THINGS) + 1)).astype(jnp.int32)  # (A, 5)
    spent = does * _NUMBER
    block, left = jnp.asarray(_LAID_BLOCK)[laid], jnp.asarray(_LAID_ITEM)[laid]
    inventory = state.inventory
    torch, sapling = placed == 1 + _TORCH, placed == 1 + _SAPLING
    return state.replace(
        floor=state.floor.replace(
            block=put(state.floor.block, cell, jnp.where(block == _KEEPS, terrain, block)),
            item=put(state.floor.item, cell, jnp.where(left == _KEEPS, item, left)),
        ),
        light=light.shine(state.light, state.floor_index, cell, torch, TORCH_LIGHT),
        plants=when_any(sapling.any(), _plant, state.plants, cell, sapling),
        inventory=inventory.replace(
            wood=inventory.wood - spent[:, _TABLE],
            stone=inventory.stone - spent[:, _FURNACE] - spent[:, _STONE],
            torches=inventory.torches - spent[:, _TORCH],
            sapling=inventory.sapling - spent[:, _SAPLING],
        ),
        achievements=award_each(state.achievements, jnp.asarray(_EARNS)[placed]),
    )


def _can_place(state: State, cell, terrain, item, static: StaticParams) -> jax.Array:
    """(A, 5) bool: each of THINGS, going by the cell before anyone placed and what is held."""
    is_free = in_bounds(cell) & ~is_in_player(state.players, cell)
    is_free &= ~is_occupied(state.floor, cell) & (item == np.uint8(Item.NONE))
    held = jnp.stack([getattr(state.inventory, thing.good) for thing in THINGS], axis=-1)
    takes = jnp.asarray(_terrain(static.rules_version))[terrain]
    return is_free[:, None] & takes & (held >= _NUMBER)


def _settle(state: State, cell: jax.Array, wants: jax.Array) -> jax.Array:
    """What each player places, (A,) int32: 0 nothing, or 1 + its place in THINGS.

    The first thing wanted on a cell is placed there, and bars the others: none of tables, furnaces
    and stones is ground for anything else.
    """
    agents = wants.shape[0]
    thing = (wants * np.arange(1, len(THINGS) + 1)).sum(-1)  # (A,), each wants one at most
    # of torches and saplings, one a cell, the first player's comes before the others'
    turn = thing * agents + jnp.where(thing > _TORCH, np.arange(agents), 0)
    bars = same_cell(cell) & (thing > 0)[None, :] & (turn[None, :] < turn[:, None])
    placed = jnp.where(bars.any(-1), 0, thing)
    sapling = placed == 1 + _SAPLING
    # the n-th sapling needs n free slots
    return jnp.where(sapling & (_rank(sapling) >= (~state.plants.growing).sum()), 0, placed)


def _laid(cell: jax.Array, placed: jax.Array) -> jax.Array:
    """What was placed (A,) on each player's cell by anyone.

    A player at the rim who looks off the map writes back what it read across the map (-1 wraps),
    before torches and saplings are placed but after the rest.
    """
    across = same_cell(cell % np.array(MAP_SIZE))
    there = jnp.where(placed > _TORCH, across, same_cell(cell))
    return (there * placed).max(-1)


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
