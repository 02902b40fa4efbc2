"""What a player holds and is, as one matrix of numbers."""

import itertools

import jax
import jax.numpy as jnp

from alem_env.core.state import State
from alem_env.core.tables import MONSTERS_TO_CLEAR_FLOOR, NUM_ARMOUR_SLOTS, NUM_POTIONS
from alem_env.rules.common import is_boss_vulnerable

# Columns of `numbers` and of `compact.Observation.numbers`.
NUMBERS = (
    "wood", "stone", "coal", "iron", "diamond", "sapphire", "ruby", "sapling", "torches", "arrows",
    "books", "pickaxe", "sword", "sword_enchantment", "bow_enchantment", "bow",
    *(f"potion_{k}" for k in range(NUM_POTIONS)),
    "food", "drink", "energy", "mana", "xp", "dexterity", "strength", "intelligence", "direction",
    *(f"armour_{k}" for k in range(NUM_ARMOUR_SLOTS)),
    *(f"armour_enchantment_{k}" for k in range(NUM_ARMOUR_SLOTS)),
    "sleeping", "resting", "learned_spell", "floor", "floor_cleared", "boss_vulnerable",
)  # fmt: skip


def numbers(state: State) -> jax.Array:
    """(A, 45) int32, columns NUMBERS."""
    players, bag, floor = state.players, state.inventory, state.floor
    team = dict(
        floor=state.floor_index,
        floor_cleared=floor.monsters_killed >= MONSTERS_TO_CLEAR_FLOOR,
        boss_vulnerable=is_boss_vulnerable(state),
    )
    blocks = dict(
        potion_0=bag.potions, armour_0=bag.armour, armour_enchantment_0=players.armour_enchantment
    )
    columns = []
    for name in NUMBERS:
        if name in team:
            columns.append(jnp.broadcast_to(team[name], players.alive.shape)[:, None])
        elif name in blocks:
            columns.append(blocks[name])
        elif not name[-1].isdigit():  # other columns of blocks are in already
            columns.append(getattr(bag if hasattr(bag, name) else players, name)[:, None])
    # neighbours of one dtype are joined before they are converted
    parts = [
        jnp.concatenate(list(run), axis=1).astype(jnp.int32)
        for _, run in itertools.groupby(columns, key=lambda column: column.dtype)
    ]
    return jnp.concatenate(parts, axis=1)
