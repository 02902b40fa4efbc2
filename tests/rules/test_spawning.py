"""New mobs: where they may appear, when, and that the drawn cell is the published one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from worlds import (
    chance_of,
    edit,
    group_of,
    plain_state,
    with_blocks,
    with_mob,
    with_mobs,
)

from alem_env.core import masked_choice, sampling
from alem_env.core.batch import over_worlds
from alem_env.core.enums import Block, MobClass
from alem_env.core.params import StaticParams, difficulty
from alem_env.core.tables import BOSS_FLOOR, MOB_HEALTH
from alem_env.rules.spawning import spawn_mobs, valid_cells

STATIC = StaticParams()
MANY = 64
GROUPS = ("passive", "melee", "ranged")


@pytest.fixture(scope="module")
def many():
    rule = jax.jit(
        over_worlds(
            lambda k, s, p: spawn_mobs(chance_of("spawn", k, STATIC), s, p, STATIC),
            in_axes=(0, None, None),
        )
    )
    keys = jax.random.bits(jax.random.key(4), (MANY, 2), jnp.uint32)
    return lambda state, **overrides: rule(keys, state, difficulty("easy", **overrides)).floor


def distances(floor, group, state):
    """Of live mobs from the nearest player."""
    mobs = group_of(floor, group)
    cells = np.asarray(mobs.position)[np.asarray(mobs.alive)]
    players = np.asarray(state.players.position)
    return np.sqrt(((cells[:, None] - players[None]) ** 2).sum(-1)).min(1)


def test_mobs_appear_within_their_distances(many):
    state = plain_state(STATIC)
    floor = many(state)
    for group, low in (("passive", 3), ("melee", 9), ("ranged", 9)):
        away = distances(floor, group, state)
        assert len(away) > 3 and (away > low).all() and (away < 14).all()
        alive = group_of(floor, group).alive
        assert not alive[:, 1:].any() and not alive[:, 0].all()


def test_new_mobs_have_the_floors_kind_and_health(many):
    floor = many(edit(plain_state(STATIC), floor_index=2), mob_health_multiplier=1.5)
    for group, mob_class in zip(GROUPS, MobClass, strict=False):
        mobs = group_of(floor, group)
        new = np.asarray(mobs.alive[:, 0])
        assert new.any() and (mobs.kind[:, 0] == 1).all()  # the kind is written in any case
        assert np.allclose(mobs.health[new, 0], 1.5 * MOB_HEALTH[1, mob_class])
        assert (np.asarray(mobs.health[~new, 0]) == 1).all()


def test_nothing_appears_where_nothing_can(many):
    stone = many(edit(plain_state(STATIC), floor__block=Block.STONE))
    dead = many(edit(plain_state(STATIC), players__alive=False))
    for floor in (stone, dead):
        assert not any(group_of(floor, group).alive.any() for group in GROUPS)


def test_full_slots_stay_and_the_first_changes_kind(many):
    state = plain_state(STATIC)
    state = with_mobs(state, state.floor.mobs.of(MobClass.MELEE), alive=True, kind=3)
    melee = group_of(many(state), "melee")
    assert (melee.position == group_of(state.floor, "melee").position).all()
    assert (melee.kind[:, 0] == 0).all() and (melee.kind[:, 1:] == 3).all()


def test_the_only_free_cell_is_taken_once(many):
    """Passive, melee and ranged mobs would all appear on the one cell; the first one has it."""
    state = edit(plain_state(STATIC), floor__block=Block.STONE, floor_index=2)
    state = with_blocks(state, r24_c36=Block.PATH)
    floor = many(state)
    alive = np.stack([np.asarray(group_of(floor, g).alive[:, 0]) for g in GROUPS])
    assert alive.any(1).all() and (alive.sum(0) <= 1).all()
    for group, row in zip(GROUPS, alive, strict=True):
        assert (group_of(floor, group).position[row, 0] == jnp.array([24, 36])).all()
    taken = many(with_mob(state, "ranged", 3, [24, 36]))
    assert not group_of(taken, "passive").alive.any() and not group_of(taken, "melee").alive.any()


def test_the_boss_calls_monsters_to_graves_nearby(many):
    state = edit(plain_state(STATIC), floor_index=BOSS_FLOOR, boss_progress=5)
    state = with_blocks(state, r20_c24=Block.GRAVE2, r10_c24=Block.GRAVE)
    assert not group_of(many(state), "melee").alive.any()
    floor = many(edit(state, boss_spawn_steps=3))
    assert (
        group_of(floor, "melee").alive[:, 0].all()
        and (group_of(floor, "melee").kind[:, 0] == 5).all()
    )
    assert (group_of(floor, "melee").position[:, 0] == jnp.array([20, 24])).all()
    assert not group_of(floor, "passive").alive.any() and not group_of(floor, "ranged").alive.any()


def test_deep_things_appear_in_water(many):
    state = edit(plain_state(STATIC), floor_index=5, floor__block=Block.WATER)
    floor = many(state)
    assert group_of(floor, "ranged").alive.any() and not group_of(floor, "melee").alive.any()


def test_cells_are_drawn_as_jax_random_choice_draws_them():
    """Including draws that rounding moves to a neighbouring cell."""
    random = np.random.default_rng(0)
    exact = jax.jit(jax.vmap(sampling.choose_at))
    doubtful = wrong = 0
    for density in (0.02, 0.2, 0.9):
        valid = random.random((64, 2304)) < density
        ranks = random.integers(0, valid.sum(1))
        number = np.float32(1) - (ranks / valid.sum(1)).astype(np.float32)  # close to a border
        number = np.where(random.random(64) < 0.5, number, random.random(64)).astype(np.float32)
        number = np.minimum(number, np.float32(1 - 2**-24))
        rank = masked_choice.rank(jnp.asarray(valid.sum(1)), jnp.asarray(number))
        unsure = np.asarray(masked_choice.is_doubtful(jnp.asarray(valid.sum(1)), number))
        counted = [np.flatnonzero(v)[r - 1] for v, r in zip(valid, rank, strict=True)]
        differs = np.asarray(exact(jnp.asarray(number), jnp.asarray(valid))) != counted
        assert not (differs & ~unsure).any()
        doubtful, wrong = doubtful + unsure.sum(), wrong + differs.sum()
    assert 0 < wrong < doubtful < 3 * 64


@pytest.mark.parametrize("off", [(24, 188), (-140, 24), (24, 10_000), (-300, 300)])
def test_a_team_far_off_the_map_has_nothing_near(off):
    """God mode lets players walk off it; squares of such distances leave 16 bits."""
    state = edit(plain_state(STATIC), players__position=[off] * 3)
    fighting = edit(state, floor_index=BOSS_FLOOR, floor__block=int(Block.GRAVE))
    params = difficulty("easy", god_mode=True)
    for world, boss in ((state, False), (fighting, True)):
        cells = jax.jit(valid_cells)(world, jnp.int32(0), jnp.bool_(boss), params)
        assert not cells.any()
