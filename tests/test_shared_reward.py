"""A team's return is the sum of what its agents earn, shared or not."""

from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

import alem_env
from alem_env.rules import outcome
from alem_env.vector import _describe


@pytest.mark.parametrize("shared, each", [(False, [1.0, 2.0, 3.0]), (True, [6.0, 6.0, 6.0])])
def test_one_and_two_and_three_make_six(shared, each):
    params = alem_env.difficulty("hard", shared_reward=shared)
    nothing = jnp.zeros((3, 93), bool)
    before = SimpleNamespace(achievements=nothing, players=SimpleNamespace(health=jnp.zeros(3)))
    health = jnp.array([10.0, 20.0, 30.0])  # a tenth of it is earned
    after = SimpleNamespace(achievements=nothing, players=SimpleNamespace(health=health))
    returns = outcome.reward(before, after, params)[None]
    np.testing.assert_allclose(returns, [each], rtol=1e-6)
    world = SimpleNamespace(timestep=jnp.array([4]), achievements=nothing[None])
    episode = _describe(world, returns, jnp.zeros(1, bool), params)
    np.testing.assert_allclose(episode["team_return"], [6.0], rtol=1e-6)
