"""What the end of a step settles about possessions: limits, and achievements for having things."""

import jax
import jax.numpy as jnp

from alem_env.core.enums import Achievement
from alem_env.core.params import EnvParams
from alem_env.core.state import State
from alem_env.rules.common import (
    award,
    cap_stacks,
    max_drink,
    max_energy,
    max_food,
    max_health,
    max_mana,
)

GOD_HEALTH = 9

_HELD = {
    "wood": Achievement.COLLECT_WOOD,
    "stone": Achievement.COLLECT_STONE,
    "coal": Achievement.COLLECT_COAL,
    "iron": Achievement.COLLECT_IRON,
    "diamond": Achievement.COLLECT_DIAMOND,
    "ruby": Achievement.COLLECT_RUBY,
    "sapphire": Achievement.COLLECT_SAPPHIRE,
    "sapling": Achievement.COLLECT_SAPLING,
    "bow": Achievement.FIND_BOW,
    "arrows": Achievement.MAKE_ARROW,
    "torches": Achievement.MAKE_TORCH,
}

# by level, from 1; a better one found counts for the lesser ones
_LEVELS = {
    "pickaxe": (
        Achievement.MAKE_WOOD_PICKAXE,
        Achievement.MAKE_STONE_PICKAXE,
        Achievement.MAKE_IRON_PICKAXE,
        Achievement.MAKE_DIAMOND_PICKAXE,
    ),
    "sword": (
        Achievement.MAKE_WOOD_SWORD,
        Achievement.MAKE_STONE_SWORD,
        Achievement.MAKE_IRON_SWORD,
        Achievement.MAKE_DIAMOND_SWORD,
    ),
}


def clip(state: State, params: EnvParams) -> State:
    """Stacks and needs within their limits. God mode keeps health up."""
    players = state.players

    def needs(value, highest):
        return jnp.minimum(jnp.maximum(value, 0), highest)

    lowest = jnp.where(params.god_mode, GOD_HEALTH, 0)
    return state.replace(
        inventory=cap_stacks(state.inventory),
        players=players.replace(
            health=jnp.minimum(jnp.maximum(players.health, lowest), max_health(players)),
            food=needs(players.food, max_food(players)),
            drink=needs(players.drink, max_drink(players)),
            energy=needs(players.energy, max_energy(players)),
            mana=needs(players.mana, max_mana(players)),
        ),
    )


def award_inventory(state: State) -> State:
    """Achievements for what is held, however it was come by. Dead players count."""
    inventory = state.inventory
    earned: dict[Achievement, jax.Array] = {
        achievement: getattr(inventory, name) > 0 for name, achievement in _HELD.items()
    }
    for name, ladder in _LEVELS.items():
        for level, achievement in enumerate(ladder, start=1):
            earned[achievement] = getattr(inventory, name) >= level
    return state.replace(achievements=award(state.achievements, earned))
