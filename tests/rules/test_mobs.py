"""Mobs walk, strike and shoot: who may go where, who is hurt, and what stays as it was."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from worlds import edit, group_of, plain_state, with_blocks, with_mob

from alem_env.core import rng
from alem_env.core.batch import over_worlds
from alem_env.core.enums import Achievement, Block, ProjectileKind
from alem_env.core.params import StaticParams, difficulty
from alem_env.core.state import mob_slots
from alem_env.core.tables import BOSS_FLOOR
from alem_env.rules.mobs import MELEE_COOLDOWN, RANGED_COOLDOWN, draw, move_mobs

STATIC = StaticParams()
PARAMS = difficulty("easy")
MANY = 64
FAR_PLAYERS = np.array([[0, 0], [0, 2], [0, 4]])


@pytest.fixture(scope="module")
def many():
    """`move_mobs` of one state under many keys; outcomes have a leading axis."""
    rule = jax.jit(over_worlds(lambda k, s: move_mobs(k, s, PARAMS), in_axes=(0, None)))
    keys = jax.random.bits(jax.random.key(3), (MANY, 2), jnp.uint32)
    return lambda state: rule(keys, state)


def moves(before, after, group, slot):
    """Steps (MANY, 2) of one mob."""
    start = np.asarray(group_of(before.floor, group).position[slot])
    return np.asarray(group_of(after.floor, group).position[:, slot]) - start


def test_one_chain_of_keys_serves_all_mobs():
    """The stream's layout, in the plainest form: one split after the other."""
    counts = mob_slots(STATIC)
    key = rng.split_pair(jnp.array([5, 9], jnp.uint32))[0]
    expected = []
    for splits, hands_on_sub, count in zip((4, 1, 3), (True, False, False), counts, strict=True):
        for _ in range(count):
            numbers = []
            for _ in range(splits):
                key, sub = rng.split_pair(key)
                numbers.append(float(rng.uniform_each(sub)))
            key = sub if hands_on_sub else key
            expected.append(numbers[:3] if splits > 1 else numbers * 3)
        key = rng.split_pair(key)[0]
    got = draw(jnp.array([5, 9], jnp.uint32), counts)
    got = np.stack([got.wander, got.axis, got.mood], axis=1)
    assert np.array_equal(got, np.array(expected, np.float32))


def test_melee_mobs_chase_the_nearest_player_alive(many):
    state = edit(plain_state(STATIC), players__alive=np.array([True, True, False]))
    state = with_mob(state, "melee", 0, [24, 30])
    steps = moves(state, many(state), "melee", 0)
    towards = (steps == [0, -1]).all(1).mean()
    assert 0.6 < towards < 0.95  # 3 in 4, and a quarter of the random rest
    assert (np.abs(steps).sum(1) <= 1).all()


def test_passive_mobs_mostly_stay(many):
    state = with_mob(plain_state(STATIC), "passive", 0, [20, 20])
    steps = moves(state, many(state), "passive", 0)
    assert 0.3 < (steps == 0).all(1).mean() < 0.7
    assert len(np.unique(steps, axis=0)) == 5


def test_a_walled_in_mob_stays(many):
    stone = {f"r{r}_c{c}": Block.STONE for r, c in ((19, 20), (21, 20), (20, 19), (20, 21))}
    state = with_mob(with_blocks(plain_state(STATIC), **stone), "passive", 0, [20, 20])
    assert not moves(state, many(state), "passive", 0).any()


@pytest.mark.parametrize(("kind", "enters"), [(0, False), (1, True)])
def test_only_flying_mobs_cross_water(many, kind, enters):
    water = {f"r{r}_c{c}": Block.WATER for r, c in ((19, 20), (21, 20), (20, 19), (20, 21))}
    state = with_mob(with_blocks(plain_state(STATIC), **water), "passive", 0, [20, 20], kind=kind)
    assert moves(state, many(state), "passive", 0).any() == enters


def test_mobs_never_share_a_cell_and_may_follow_one_that_left(many):
    state = plain_state(STATIC)
    block = [(r, c) for r in range(18, 21) for c in range(18, 24)]
    for slot in range(9):
        state = with_mob(state, "melee", slot, block[slot])
        state = with_mob(state, "passive", slot, block[9 + slot])
    mobs = many(state).floor.mobs
    for position, alive in zip(np.asarray(mobs.position), np.asarray(mobs.alive), strict=True):
        cells = position[alive]
        assert alive.sum() == 18 and len(np.unique(cells, axis=0)) == 18
    left = {tuple(c) for c in block} - {tuple(c) for c in np.asarray(mobs.position[0, :18])}
    entered = [
        s for w in range(MANY) for s in range(1, 18)
        if tuple(np.asarray(mobs.position[w, s])) in block
        and tuple(np.asarray(mobs.position[w, s])) != block[s]
    ]  # fmt: skip
    assert left and entered


def test_mobs_far_from_everybody_vanish_except_at_the_boss(many):
    state = edit(plain_state(STATIC), players__position=FAR_PLAYERS)
    state = with_mob(with_mob(state, "melee", 0, [40, 40]), "passive", 0, [35, 40])
    after = many(state).floor
    assert not group_of(after, "melee").alive.any() and not group_of(after, "passive").alive.any()
    at_boss = many(edit(state, floor_index=BOSS_FLOOR)).floor
    assert (
        group_of(at_boss, "melee").alive[:, 0].all()
        and not group_of(at_boss, "passive").alive.any()
    )


def test_a_blow_wakes_and_the_next_one_hurts_less(many):
    state = edit(plain_state(STATIC), players__sleeping=np.array([True, True, False]))
    state = edit(state, players__resting=True)
    state = with_mob(with_mob(state, "melee", 0, [23, 24]), "melee", 1, [25, 24])
    after = many(state)
    assert np.allclose(after.players.health[0], [9 - 2 * 3.5 - 2, 9, 9])
    assert after.players.sleeping[0].tolist() == [False, True, False]
    assert after.players.resting[0].tolist() == [False, True, True]
    assert after.achievements[0, :, Achievement.WAKE_UP].tolist() == [True, False, False]
    assert (
        group_of(after.floor, "melee").cooldown[:, :3]
        == jnp.array([MELEE_COOLDOWN, MELEE_COOLDOWN, -1])
    ).all()
    assert not moves(state, after, "melee", 0).any()


@pytest.mark.parametrize("edits", [dict(cooldown=1), dict(alive=False)])
def test_who_cannot_strike(many, edits):
    state = with_mob(plain_state(STATIC), "melee", 0, [23, 24], **edits)
    after = many(state)
    assert (after.players.health == 9).all()
    assert (group_of(after.floor, "melee").cooldown[:, 0] == edits.get("cooldown", 0) - 1).all()


def test_ranged_mobs_shoot_along_the_longer_axis(many):
    state = with_mob(plain_state(STATIC), "ranged", 1, [20, 23], kind=2)
    after = many(state)
    shots = after.floor.mob_projectiles
    assert shots.active[:, 0].all() and not shots.active[:, 1:].any()
    assert (shots.position[:, 0] == jnp.array([21, 23])).all()
    assert (shots.direction[:, 0] == jnp.array([1, 0])).all()
    assert (shots.owner[:, 0] == 1).all() and (shots.kind[:, 0] == ProjectileKind.FIREBALL).all()
    assert (group_of(after.floor, "ranged").cooldown[:, 1] == RANGED_COOLDOWN).all()
    far = with_mob(plain_state(STATIC), "ranged", 1, [10, 23])
    assert not many(far).floor.mob_projectiles.active.any()
