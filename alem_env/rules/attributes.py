"""Experience spent on dexterity, strength and intelligence."""

import jax

from alem_env.core.enums import Action
from alem_env.core.params import EnvParams
from alem_env.core.state import State

_ATTRIBUTES = {
    "dexterity": Action.LEVEL_UP_DEXTERITY,
    "strength": Action.LEVEL_UP_STRENGTH,
    "intelligence": Action.LEVEL_UP_INTELLIGENCE,
}


def level_up(state: State, actions: jax.Array, params: EnvParams) -> State:
    """One point of experience for one level, up to the limit."""
    players = state.players
    raised = {}
    xp = players.xp
    for name, action in _ATTRIBUTES.items():
        value = getattr(players, name)
        does = (actions == action) & (players.xp >= 1) & (value < params.max_attribute)
        raised[name] = value + does
        xp = xp - does
    return state.replace(players=players.replace(xp=xp, **raised))
