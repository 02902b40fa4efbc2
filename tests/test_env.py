"""The environment's interface: what it takes, what it gives, what it refuses."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import alem_env
from alem_env.core import rng
from alem_env.core.params_check import check_params
from alem_env.vector import VectorState

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
        (dict(rules_version=np.array(["0.1.0"])), "rules_version=array"),
        (dict(preset="hard"), "preset='hard'"),
        (dict(difficulty="hard"), "difficulty"),
        (dict(num_agents=2.5), "num_agents=2.5"),
        (dict(checked="no"), "checked='no' must be True or False"),
        (dict(soft_specialization="no"), "soft_specialization='no'"),
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


def test_default_parameters_fit():
    for switches in ({}, dict(preset="none"), dict(max_construction_sites=2)):
        env = alem_env.make(**switches)
        check_params(env.default_params, env.static)


def test_equal_environments_are_one():
    assert alem_env.make(num_agents=np.int64(3)) == ENV
    assert hash(alem_env.make()) == hash(ENV) and alem_env.make() == ENV
    assert alem_env.make(num_agents=2) != ENV


@pytest.mark.parametrize(
    "actions, named",
    [
        (np.zeros((2,), np.int32), r"shape \(2,\)"),
        (np.zeros((3, 1), np.int32), r"shape \(3, 1\)"),
        (np.zeros((3,), np.float32), "dtype float32"),
        (np.zeros((3,), bool), "dtype bool"),
        ([0, 0], r"shape \(2,\)"),
        ([0, 0, 0.5], "dtype float32"),
        ([[0], [0, 0], 0], "are no array"),
        (["left", "right", "noop"], "are no array"),
        ([0, 0, 2**40], "are no array"),
        (None, "actions=None are no array"),
        (7, r"shape \(\)"),
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


def test_actions_may_be_lists():
    actions = ENV.checked_actions([[1, 2, 3], (4, 5, 6)], (2, 3))
    np.testing.assert_array_equal(actions, [[1, 2, 3], [4, 5, 6]])
    assert actions.dtype == jnp.int32


WRONG_KEYS = {
    "no words": (jnp.zeros(3, jnp.uint32), "key has shape .*uint32 words"),
    "int32": (jnp.zeros(2, jnp.int32), "int32.*uint32 words"),
    "numpy floats": (np.zeros(2), "float64.*uint32 words"),
    "another generator": (jax.random.key(0, impl="rbg"), "rbg.*threefry2x32"),
    "raw of another": (jax.random.key_data(jax.random.key(0, impl="rbg")), "threefry2x32"),
    "nothing": (None, "key=None is no jax key"),
    "a seed": (5, "key=5 is no jax key"),
    "a list": ([0, 5], r"key=\[0, 5\] is no jax key"),
}
PARAMS = ENV.default_params


@pytest.mark.parametrize("name", WRONG_KEYS)
@pytest.mark.parametrize(
    "call",
    [
        lambda key: ENV.reset(key, PARAMS),
        lambda key: ENV.step(key, None, ACTIONS, PARAMS),
        lambda key: ENV.reset_batch(key, PARAMS),
        lambda key: ENV.step_batch(key, None, [ACTIONS], PARAMS),
        lambda key: alem_env.VectorEnv(ENV, 2).reset(key, PARAMS),
        lambda key: alem_env.VectorEnv(ENV, 2).step(key, None, [ACTIONS] * 2, PARAMS),
    ],
)
def test_wrong_keys_are_refused(call, name):
    key, message = WRONG_KEYS[name]
    with pytest.raises(ValueError, match=message):
        call(key)


def test_one_key_is_not_many():
    with pytest.raises(ValueError, match="reset_batch"):
        ENV.reset(jax.random.split(KEY), PARAMS)
    with pytest.raises(ValueError, match="one for each world"):
        ENV.reset_batch(KEY, PARAMS)


@pytest.mark.parametrize("params", [None, {}, alem_env.difficulty("none")])
@pytest.mark.parametrize(
    "call",
    [
        lambda params: ENV.reset(KEY, params),
        lambda params: ENV.step(KEY, None, ACTIONS, params),
        lambda params: ENV.action_mask(None, params),
        lambda params: ENV.reset_batch(KEY[None], params),
        lambda params: ENV.step_batch(KEY[None], None, [ACTIONS], params),
        lambda params: alem_env.VectorEnv(ENV, 2).reset(KEY, params),
        lambda params: alem_env.VectorEnv(ENV, 2).step(KEY, None, [ACTIONS] * 2, params),
    ],
)
def test_wrong_parameters_are_refused(call, params):
    with pytest.raises(ValueError, match="params"):
        call(params)


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


@pytest.fixture(scope="module")
def state():
    """The shapes of one world's state; nothing compiles."""
    return jax.eval_shape(lambda: ENV.reset(KEY, PARAMS))[1]


def test_wrong_states_are_refused(state):
    two = jax.tree.map(lambda x: jax.ShapeDtypeStruct((2, *x.shape), x.dtype), state)
    of_two = VectorState(two, np.zeros((2, 3)), np.zeros(2))
    pair, four = alem_env.make(num_agents=2), alem_env.VectorEnv(ENV, 4)
    fewer = alem_env.make(melee_mobs_per_agent=1)
    crowded = alem_env.make(max_construction_sites=20)
    actions, keys = np.zeros((4, 3), int), jax.random.split(KEY, 4)
    for call, named in [
        (lambda: ENV.step(KEY, None, ACTIONS, PARAMS), "state is a NoneType, and a State"),
        (lambda: ENV.step(KEY, of_two, ACTIONS, PARAMS), "state is a VectorState.*env_state"),
        (lambda: ENV.step(KEY, two, ACTIONS, PARAMS), r"leading axes \(2,\).*step_batch"),
        (lambda: ENV.score(two), r"leading axes \(2,\).*jax.vmap"),
        (lambda: ENV.action_mask(two, PARAMS), r"leading axes \(2,\)"),
        (lambda: pair.step(KEY, state, ACTIONS[:2], PARAMS), "3 agents, and this environment 2"),
        (lambda: fewer.step(KEY, state, ACTIONS, PARAMS), "24 slots of mobs, and this .* 18"),
        (lambda: crowded.score(state), "12 construction sites, and this environment 20"),
        (lambda: ENV.step_batch(keys, two, actions, PARAMS), r"\(2,\), and \(4,\) are needed"),
        (lambda: ENV.step_batch(keys, state, actions, PARAMS), r"\(\), and \(4,\) are needed"),
        (lambda: four.step(KEY, of_two, actions, PARAMS), r"\(2,\), and \(4,\) are needed"),
        (lambda: four.step(KEY, two, actions, PARAMS), "state is a State, and a VectorState"),
    ]:
        with pytest.raises(ValueError, match=named):
            call()


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint32, np.int64, jnp.int16])
def test_integers_of_every_kind_are_one_program(dtype):
    actions = ENV.checked_actions(np.array([0, 59, 3]).astype(dtype), (3,))
    assert actions.dtype == np.int32 and actions.tolist() == [0, 59, 3]


def test_a_lower_end_above_its_upper_one_is_refused_wherever_it_comes_from():
    crossed = PARAMS.replace(handover_window_min=20)
    each = jax.tree.map(lambda x: np.stack([x] * 2), PARAMS)
    each = each.replace(alpha_min=np.float32([0.1, 0.9]))
    with pytest.raises(ValueError, match="handover_window_min=20 is above handover_window_max=10"):
        ENV.reset(KEY, crossed)
    with pytest.raises(ValueError, match="alpha_min=.* is above alpha_max"):
        ENV.reset_batch(jax.random.split(KEY), each, 0)


def test_no_worlds_and_no_shapes_are_refused():
    with pytest.raises(ValueError, match="keys are none"):
        ENV.reset_batch(jnp.zeros((0, 2), jnp.uint32), PARAMS)
    with pytest.raises(ValueError, match="static=None is no StaticParams"):
        alem_env.Environment(None)


def test_parameters_of_each_world_need_their_axis():
    each = jax.tree.map(lambda x: np.stack([x] * 3), PARAMS)
    for params, axis, named in [
        (each, None, r"has shape \(3,\), and \(\) is needed; .* params_axis=0"),
        (each, 0, r"has shape \(3,\), and \(2,\) is needed"),
        (PARAMS, 0, r"has shape \(\), and \(2,\) is needed"),
        (each, 1, "params_axis=1 is unknown; choose None"),
        (each, "x", "params_axis='x' is unknown; choose None"),
        (each, True, "params_axis=True is unknown"),
    ]:
        with pytest.raises(ValueError, match=named):
            ENV.reset_batch(jax.random.split(KEY), params, axis)
