"""One transition of one world: the order of the phases, and nothing else."""

import jax

from alem_env.core.params import EnvParams, StaticParams
from alem_env.core.state import State
from alem_env.rules import (
    achievements,
    attributes,
    boss,
    chance,
    comms,
    construction,
    crafting,
    floors,
    interact,
    magic,
    mobs,
    movement,
    outcome,
    placing,
    plants,
    projectiles,
    spawning,
    survival,
    trading,
)
from alem_env.rules.outcome import is_terminated, is_truncated

__all__ = ["is_terminated", "is_truncated", "step"]


def step(
    key: jax.Array, state: State, actions: jax.Array, params: EnvParams, static: StaticParams
) -> tuple[State, jax.Array]:
    """All players act at once, then the world moves.

    The order is the benchmark's, and part of the rules: floors change before anything is done on
    them, all that players do comes before they walk, mobs answer to where players have walked, and
    needs are settled after all damage.

    Runs under the axis `core.batch.WORLDS` (`core.batch.over_worlds`).

    Args:
        key: (2,) uint32.
        state: one world.
        actions: (A,) int, legal or not; what cannot be done does nothing.
        params: traced numbers.
        static: shapes and switches.

    Returns:
        The next state and the rewards (A,) float32.
    """
    luck = chance.draw(key, static)
    start = state

    state, actions = outcome.begin(state, actions)
    state = floors.change_floor(state, actions, params)
    state = crafting.craft(luck, state, actions, params, static)
    state = interact.interact(luck, state, actions, params, static)
    health_after_interaction = state.players.health
    state = placing.place(luck, state, actions, params, static)
    state = construction.construct(state, actions, static)
    state = projectiles.shoot(state, actions)
    state = magic.heal(state, actions)
    state = magic.drink_potion(state, actions)
    state = magic.read_book(state, actions)
    state = magic.enchant(luck, state, actions, params, static)
    state = boss.advance_boss(state)
    state = attributes.level_up(state, actions, params)
    state = trading.give(state, actions)
    state = trading.request(state, actions)
    state = comms.communicate(state, actions, static)
    state = movement.move_players(state, actions, params)
    state = mobs.move_mobs(luck.mobs_key, state, params)
    state = spawning.spawn_mobs(luck, state, params, static)
    health_after_mobs = state.players.health
    state = plants.grow(state)
    state = survival.live(state, actions)
    state = achievements.clip(state, params)
    state = achievements.award_inventory(state)

    health = outcome.HealthLog(start.players.health, health_after_interaction, health_after_mobs)
    reward = outcome.reward(start, state, params)
    state = outcome.settle_deaths(state, health)
    state = outcome.advance_clock(state, luck.last_key, params)
    return state, reward
