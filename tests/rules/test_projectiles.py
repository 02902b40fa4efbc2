"""Projectiles: slots, flight, what they hit and what they do not."""

import jax.numpy as jnp
import numpy as np
import pytest
from worlds import edit, group_of, plain_state, run_rule, with_blocks, with_mob

from alem_env.core.enums import Achievement, Action, Block, Enchantment, ProjectileKind
from alem_env.core.params import StaticParams, difficulty
from alem_env.rules.projectiles import (
    fly_mob_projectiles,
    fly_player_projectiles,
    shoot,
    shot_damage,
    spawn,
)

STATIC = StaticParams()
SLOTS = STATIC.max_player_projectiles


@pytest.fixture(scope="module")
def fly():
    """Both flights, of the mobs' projectiles and of the players'."""

    def both(state, params):
        return fly_player_projectiles(fly_mob_projectiles(state), params)

    rule = run_rule(both)
    return lambda state, **overrides: rule(state, difficulty("easy", **overrides))


def with_shot(state, group, slot, position, direction, kind=ProjectileKind.ARROW, owner=0):
    shots = getattr(state.floor, group)
    shots = shots.replace(
        position=shots.position.at[slot].set(jnp.array(position)),
        direction=shots.direction.at[slot].set(jnp.array(direction)),
        active=shots.active.at[slot].set(True),
        kind=shots.kind.at[slot].set(int(kind)),
        owner=shots.owner.at[slot].set(owner),
    )
    return state.replace(floor=state.floor.replace(**{group: shots}))


def test_shooters_fill_idle_slots_in_order():
    shots = plain_state(STATIC).floor.player_projectiles
    shots = shots.replace(active=jnp.ones(SLOTS, bool).at[jnp.array([2, 5])].set(False))
    where = jnp.array([False, True, True, True])
    cells = jnp.arange(8, dtype=jnp.int32).reshape(4, 2)
    after, shot = spawn(shots, where, cells, -cells, jnp.arange(4), jnp.arange(4))
    assert shot.tolist() == [False, True, True, False]
    assert after.active.all()
    assert after.position[2].tolist() == [2, 3] and after.position[5].tolist() == [4, 5]
    assert after.direction[5].tolist() == [-4, -5]
    assert after.owner[jnp.array([2, 5])].tolist() == [1, 2]
    others = np.delete(np.arange(SLOTS), [2, 5])
    assert (after.position[others] == shots.position[others]).all()


def test_shooting_needs_a_bow_and_an_arrow():
    rule = run_rule(shoot)
    state = edit(plain_state(STATIC), inventory__bow=[1, 1, 0], inventory__arrows=[2, 0, 5])
    after = rule(state, jnp.full(3, int(Action.SHOOT_ARROW), jnp.int32))
    assert after.inventory.arrows.tolist() == [1, 0, 5]
    assert after.achievements[:, Achievement.FIRE_BOW].tolist() == [True, False, False]
    shots = after.floor.player_projectiles
    assert shots.active.sum() == 1 and shots.position[0].tolist() == [24, 24]
    assert shots.direction[0].tolist() == [1, 0] and shots.kind[0] == ProjectileKind.ARROW2
    idle = rule(state, jnp.full(3, int(Action.NOOP), jnp.int32))
    assert not idle.floor.player_projectiles.active.any()


def test_idle_slots_fly_too(fly):
    after = fly(plain_state(STATIC)).floor
    assert (after.mob_projectiles.position == 1).all()
    assert (after.player_projectiles.position == 1).all()


def test_a_mob_projectile_hurts_and_wakes(fly):
    state = edit(plain_state(STATIC), players__sleeping=True, players__resting=True)
    after = fly(with_shot(state, "mob_projectiles", 0, [22, 24], [1, 0]))
    assert after.floor.mob_projectiles.active[0] and (after.players.health == 9).all()
    after = fly(with_shot(state, "mob_projectiles", 0, [23, 24], [1, 0]))
    assert after.players.health.tolist() == [7, 9, 9]
    assert after.players.sleeping.tolist() == [False, True, True]
    assert after.players.resting.tolist() == [False, True, True]
    assert not after.floor.mob_projectiles.active[0]


def test_the_dead_are_not_hit_by_mob_projectiles(fly):
    state = edit(plain_state(STATIC), players__alive=np.array([False, True, True]))
    after = fly(with_shot(state, "mob_projectiles", 0, [23, 24], [1, 0]))
    assert (after.players.health == 9).all() and after.floor.mob_projectiles.active[0]


def test_the_first_of_two_breaks_a_table_and_the_second_flies_on(fly):
    state = with_blocks(plain_state(STATIC), r10_c10=Block.CRAFTING_TABLE, r12_c10=Block.STONE)
    for slot in (1, 3):
        state = with_shot(state, "mob_projectiles", slot, [9, 10], [1, 0])
    state = with_shot(state, "mob_projectiles", 5, [11, 10], [1, 0])
    after = fly(state).floor
    assert after.block[10, 10] == Block.PATH and after.block[12, 10] == Block.STONE
    assert after.mob_projectiles.active.tolist() == [s == 3 for s in range(SLOTS)]
    assert (np.asarray(after.block) != np.asarray(state.floor.block)).sum() == 1


def test_mobs_and_the_rim_stop_mob_projectiles(fly):
    state = with_mob(plain_state(STATIC), "passive", 0, [10, 10])
    state = with_shot(state, "mob_projectiles", 0, [9, 10], [1, 0])
    state = with_shot(state, "mob_projectiles", 1, [0, 5], [-1, 0])
    after = fly(state).floor
    assert not after.mob_projectiles.active.any() and group_of(after, "passive").health[0] == 3


def test_a_kill_by_a_projectile_counts_for_all(fly):
    state = with_mob(plain_state(STATIC), "melee", 4, [10, 10], health=2.0)
    state = with_mob(state, "passive", 0, [20, 20], health=1.0)
    state = with_shot(state, "player_projectiles", 0, [9, 10], [1, 0], ProjectileKind.ARROW2)
    state = with_shot(state, "player_projectiles", 2, [20, 20], [1, 0], ProjectileKind.ARROW2)
    after = fly(state)
    assert after.floor.monsters_killed == 1
    assert (
        not group_of(after.floor, "melee").alive.any()
        and not group_of(after.floor, "passive").alive.any()
    )
    assert after.achievements[:, Achievement.DEFEAT_ZOMBIE].all()
    assert after.achievements.sum() == STATIC.num_agents  # passive mobs give nothing
    assert not after.floor.player_projectiles.active.any()


def test_only_one_mob_is_hurt_by_a_projectile(fly):
    state = with_mob(plain_state(STATIC), "melee", 0, [10, 10], health=9.0)
    state = with_mob(state, "ranged", 0, [11, 10], health=9.0)
    state = with_shot(state, "player_projectiles", 0, [10, 10], [1, 0], ProjectileKind.ARROW)
    after = fly(state).floor
    assert group_of(after, "melee").health[0] == 7 and group_of(after, "ranged").health[0] == 9


def test_the_second_of_two_projectiles_passes_over_the_dead(fly):
    state = with_mob(plain_state(STATIC), "melee", 0, [10, 10], health=2.0)
    for slot in (0, 1):
        state = with_shot(state, "player_projectiles", slot, [9, 10], [1, 0])
    after = fly(state).floor
    assert after.player_projectiles.active[:2].tolist() == [False, True]
    assert after.monsters_killed == 1


@pytest.mark.parametrize("friendly_fire", [True, False])
def test_players_are_hit_by_friends(fly, friendly_fire):
    state = with_shot(plain_state(STATIC), "player_projectiles", 0, [23, 25], [1, 0], owner=2)
    after = fly(state, friendly_fire=friendly_fire)
    assert after.players.health.tolist() == [9, 7 if friendly_fire else 9, 9]
    assert not after.floor.player_projectiles.active[0]


def test_damage_grows_with_skill_and_enchantment():
    state = edit(
        plain_state(STATIC), players__bow_enchantment=[Enchantment.NONE, Enchantment.ICE, 0],
        players__dexterity=[1, 3, 1], players__intelligence=[1, 3, 3],
    )  # fmt: skip
    for slot, kind in enumerate(
        (ProjectileKind.ARROW2, ProjectileKind.ARROW2, ProjectileKind.FIREBALL)
    ):
        state = with_shot(state, "player_projectiles", slot, [0, 0], [0, 1], kind, owner=slot)
    damage = shot_damage(state.floor.player_projectiles, state.players)
    assert np.allclose(damage[:3], [[5, 0, 0], [7, 0, 3.5], [0, 6, 0]])
