"""The protocol: each world once, and the same however worlds are grouped."""

import dataclasses
import json
import time
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from omegaconf import OmegaConf
from toys import ToyWorld, toy_policy

from alem_env import rng
from marl.environments.alem import describe, make_environment
from marl.evaluation import protocol
from marl.evaluation.command import DEFAULT_WORLD, _out_file, play_all
from marl.evaluation.protocol import BEHAVIOURS, Evaluator, Interrupted
from marl.evaluation.report import format_report, make_report, protocol_of
from marl.evaluation.tracks import LLM, RL, TRACKS
from marl.host.heartbeat import Heartbeat
from marl.host.progress import Lines, Silent, duration
from marl.networks.factory import make_policy
from marl.networks.sizes import NetworkConfig
from marl.play_config import make_evaluate_config
from marl.probes import Memory, Mortal
from marl.tasks import make_task

WIDTH = 4
SEEDS = range(9999, 10_010)  # 11 worlds: two full groups and a short one
PARAMS = jnp.float32(1.0)


@pytest.fixture(scope="module")
def evaluator():
    return make()


def make():
    return Evaluator(ToyWorld(), jnp.float32(2.0), toy_policy(), ToyWorld.outcome, width=WIDTH)


def rows(results):
    return {
        int(s): (
            int(results.length[i]), float(results.team_return[i]), bool(results.capped[i]),
            results.achievements[i].tobytes(), float(results.scores["extra"][i]),
        )
        for i, s in enumerate(results.seeds)
    }  # fmt: skip


def test_each_world_is_played_once_to_its_end(evaluator):
    results = evaluator.play(PARAMS, SEEDS)
    assert results.seeds.tolist() == list(SEEDS)
    lengths = 5 + np.array(SEEDS) % 7
    assert results.length.tolist() == lengths.tolist()
    assert not results.capped.any()
    # Greedy plays 0, 1, 2, 0, ... for both agents, each paid 2 a unit.
    expected = [2 * 2 * sum(t % 3 for t in range(n)) for n in lengths]
    assert results.team_return.tolist() == expected


@pytest.mark.parametrize("behaviour", BEHAVIOURS)
def test_results_do_not_depend_on_grouping_or_order(evaluator, behaviour):
    together = rows(evaluator.play(PARAMS, SEEDS, behaviour=behaviour))
    shuffled = list(np.random.default_rng(0).permutation(list(SEEDS)))
    assert rows(evaluator.play(PARAMS, shuffled, behaviour=behaviour)) == together
    for seed in (9999, 10_003, 10_009):
        alone = rows(evaluator.play(PARAMS, [seed], behaviour=behaviour))
        assert alone[seed] == together[seed]


class OfProbe:
    """Worlds of a probe, each with a key of its own."""

    def __init__(self, kind):
        self.one = kind(1)

    def reset_batch(self, keys, params):
        return jax.vmap(lambda key: _first(self.one.reset(key)))(keys)

    def step_batch(self, keys, states, actions, params):
        def step(key, state, action):
            return _first(self.one.step(key, jax.tree.map(lambda x: x[None], state), action[None]))

        return jax.vmap(step)(keys, states, actions)


def _first(tree):
    return jax.tree.map(lambda x: x[0], tree)


@pytest.mark.parametrize("kind", [Memory, Mortal])
def test_a_recurrent_policy_plays_a_world_alike_alone_and_among_others(kind):
    """Split one by one within the evaluator's width, and with a width of one."""
    network = NetworkConfig(embedding_size=8, hidden_size=8, actor_size=8, critic_size=4)
    policy = make_policy(network, make_task(kind(1)))
    noise, params = jax.random.key(1), policy.init_params(jax.random.key(0))
    params = jax.tree.map(lambda x: x + jax.random.normal(noise, x.shape), params)

    def outcome(state):
        worlds = state.clock.shape[0]
        return jnp.zeros((worlds, 2, 93), bool), {"extra": state.clock}

    wide, narrow = (Evaluator(OfProbe(kind), 0.0, policy, outcome, width=w) for w in (4, 1))
    seeds = range(6)
    for behaviour in BEHAVIOURS:
        together = rows(wide.play(params, seeds, behaviour=behaviour))
        alone = {}
        for seed in seeds:
            alone |= rows(wide.play(params, [seed], behaviour=behaviour))
        assert alone == together
        assert rows(narrow.play(params, seeds, behaviour=behaviour)) == together
        assert len({team_return for _, team_return, *_ in together.values()}) > 1


@pytest.mark.parametrize("seed", [0, 9999, 2**31 - 2, 2**31 - 1, 2**32 - 1])
def test_worlds_have_the_keys_of_their_seeds(seed):
    key, stream = TRACKS[RL].start(jnp.array([seed], jnp.uint32))
    of_seed = jax.random.key(np.uint32(seed))
    np.testing.assert_array_equal(jax.random.key_data(key)[0], jax.random.key_data(of_seed))
    step_key, _ = TRACKS[RL].step(stream, jnp.int32(7))
    wanted = jax.random.key_data(jax.random.fold_in(of_seed, 7))
    np.testing.assert_array_equal(jax.random.key_data(step_key)[0], wanted)


def test_the_language_models_track_has_the_keys_of_their_harness():
    """As `alem_env.verification` replays the recorded episodes, in benchmark's own splits."""
    seeds = [3, 9999]
    found, stream = TRACKS[LLM].start(jnp.array(seeds, jnp.uint32))
    keys = [found]
    for t in range(2):
        found, stream = TRACKS[LLM].step(stream, jnp.int32(t))
        keys.append(found)
    for world, seed in enumerate(seeds):
        key = rng.key(seed)
        for found in keys:
            key, used = jax.random.split(key)
            wanted = jax.random.key_data(used)
            np.testing.assert_array_equal(jax.random.key_data(found)[world], wanted)


def test_one_world_of_a_large_seed_for_one_step(evaluator):
    config = make_evaluate_config({**EVALUATE, "episodes": 1, "first_seed": 2**31 - 2})
    seeds = range(config.first_seed, config.first_seed + config.episodes)
    results = {b: evaluator.play(PARAMS, seeds, behaviour=b, max_steps=1) for b in BEHAVIOURS}
    for played in results.values():
        assert played.seeds.tolist() == [2**31 - 2]
        assert played.length.tolist() == [1] and played.capped.tolist() == [True]
    report = make_report(results, label="toy", world=WORLD, max_steps=1, facts={})
    assert report["results"]["greedy"]["total"]["num_worlds"] == 1
    assert f"worlds {2**31 - 2} to {2**31 - 2}, at most 1 steps" in format_report(report)


@pytest.mark.parametrize("seeds", [[], 5, [-1], [2**32], [1.5], ["a"], [[1]]])
def test_seeds_of_no_world_are_refused(evaluator, seeds):
    with pytest.raises(ValueError, match="seeds="):
        evaluator.play(PARAMS, seeds)


def test_no_steps_are_refused(evaluator):
    with pytest.raises(ValueError, match="max_steps=0"):
        evaluator.play(PARAMS, SEEDS, max_steps=0)
    with pytest.raises(TypeError, match="integer"):
        evaluator.play(PARAMS, SEEDS, max_steps=2.5)


def test_twice_the_same(evaluator):
    first = rows(evaluator.play(PARAMS, SEEDS, behaviour="sampled"))
    assert rows(evaluator.play(PARAMS, SEEDS, behaviour="sampled")) == first


def test_step_keys_are_those_of_the_protocol(evaluator):
    """`paid` collects uniform(fold_in(key(s), t)) for both agents, beside the actions."""
    results = evaluator.play(PARAMS, [10_003])
    key, length = jax.random.key(10_003), int(results.length[0])
    noise = sum(float(jax.random.uniform(jax.random.fold_in(key, t))) for t in range(length))
    actions = sum(t % 3 for t in range(length))
    assert results.scores["extra"][0] == pytest.approx(2 * (noise + actions), rel=1e-5)


def test_worlds_that_meet_the_limit_count_and_are_flagged(evaluator):
    results = evaluator.play(PARAMS, SEEDS, max_steps=8)
    lengths = 5 + np.array(SEEDS) % 7
    assert results.length.tolist() == np.minimum(lengths, 8).tolist()
    assert results.capped.tolist() == (lengths > 8).tolist()


def test_sampled_and_random_play_are_legal_and_differ(evaluator):
    greedy, sampled, random = (
        evaluator.play(PARAMS, SEEDS, behaviour=b).team_return for b in BEHAVIOURS
    )
    assert len({tuple(greedy), tuple(sampled), tuple(random)}) == 3
    most = 2 * 2 * 2 * (5 + np.array(SEEDS) % 7)  # action 3 is illegal: 2 at most
    assert (random <= most).all() and (sampled <= most).all()


def test_one_program_for_all_behaviours_and_limits(caplog):
    evaluator = make()
    with jax.log_compiles():
        for behaviour in BEHAVIOURS:
            evaluator.play(PARAMS, [1, 2], behaviour=behaviour, max_steps=7)
    assert caplog.text.count("Compiling jit(_advance_games)") == 1


def test_random_play_needs_no_policy(evaluator):
    alone = Evaluator(ToyWorld(), jnp.float32(2.0), None, ToyWorld.outcome, width=WIDTH)
    assert rows(alone.play(None, SEEDS, behaviour="random")) == rows(
        evaluator.play(PARAMS, SEEDS, behaviour="random")
    )
    with pytest.raises(ValueError, match="needs a policy"):
        alone.play(None, SEEDS, behaviour="greedy")


def test_an_evaluation_tells_what_it_does_and_how_long_it_takes(evaluator, monkeypatch):
    said, shown, now = [], [], [0.0]

    def clock():
        now[0] += 1.0
        return now[0]

    class Shown(Silent):
        def say(self, text):
            said.append(text)

        def update(self, done, text):
            shown.append((done, text))

    monkeypatch.setattr(protocol, "CHUNK", 4)
    monkeypatch.setattr("marl.evaluation.command.time", types.SimpleNamespace(monotonic=clock))
    players = {name: (name, PARAMS) for name in ("greedy", "random")}
    play_all(evaluator, players, SEEDS, 20, Shown(), lambda: False)
    assert said == ["evaluating on 11 worlds, 20 steps at most: greedy, random"]
    texts = [text for _, text in shown]
    assert texts[0].startswith("greedy: step 4") and "left" not in texts[0]
    done, text = shown[1]  # as much again as since the first report, a second ago
    wanted = (2 - done) / (done - shown[0][0])
    assert text.endswith(f", about {duration(wanted)} left")
    assert shown[-1] == (2.0, "done")


def test_compiling_an_evaluation_shows_signs_of_life(monkeypatch, capsys):
    class Slow:
        def play(self, *_, on_progress, **__):
            time.sleep(0.3)
            on_progress(0.5, "half")
            time.sleep(0.2)
            return "results"

    monkeypatch.setattr(
        "marl.evaluation.command.Heartbeat", lambda tell: Heartbeat(tell, patience=0, seconds=0.02)
    )
    play_all(Slow(), {"greedy": ("greedy", 0)}, [1], 9, Lines("evaluate", 0.0), lambda: False)
    out = capsys.readouterr().out.splitlines()
    halves = [n for n, line in enumerate(out) if "half" in line]
    assert len(halves) == 1 and sum("greedy: compiling" in line for line in out) > 3
    assert not [line for line in out[halves[0] :] if "compiling" in line]


def test_stops_when_asked(evaluator):
    with pytest.raises(Interrupted):
        evaluator.play(PARAMS, SEEDS, should_stop=lambda: True)


@pytest.fixture(scope="module")
def report(evaluator):
    results = {b: evaluator.play(PARAMS, SEEDS, behaviour=b, max_steps=8) for b in BEHAVIOURS}
    world = dict(
        difficulty="hard", rules_version="0.2.1", num_agents=3, num_comm_channels=4,
        own_efficiency=True, non_specialist_efficiency=0.1,
    )  # fmt: skip
    return make_report(results, label="toy", world=world, max_steps=8, facts={"seed": 0})


def test_report_counts_a_team_s_unlocks_once_and_in_percent(report):
    greedy = report["results"]["greedy"]
    even = sum(s % 2 == 0 for s in SEEDS) / len(SEEDS)
    assert list(greedy["achievements"].values()) == [pytest.approx(even)]
    mean = np.mean([w["base"] for w in greedy["worlds"]])
    assert greedy["base"]["mean"] == pytest.approx(mean)
    assert greedy["base"]["given"] == "given this run"
    assert greedy["capped_worlds"] == sum(w["capped"] for w in greedy["worlds"]) > 0
    assert len(greedy["worlds"]) == len(SEEDS)
    assert not report["protocol"]["is_whole_protocol"]


def test_report_pairs_each_behaviour_with_random_play_of_the_same_worlds(report):
    totals = {
        name: np.array([world["total"] for world in result["worlds"]])
        for name, result in report["results"].items()
    }
    assert set(report["above_random"]) == {"greedy", "sampled"}
    for name, difference in report["above_random"].items():
        gain = totals[name] - totals["random"]
        assert difference["mean"] == pytest.approx(gain.mean())
        assert gain.min() <= difference["low"] <= difference["mean"] <= difference["high"]
    assert f"greedy {report['above_random']['greedy']['mean']:+.2f} [" in format_report(report)


def test_table_says_how_long_the_team_was_trained_and_when_worlds_are_few(report):
    table = format_report(report)
    assert "trained for" not in table and "says little" not in table
    few = json.loads(json.dumps(report))
    few["results"]["greedy"]["total"]["num_worlds"] = 5
    table = format_report(few | {"policy": {"env_steps": 382_976}})
    assert "toy: trained for 382,976 environment steps" in table
    assert "of 5 worlds an interval says little" in table


def test_table_says_what_it_is(report):
    table = format_report(report)
    for part in (
        "REDUCED protocol", "worlds 9999 to 10009", "at most 8 steps", "toy, greedy",
        "toy, sampled", "random legal", "given this run", "published", "step limit",
    ):  # fmt: skip
        assert part in table, part


WORLD = dict(
    difficulty="hard", rules_version="0.1.0", num_agents=3, num_comm_channels=4,
    own_efficiency=True, non_specialist_efficiency=0.1,
)  # fmt: skip
OTHER = [dict(num_agents=2), dict(num_comm_channels=0), dict(own_efficiency=False)]


def test_the_whole_protocol_is_called_so():
    seeds = range(9999, 10_019)
    assert protocol_of(WORLD, seeds, 10_000)["is_whole_protocol"]
    for less in ((seeds[:19], 10_000), (range(1, 21), 10_000), (seeds, 9_999)):
        protocol = protocol_of(WORLD, *less)
        assert protocol["is_comparable"] and not protocol["is_whole_protocol"]


@pytest.mark.parametrize("other", OTHER)
def test_other_worlds_are_not_called_the_protocol_nor_compared(report, other):
    protocol = protocol_of(WORLD | other, range(9999, 10_019), 10_000)
    assert not protocol["is_whole_protocol"] and not protocol["is_comparable"]
    table = format_report(report | {"protocol": protocol})
    assert "OTHER world than the protocol's" in table and "IPPO 1B" not in table
    assert "IPPO 1B" in format_report(report)


def test_efficiency_is_told_from_the_difficulty_s_own():
    env = make_environment(DEFAULT_WORLD)
    assert describe(DEFAULT_WORLD, env)["own_efficiency"]
    for efficiency, own in ((1.0, False), (0.1, True)):
        world = dataclasses.replace(DEFAULT_WORLD, non_specialist_efficiency=efficiency)
        assert describe(world, env)["own_efficiency"] is own


def test_results_of_other_protocols_have_other_names():
    def name(*options):
        config = make_evaluate_config(OmegaConf.create({**EVALUATE, **dict(options)}))
        seeds = range(config.first_seed, config.first_seed + config.episodes)
        how = {"track": config.track, "mute": config.mute}
        return _out_file(config, protocol_of(WORLD, seeds, config.max_steps, **how))

    env = {**EVALUATE["env"], "non_specialist_efficiency": 0.5}
    changes = [
        ("episodes", 5), ("first_seed", 1), ("max_steps", 9), ("env", env),
        ("policy", "runs/x/policy_best"), ("random", False), ("sampled", False),
        ("track", LLM), ("mute", True),
    ]  # fmt: skip
    assert len({name(), *(name(change) for change in changes)}) == len(changes) + 1
    assert name(("policy", "random")) is None


EVALUATE = dict(
    policy="runs/x/policy", episodes=20, first_seed=9999, max_steps=10_000, sampled=True,
    random=True, transfer=False, track=RL, mute=False, out=None,
    env=dict.fromkeys(
        ["difficulty", "num_agents", "num_comm_channels", "rules_version",
         "non_specialist_efficiency"]
    ),
)  # fmt: skip
