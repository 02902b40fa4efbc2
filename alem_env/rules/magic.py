"""Spells, potions, books and enchantments."""

import jax
import jax.numpy as jnp
import numpy as np

from alem_env.core import rng
from alem_env.core.batch import when_any
from alem_env.core.enums import (
    Achievement,
    Action,
    Block,
    Enchantment,
    Specialization,
)
from alem_env.core.params import EnvParams, StaticParams
from alem_env.core.state import State
from alem_env.core.tables import ENCHANTING_MANA, NO_ACHIEVEMENT, NUM_ARMOUR_SLOTS, NUM_POTIONS
from alem_env.rules.chance import Chance
from alem_env.rules.common import at, award, award_each, facing, is_role, max_health
from alem_env.rules.specialization import gate

HEALING_MANA = 6
HEALING = 2

_ENCHANTING = np.array([Action.ENCHANT_SWORD, Action.ENCHANT_BOW, Action.ENCHANT_ARMOUR])
# of no piece and of each of these
_ENCHANTING_EARNS = np.array(
    [NO_ACHIEVEMENT, Achievement.ENCHANT_SWORD, NO_ACHIEVEMENT, Achievement.ENCHANT_ARMOUR],
    np.int32,
)

# effect of a potion -> change of (health, mana, energy)
POTION_EFFECT = np.array(
    [[8, 0, 0], [-3, 0, 0], [0, 8, 0], [0, -3, 0], [0, 0, 8], [0, 0, -3]], np.int32
)


def heal(state: State, actions: jax.Array) -> State:
    """Foragers' spell heals everyone alive. That of fighters is among `projectiles.shoot`."""
    players = state.players
    heals = (actions == Action.CAST_SPELL) & players.learned_spell
    heals &= is_role(players, Specialization.FORAGER) & (players.mana >= HEALING_MANA)
    health, highest = players.health, max_health(players)
    for healer in range(actions.shape[0]):  # one by one: rounding and the cap depend on the order
        health = jnp.minimum(health + players.alive * (HEALING * heals[healer]), highest)
    return state.replace(
        players=players.replace(health=health, mana=players.mana - HEALING_MANA * heals),
        achievements=award(state.achievements, {Achievement.CAST_SPELL: heals}),
    )


def drink_potion(state: State, actions: jax.Array) -> State:
    """What a colour does is drawn for each episode (`State.potion_effect`)."""
    players, potions = state.players, state.inventory.potions
    colour = actions[:, None] - Action.DRINK_POTION_RED == jnp.arange(NUM_POTIONS)  # (A, 6)
    colour &= potions > 0
    change = colour.astype(jnp.int32) @ jnp.asarray(POTION_EFFECT)[state.potion_effect]
    return state.replace(
        inventory=state.inventory.replace(potions=potions - colour),
        players=players.replace(
            health=players.health + change[:, 0],
            mana=players.mana + change[:, 1],
            energy=players.energy + change[:, 2],
        ),
        achievements=award(state.achievements, {Achievement.DRINK_POTION: colour.any(-1)}),
    )


def read_book(state: State, actions: jax.Array) -> State:
    """Uses up a book to learn the spell of the reader's role."""
    reads = (actions == Action.READ_BOOK) & (state.inventory.books > 0)
    return state.replace(
        inventory=state.inventory.replace(books=state.inventory.books - reads),
        players=state.players.replace(learned_spell=state.players.learned_spell | reads),
        achievements=award(state.achievements, {Achievement.LEARN_SPELL: reads}),
    )


def enchant(
    chance: Chance, state: State, actions: jax.Array, params: EnvParams, static: StaticParams
) -> State:
    """Puts fire (for a ruby) or ice (for a sapphire) on a weapon or on a piece of armour.

    Weapons want a warrior. Of the armour a random piece is taken: one without enchantment, or else
    one with the other; if there is neither, the first piece is enchanted again.
    """
    players, inventory = state.players, state.inventory
    is_warrior = is_role(players, Specialization.WARRIOR)
    is_warrior = gate(chance.warrior_enchants, is_warrior, params, static)

    table = at(state.floor.block, facing(players))
    is_fire = table == np.uint8(Block.ENCHANTMENT_TABLE_FIRE)
    is_ice = table == np.uint8(Block.ENCHANTMENT_TABLE_ICE)
    gems = jnp.where(is_fire, inventory.ruby, inventory.sapphire)
    can = (players.mana >= ENCHANTING_MANA) & (is_fire | is_ice) & (gems >= 1)
    has_armour = (inventory.armour > 0).any(-1)
    has = jnp.stack(
        [is_warrior & (inventory.sword > 0), is_warrior & (inventory.bow > 0), has_armour], axis=-1
    )
    # (A, 3), a player wants one piece at most
    does = (actions[:, None] == _ENCHANTING) & has & can[:, None]
    piece = (does * np.arange(1, 4)).sum(-1)  # stored: all that follows looks at it
    sword, bow, armour = (piece == k for k in (1, 2, 3))
    kind = jnp.where(is_fire, int(Enchantment.FIRE), int(Enchantment.ICE))

    return state.replace(
        inventory=inventory.replace(
            ruby=inventory.ruby - ((piece > 0) & is_fire),
            sapphire=inventory.sapphire - ((piece > 0) & ~is_fire),
        ),
        players=players.replace(
            mana=players.mana - ENCHANTING_MANA * (piece > 0),
            sword_enchantment=jnp.where(sword, kind, players.sword_enchantment),
            bow_enchantment=jnp.where(bow, kind, players.bow_enchantment),
            armour_enchantment=when_any(
                armour.any(),
                _enchant_armour,
                players.armour_enchantment,
                chance.armour_key,
                armour,
                kind,
            ),
        ),
        achievements=award_each(state.achievements, jnp.asarray(_ENCHANTING_EARNS)[piece]),
    )


def _enchant_armour(enchanted: jax.Array, key: jax.Array, does: jax.Array, kind: jax.Array):
    """`enchanted` (A, 4) with one drawn piece each of `does` (A,) set to `kind` (A,)."""
    none = enchanted == Enchantment.NONE
    other = ~none & (enchanted != kind[:, None])
    candidates = none | (~none.any(-1, keepdims=True) & other)
    keys = rng.split(key, does.shape[0] + 1)[1:]
    upto = jnp.cumsum(candidates.astype(jnp.float32), axis=-1)
    drawn = upto[:, -1] * (1 - rng.uniform_each(keys))
    piece = (upto < drawn[:, None]).sum(-1)
    chosen = (jnp.arange(NUM_ARMOUR_SLOTS) == piece[:, None]) & does[:, None]
    return jnp.where(chosen, kind[:, None], enchanted)
