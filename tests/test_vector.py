"""Automatic resets: only what ended starts anew, with the right key, whatever the number."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import alem_env
from alem_env.core import rng

NUM_ENVS, LIMIT = 5, 50
VECTOR = alem_env.VectorEnv(alem_env.make(), NUM_ENVS, reset_chunk=2)
PARAMS = alem_env.difficulty("hard", max_timesteps=LIMIT)
ENDLESS = alem_env.difficulty("hard")
ACTIONS = jnp.full((NUM_ENVS, 3), int(alem_env.Action.DO))
KEYS = rng.split(rng.words(rng.key(7)), NUM_ENVS)


@pytest.fixture(scope="module")
def start():
    return VECTOR.reset(rng.key(0), PARAMS)


def after_one_step(start, ends, params=PARAMS):
    """A step after which the episodes of the worlds in `ends` are at the time limit."""
    _, state = start
    clock = np.full(NUM_ENVS, 10)
    clock[list(ends)] = LIMIT - 1
    world = state.env_state.replace(timestep=jnp.asarray(clock, jnp.int32))
    state = state.replace(env_state=world, episode_return=jnp.ones((NUM_ENVS, 3)))
    return VECTOR.step(KEYS, state, ACTIONS, params)


def rows(tree, index):
    return jax.tree.map(lambda x: np.asarray(x)[index], tree)


def same(found, expected):
    jax.tree.map(np.testing.assert_array_equal, found, expected)


@pytest.mark.parametrize("ends", [(3,), (0, 2, 4), range(NUM_ENVS)])
def test_only_ended_worlds_start_anew(start, ends):
    running = [k for k in range(NUM_ENVS) if k not in ends]
    undisturbed_obs, undisturbed, *_ = after_one_step(start, ends, ENDLESS)
    obs, state, reward, terminated, truncated, info = after_one_step(start, ends)
    same(rows((obs, state), running), rows((undisturbed_obs, undisturbed), running))

    _, reset_keys = rng.split_pair(KEYS)
    new_obs, new = VECTOR.reset(reset_keys, PARAMS)
    ended = list(ends)
    same(rows((obs, state), ended), rows((new_obs, new), ended))

    same(info["final_observation"], undisturbed_obs)
    assert np.flatnonzero(truncated).tolist() == ended and not terminated.any()
    assert np.flatnonzero(info["finished"]).tolist() == ended
    episode = rows(info["episode"], ended)
    assert (episode["length"] == LIMIT).all()
    np.testing.assert_allclose(episode["team_return"], 3 + np.asarray(reward.sum(-1))[ended])


def test_an_ended_episode_is_described(start):
    _, state = start
    achievements = np.zeros((NUM_ENVS, 3, len(alem_env.Achievement)), bool)
    achievements[2, 1, alem_env.Achievement.COORD_BUILD_FORGE] = True
    players = state.env_state.players
    dead = players.replace(
        health=players.health.at[2].set(0.0), alive=players.alive.at[2].set(False)
    )
    world = state.env_state.replace(achievements=jnp.asarray(achievements), players=dead)
    state = state.replace(env_state=world)
    *_, terminated, truncated, info = VECTOR.step(KEYS, state, ACTIONS, PARAMS)
    assert np.flatnonzero(terminated).tolist() == [2] and not truncated.any()
    episode = rows(info["episode"], 2)
    np.testing.assert_allclose(episode["coord"], 8 / 159, rtol=1e-6)
    np.testing.assert_allclose(episode["total"], 8 / 376, rtol=1e-6)
    assert episode["base"] == 0
    same(episode["achievements"], achievements[2])


def test_new_worlds_differ(start):
    _, state = start
    blocks = np.asarray(state.env_state.floor.block)
    assert len(np.unique(blocks.reshape(NUM_ENVS, -1), axis=0)) == NUM_ENVS


@pytest.mark.parametrize(
    "options, named",
    [
        (dict(num_envs=0), "num_envs=0"),
        (dict(num_envs=2.5), "num_envs=2.5 must be a whole number"),
        (dict(num_envs=True), "num_envs=True"),
        (dict(num_envs="x"), "num_envs='x'"),
        (dict(num_envs=1, reset_chunk=0), "reset_chunk=0"),
        (dict(num_envs=1, alpha_range=(0.5, 0.2)), "alpha_range"),
        (dict(num_envs=1, alpha_range=(0.5, 1.2)), "alpha_range"),
        (dict(num_envs=1, alpha_range=0.5), "alpha_range=0.5 must be two numbers"),
        (dict(num_envs=1, alpha_range=("a", "b")), "alpha_range"),
        (dict(num_envs=1, alpha_range="01"), "alpha_range='01' must be two numbers"),
        (dict(num_envs=1, alpha_range={0: 1, 1: 2}), "alpha_range=.* must be two numbers"),
        (dict(num_envs=1, alpha_range=(False, True)), "alpha_range=.False, True. must be"),
    ],
)
def test_wrong_options_are_refused(options, named):
    with pytest.raises(ValueError, match=named):
        alem_env.VectorEnv(VECTOR.env, **options)


def test_difficulty_is_drawn_in_one_way_only():
    drawing = alem_env.make(randomize_alpha=True)
    assert alem_env.VectorEnv(drawing, 1).alpha_range is None
    with pytest.raises(ValueError, match=r"alpha_range=\(0.3, 0.9\) and randomize_alpha=True both"):
        alem_env.VectorEnv(drawing, 1, alpha_range=(0.3, 0.9))


def test_options_of_numpy_make_the_same_environment():
    found = alem_env.VectorEnv(VECTOR.env, np.int32(NUM_ENVS), reset_chunk=np.int64(2))
    assert found == VECTOR and type(found.num_envs) is int


def test_an_environment_is_needed():
    with pytest.raises(ValueError, match="env='hard' is no environment"):
        alem_env.VectorEnv("hard", 2)


def test_wrong_shapes_are_refused(start):
    with pytest.raises(ValueError, match=r"shape \(2, 3\)"):
        VECTOR.step(KEYS, start[1], ACTIONS[:2], PARAMS)
    with pytest.raises(ValueError, match=r"not \(4, 2\)"):
        VECTOR.step(KEYS[:4], start[1], ACTIONS, PARAMS)


@pytest.mark.slow
def test_each_world_may_draw_its_difficulty():
    vector = dataclasses.replace(VECTOR, alpha_range=(0.3, 0.9))
    _, state = vector.reset(rng.key(0), PARAMS)
    alpha = np.asarray(state.alpha)
    assert (alpha >= 0.3).all() and (alpha <= 0.9).all() and len(set(alpha.tolist())) == NUM_ENVS
    clock = jnp.full(NUM_ENVS, 3, jnp.int32).at[1].set(LIMIT - 1)
    state = state.replace(env_state=state.env_state.replace(timestep=clock))
    _, after, *_ = vector.step(KEYS, state, ACTIONS, PARAMS)
    assert np.flatnonzero(np.asarray(after.alpha) != alpha).tolist() == [1]


@pytest.mark.slow
def test_a_world_of_the_vector_is_a_world_of_the_environment(start):
    obs, state, reward, *_ = after_one_step(start, ())
    world = rows(start[1].env_state, 3)
    world = world.replace(timestep=jnp.int32(10))
    step_keys, _ = rng.split_pair(KEYS)
    found = VECTOR.env.step(step_keys[3], world, ACTIONS[3], PARAMS)
    same(found[:3], rows((obs, state.env_state, reward), 3))
