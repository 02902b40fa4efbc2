"""Spells, potions, books and enchantments."""

import jax.numpy as jnp
import numpy as np
import pytest
from worlds import chance_of, edit, plain_state, run_rule, with_blocks

from alem_env.core.enums import Achievement, Action, Block, Enchantment, ProjectileKind
from alem_env.core.params import StaticParams, make_params
from alem_env.rules import magic, projectiles

STATIC = StaticParams(num_agents=3)
WARRIOR, FORAGER, MINER = range(3)
PARAMS = make_params(non_specialist_efficiency=0.0)
KEY = jnp.array([1, 2], jnp.uint32)
cast = run_rule(lambda s, a: magic.heal(projectiles.shoot(s, a), a))
drink = run_rule(magic.drink_potion)
read = run_rule(magic.read_book)
enchant = run_rule(
    lambda key, *args: magic.enchant(chance_of("enchant", key, STATIC), *args, STATIC)
)


@pytest.fixture(scope="module")
def plain():
    return plain_state(STATIC)


def actions(*codes):
    return jnp.array(codes, jnp.int32)


def test_fighters_throw_fireballs_in_order(plain):
    state = edit(plain, players__learned_spell=True, players__mana=[2, 9, 1])
    after = cast(state, actions(*[Action.CAST_SPELL] * 3))
    shots = after.floor.player_projectiles
    assert shots.active.tolist()[:3] == [True, False, False]
    assert shots.position[0].tolist() == [24, 24] and shots.direction[0].tolist() == [1, 0]
    assert int(shots.kind[0]) == ProjectileKind.FIREBALL
    assert after.players.mana.tolist() == [0, 3, 1]  # the forager healed
    earned = np.asarray(after.achievements[:, Achievement.CAST_SPELL])
    assert earned.tolist() == [True, True, False]


def test_without_a_free_slot_there_is_no_fireball_and_no_price(plain):
    active = np.ones(STATIC.max_player_projectiles, bool)
    active[4] = False
    state = edit(plain, players__learned_spell=True, floor__player_projectiles__active=active)
    after = cast(state, actions(Action.CAST_SPELL, 0, Action.CAST_SPELL))
    assert after.players.mana.tolist() == [7, 9, 9]
    assert int(after.floor.player_projectiles.owner[4]) == WARRIOR


def test_healing_reaches_the_living_up_to_their_limit(plain):
    state = edit(
        plain,
        players__learned_spell=True,
        players__health=[1.5, 8.0, 0.0],
        players__alive=[True, True, False],
    )
    after = cast(state, actions(0, Action.CAST_SPELL, 0))
    assert after.players.health.tolist() == [3.5, 9.0, 0.0]


def test_unlearned_spells_do_nothing(plain):
    after = cast(plain, actions(*[Action.CAST_SPELL] * 3))
    assert after.players.mana.tolist() == [9, 9, 9]
    assert not after.floor.player_projectiles.active.any() and not after.achievements.any()


@pytest.mark.parametrize(
    "effect, field, change",
    [
        (0, "health", 8), (1, "health", -3), (2, "mana", 8),
        (3, "mana", -3), (4, "energy", 8), (5, "energy", -3),
    ],
)  # fmt: skip
def test_potions_do_what_the_episode_drew(plain, effect, field, change):
    colour = 2
    mapping = np.roll(np.arange(6), colour - effect)  # colour 2 has this effect
    state = edit(plain, potion_effect=mapping, inventory__potions=1)
    after = drink(state, actions(Action.DRINK_POTION_RED + colour, 0, 0))
    for name in ("health", "mana", "energy"):
        gained = np.asarray(getattr(after.players, name) - getattr(plain.players, name))
        assert gained.tolist() == [change if name == field else 0, 0, 0]
    assert after.inventory.potions[0].tolist() == [1, 1, 0, 1, 1, 1]
    assert after.achievements[:, Achievement.DRINK_POTION].tolist() == [True, False, False]


def test_a_colour_that_is_not_held_cannot_be_drunk(plain):
    state = edit(plain, inventory__potions=[1, 1, 0, 1, 1, 1])
    after = drink(state, actions(*[Action.DRINK_POTION_BLUE] * 3))
    assert after.inventory.potions.tolist() == state.inventory.potions.tolist()
    assert after.players.health.tolist() == [9.0] * 3 and not after.achievements.any()


def test_a_book_teaches_and_is_used_up(plain):
    after = read(edit(plain, inventory__books=[1, 0, 2]), actions(*[Action.READ_BOOK] * 3))
    assert after.inventory.books.tolist() == [0, 0, 1]
    assert after.players.learned_spell.tolist() == [True, False, True]
    assert after.achievements[:, Achievement.LEARN_SPELL].tolist() == [True, False, True]


@pytest.fixture(scope="module")
def enchanter(plain):
    """The warrior looks at a fire table, the miner at an ice table, the forager at grass."""
    state = edit(plain, inventory__ruby=2, inventory__sapphire=2, inventory__sword=1,
                 inventory__bow=1, inventory__armour=1)  # fmt: skip
    return with_blocks(
        state, r25_c24=Block.ENCHANTMENT_TABLE_FIRE, r25_c26=Block.ENCHANTMENT_TABLE_ICE
    )


def test_the_table_decides_the_kind_and_the_gem(enchanter):
    after = enchant(KEY, enchanter, actions(*[Action.ENCHANT_ARMOUR] * 3), PARAMS)
    pieces = np.asarray(after.players.armour_enchantment)
    assert (pieces[WARRIOR] == Enchantment.FIRE).sum() == 1
    assert (pieces[MINER] == Enchantment.ICE).sum() == 1
    assert pieces[FORAGER].sum() == 0 and (pieces > 0).sum() == 2
    assert after.inventory.ruby.tolist() == [1, 2, 2]
    assert after.inventory.sapphire.tolist() == [2, 2, 1]
    assert after.players.mana.tolist() == [0, 9, 0]
    assert after.achievements[:, Achievement.ENCHANT_ARMOUR].tolist() == [True, False, True]


def test_weapons_want_a_warrior(enchanter):
    after = enchant(KEY, enchanter, actions(*[Action.ENCHANT_SWORD] * 3), PARAMS)
    assert after.players.sword_enchantment.tolist() == [Enchantment.FIRE, 0, 0]
    after = enchant(KEY, enchanter, actions(*[Action.ENCHANT_BOW] * 3), PARAMS)
    assert after.players.bow_enchantment.tolist() == [Enchantment.FIRE, 0, 0]
    assert not after.achievements.any()  # the benchmark has none for bows


@pytest.mark.parametrize(
    "missing",
    [
        dict(players__mana=8), dict(inventory__ruby=0), dict(inventory__armour=0),
        dict(players__position=[[20, 20]] * 3),
    ],
)  # fmt: skip
def test_everything_is_needed(enchanter, missing):
    state = edit(enchanter, **missing)
    after = enchant(KEY, state, actions(Action.ENCHANT_ARMOUR, 0, 0), PARAMS)
    assert not after.players.armour_enchantment.any()
    assert after.players.mana.tolist() == state.players.mana.tolist()


@pytest.mark.parametrize(
    "held, want",
    [
        ([1, 0, 2, 1], {(1, 1, 2, 1)}),  # the only free piece
        ([1, 2, 1, 1], {(1, 1, 1, 1)}),  # the only one with the other kind
        ([1, 1, 1, 1], {(1, 1, 1, 1)}),  # none left: no harm, but paid
        ([0, 2, 0, 2], {(1, 2, 0, 2), (0, 2, 1, 2)}),
    ],
)
def test_which_piece(enchanter, held, want):
    state = edit(enchanter, players__armour_enchantment=held)
    got = set()
    for seed in range(8):
        key = jnp.array([0, seed], jnp.uint32)
        after = enchant(key, state, actions(Action.ENCHANT_ARMOUR, 0, 0), PARAMS)
        got.add(tuple(after.players.armour_enchantment[WARRIOR].tolist()))
        assert int(after.inventory.ruby[WARRIOR]) == 1
    assert got == want
