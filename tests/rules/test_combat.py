"""Blows on mobs and on players."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from worlds import MIDDLE, edit, group_of, plain_state, run_rule, with_mob

from alem_env.core.enums import Achievement, Enchantment, MobCoordination
from alem_env.core.params import StaticParams
from alem_env.rules import combat
from alem_env.rules.common import facing, same_cell

STATIC = StaticParams(num_agents=3)
WARRIOR, FORAGER, MINER = range(3)
TARGET = (30, 30)
EVERYBODY, NOBODY = [True] * 3, [False] * 3
meet = run_rule(combat.meet_players)


def _strike(state, attacking, cells, can_eat):
    return combat.strike_mobs(state, attacking, cells, same_cell(cells), can_eat)


_strike = run_rule(_strike)


def strike(state, attacking, cells=None, can_eat=NOBODY):
    """The state after, and who eats."""
    cells = jnp.array([TARGET] * 3 if cells is None else cells, jnp.int32)
    after, eats = _strike(state, jnp.array(attacking), cells, jnp.array(can_eat))
    return after, eats.tolist()


def one_mob(group="melee", slot=4, **fields):
    return with_mob(plain_state(STATIC), group, slot, TARGET, **fields)


def names(state, agent):
    return [Achievement(int(a)).name for a in np.flatnonzero(state.achievements[agent])]


def test_damage_follows_sword_role_attributes_and_enchantment():
    state = edit(
        plain_state(STATIC),
        inventory__sword=np.array([3, 3, 0]),
        players__strength=np.array([1, 5, 1]),
        players__intelligence=np.array([5, 1, 1]),
        players__sword_enchantment=np.array([Enchantment.FIRE, Enchantment.ICE, 0]),
    )
    damage = combat.player_damage(state.players, state.inventory)
    expected = [[10, 5 * 1.2, 0], [10, 0, 2.5], [1, 0, 0]]
    np.testing.assert_allclose(damage, expected, rtol=1e-6)


def test_armour_absorbs_by_piece_and_enchantment():
    state = edit(
        plain_state(STATIC),
        inventory__armour=np.array([[2, 2, 2, 2], [1, 0, 0, 0], [0, 0, 0, 0]]),
        players__armour_enchantment=np.array([[1, 1, 2, 0], [0, 0, 0, 0], [0, 0, 0, 0]]),
    )
    defense = combat.player_defense(state.players, state.inventory)
    np.testing.assert_allclose(defense, [[0.8, 0.4, 0.2], [0.1, 0, 0], [0, 0, 0]], rtol=1e-6)
    lost = combat.damage_to_players(jnp.array([2.0, 1.0, 0.0]), defense, jnp.array(True))
    np.testing.assert_allclose(lost, [1.5, 4.2, 4.5], rtol=1e-6)  # half as much again at the boss


@pytest.mark.parametrize(
    "armour, enchantment, damage, lost",
    [  # as the benchmark's program adds: in pairs of every other, products rounded first
        ([1, 2, 2, 2], [0, 0, 0, 0], [6, 0, 0], "0x1.ccccc80000000p+0"),
        ([0, 1, 1, 1], [1, 2, 2, 2], [4, 3, 3], "0x1.99999a0000000p+2"),
        ([2, 1, 2, 2], [1, 2, 2, 0], [3, 5, 0], "0x1.3999980000000p+2"),
    ],
)
def test_the_last_bit_of_damage_is_the_benchmarks(armour, enchantment, damage, lost):
    state = edit(
        plain_state(STATIC),
        inventory__armour=np.array([armour] * 3),
        players__armour_enchantment=np.array([enchantment] * 3),
    )

    @jax.jit
    def hurt(players, inventory, damage):
        defense = combat.player_defense(players, inventory)
        return combat.damage_to_players(damage, defense, jnp.array(False))

    found = hurt(state.players, state.inventory, jnp.array(damage, jnp.float32))
    assert [float(x).hex() for x in found] == [lost] * 3


def test_a_wounded_mob_lives_and_earns_nothing():
    after, _ = strike(one_mob(health=5.0), [True, False, False])
    melee = group_of(after.floor, "melee")
    assert melee.health[4] == 3.0 and melee.alive[4]
    assert after.floor.monsters_killed == 0
    assert not after.achievements.any()


def test_a_kill_is_credited_to_all_who_struck():
    after, _ = strike(one_mob(health=2.5, kind=1), [True, False, True])
    melee = group_of(after.floor, "melee")
    assert not melee.alive[4] and melee.health[4] == -0.5
    assert after.floor.monsters_killed == 1
    assert names(after, WARRIOR) == names(after, MINER) == ["DEFEAT_GNOME_WARRIOR"]
    assert names(after, FORAGER) == []


@pytest.mark.parametrize("fields", [dict(alive=False), dict()])
def test_nothing_happens_beside_a_mob_or_to_a_dead_one(fields):
    cells = None if fields else [[10, 10]] * 3
    before = one_mob(**fields)
    after, eats = strike(before, EVERYBODY, cells, can_eat=EVERYBODY)
    assert (group_of(after.floor, "melee").health == group_of(before.floor, "melee").health).all()
    assert eats == NOBODY and after.floor.monsters_killed == 0


def test_mobs_resist_by_kind():
    after, _ = strike(one_mob("ranged", 0, kind=6, health=16.0), [True, False, False])
    np.testing.assert_allclose(group_of(after.floor, "ranged").health[0], 16 - 0.2, rtol=1e-6)


def test_foragers_alone_eat_what_they_kill():
    state = edit(one_mob("passive", health=1.0), players__hunger=5.0, players__food=3)
    after, eats = strike(state, [False, True, True], can_eat=[False, True, False])
    assert after.players.food.tolist() == [3, 9, 3]
    assert after.players.hunger.tolist() == [5.0, 0.0, 5.0]
    assert eats == [False, True, False]
    assert names(after, FORAGER) == ["EAT_COW"] and names(after, MINER) == []
    assert after.floor.monsters_killed == 0


def test_food_is_capped():
    state = edit(one_mob("passive", health=1.0), players__food=np.array([0, 25, 0]))
    after, _ = strike(state, [False, True, False], can_eat=EVERYBODY)
    assert after.players.food.tolist() == [0, 27, 0]


SOFT = dict(coordination=MobCoordination.SOFT, agents_required=2, health=20.0)
HARD = dict(coordination=MobCoordination.HARD, agents_required=2, health=20.0)


@pytest.mark.parametrize(
    "elite, attacking, left",
    [
        (SOFT, [True, False, False], 20 - 2 * 0.5),
        (SOFT, [True, True, False], 20 - 2 * 3),
        (HARD, [True, False, False], 20),
        (HARD, [True, False, True], 20 - 3 * 3),
        ({**HARD, "agents_required": 3}, [True, True, False], 20),
        ({**HARD, "agents_required": 3}, EVERYBODY, 20 - 3 * 4),
    ],
)
def test_elites_ask_for_company(elite, attacking, left):
    after, _ = strike(one_mob(**elite), attacking)
    assert group_of(after.floor, "melee").health[4] == left
    assert after.counters.elite_attempts == 1
    assert after.counters.elite_successes == int(sum(attacking) >= elite["agents_required"])


def test_company_elsewhere_does_not_count():
    cells = [TARGET, (10, 10), (10, 10)]
    after, _ = strike(one_mob(**HARD), EVERYBODY, cells)
    assert group_of(after.floor, "melee").health[4] == 20 and after.counters.elite_successes == 0


def test_coordinated_elite_kills_are_noted():
    after, _ = strike(one_mob("ranged", 0, **{**HARD, "health": 5.0}), [True, False, True])
    kill = after.achievements[:, Achievement.COORD_ELITE_RANGED_KILL]
    assert kill.tolist() == [True, False, True]
    assert after.counters.elite_ranged_kills == 1 and after.counters.elite_melee_kills == 0


def test_large_passives_feed_more_when_hunted_together():
    state = edit(one_mob("passive", **{**SOFT, "health": 1.0}), players__food=0)
    after, _ = strike(state, [True, True, False], can_eat=[False, True, False])
    assert after.players.food.tolist() == [0, 12, 0]
    kill = after.achievements[:, Achievement.COORD_LARGE_PASSIVE_KILL]
    assert kill.tolist() == [True, True, False]
    assert after.counters.large_passive_kills == 1


def team(**edits):
    """The warrior faces the forager, who faces the miner."""
    return edit(plain_state(STATIC), players__direction=np.array([2, 2, 4]), **edits)


def test_friends_in_front_are_hurt():
    state = team(players__sleeping=np.array([False, True, False]))
    after = meet(state, jnp.array([True, True, False]), facing(state.players), True)
    assert after.players.health.tolist() == [9.0, 9 - 2 * 3.5, 8.0]
    assert after.counters.friendly_fire_damage.tolist() == [7.0, 1.0, 0.0]


def test_friendly_fire_can_be_off():
    state = team()
    after = meet(state, jnp.array(EVERYBODY), facing(state.players), False)
    assert after.players.health.tolist() == [9.0, 9.0, 9.0]
    assert not after.counters.friendly_fire_damage.any()


def test_friends_who_are_down_are_revived():
    state = team(
        players__alive=np.array([True, False, True]), players__health=np.array([9.0, -2.0, 9.0])
    )
    after = meet(state, jnp.array([True, False, False]), facing(state.players), True)
    assert after.players.health.tolist() == [9.0, 1.0, 9.0]
    assert after.counters.revives == 1


def test_nobody_in_front_nothing_happens():
    state = plain_state(STATIC)
    assert (facing(state.players)[:, 0] == MIDDLE + 1).all()
    after = meet(state, jnp.array(EVERYBODY), facing(state.players), True)
    assert after.players.health.tolist() == [9.0] * 3 and after.counters.revives == 0
