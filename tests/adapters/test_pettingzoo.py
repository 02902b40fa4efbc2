"""PettingZoo's parallel interface: its own tests, and the same game as behind `alem_env.make`."""

import importlib
import sys
import warnings

import jax
import numpy as np
import pytest
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test
from pettingzoo.utils import parallel_to_aec

import alem_env
from alem_env.adapters.pettingzoo import AlemParallel

ENV = alem_env.make()
LIMIT = 6
PARAMS = alem_env.difficulty("hard", max_timesteps=LIMIT)
AGENTS = ["agent_0", "agent_1", "agent_2"]
WAIT = dict.fromkeys(AGENTS, 0)


def make(**options):
    return AlemParallel(ENV, PARAMS, **options)


@pytest.fixture(scope="module")
def env():
    return make()


def test_parallel_api(env):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        parallel_api_test(env, num_cycles=2 * LIMIT)


@pytest.mark.filterwarnings("ignore:Observation")  # they are dicts, which it allows
def test_api_of_taking_turns(env):
    api_test(parallel_to_aec(make()), num_cycles=5)


def test_equal_seeds_are_equal_episodes():
    parallel_seed_test(make, num_cycles=LIMIT)


def test_seeds_decide_about_all_that_follows(env):
    def worlds(seed):
        first = env.reset(seed=seed)[0]
        return [seen["agent_0"]["observation"] for seen in (first, env.reset()[0])]

    again, other = worlds(np.int64(4)), worlds(5)
    for mine, same_seed, other_seed in zip(worlds(4), again, other, strict=True):
        np.testing.assert_array_equal(mine, same_seed)
        assert (mine != other_seed).any()
    assert (again[0] != again[1]).any()


def test_an_episode_is_the_environments(env):
    key = jax.random.key(11)
    want, state = ENV.reset(key, PARAMS)
    found, infos = env.reset(seed=11)
    chosen = np.random.default_rng(0).integers(0, ENV.num_actions, (LIMIT, 3))
    for t in range(LIMIT + 1):
        vectors = alem_env.dense.expand(want, ENV.static)
        for k, agent in enumerate(AGENTS):
            np.testing.assert_array_equal(found[agent]["observation"], vectors[k])
            np.testing.assert_array_equal(found[agent]["action_mask"], want.legal[k])
            assert env.observation_space(agent).contains(found[agent])
            assert infos[agent]["alive"] is True
        if t == LIMIT:
            break
        assert env.agents == AGENTS
        found, rewards, terminations, truncations, infos = env.step(
            dict(zip(AGENTS, chosen[t], strict=True))
        )
        step_key = jax.random.fold_in(key, t)
        want, state, reward, *_ = ENV.step(step_key, state, chosen[t], PARAMS)
        assert list(rewards.values()) == np.asarray(reward).tolist()
        assert terminations == dict.fromkeys(AGENTS, False)
        assert truncations == dict.fromkeys(AGENTS, t == LIMIT - 1)
    assert env.agents == [] and env.possible_agents == AGENTS
    score = alem_env.score.team_score(state.achievements)
    for info in infos.values():
        assert info == {"alive": True} | {n: float(score[n]) for n in ("base", "coord", "total")}


def test_no_step_without_an_episode(env):
    with pytest.raises(RuntimeError, match="call reset"):
        make().step(WAIT)
    env.reset(seed=0)
    for _ in range(LIMIT):
        env.step(WAIT)
    with pytest.raises(RuntimeError, match="call reset"):
        env.step(WAIT)
    env.reset()
    assert env.agents == AGENTS


def with_health(env, health):
    players = env._state.players
    alive = np.array(health) > 0
    players = players.replace(health=jax.numpy.asarray(health), alive=jax.numpy.asarray(alive))
    env._state = env._state.replace(players=players)


def test_the_dead_stay_since_they_can_be_revived(env):
    env.reset(seed=0)
    with_health(env, [9.0, 0.0, 9.0])
    observations, rewards, terminations, truncations, infos = env.step(WAIT)
    assert env.agents == AGENTS == list(observations) == list(rewards) == list(terminations)
    assert not any(terminations.values()) and not any(truncations.values())
    assert [info["alive"] for info in infos.values()] == [True, False, True]
    assert np.flatnonzero(observations["agent_1"]["action_mask"]).tolist() == [0]


def test_a_dead_team_has_terminated(env):
    env.reset(seed=0)
    with_health(env, [0.0, 0.0, 0.0])
    _, _, terminations, truncations, infos = env.step(WAIT)
    assert terminations == dict.fromkeys(AGENTS, True) and not any(truncations.values())
    assert env.agents == [] and infos["agent_2"]["total"] == 0.0


def test_what_is_given_may_be_written_to(env):
    observations, _ = env.reset(seed=0)
    observations["agent_0"]["observation"][:] = 0
    observations["agent_0"]["action_mask"][:] = 0


def test_agents_sample_apart(env):
    spaces = [env.action_space(agent) for agent in AGENTS]
    assert len({id(space) for space in spaces}) == 3
    assert env.observation_space("agent_0") is not env.observation_space("agent_1")


def test_pictures(env, pettingzoo_page):
    picture = pettingzoo_page["picture"]
    assert picture.shape == (768, 768, 3) and picture.dtype == np.uint8 and picture.any()
    assert env.render() is None
    with pytest.raises(RuntimeError, match="call reset"):
        make(render_mode="rgb_array").render()
    with pytest.raises(ValueError, match="render_mode='human'"):
        make(render_mode="human")


@pytest.mark.parametrize(
    "actions, message",
    [
        (dict(agent_0=0, agent_1=0), "no action for agent_2"),
        (WAIT | dict(agent_9=1), "unknown agent_9"),
        (WAIT | dict(agent_1=60), r"\[60\] do not exist"),
        (WAIT | dict(agent_1=-1), r"\[-1\] do not exist"),
        (WAIT | dict(agent_1=None), "actions="),
        ([0, 0, 0], "must be a dict"),
    ],
)
def test_wrong_actions_are_refused_and_change_nothing(env, actions, message):
    env.reset(seed=0)
    before = env._state
    with pytest.raises(ValueError, match=message):
        env.step(actions)
    assert env._state is before and env.agents == AGENTS


@pytest.mark.parametrize("seed", [-1, 1.5, "a", 2**31])
def test_wrong_seeds_are_refused(env, seed):
    with pytest.raises(ValueError, match="seed="):
        env.reset(seed=seed)


def test_the_extra_is_named_where_it_is_missing(monkeypatch):
    module = sys.modules["alem_env.adapters.pettingzoo"]
    monkeypatch.setitem(sys.modules, "pettingzoo", None)
    monkeypatch.delitem(sys.modules, module.__name__)
    with pytest.raises(ImportError, match=r"pip install -e '\.\[pettingzoo\]'"):
        importlib.import_module(module.__name__)
