"""The environment's interface: what it takes, what it gives, what it refuses."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import alem_env
from alem_env.core import rng

ENV = alem_env.make()
ACTIONS = np.zeros((3,), np.int32)
KEY = rng.key(0)


@pytest.mark.parametrize(
    "options, named",
    [
        (dict(num_agents=0), "num_agents=0"),
        (dict(num_agents=9), "num_agents=9"),
        (dict(num_comm_channels=-1), "num_comm_channels=-1"),
        (dict(rules_version="0.3"), "rules_version='0.3'"),
        (dict(preset="hard"), "preset='hard'"),
        (dict(difficulty="hard"), "difficulty"),
    ],
)
def test_make_names_what_is_wrong(options, named):
    with pytest.raises(ValueError, match=named):
        alem_env.make(**options)


def test_make_none_is_the_game_without_coordination():
    static = alem_env.make(preset="none").static
    assert not static.coordination_enabled and not static.construction_enabled


def test_sizes():
    assert (ENV.num_agents, ENV.num_actions) == (3, 60)
    assert alem_env.make(num_agents=1, num_comm_channels=0).num_actions == 55


def test_equal_environments_are_one():
    assert hash(alem_env.make()) == hash(ENV) and alem_env.make() == ENV
    assert alem_env.make(num_agents=2) != ENV


@pytest.mark.parametrize(
    "actions, named",
    [
        (np.zeros((2,), np.int32), r"shape \(2,\)"),
        (np.zeros((3, 1), np.int32), r"shape \(3, 1\)"),
        (np.zeros((3,), np.float32), "dtype float32"),
        (np.zeros((3,), bool), "dtype bool"),
    ],
)
def test_wrong_actions_are_refused(actions, named):
    with pytest.raises(ValueError, match=named):
        ENV.step(KEY, None, actions, ENV.default_params)


@pytest.mark.parametrize("value", [-1, 60])
def test_checked_environments_refuse_actions_that_do_not_exist(value):
    checked = alem_env.make(checked=True)
    with pytest.raises(ValueError, match=rf"\[{value}\] do not exist"):
        checked.step(KEY, None, np.int32([0, value, 59]), ENV.default_params)


@pytest.mark.parametrize("key", [jnp.zeros(3, jnp.uint32), jnp.zeros(2, jnp.int32)])
def test_wrong_keys_are_refused(key):
    with pytest.raises(ValueError, match="key has shape"):
        ENV.reset(key, ENV.default_params)


@pytest.mark.slow
def test_batches_are_single_worlds():
    """Worlds of a batch, of one world, from typed and from raw keys, step alike."""
    params = alem_env.difficulty("hard")
    keys = rng.split(rng.words(KEY), 3)
    obs, states = ENV.reset_batch(keys, params)
    actions = jnp.full((3, 3), int(alem_env.Action.RIGHT))
    batch = ENV.step_batch(keys, states, actions, params)
    typed = jax.random.wrap_key_data(keys[1], impl=rng.BENCHMARK_PRNG)
    obs_alone, state = ENV.reset(typed, params)
    _same(jax.tree.map(lambda x: x[1], (obs, states)), (obs_alone, state))
    _same(jax.tree.map(lambda x: x[1], batch), ENV.step(keys[1], state, actions[1], params))


@pytest.mark.slow
def test_parameters_may_differ_between_worlds():
    worlds = [alem_env.difficulty("easy"), alem_env.difficulty("hard", max_timesteps=1)]
    each = jax.tree.map(lambda *x: np.stack(x), *worlds)
    keys = jnp.stack([rng.words(KEY)] * 2)
    _, states = ENV.reset_batch(keys, each, params_axis=0)
    *_, truncated, _ = ENV.step_batch(keys, states, jnp.zeros((2, 3), int), each, params_axis=0)
    assert truncated.tolist() == [False, True]
    alone = ENV.reset(KEY, worlds[0])[1]
    _same(jax.tree.map(lambda x: x[0], states), alone)


def _same(found, expected):
    jax.tree.map(np.testing.assert_array_equal, found, expected)
