"""JaxMARL's interface: names and shapes, and the same game as behind `alem_env.make`.

The programs of the documentation step four worlds; most tests use those.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import alem_env
from alem_env.adapters.jaxmarl import AlemJaxMARL
from alem_env.adapters.spaces import Box, Discrete
from alem_env.core import rng

ENV = alem_env.make()
PARAMS = alem_env.difficulty("hard")
VIEW = AlemJaxMARL(ENV, PARAMS)
KEY = jax.random.key(3)
NUM_WORLDS = 4
KEYS = jax.random.split(KEY, NUM_WORLDS)
ACTIONS = np.random.default_rng(0).integers(0, ENV.num_actions, (NUM_WORLDS, 3))
BY_AGENT = {agent: jnp.asarray(ACTIONS[:, k]) for k, agent in enumerate(VIEW.agents)}


def same(found, expected):
    jax.tree.map(np.testing.assert_array_equal, found, expected)


def world(tree, index):
    return jax.tree.map(lambda leaf: np.asarray(leaf)[index], tree)


def vector(obs):
    """A compact observation of the environment as the view shows it."""
    rows = np.asarray(alem_env.dense.expand(obs, ENV.static))
    return dict(zip(VIEW.agents, rows, strict=True))


@pytest.fixture(scope="module")
def start(jaxmarl_page):
    return jaxmarl_page["reset"](KEYS)


@pytest.fixture(scope="module")
def ended(jaxmarl_page, start):
    """A step at whose end worlds 1 and 3 are at the time limit: (before, what came back)."""
    clock = jnp.full(NUM_WORLDS, 7).at[np.array([1, 3])].set(int(PARAMS.max_timesteps) - 1)
    state = start[1].replace(timestep=clock.astype(jnp.int32))
    return state, jaxmarl_page["step"](KEYS, state, BY_AGENT)


def test_names_and_spaces():
    assert VIEW.agents == ["agent_0", "agent_1", "agent_2"] and VIEW.num_agents == 3
    assert VIEW.observation_space("agent_1").shape == (9730,)
    assert VIEW.action_space("agent_2").n == 60 and VIEW.action_space("agent_2").shape == ()
    assert VIEW.name == "AlemJaxMARL"


def test_spaces_sample_what_they_contain():
    for space in (Discrete(5), Box(-1.0, 2.0, (4, 3))):
        drawn = jax.vmap(space.sample)(jax.random.split(KEY, 50))
        assert drawn.shape == (50, *space.shape) and drawn.dtype == space.dtype
        assert jax.vmap(space.contains)(drawn).all()
        assert not space.contains(drawn[0] + 9) and not space.contains(drawn[0] - 9)
    many = jax.vmap(Discrete(3).sample)(jax.random.split(KEY, 50))
    assert set(np.asarray(many).tolist()) == {0, 1, 2}


def test_a_reset_is_the_environments(start):
    obs, state = start
    for k in range(2):
        want_obs, want_state = ENV.reset(KEYS[k], PARAMS)
        same(world(state, k), want_state)
        same(world(obs, k), vector(want_obs))


def test_a_step_is_the_environments_with_the_first_half_of_the_key(ended):
    state, (obs, after, rewards, dones, _) = ended
    for k in (0, 2):
        step_key, _ = rng.split_pair(rng.words(KEYS[k]))
        want = ENV.step(step_key, world(state, k), ACTIONS[k], PARAMS)
        same(world(obs, k), vector(want[0]))
        same(world(after, k), want[1])
        same(world(rewards, k), dict(zip(VIEW.agents, np.asarray(want[2]), strict=True)))
        assert not any(bool(done[k]) for done in dones.values())


def test_after_the_end_comes_the_world_of_the_second_half(ended):
    state, (obs, after, rewards, dones, infos) = ended
    for k in (1, 3):
        step_key, reset_key = rng.split_pair(rng.words(KEYS[k]))
        want_obs, want_state = ENV.reset(reset_key, PARAMS)
        same(world(obs, k), vector(want_obs))
        same(world(after, k), want_state)
        last = ENV.step(step_key, world(state, k), ACTIONS[k], PARAMS)
        same(world(rewards, k), dict(zip(VIEW.agents, np.asarray(last[2]), strict=True)))
        score = alem_env.score.team_score(last[1].achievements)
        for name in ("base", "coord", "total"):
            np.testing.assert_allclose(infos[name][k], [score[name]] * 3, rtol=1e-6)
    assert set(dones) == {*VIEW.agents, "__all__"}
    for done in dones.values():
        assert done.tolist() == [False, True, False, True]
    same(infos["truncated"], np.tile([[False], [True], [False], [True]], 3))
    assert not infos["terminated"].any() and not infos["total"][np.array([0, 2])].any()


def test_available_actions_are_the_mask(start):
    _, state = start
    dead = state.players.alive.at[0, 1].set(False)
    state = state.replace(players=state.players.replace(alive=dead))
    found = jax.vmap(VIEW.get_avail_actions)(state)
    assert set(found) == set(VIEW.agents)
    for k in range(NUM_WORLDS):
        mask = np.asarray(ENV.action_mask(world(state, k), PARAMS))
        same([found[agent][k] for agent in VIEW.agents], list(mask))
    assert np.flatnonzero(found["agent_1"][0]).tolist() == [alem_env.Action.NOOP]


def test_what_is_seen_can_be_asked_for(start):
    obs, state = start
    same(VIEW.get_obs(world(state, 2)), world(obs, 2))


@pytest.mark.slow
def test_one_world_and_a_given_world_to_go_on_with():
    obs, state = VIEW.reset(KEY)
    want_obs, want_state = ENV.reset(KEY, PARAMS)
    same((obs, state), (vector(want_obs), want_state))
    actions = dict(zip(VIEW.agents, ACTIONS[0].tolist(), strict=True))
    last = state.replace(timestep=jnp.int32(int(PARAMS.max_timesteps) - 1))
    step_key, reset_key = rng.split_pair(rng.words(KEY))
    fresh = VIEW.step(KEY, last, actions)
    want_obs, want_state = ENV.reset(reset_key, PARAMS)
    same(fresh[:2], (vector(want_obs), want_state))
    given = VIEW.step(KEY, last, actions, state)
    same(given[:2], (obs, state))
    same(given[2:], fresh[2:])
    without = VIEW.step_env(step_key, last, actions)
    want = ENV.step(step_key, last, ACTIONS[0], PARAMS)
    same(without[:2], (vector(want[0]), want[1]))
    same(without[2:], fresh[2:])
    running = VIEW.step(KEY, state, actions, want_state)
    same(running[:2], VIEW.step_env(step_key, state, actions)[:2])


WRONG_ACTIONS = {
    "no dict": ([0, 0, 0], "must be a dict"),
    "one is missing": (dict(agent_0=0, agent_2=0), "no action for agent_1"),
    "one too many": (dict(agent_0=0, agent_1=0, agent_2=0, agent_3=0), "unknown agent_3"),
    "of many worlds": (BY_AGENT, r"agent_0 has shape \(4,\).*vmap"),
    "a word": (dict(agent_0="a", agent_1=0, agent_2=0), "agent_0 is 'a', and a whole number"),
    "too large": (dict(agent_0=10**30, agent_1=0, agent_2=0), "agent_0 is 10+, and a whole number"),
    "of no integers": (dict(agent_0=0.5, agent_1=0, agent_2=0), "float32"),
}


@pytest.mark.parametrize("name", WRONG_ACTIONS)
@pytest.mark.parametrize("function", [VIEW.step, VIEW.step_env])
def test_wrong_actions_are_refused(function, name):
    actions, message = WRONG_ACTIONS[name]
    with pytest.raises(ValueError, match=message):
        function(KEY, None, actions)


@pytest.mark.parametrize("call", [VIEW.reset, lambda key: VIEW.step(key, None, {})])
@pytest.mark.parametrize("key, message", [(KEYS, "vmap"), (5, "key=5 is no jax key")])
def test_wrong_keys_are_refused(call, key, message):
    with pytest.raises(ValueError, match=message):
        call(key)


def test_wrong_states_are_refused():
    nothing = dict.fromkeys(VIEW.agents, 0)
    for call in (VIEW.get_obs, lambda s: VIEW.step(KEY, s, nothing)):
        with pytest.raises(ValueError, match="state is a NoneType, and a State is needed"):
            call(None)


def test_wrong_worlds_are_refused():
    with pytest.raises(ValueError, match="env='hard' is no environment"):
        AlemJaxMARL("hard", PARAMS)
    with pytest.raises(ValueError, match="params=None"):
        AlemJaxMARL(ENV, None)
    with pytest.raises(ValueError, match="preset='none'"):
        AlemJaxMARL(ENV, alem_env.difficulty("none"))
