"""Requests for supplies, and gifts to those who asked."""

import jax
import jax.numpy as jnp
import numpy as np

from alem_env.core.enums import Achievement, Action
from alem_env.core.state import State
from alem_env.core.tables import NO_ACHIEVEMENT, REQUEST_STEPS
from alem_env.rules.common import MATERIALS_ASKED, award_each, goods_wanted


def give(state: State, actions: jax.Array) -> State:
    """Moves one unit of what the receiver asks for, wherever the two are.

    All gifts look at what was held before any of them: two givers may fill a receiver beyond the
    limit.
    """
    players, inventory = state.players, state.inventory
    agents = jnp.arange(actions.shape[0])
    other = actions - Action.GIVE  # skips the giver itself
    receiver = other + (other >= agents)
    gives = (other >= 0) & (other < actions.shape[0] - 1)
    to = gives[:, None] & (receiver[:, None] == agents)  # (giver, receiver)

    held, wanted = goods_wanted(state)
    gift = to[:, :, None] & wanted[None, :, :] & (held > 0)[:, None, :]  # giver, receiver, good
    given = gift.any(1).astype(jnp.int32)
    received = gift.sum(0)
    after = held - given + received
    food, drink, *materials = after.T

    more_food, more_drink = food > players.food, drink > players.drink
    return state.replace(
        players=players.replace(
            food=food,
            drink=drink,
            hunger=jnp.where(more_food, 0.0, players.hunger),
            thirst=jnp.where(more_drink, 0.0, players.thirst),
        ),
        inventory=inventory.replace(**dict(zip(MATERIALS_ASKED, materials, strict=True))),
        achievements=award_each(
            state.achievements,
            jnp.where(more_food, int(Achievement.COLLECT_FOOD), NO_ACHIEVEMENT),
            jnp.where(more_drink, int(Achievement.COLLECT_DRINK), NO_ACHIEVEMENT),
        ),
        counters=state.counters.add_each(
            trades=given.sum(-1),
            food_trades=given[:, 0],
            drink_trades=given[:, 1],
            give_attempts=gives,
            requests_received=received.sum(-1),
        ),
    )


def request(state: State, actions: jax.Array) -> State:
    """A request stands for some steps; gifts do not end it, a new request replaces it."""
    players = state.players
    asks = (actions >= Action.REQUEST_FOOD) & (actions <= Action.REQUEST_SAPPHIRE)
    left = jnp.maximum(0, players.request_duration - 1)
    expired = (players.request_duration > 0) & (left == 0) & ~asks
    return state.replace(
        players=players.replace(
            request_duration=jnp.maximum(left, asks * np.int32(REQUEST_STEPS)),
            request_type=jnp.where(asks, actions, players.request_type),
        ),
        counters=state.counters.add_each(requests=asks, requests_expired=expired),
    )
