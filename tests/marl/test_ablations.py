"""What `experiment=ablate_*` takes away is gone, and nothing else."""

import dataclasses
from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hydra import compose, initialize_config_dir
from test_runs_export import observe_recordings
from toys import CARD

from alem_env import Action, dense
from alem_env.rules.specialization import gate
from marl.comparison.rows import Conditions
from marl.environments import alem
from marl.environments.forbidding import Forbidding
from marl.evaluation.command import world_for
from marl.evaluation.protocol import Evaluator
from marl.evaluation.report import format_report, protocol_of
from marl.options import ConfigError
from marl.play_config import AskedWorld
from marl.read_config import make_train_config

CONF = Path(__file__).parents[2] / "conf"
AS_MADE = AskedWorld(**{field.name: None for field in dataclasses.fields(AskedWorld)})


def env_of(*overrides):
    with initialize_config_dir(str(CONF), version_base="1.3"):
        return make_train_config(compose("train", overrides=list(overrides)))[0].env


WHOLE = env_of()


def test_an_ablation_changes_one_thing():
    changes = {
        "messages": {"num_comm_channels": 0},
        "trade": {"without": "trade"},
        "roles": {"without": "roles"},
    }
    for name, change in changes.items():
        assert env_of(f"experiment=ablate_{name}") == dataclasses.replace(WHOLE, **change)


def test_without_messages_there_is_nothing_to_say_or_hear():
    whole, silent = (
        alem.make_environment(world).static
        for world in (WHOLE, env_of("experiment=ablate_messages"))
    )
    assert (whole.num_actions, silent.num_actions) == (60, 56)
    heard = dense.obs_dim(whole) - dense.obs_dim(silent)
    assert heard == 3 * 4  # of each agent, which channel


class Recorded:
    """A world that is always in the same state, for one step or many."""

    def __init__(self, observation):
        self.observation = observation
        self.num_actions = observation.legal.shape[-1]

    def reset(self, key, params):
        return self.observation, "state"

    reset_batch = reset

    def step(self, key, state, actions, params):
        return self.observation, state, "pay", "end", "limit", {
            "final_observation": self.observation, "finished": "ended",
        }  # fmt: skip

    step_batch = step


def test_without_trade_requests_and_gifts_are_never_legal_and_all_else_is():
    made = alem.make_environment(env_of("experiment=ablate_trade"))
    names = {Action(min(code, Action.GIVE)).name for code in made.actions}
    assert len(made.actions) == 9 + 2
    assert names == {a.name for a in Action if a.name.startswith("REQUEST")} | {"GIVE"}

    seen = observe_recordings("play_hard_10000", "fuzz_hard_gates_40")
    trades = np.isin(np.arange(60), made.actions)
    assert seen.legal[..., trades].any(), "the recordings show nobody who could trade"
    world = Forbidding(Recorded(seen), made.actions)
    key, actions = jax.random.key(0), jnp.zeros((2, 3), jnp.int32)
    stepped, batch = (
        world.step(key, "state", actions, None),
        world.step_batch(key, 0, actions, None),
    )
    final = stepped[-1]["final_observation"]
    for observation in (world.reset(key, None)[0], stepped[0], batch[0], final):
        np.testing.assert_array_equal(observation.legal, seen.legal & ~trades)
        others = [x.replace(legal=None) for x in (observation, seen)]
        jax.tree.map(np.testing.assert_array_equal, *others)
    assert stepped[1:-1] == ("state", "pay", "end", "limit")
    assert stepped[-1]["finished"] == "ended"


def test_worlds_without_trade_are_made_side_by_side_too():
    made = alem.make_environment(env_of("experiment=ablate_trade"))
    worlds = alem.make_vector(made, 5)
    assert isinstance(worlds, Forbidding) and worlds.actions == made.actions
    assert (worlds.num_envs, worlds.num_agents, worlds.num_actions) == (5, 3, 60)
    assert worlds.env is made.inner


def test_without_roles_everyone_manages_everything():
    world = env_of("experiment=ablate_roles")
    static = alem.make_environment(world).static
    draws = jnp.array([0.0, 0.2, 0.999999])
    nobody = jnp.zeros(3, bool)
    for params in (world.params(), world.for_evaluation().params()):
        assert gate(draws, nobody, params, static).all()
        assert gate(draws, ~nobody, params, static).all()
    assert not gate(draws, nobody, WHOLE.params(), static)[1:].any()


@pytest.mark.parametrize("name", ["trade", "roles"])
def test_ablated_games_are_not_called_the_protocol(name):
    world = env_of(f"experiment=ablate_{name}")
    described = alem.describe(world, alem.make_environment(world))
    assert described["own_efficiency"] == (name == "trade")
    protocol = protocol_of(described, range(9999, 10_019), 10_000)
    assert not protocol["is_comparable"] and not protocol["is_whole_protocol"]
    interval = {"mean": 1.0, "low": 0.0, "high": 2.0, "level": 0.95, "given": "", "num_worlds": 20}
    summary = dict.fromkeys(("base", "coord", "total", "length"), interval) | {"capped_worlds": 0}
    report = {"label": "x", "protocol": protocol, "policy": {}, "results": {"greedy": summary}}
    table = format_report(report)
    assert f"4 channels, without {name}; OTHER world" in table and "IPPO 1B" not in table
    whole = Conditions("hard", "rl", "0.2.1", 0.1, 4, 3, 10_000)
    assert "without" in whole.difference(dataclasses.replace(whole, other=(("without", name),)))


def test_a_policy_plays_the_game_it_was_made_for():
    def world_of(**entries):
        exported = SimpleNamespace(card=CARD | {"env": CARD["env"] | entries})
        return world_for(exported, "folder", AS_MADE)

    assert world_of().without is None  # cards of earlier versions say nothing of it
    for name in ("trade", "roles"):
        assert world_of(without=name).without == name


def test_what_cannot_be_left_out_is_refused():
    with pytest.raises(ConfigError, match="env.without='magic' is unknown; .* trade, roles"):
        env_of("env.without=magic")
    with pytest.raises(ConfigError, match="non_specialist_efficiency=0.2 .*env.without=roles"):
        env_of("experiment=ablate_roles", "env.non_specialist_efficiency=0.2")


@pytest.mark.slow
def test_random_play_trades_in_the_whole_game_only():
    made = {}
    for world in (WHOLE, env_of("experiment=ablate_trade")):
        env = alem.make_environment(world)
        evaluator = Evaluator(env, world.params(), None, alem.outcome_of(env), width=4)
        scores = evaluator.play(None, range(4), behaviour="random", max_steps=100).scores
        made[world.without] = sum(float(v.sum()) for n, v in scores.items() if "request_count" in n)
    assert made[None] > 0 and made["trade"] == 0
