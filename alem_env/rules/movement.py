"""Players walk."""

import jax
import jax.numpy as jnp

from alem_env.core.enums import Action
from alem_env.core.params import EnvParams
from alem_env.core.state import State
from alem_env.core.tables import DIRECTIONS, PLAYER_COLLISION
from alem_env.rules.common import in_bounds, is_in_player, is_occupied, same_cell
from alem_env.rules.terrain import enterable


def move_players(state: State, actions: jax.Array, params: EnvParams) -> State:
    """Each player turns to where its action points and steps there if the cell is free.

    All move at once: two that want one cell both stay, and nobody enters a cell that a player,
    dead or alive, stands on, not even one that is being left.

    Args:
        state: the world.
        actions: (A,) int32, NOOP for players who cannot act.
        params: `god_mode` walks through everything.
    """
    players = state.players
    walks = (actions >= Action.LEFT) & (actions <= Action.DOWN)
    step = jnp.asarray(DIRECTIONS)[jnp.where(walks, actions, Action.NOOP)]
    wanted = players.position + step

    others = ~jnp.eye(actions.shape[0], dtype=bool)
    contested = (same_cell(wanted) & others).any(axis=1)
    free = in_bounds(wanted) & enterable(state.floor.block, wanted, PLAYER_COLLISION)
    free &= ~is_occupied(state.floor, wanted) & ~is_in_player(players, wanted) & ~contested
    free |= params.god_mode
    players = players.replace(
        position=players.position + step * free[:, None],
        direction=jnp.where(walks, actions, players.direction),
    )
    return state.replace(players=players)
