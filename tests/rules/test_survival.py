"""Sleep, rest, needs, health and mana."""

import jax.numpy as jnp
import pytest
from worlds import edit, plain_state, run_rule, with_blocks

from alem_env.core.enums import Achievement, Action, Block
from alem_env.core.params import StaticParams
from alem_env.rules import survival

STATIC = StaticParams(num_agents=3)
live = run_rule(survival.live)


@pytest.fixture(scope="module")
def plain():
    return plain_state(STATIC)


def act(state, *codes):
    return live(state, jnp.array(codes or (0, 0, 0), jnp.int32))


def test_sleep_starts_when_tired_and_ends_when_rested(plain):
    state = edit(plain, players__energy=[5, 9, 5])
    after = act(state, Action.SLEEP, Action.SLEEP, 0)
    assert after.players.sleeping.tolist() == [True, False, False]
    rested = act(edit(after, players__energy=9))
    assert rested.players.sleeping.tolist() == [False] * 3
    assert rested.achievements[:, Achievement.WAKE_UP].tolist() == [True, False, False]
    assert int(rested.achievements.sum()) == 1


def test_rest_ends_with_health_or_with_hunger(plain):
    state = edit(plain, players__health=[5.0, 9.0, 5.0], players__food=[9, 9, 0])
    after = act(state, *[Action.REST] * 3)
    assert after.players.resting.tolist() == [True, False, False]
    assert act(edit(after, players__health=9.0)).players.resting.tolist() == [False] * 3
    assert act(edit(after, players__drink=0)).players.resting.tolist() == [False] * 3


@pytest.mark.parametrize("need, counter, limit", [("food", "hunger", 25), ("drink", "thirst", 20)])
def test_needs_fall_when_their_counter_is_over_the_limit(plain, need, counter, limit):
    state = edit(plain, **{f"players__{counter}": [limit, limit - 1, limit]},
                 **{f"players__{need}": [9, 9, 0]})  # fmt: skip
    after = act(state)
    assert getattr(after.players, need).tolist() == [8, 9, 0]
    assert getattr(after.players, counter).tolist() == [0.0, limit, 0.0]


def test_dexterity_and_sleep_slow_needs_down(plain):
    state = edit(
        plain, players__dexterity=[1, 5, 1], players__sleeping=[False, False, True],
        players__energy=[9, 9, 3],
    )  # fmt: skip
    after = act(state)
    assert after.players.hunger.tolist() == [1.0, 0.5, 0.5]
    assert after.players.fatigue.tolist() == [1.0, 0.5, -1.0]


def test_energy_falls_awake_and_rises_asleep(plain):
    state = edit(
        plain, players__fatigue=[30.0, -10.0, 29.0], players__energy=5,
        players__sleeping=[False, True, False],
    )  # fmt: skip
    after = act(state)
    assert after.players.energy.tolist() == [4, 6, 5]
    assert after.players.fatigue.tolist() == [0.0, 0.0, 30.0]


def test_health_rises_when_all_needs_are_met_and_falls_otherwise(plain):
    state = edit(plain, players__recover=[25.0, -15.0, 25.0], players__health=[4.0, 4.0, 8.5],
                 players__food=[9, 0, 9])  # fmt: skip
    after = act(state)
    assert after.players.health.tolist() == [6.0, 3.0, 9.0]
    assert after.players.recover.tolist() == [0.0] * 3
    half = act(edit(plain, players__recover=10.0, players__food=[9, 0, 9]))
    assert half.players.recover.tolist() == [11.0, 9.0, 11.0]


def test_sleepers_recover_twice_as_fast_and_decline_half_as_fast(plain):
    state = edit(plain, players__sleeping=True, players__energy=3, players__drink=[9, 0, 9])
    assert act(state).players.recover.tolist() == [2.0, -0.5, 2.0]


def test_a_shelter_helps_who_is_next_to_it(plain):
    state = edit(plain, players__sleeping=[True, True, False], players__energy=3,
                 players__position=[[24, 24], [30, 30], [25, 25]])  # fmt: skip
    state = with_blocks(state, r24_c25=Block.EPIC_SHELTER)
    after = act(state)
    assert after.players.recover.tolist() == [3.0, 2.0, 1.5]
    assert after.players.fatigue.tolist() == [-1.5, -1.0, 1.0]


def test_the_boss_fight_stops_decline_but_not_recovery(plain):
    state = edit(plain, floor_index=8, players__hunger=25.0, players__thirst=20.0,
                 players__fatigue=30.0, players__food=[9, 0, 9])  # fmt: skip
    after = act(state)
    assert after.players.food.tolist() == [9, 0, 9]
    assert after.players.drink.tolist() == [9] * 3 and after.players.energy.tolist() == [9] * 3
    assert after.players.recover.tolist() == [1.0, 0.0, 1.0]


def test_who_was_killed_in_this_step_is_not_healed(plain):
    state = edit(plain, players__health=[-1.0, 0.0, 0.5], players__recover=25.0)
    after = act(state)
    assert after.players.health.tolist() == [-1.0, 0.0, 2.5]
    assert after.players.recover.tolist() == [25.0, 25.0, 0.0]


def test_the_dead_keep_what_they_had(plain):
    state = edit(
        plain, players__alive=False, players__hunger=25.0, players__thirst=20.0,
        players__fatigue=30.0, players__recover_mana=30.0, players__sleeping=[True, False, False],
    )  # fmt: skip
    after = act(state)
    for name in state.players.__dataclass_fields__:
        want, got = getattr(state.players, name), getattr(after.players, name)
        assert got.tolist() == want.tolist(), name
    assert not after.achievements.any()


def test_mana_rises_with_intelligence(plain):
    state = edit(plain, players__intelligence=[1, 5, 1], players__recover_mana=[30.0, 0.0, 29.0])
    after = act(state)
    assert after.players.mana.tolist() == [10, 9, 9]
    assert after.players.recover_mana.tolist() == [0.0, 2.0, 30.0]


def test_share_of_steps_with_all_needs(plain):
    state = edit(plain, timestep=3, players__food=[9, 0, 9], players__energy=[9, 9, 0],
                 counters__necessities_fraction=1.0)  # fmt: skip
    after = act(state)
    assert after.counters.necessities_fraction.tolist() == [1.0, 0.75, 0.75]
