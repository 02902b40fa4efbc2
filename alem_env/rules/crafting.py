"""Tools, weapons, armour, arrows and torches, made of materials at a table, furnace or forge."""

import jax
import jax.numpy as jnp
import numpy as np

from alem_env.core.enums import Achievement, Action, Block, Specialization
from alem_env.core.params import EnvParams, StaticParams
from alem_env.core.recipes import (
    ANYONE,
    FORGE,
    MINER,
    RECIPES,
    TABLE,
    TABLE_AND_FURNACE,
    WARRIOR,
    Recipe,
)
from alem_env.core.state import Inventory, State
from alem_env.core.tables import MAX_STACK, NEIGHBOURS, NO_ACHIEVEMENT, NUM_ARMOUR_SLOTS
from alem_env.rules.chance import Chance
from alem_env.rules.common import (
    NOWHERE_NEAR,
    award_each,
    first_near,
    is_role,
    neighbour_blocks,
    same_cell,
)
from alem_env.rules.specialization import gate

# action -> its recipe's numbers; no effect for other actions (later ones clamp)
_ROWS = np.array([Recipe(0, ANYONE, TABLE)] * len(Action), np.int32)
for _recipe in RECIPES:
    _ROWS[_recipe.action] = _recipe

# field of Counters -> the achievement for what it counts
_COUNTED = {
    "diamond_pickaxes": Achievement.COORD_DIAMOND_PICKAXE,
    "diamond_swords": Achievement.COORD_DIAMOND_SWORD,
    "diamond_armours": Achievement.COORD_DIAMOND_ARMOUR,
}


def craft(
    chance: Chance, state: State, actions: jax.Array, params: EnvParams, static: StaticParams
) -> State:
    """Everyone who can makes what their action names.

    A player has one action, so recipes cannot disturb each other. With crafting coordination, what
    takes diamonds is made only where enough players make the same at the same forge together.
    """
    recipe = _look_up(actions)
    around = neighbour_blocks(state.floor, state.players.position)
    nearest = first_near(around, Block.CRAFTING_TABLE, Block.FURNACE, Block.EPIC_FORGE)
    forge = nearest[:, 2]
    piece = _first_below(state.inventory.armour, recipe.armour)

    wants = recipe.action > 0
    wants &= _may_make(chance, state, recipe, params, static)
    wants &= _can_use(state.inventory, recipe, piece)
    wants &= _is_at_place(nearest < NOWHERE_NEAR, recipe, params)
    company = _at_same_forge(state, actions, wants, forge)
    together = _is_made_together(recipe, params)
    needed = jnp.where(together, params.diamond_crafting_agents_required, 0)

    # who makes nothing has a recipe of nothing from here on
    made = _look_up(jnp.where(wants & (company >= needed), actions, int(Action.NOOP)))
    state = state.replace(inventory=_make(state.inventory, made, piece))
    return _reward(state, made, together & (company > 0), _is_made_together(made, params))


def _look_up(actions: jax.Array) -> Recipe:
    """Recipes (A,) of actions (A,)."""
    rows = jnp.asarray(_ROWS)[actions]
    return Recipe(*(rows[:, column] for column in range(rows.shape[1])))


def _may_make(
    chance: Chance, state: State, recipe: Recipe, params: EnvParams, static: StaticParams
):
    """(A,) bool: the role fits, or the attempt without it is lucky."""
    miner = is_role(state.players, Specialization.MINER)
    warrior = is_role(state.players, Specialization.WARRIOR)
    is_miner = gate(chance.miner_crafts, miner, params, static)
    is_warrior = gate(chance.warrior_crafts, warrior, params, static)
    return (
        (recipe.role == ANYONE)
        | ((recipe.role == MINER) & is_miner)
        | ((recipe.role == WARRIOR) & is_warrior)
    )


def _can_use(inventory: Inventory, recipe: Recipe, piece: jax.Array) -> jax.Array:
    """(A,) bool: materials are there and the result would be better than what is held."""
    has_materials = (
        (inventory.wood >= recipe.wood)
        & (inventory.stone >= recipe.stone)
        & (inventory.iron >= recipe.iron)
        & (inventory.coal >= recipe.coal)
        & (inventory.diamond >= recipe.diamond)
    )
    is_better = (
        ((recipe.pickaxe == 0) | (inventory.pickaxe < recipe.pickaxe))
        & ((recipe.sword == 0) | (inventory.sword < recipe.sword))
        & ((recipe.armour == 0) | (piece < NUM_ARMOUR_SLOTS))
    )
    has_room = ((recipe.arrows == 0) | (inventory.arrows < MAX_STACK)) & (
        (recipe.torches == 0) | (inventory.torches < MAX_STACK)
    )
    return has_materials & is_better & has_room


def _is_made_together(recipe: Recipe, params: EnvParams) -> jax.Array:
    return params.crafting_coordination_enabled & (recipe.place == FORGE)


def _first_below(armour: jax.Array, level: jax.Array) -> jax.Array:
    """First piece (A,) of armour (A, 4) below `level` (A,), or NUM_ARMOUR_SLOTS."""
    pieces = np.arange(NUM_ARMOUR_SLOTS, dtype=np.int32)
    return jnp.where(armour < level[:, None], pieces, NUM_ARMOUR_SLOTS).min(axis=1)


def _is_at_place(near: jax.Array, recipe: Recipe, params: EnvParams) -> jax.Array:
    """(A,) bool: `near` (A, 3), whether a table, a furnace, a forge are, has what is needed."""
    at_table, at_furnace, at_forge = near[:, 0], near[:, 1], near[:, 2]
    at_forge = jnp.where(params.crafting_coordination_enabled, at_forge, at_table)
    return jnp.where(recipe.place == FORGE, at_forge, at_table) & (
        (recipe.place != TABLE_AND_FURNACE) | at_furnace
    )


def _at_same_forge(state: State, actions: jax.Array, wants: jax.Array, forge: jax.Array):
    """(A,) int: how many of `wants` (A,) take the same action at the same forge as each player.

    A player's forge is its neighbour number `forge` (A,); without one the answer is 0.
    """
    towards = np.concatenate([NEIGHBOURS, [[0, 0]]])
    cell = state.players.position + jnp.asarray(towards)[forge]
    same = same_cell(cell) & (actions[:, None] == actions) & (forge < NOWHERE_NEAR)
    return (same & wants).sum(axis=1)


def _make(inventory: Inventory, made: Recipe, piece: jax.Array) -> Inventory:
    """Inventory after `made`, zeros for players who made nothing. Levels only rise."""
    forged = (np.arange(NUM_ARMOUR_SLOTS) == piece[:, None]) * made.armour[:, None]
    return inventory.replace(
        wood=inventory.wood - made.wood,
        stone=inventory.stone - made.stone,
        iron=inventory.iron - made.iron,
        coal=inventory.coal - made.coal,
        diamond=inventory.diamond - made.diamond,
        pickaxe=jnp.maximum(inventory.pickaxe, made.pickaxe),
        sword=jnp.maximum(inventory.sword, made.sword),
        armour=jnp.maximum(inventory.armour, forged),
        arrows=inventory.arrows + made.arrows,
        torches=inventory.torches + made.torches,
    )


def _reward(state: State, made: Recipe, tries: jax.Array, succeeds: jax.Array) -> State:
    """Achievements for what was made, and counters of making together (A,)."""
    earned = jnp.where(succeeds, made.earns_together, NO_ACHIEVEMENT)
    events = {name: earned == achievement for name, achievement in _COUNTED.items()}
    events |= {"craft_attempts": tries, "craft_successes": succeeds}
    return state.replace(
        achievements=award_each(state.achievements, made.earns, earned),
        counters=state.counters.add_events(**events),
    )
