"""Messages: one of several channels, heard by everyone, for one step."""

import jax
import jax.numpy as jnp

from alem_env.core.params import StaticParams
from alem_env.core.state import State

SILENT = -1


def communicate(state: State, actions: jax.Array, static: StaticParams) -> State:
    """Speaking on a channel is a player's action of the step."""
    channel = actions - static.first_message_action
    speaks = (channel >= 0) & (channel < static.num_comm_channels)
    return state.replace(
        players=state.players.replace(message=jnp.where(speaks, channel, SILENT)),
        counters=state.counters.add_each(messages=speaks),
    )
