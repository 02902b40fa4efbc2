"""Tools, weapons, armour, arrows and torches, made of materials at a table, furnace or forge."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from alem_env.core.enums import Achievement, Action, Block, Specialization
from alem_env.core.params import EnvParams, StaticParams
from alem_env.core.state import Inventory, State
from alem_env.core.tables import MAX_STACK, NEIGHBOURS, NUM_ARMOUR_SLOTS
from alem_env.rules.chance import Chance
from alem_env.rules.common import award, is_near, is_role, neighbour_blocks
from alem_env.rules.specialization import gate

_ANYONE, _MINER, _WARRIOR = range(3)
_TABLE, _TABLE_AND_FURNACE, _FORGE = range(3)


class Recipe(NamedTuple):
    """What an action makes. Exactly one of the last five says what."""

    action: Action
    role: int
    place: int  # _FORGE is a table where crafting coordination is off
    wood: int = 0
    stone: int = 0
    iron: int = 0
    coal: int = 0
    diamond: int = 0
    pickaxe: int = 0  # level
    sword: int = 0  # level
    armour: int = 0  # level of one piece, the first that is below it
    arrows: int = 0  # number
    torches: int = 0  # number


RECIPES = (
    Recipe(Action.MAKE_WOOD_PICKAXE, _MINER, _TABLE, wood=1, pickaxe=1),
    Recipe(Action.MAKE_STONE_PICKAXE, _MINER, _TABLE, wood=1, stone=1, pickaxe=2),
    Recipe(
        Action.MAKE_IRON_PICKAXE, _MINER, _TABLE_AND_FURNACE,
        wood=1, stone=1, iron=1, coal=1, pickaxe=3,
    ),
    Recipe(Action.MAKE_DIAMOND_PICKAXE, _MINER, _FORGE, wood=1, diamond=3, pickaxe=4),
    Recipe(Action.MAKE_WOOD_SWORD, _ANYONE, _TABLE, wood=1, sword=1),
    Recipe(Action.MAKE_STONE_SWORD, _WARRIOR, _TABLE, wood=1, stone=1, sword=2),
    Recipe(
        Action.MAKE_IRON_SWORD, _WARRIOR, _TABLE_AND_FURNACE,
        wood=1, stone=1, iron=1, coal=1, sword=3,
    ),
    Recipe(Action.MAKE_DIAMOND_SWORD, _WARRIOR, _FORGE, wood=1, diamond=2, sword=4),
    Recipe(Action.MAKE_IRON_ARMOUR, _ANYONE, _TABLE_AND_FURNACE, iron=3, coal=3, armour=1),
    Recipe(Action.MAKE_DIAMOND_ARMOUR, _ANYONE, _FORGE, diamond=3, armour=2),
    Recipe(Action.MAKE_ARROW, _WARRIOR, _TABLE, wood=1, stone=1, arrows=2),
    Recipe(Action.MAKE_TORCH, _MINER, _TABLE, wood=1, coal=1, torches=4),
)  # fmt: skip

# action -> its recipe's numbers; zeros, and so no effect, for other actions (later ones clamp)
_ROWS = np.zeros((len(Action), len(Recipe._fields)), np.int32)
for _recipe in RECIPES:
    _ROWS[_recipe.action] = _recipe


def craft(
    chance: Chance, state: State, actions: jax.Array, params: EnvParams, static: StaticParams
) -> State:
    """Everyone who can makes what their action names.

    A player has one action, so recipes cannot disturb each other. With crafting coordination, what
    takes diamonds is made only where enough players make the same at the same forge together.
    """
    recipe = Recipe(*jnp.asarray(_ROWS)[actions].T)
    makes_level = recipe.pickaxe + recipe.sword + recipe.armour > 0
    makes = makes_level | (recipe.arrows + recipe.torches > 0)

    wants = makes & _may_make(chance, state, recipe, params, static)
    wants &= _can_use(state.inventory, recipe)
    together = params.crafting_coordination_enabled & (recipe.place == _FORGE)
    wants &= _is_at_place(state, recipe, params)
    enough = _at_same_forge(state, actions, wants) >= params.diamond_crafting_agents_required
    crafts = wants & (enough | ~together)

    return _reward(
        state.replace(inventory=_make(state.inventory, recipe, crafts)),
        recipe, crafts, together, wants,
    )  # fmt: skip


def _may_make(
    chance: Chance, state: State, recipe: Recipe, params: EnvParams, static: StaticParams
):
    """(A,) bool: the role fits, or the attempt without it is lucky."""
    miner = is_role(state.players, Specialization.MINER)
    warrior = is_role(state.players, Specialization.WARRIOR)
    is_miner = gate(chance.miner_crafts, miner, params, static)
    is_warrior = gate(chance.warrior_crafts, warrior, params, static)
    return (
        (recipe.role == _ANYONE)
        | ((recipe.role == _MINER) & is_miner)
        | ((recipe.role == _WARRIOR) & is_warrior)
    )


def _can_use(inventory: Inventory, recipe: Recipe) -> jax.Array:
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
        & ((recipe.armour == 0) | (inventory.armour < recipe.armour[:, None]).any(-1))
    )
    has_room = ((recipe.arrows == 0) | (inventory.arrows < MAX_STACK)) & (
        (recipe.torches == 0) | (inventory.torches < MAX_STACK)
    )
    return has_materials & is_better & has_room


def _is_at_place(state: State, recipe: Recipe, params: EnvParams) -> jax.Array:
    around = neighbour_blocks(state.floor, state.players.position)
    at_table = is_near(around, Block.CRAFTING_TABLE)
    at_furnace = is_near(around, Block.FURNACE)
    at_forge = is_near(around, Block.EPIC_FORGE)
    at_forge = jnp.where(params.crafting_coordination_enabled, at_forge, at_table)
    return jnp.where(recipe.place == _FORGE, at_forge, at_table) & (
        (recipe.place != _TABLE_AND_FURNACE) | at_furnace
    )


def _at_same_forge(state: State, actions: jax.Array, wants: jax.Array) -> jax.Array:
    """(A,) int: how many of `wants` (A,) take the same action at the same forge as each player.

    A player's forge is the first one around it; without one the answer is 0.
    """
    position = state.players.position
    is_forge = neighbour_blocks(state.floor, position) == np.uint8(Block.EPIC_FORGE)
    forge = position + jnp.asarray(NEIGHBOURS)[is_forge.argmax(-1)]
    has_forge = is_forge.any(-1)
    same = (forge[:, None] == forge[None, :]).all(-1) & has_forge[:, None] & has_forge[None, :]
    same &= actions[:, None] == actions[None, :]
    return (same & wants[None, :]).sum(-1)


def _make(inventory: Inventory, recipe: Recipe, crafts: jax.Array) -> Inventory:
    armour = inventory.armour
    first_below = (armour < recipe.armour[:, None]).argmax(-1)
    forged = (jnp.arange(NUM_ARMOUR_SLOTS) == first_below[:, None]) & (
        crafts & (recipe.armour > 0)
    )[:, None]
    return inventory.replace(
        wood=inventory.wood - recipe.wood * crafts,
        stone=inventory.stone - recipe.stone * crafts,
        iron=inventory.iron - recipe.iron * crafts,
        coal=inventory.coal - recipe.coal * crafts,
        diamond=inventory.diamond - recipe.diamond * crafts,
        pickaxe=jnp.where(crafts & (recipe.pickaxe > 0), recipe.pickaxe, inventory.pickaxe),
        sword=jnp.where(crafts & (recipe.sword > 0), recipe.sword, inventory.sword),
        armour=jnp.where(forged, recipe.armour[:, None], armour),
        arrows=inventory.arrows + recipe.arrows * crafts,
        torches=inventory.torches + recipe.torches * crafts,
    )


def _reward(state: State, recipe: Recipe, crafts, together, wants) -> State:
    """Achievements and counters. Other things made are seen in the inventory at the step's end."""
    pickaxe = crafts & together & (recipe.pickaxe > 0)
    sword = crafts & together & (recipe.sword > 0)
    armour = crafts & together & (recipe.armour > 0)
    counters = state.counters
    return state.replace(
        achievements=award(
            state.achievements,
            {
                Achievement.MAKE_IRON_ARMOUR: crafts & (recipe.armour == 1),
                Achievement.MAKE_DIAMOND_ARMOUR: crafts & (recipe.armour == 2),
                Achievement.COORD_DIAMOND_PICKAXE: pickaxe,
                Achievement.COORD_DIAMOND_SWORD: sword,
                Achievement.COORD_DIAMOND_ARMOUR: armour,
            },
        ),
        counters=counters.replace(
            craft_attempts=counters.craft_attempts + (wants & together).any(),
            craft_successes=counters.craft_successes + (crafts & together).any(),
            diamond_pickaxes=counters.diamond_pickaxes + pickaxe.any(),
            diamond_swords=counters.diamond_swords + sword.any(),
            diamond_armours=counters.diamond_armours + armour.any(),
        ),
    )
