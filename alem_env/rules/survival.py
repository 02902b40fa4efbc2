"""Sleep and rest, hunger, thirst and fatigue, and what they do to health and mana."""

import jax
import jax.numpy as jnp

from alem_env.core.enums import Achievement, Action, Block
from alem_env.core.state import Players, State
from alem_env.rules.common import (
    award,
    is_fighting_boss,
    is_near,
    max_energy,
    max_health,
    neighbour_blocks,
)

HUNGER_LIMIT = 25
THIRST_LIMIT = 20
FATIGUE_LIMIT = 30
RESTED_LIMIT = -10
RECOVERY_LIMIT = 25
DECLINE_LIMIT = -15
MANA_LIMIT = 30


def live(state: State, actions: jax.Array) -> State:
    """One step of everyone's body. The dead keep what they had, but for the needs statistic."""
    is_peaceful = ~is_fighting_boss(state)  # in the boss fight nothing declines
    near_shelter = is_near(
        neighbour_blocks(state.floor, state.players.position), Block.EPIC_SHELTER
    )
    players, wakes = _sleep_and_rest(state.players, actions)
    players = _need(players, is_peaceful, near_shelter)
    fed = (players.food > 0) & (players.drink > 0)
    has_all = fed & ((players.energy > 0) | players.sleeping)
    players = _recover(players, has_all, is_peaceful, near_shelter)

    counters, time = state.counters, state.timestep
    fraction = (counters.necessities_fraction * time + has_all) / (time + 1)
    return state.replace(
        players=players,
        achievements=award(state.achievements, {Achievement.WAKE_UP: wakes}),
        counters=counters.replace(necessities_fraction=fraction),
    )


def _sleep_and_rest(players: Players, actions: jax.Array) -> tuple[Players, jax.Array]:
    """Who sleeps and who rests now, and who (A,) just woke up."""
    alive = players.alive
    is_awake = players.energy >= max_energy(players)
    is_well = players.health >= max_health(players)
    needs_nothing_more = is_well | (players.food <= 0) | (players.drink <= 0)

    sleeping = players.sleeping | ((actions == Action.SLEEP) & ~is_awake & alive)
    wakes = is_awake & sleeping & alive
    resting = players.resting | ((actions == Action.REST) & ~is_well)
    rises = resting & needs_nothing_more & alive
    return players.replace(sleeping=sleeping & ~wakes, resting=resting & ~rises), wakes


def _need(players: Players, is_peaceful: jax.Array, near_shelter: jax.Array) -> Players:
    """Food, drink and energy fall by one when their counters overflow; sleep gives energy back."""
    alive, asleep = players.alive, players.sleeping
    pace = 1.0 - (0.125 * (players.dexterity - 1))
    decay = jnp.where(asleep, 0.5, 1.0) * pace

    hunger = players.hunger + decay
    thirst = players.thirst + decay
    tiring = jnp.where(near_shelter & asleep, -1.5, -1.0)
    fatigue = jnp.where(asleep, jnp.minimum(players.fatigue + tiring, 0), players.fatigue + pace)
    hungry, thirsty = hunger > HUNGER_LIMIT, thirst > THIRST_LIMIT
    tired, rested = fatigue > FATIGUE_LIMIT, fatigue < RESTED_LIMIT

    def less(value, overflow):
        return jnp.where(overflow & alive, jnp.maximum(value - is_peaceful, 0), value)

    energy = jnp.where(
        rested & alive,
        jnp.minimum(players.energy + 1, max_energy(players)),
        less(players.energy, tired),
    )

    def count(new, overflow, old):
        return jnp.where(alive, jnp.where(overflow, 0.0, new), old)

    return players.replace(
        food=less(players.food, hungry),
        drink=less(players.drink, thirsty),
        energy=energy,
        hunger=count(hunger, hungry, players.hunger),
        thirst=count(thirst, thirsty, players.thirst),
        fatigue=count(fatigue, tired | rested, players.fatigue),
    )


def _recover(
    players: Players, has_all: jax.Array, is_peaceful: jax.Array, near_shelter: jax.Array
) -> Players:
    """Health rises while all needs are met and falls otherwise; mana always rises."""
    asleep = players.sleeping
    gain = jnp.where(asleep, 2.0, 1.0)
    gain = jnp.where(near_shelter, gain * 1.5, gain)
    loss = jnp.where(asleep, -0.5, -1.0) * is_peaceful
    recover = players.recover + jnp.where(has_all, gain, loss)
    recovers, declines = recover > RECOVERY_LIMIT, recover < DECLINE_LIMIT
    health = jnp.where(
        recovers, jnp.minimum(players.health + 2, max_health(players)), players.health
    )
    health = jnp.where(declines, players.health - 1, health)

    mana_pace = 1 + 0.25 * (players.intelligence - 1)
    recover_mana = players.recover_mana + jnp.where(asleep, 2.0, 1.0) * mana_pace
    brims = recover_mana > MANA_LIMIT

    # Who was killed in this very step still counts as alive: do not heal them back to life.
    living = players.alive & (players.health > 0.0)
    return players.replace(
        health=jnp.where(living, health, players.health),
        recover=jnp.where(living, jnp.where(recovers | declines, 0.0, recover), players.recover),
        mana=players.mana + (brims & players.alive),
        recover_mana=jnp.where(
            players.alive, jnp.where(brims, 0.0, recover_mana), players.recover_mana
        ),
    )
