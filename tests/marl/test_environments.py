"""Environments beside ALEM: how they start anew, what is asked of them, and a whole run on one."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hydra import compose, initialize_config_dir

from marl.environments import registry, spread
from marl.environments.auto_reset import AutoReset
from marl.environments.jaxmarl_games import JaxMARLGames
from marl.evaluation import command as evaluation
from marl.evaluation.protocol import WorldResults
from marl.evaluation.report import format_report, make_report
from marl.export import load_params, load_policy
from marl.options import ConfigError
from marl.play_config import AskedWorld
from marl.policy_card import PolicyError
from marl.read_config import make_train_config
from marl.training import command as training
from marl.training.counters import Counters
from marl.types import Scoring, VectorObservation

CONF = Path(__file__).parents[2] / "conf"
OPTIONS = spread.Spread(num_agents=3, num_landmarks=3, local_ratio=0.5, time_limit=25)


def composed(*overrides, name="train"):
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return compose(name, overrides=list(overrides))


class Countdown:
    """Two agents; a game lasts as many steps as its key says, from 1 to 3, and pays its clock."""

    num_agents, num_actions, feature_size = 2, 2, 1

    def reset_batch(self, keys, params):
        left = jax.vmap(lambda key: jax.random.randint(key, (), 1, 4))(keys)
        return self._see(left), left

    def step_batch(self, keys, left, actions, params):
        reward = jnp.repeat(left[:, None], 2, axis=1).astype(jnp.float32)
        left = left - 1
        return self._see(left), left, reward, left == 0, jnp.zeros_like(left, bool), {}

    def _see(self, left):
        vector = jnp.repeat(left[:, None, None], 2, axis=1).astype(jnp.float32)
        return VectorObservation(vector, jnp.ones(left.shape + (2, 2), bool))


def test_ended_games_start_anew_and_others_go_on():
    games = AutoReset(Countdown(), 64)
    observation, state = games.reset(jax.random.key(0), None)
    actions = jnp.zeros((64, 2), jnp.int32)
    first = np.asarray(state.inner)
    assert set(first) == {1, 2, 3}
    after, state, reward, terminated, truncated, info = games.step(
        jax.random.key(1), state, actions, None
    )
    ended = first == 1
    np.testing.assert_array_equal(terminated, ended)
    assert not truncated.any()
    np.testing.assert_array_equal(info["finished"], ended)
    np.testing.assert_array_equal(np.asarray(state.inner)[~ended], first[~ended] - 1)
    assert set(np.asarray(state.inner)[ended]) == {1, 2, 3}
    np.testing.assert_array_equal(after.vector[:, 0, 0], state.inner)
    np.testing.assert_array_equal(info["final_observation"].vector[:, 0, 0], first - 1)
    np.testing.assert_array_equal(info["episode"]["length"], 1)
    np.testing.assert_array_equal(info["episode"]["team_return"], 2 * first)
    np.testing.assert_array_equal(state.length, np.where(ended, 0, 1))
    np.testing.assert_array_equal(state.team_return, np.where(ended, 0, 2 * first))
    assert games.active_agents(state).all()


@pytest.fixture(scope="module")
def games():
    return spread.make(OPTIONS)


def test_spread_pays_for_distance_and_collisions(games):
    """By hand: nobody moves in one step from rest, so that the positions set are those paid for."""
    _, state = games.reset_batch(jax.random.split(jax.random.key(0), 1))
    places = [[0.0, 0.0], [0.2, 0.0], [3.0, 4.0], [0.0, 0.5], [3.0, 3.0], [-1.0, 0.0]]
    state = state.replace(inner=state.inner.replace(p_pos=jnp.array([places])))
    still = jnp.zeros((1, 3), jnp.int32)
    observation, _, reward, *_ = games.step_batch(
        jax.random.split(jax.random.key(1), 1), state, still
    )
    nearest = 0.5 + 1.0 + 1.0  # of each landmark
    hit = 1.0  # the first two are closer than their radii, 0.15 each
    np.testing.assert_allclose(
        reward[0], 0.5 * -np.array([hit, hit, 0.0]) - 0.5 * nearest, atol=1e-6
    )
    seen = observation.vector[0, 0]
    assert seen.shape == (18,) and games.feature_size == 18
    np.testing.assert_allclose(seen[2:12], [0, 0, 0, 0.5, 3, 3, -1, 0, 0.2, 0], atol=1e-6)


def test_spread_steps_as_jaxmarl_does_and_ends_by_its_time_limit(games):
    import jaxmarl

    env = jaxmarl.make("MPE_simple_spread_v3")
    keys = jax.random.split(jax.random.key(3), 2)
    _, state = games.reset_batch(keys)
    _, alone = env.reset(keys[1])
    actions = jnp.array([[0, 1, 2], [3, 4, 1]])
    by_agent = dict(zip(env.agents, actions[1], strict=True))
    step = jax.jit(games.step_batch)
    for t in range(25):
        seen, state, reward, terminated, truncated, _ = step(keys, state, actions)
        expected, alone, pay, *_ = env.step_env(keys[1], alone, by_agent)
        np.testing.assert_allclose(
            seen.vector[1], np.stack([expected[a] for a in env.agents]), atol=1e-5
        )
        np.testing.assert_allclose(reward[1], [pay[a] for a in env.agents], atol=1e-5)
        assert not terminated.any()
        assert bool(truncated.all()) == bool(truncated.any()) == (t == 24)
    assert seen.legal.all() and seen.legal.shape == (2, 3, 5)


def test_making_spread_leaves_a_run_its_output():
    """JaxMARL's import does not: in a process that has not imported it yet."""
    program = """
import io, sys
from test_environments import OPTIONS
from marl.environments import spread
out, err = sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
spread.make(OPTIONS)
assert sys.stdout is out and sys.stderr is err
sys.__stdout__.write("kept")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=Path(__file__).parent, capture_output=True, text=True
    )
    assert done.stdout.endswith("kept"), done.stderr


def test_teams_of_unlike_agents_are_refused():
    import jaxmarl

    with pytest.raises(ValueError, match="all must be alike"):
        JaxMARLGames(jaxmarl.make("MPE_simple_speaker_listener_v4"), 25)


def test_options_name_their_environment_but_for_alem():
    config = make_train_config(composed("env=spread"))[0]
    assert config.env == OPTIONS and "_spread_" in config.default_folder
    assert config.as_dict()["env"]["name"] == "spread"
    assert make_train_config(config.as_dict())[0] == config
    alem = make_train_config(composed())[0]
    assert "name" not in alem.as_dict()["env"] and make_train_config(alem.as_dict())[0] == alem


@pytest.mark.parametrize(
    "overrides, words",
    [
        (["+env.name=chess"], "env.name='chess' is unknown; choose one of alem, spread"),
        (["env=spread", "+env.difficulty=hard"], "unknown option env.difficulty='hard'"),
        (["env=spread", "env.num_agents=0"], "env.num_agents=0"),
        (["env=spread", "env.num_landmarks=65"], "env.num_landmarks=65"),
        (["env=spread", "env.local_ratio=2"], "env.local_ratio=2.0"),
        (["env=spread", "env.time_limit=0"], "env.time_limit=0"),
        (["~env"], "env is missing"),
    ],
)
def test_what_no_environment_can_do_is_refused(overrides, words):
    with pytest.raises(ConfigError, match=words):
        make_train_config(composed(*overrides))


def test_a_package_that_is_missing_is_named(monkeypatch):
    monkeypatch.setattr(spread, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"env=spread needs .*\[jaxmarl\]"):
        dataclasses.replace(OPTIONS)


def test_returns_below_zero_are_kept_as_the_best():
    saved = Counters("x", best_score=-3.5, best_update=2).as_json()
    assert Counters.from_json(saved).best_score == -3.5
    for name, value in (("best_score", float("-inf")), ("best_update", -1)):
        with pytest.raises(ValueError, match=name):
            Counters.from_json(saved | {name: value})


TINY = (
    "env=spread", "num_envs=4", "num_steps=8", "total_steps=128", "learner.num_minibatches=2",
    "learner.update_epochs=1", "network.embedding_size=8", "network.hidden_size=8",
    "network.actor_size=8", "network.critic_size=8", "evaluation.every_updates=2",
    "evaluation.development_worlds=2", "evaluation.worlds=3", "logger.console=none",
)  # fmt: skip


@pytest.mark.parametrize("learner", ["ippo", pytest.param("mappo", marks=pytest.mark.slow)])
def test_a_run_is_resumed_evaluated_and_exported(learner, tmp_path, capsys):
    options = (*TINY, f"learner={learner}", f"run.dir='{tmp_path}/run'")
    assert training.run(composed(*options, "run.stop_after_updates=3")) == 0
    assert "stopped at update 3" in capsys.readouterr().out
    assert training.run(composed(*options)) == 0
    run, whole = tmp_path / "run", tmp_path / "whole"
    at_once = (*TINY, f"learner={learner}", f"run.dir='{whole}'", "evaluation.worlds=0")
    assert training.run(composed(*at_once)) == 0
    weights = [load_params(folder / "policy") for folder in (run, whole)]
    jax.tree.map(np.testing.assert_array_equal, *weights)
    records = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [r["update"] for r in records if r["kind"] == "training"] == [1, 2, 3, 4]
    judged = [r["evaluation/team_return"] for r in records if r["kind"] == "evaluation"]
    assert len(judged) == 2 and max(judged) < 0
    best = json.loads((run / "policy_best" / "card.json").read_text())["training"]
    assert best["best_score"] in judged and (run / "curve.png").exists()

    report = json.loads((run / "evaluation.json").read_text())
    assert report["protocol"]["name"] == "spread" and not report["protocol"]["is_comparable"]
    for summary in report["results"].values():
        assert summary["length"]["mean"] == 25 and summary["capped_worlds"] == 0
    table = (run / "evaluation.txt").read_text()
    for part in ("spread, 3 agents", "team return", "team return above random", "random legal"):
        assert part in table
    assert "ALEM" not in table and "published" not in table

    again = composed(f"policy='{run}/policy'", "episodes=3", name="evaluate")
    assert evaluation.run(again) == 0
    made = json.loads((run / "evaluation_spread_3worlds_from9999_10000steps.json").read_text())
    assert made["results"]["greedy"] == report["results"]["greedy"]
    asked = composed(f"policy='{run}/policy'", "env.difficulty=hard", name="evaluate")
    assert evaluation.run(asked) == 2
    assert "env.difficulty=hard is an option of ALEM" in capsys.readouterr().err
    _acts_without_its_environment(run / "policy")


@pytest.mark.parametrize(
    "change, words",
    [
        ({"name": "chess"}, "cannot be played here .env.name='chess' is unknown"),
        ({"num_landmarks": 99}, "cannot be played here .env.num_landmarks=99"),
        ({"feature_size": 20}, "with feature_size=20, and here that is 18"),
        ({"num_actions": 6}, "with num_actions=6, and here that is 5"),
    ],
)
def test_a_card_s_environment_must_be_known_and_fit(games, change, words):
    card = {"env": registry.describe(OPTIONS, games)}
    nothing = AskedWorld(**{field.name: None for field in dataclasses.fields(AskedWorld)})
    assert evaluation.world_for(SimpleNamespace(card=card), "x", nothing) == OPTIONS
    card["env"] |= change
    with pytest.raises(PolicyError, match=f"policy=x.*{words}"):
        evaluation.world_for(SimpleNamespace(card=card), "x", nothing)


def test_shares_may_stand_beside_a_return_that_decides(monkeypatch):
    scoring = Scoring(shares={"met": "Met"})
    entry = registry.ENVIRONMENTS["spread"]._replace(scoring=scoring)
    monkeypatch.setitem(registry.ENVIRONMENTS, "spread", entry)
    worlds = np.arange(2)
    played = WorldResults(
        worlds, worlds + 5, worlds - 3.0, worlds > 5, np.zeros((2, 3, 0), bool), {"met": worlds}
    )
    report = make_report(
        {"greedy": played, "random": played},
        label="x", world={"name": "spread", "num_agents": 3}, max_steps=9, facts={},
    )  # fmt: skip
    table = format_report(report)
    assert "Met %" in table and "50.00 [0.00, 100.00]" in table
    assert "team return above random legal play of the same worlds: greedy +0.00" in table


def _acts_without_its_environment(folder):
    """Bundles need neither JaxMARL nor any library of training."""
    program = f"""
import sys
for name in ("jaxmarl", "orbax.checkpoint", "hydra", "optax"):
    sys.modules[name] = None  # importing it fails
import jax.numpy as jnp
from marl.export import load_policy
from marl.types import VectorObservation
policy = load_policy({str(folder)!r})
seen = VectorObservation(jnp.ones((3, 18)), jnp.ones((3, 5), bool))
print(policy.act(seen)[0].tolist())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    observation = VectorObservation(jnp.ones((3, 18)), jnp.ones((3, 5), bool))
    assert json.loads(done.stdout) == load_policy(folder).act(observation)[0].tolist()
