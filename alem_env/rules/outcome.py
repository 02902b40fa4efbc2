"""What a step comes to: who is dead and of what, the reward, the clock, the end of the episode."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from alem_env.core.enums import Action, DeathCause
from alem_env.core.params import EnvParams
from alem_env.core.state import State
from alem_env.core.tables import ACHIEVEMENT_WEIGHT, SUNRISE
from alem_env.rules.common import has_beaten_boss

HEALTH_REWARD = 0.1


class HealthLog(NamedTuple):
    """Health (A,) at three moments of a step: who hurt a player is read off the differences."""

    at_start: jax.Array
    after_interaction: jax.Array  # players can have hurt it
    after_mobs: jax.Array


def begin(state: State, actions: jax.Array) -> tuple[State, jax.Array]:
    """The actions that count, NOOP for who is dead, asleep or resting; counts who could act."""
    players = state.players
    acts = players.alive & ~players.sleeping & ~players.resting
    state = state.replace(
        counters=state.counters.add(
            alive_agent_steps=players.alive.sum(), actionable_agent_steps=acts.sum()
        )
    )
    return state, jnp.where(acts, actions, int(Action.NOOP)).astype(jnp.int32)


def reward(before: State, after: State, params: EnvParams) -> jax.Array:
    """Each player's weights of new achievements and a little for health; or all get the sum.

    Returns:
        (A,) float32.
    """
    new = after.achievements.astype(jnp.int32) - before.achievements.astype(jnp.int32)
    achieved = (new * jnp.asarray(ACHIEVEMENT_WEIGHT)).sum(-1)
    healed = (after.players.health - before.players.health) * HEALTH_REWARD
    own = achieved + healed
    return jnp.where(params.shared_reward, own.sum(), own)


def settle_deaths(state: State, health: HealthLog) -> State:
    """Players without health are dead. The cause is the first that applies: a teammate, a mob, a
    need (starvation before dehydration before exhaustion).
    """
    players = state.players
    alive = players.health > 0.0
    dies = players.alive & ~alive
    by_team = health.at_start - health.after_interaction > 0
    by_mob = health.after_interaction - health.after_mobs > 0
    by_need = jnp.where(
        players.food <= 0,
        int(DeathCause.STARVATION),
        jnp.where(players.drink <= 0, int(DeathCause.DEHYDRATION), int(DeathCause.EXHAUSTION)),
    )
    by_others = jnp.where(by_mob, int(DeathCause.MOB_COMBAT), by_need)
    cause = jnp.where(by_team, int(DeathCause.FRIENDLY_FIRE), by_others)
    return state.replace(
        players=players.replace(
            alive=alive,
            death_cause=jnp.where(dies, cause, players.death_cause),
            floor_at_death=jnp.where(dies, state.floor_index, players.floor_at_death),
        )
    )


def advance_clock(state: State, last_key: jax.Array, params: EnvParams) -> State:
    timestep = state.timestep + 1
    return state.replace(
        timestep=timestep, light_level=daylight(timestep, params.day_length), last_key=last_key
    )


def daylight(timestep: jax.Array, day_length: jax.Array) -> jax.Array:
    """Light level in [0, 1] of a timestep.

    Spawn chances depend on its last bit. The benchmark bakes its parameters into the program, where
    the compiler multiplies by the reciprocal of the day length instead of dividing.
    """
    reciprocal = np.float32(1.0) / jnp.asarray(day_length, jnp.float32)
    progress = (timestep * reciprocal) % 1 + SUNRISE
    return 1 - jnp.abs(jnp.cos(jnp.pi * progress)) ** 3


def is_terminated(state: State) -> jax.Array:
    """() bool: the team is dead or has beaten the boss."""
    return ~state.players.alive.any() | has_beaten_boss(state)


def is_truncated(state: State, params: EnvParams) -> jax.Array:
    """() bool: time is up, and nothing else ended the episode."""
    return (state.timestep >= params.max_timesteps) & ~is_terminated(state)
