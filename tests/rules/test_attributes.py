"""Levelling up."""

import jax.numpy as jnp
import pytest
from worlds import edit, plain_state, run_rule

from alem_env.core.enums import Action
from alem_env.core.params import StaticParams, make_params
from alem_env.rules import attributes

STATIC = StaticParams(num_agents=3)
PARAMS = make_params()
level_up = run_rule(attributes.level_up)
NAMES = ("dexterity", "strength", "intelligence")


@pytest.mark.parametrize("name", NAMES)
def test_a_point_buys_a_level_up_to_the_limit(name):
    action = Action[f"LEVEL_UP_{name.upper()}"]
    state = edit(plain_state(STATIC), players__xp=[0, 1, 3], **{f"players__{name}": [1, 4, 5]})
    after = level_up(state, jnp.full(3, int(action), jnp.int32), PARAMS)
    assert after.players.xp.tolist() == [0, 0, 3]
    for other in NAMES:
        want = [1, 5, 5] if other == name else [1, 1, 1]
        assert getattr(after.players, other).tolist() == want


def test_the_limit_is_a_parameter():
    state = edit(plain_state(STATIC), players__xp=1, players__strength=2)
    actions = jnp.full(3, int(Action.LEVEL_UP_STRENGTH), jnp.int32)
    assert level_up(state, actions, make_params(max_attribute=2)).players.xp.tolist() == [1] * 3
    assert level_up(state, actions, make_params(max_attribute=3)).players.xp.tolist() == [0] * 3
