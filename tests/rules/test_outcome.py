"""Rewards, deaths, daylight, and the end of an episode."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from worlds import edit, plain_state

from alem_env.core.enums import Achievement, Action, DeathCause
from alem_env.core.params import StaticParams, make_params
from alem_env.rules import outcome

STATIC = StaticParams(num_agents=3)


@pytest.fixture(scope="module")
def plain():
    return plain_state(STATIC)


def test_reward_counts_new_achievements_and_health(plain):
    had = np.zeros((3, 93), bool)
    had[0, Achievement.COLLECT_WOOD] = True
    has = had.copy()
    has[0, Achievement.COLLECT_RUBY] = True
    has[1, [Achievement.ENTER_VAULT, Achievement.DEFEAT_NECROMANCER]] = True
    before = edit(plain, achievements=had)
    after = edit(plain, achievements=has, players__health=[9.0, 7.0, 10.0])
    own = outcome.reward(before, after, make_params())
    np.testing.assert_allclose(own, [3.0, 5.0 + 8.0 - 0.2, 0.1], rtol=1e-6)
    shared = outcome.reward(before, after, make_params(shared_reward=True))
    np.testing.assert_allclose(shared, [15.9] * 3, rtol=1e-6)


def test_causes_of_death(plain):
    zero = jnp.zeros(3)
    nine = jnp.full(3, 9.0)
    dead = edit(plain, floor_index=3, players__health=[0.0, 0.0, 1.0], players__food=[0, 9, 0])

    def causes(state, *log):
        after = outcome.settle_deaths(state, outcome.HealthLog(*log))
        assert after.players.alive.tolist() == [False, False, True]
        assert after.players.floor_at_death.tolist() == [3, 3, -1]
        return after.players.death_cause.tolist()

    team, mob = DeathCause.FRIENDLY_FIRE, DeathCause.MOB_COMBAT
    assert causes(dead, nine, nine - 1, zero) == [team, team, 0]
    assert causes(dead, nine, nine, zero) == [mob, mob, 0]
    assert causes(dead, nine, nine, nine) == [DeathCause.STARVATION, DeathCause.EXHAUSTION, 0]
    thirsty = edit(dead, players__drink=0)
    assert causes(thirsty, nine, nine, nine) == [DeathCause.STARVATION, DeathCause.DEHYDRATION, 0]


def test_who_was_dead_keeps_cause_and_floor_and_the_revived_live(plain):
    state = edit(
        plain, floor_index=3, players__alive=False, players__health=[0.0, 4.0, 0.0],
        players__death_cause=int(DeathCause.MOB_COMBAT), players__floor_at_death=1,
    )  # fmt: skip
    log = outcome.HealthLog(*[jnp.zeros(3)] * 3)
    after = outcome.settle_deaths(state, log)
    assert after.players.alive.tolist() == [False, True, False]
    assert after.players.death_cause.tolist() == [DeathCause.MOB_COMBAT] * 3
    assert after.players.floor_at_death.tolist() == [1] * 3


def test_only_the_awake_and_living_act(plain):
    state = edit(plain, players__alive=[True, True, False], players__sleeping=[False, True, False])
    after, actions = outcome.begin(state, jnp.full(3, int(Action.DO)))
    assert actions.tolist() == [Action.DO, Action.NOOP, Action.NOOP]
    assert int(after.counters.alive_agent_steps) == 2
    assert int(after.counters.actionable_agent_steps) == 1
    resting = edit(plain, players__resting=[False, True, False])
    assert outcome.begin(resting, jnp.full(3, 5))[1].tolist() == [5, 0, 5]


# From the benchmark's formula under jax 0.4.38, bit for bit, at these timesteps of a day of 300.
DAYLIGHT = {
    1: 0x3F4E3CA0, 45: 0x3F7F051D, 60: 0x3F800000, 100: 0x3F6EC630, 210: 0x00000000,
    299: 0x3F49BDBD, 3001: 0x3F4E3CBF, 9999: 0x3F6FF69D,
}  # fmt: skip


@pytest.mark.parametrize("traced", [False, True])
def test_daylight_is_bit_equal(traced):
    times = np.array(list(DAYLIGHT), np.int32)
    length = np.int32(300)
    if traced:
        levels = jax.jit(jax.vmap(outcome.daylight, in_axes=(0, None)))(times, length)
    else:
        levels = jax.jit(lambda t: outcome.daylight(t, length))(times)
    bits = [hex(b) for b in np.asarray(levels).view(np.uint32).tolist()]
    assert bits == [hex(b) for b in DAYLIGHT.values()]


def test_ends_of_an_episode(plain):
    params = make_params(max_timesteps=100)
    assert not outcome.is_terminated(plain) and outcome.is_truncated(plain, params)
    early = edit(plain, timestep=99)
    assert not outcome.is_truncated(early, params)
    dead = edit(plain, players__alive=False)
    won = edit(plain, boss_progress=8)
    for state in (dead, won):
        assert outcome.is_terminated(state) and not outcome.is_truncated(state, params)
    assert not outcome.is_terminated(edit(plain, players__alive=[False, True, False]))
