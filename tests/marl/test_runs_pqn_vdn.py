"""PQN-VDN in the real loop, on a probe: resumed equals uninterrupted, and its bundles act alike."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_runs_export import observe_recordings
from test_runs_loop import OPTIONS, assert_equal_states, newest
from toys import CARD

from marl.evaluation.protocol import Evaluator
from marl.export import describe_parameters, load_policy, save_policy
from marl.host.folder import prepare
from marl.host.stopping import StopRequest
from marl.learners import registry
from marl.networks.q_network import make_q_policy
from marl.networks.sizes import QNetworkConfig
from marl.policy_card import PolicyError
from marl.probes import Mortal
from marl.read_config import make_train_config
from marl.tasks import task_for_static
from marl.training.assembly import Assembly
from marl.training.command import BundleExporter
from marl.training.loop import train
from marl.types import VectorObservation


def config_for(stop_after=None):
    options = json.loads(json.dumps(OPTIONS))
    options["total_steps"] = 40  # four updates
    options["run"]["stop_after_updates"] = stop_after
    options["learner"] = {
        "name": "pqn_vdn", "lr": 1e-3, "anneal_lr": True, "gamma": 0.9, "q_lambda": 0.8,
        "max_grad_norm": 1.0, "num_minibatches": 2, "update_epochs": 2, "epsilon_start": 1.0,
        "epsilon_final": 0.1, "epsilon_decay_steps": 30, "mask_dead_agents": True,
        "bootstrap_truncated": True, "learn_last_step": True, "blank_first_observation": False,
    }  # fmt: skip
    options["network"] = {"embedding_size": 4, "hidden_size": 5}
    return make_train_config(options)[0]


def make(config):
    learner = registry.get("pqn_vdn")(
        Mortal(config.num_envs), config.network, config.learner.options
    )
    return Assembly(learner, BundleExporter(CARD | {"network": learner.policy.recipe}), None, {})


def test_resumed_equals_uninterrupted(tmp_path):
    whole, slices = tmp_path / "whole", tmp_path / "slices"
    train(config_for(), make(config_for()), prepare(whole), StopRequest())
    for stop_after in (1, 2, None):
        config = config_for(stop_after)
        train(config, make(config), prepare(slices), StopRequest())
    (update, state), (other_update, other) = (newest(f, make(config)) for f in (slices, whole))
    assert update == other_update == 4
    assert_equal_states(state, other)
    records = [json.loads(line) for line in (slices / "metrics.jsonl").read_text().splitlines()]
    explored = [record["pqn/epsilon"] for record in records]
    np.testing.assert_allclose(explored, [1.0, 0.7, 0.4, 0.1], atol=1e-6)


@pytest.fixture(scope="module")
def trained():
    """(observations of two worlds, policy, parameters)."""
    task = task_for_static(CARD["env"])
    policy = make_q_policy(QNetworkConfig(8, 8), task, 0.5)
    params = policy.init_params(jax.random.key(1))
    return observe_recordings("play_hard_10000", "fuzz_hard_gates_40"), policy, params


@pytest.fixture
def bundle(trained, tmp_path):
    _, policy, params = trained
    parameters = describe_parameters(params)
    card = {**CARD, "network": policy.recipe, "parameters": parameters}
    save_policy(tmp_path / "policy", params, card)
    return tmp_path / "policy"


@pytest.mark.parametrize("sampled", [False, True])
def test_bundles_act_as_the_trained_team(trained, bundle, sampled):
    observation, policy, params = trained
    loaded = load_policy(bundle)
    carry, state, start = policy.init_carry((2, 3)), None, jnp.zeros(2, bool)
    differs = False
    for step in range(5):
        key = jax.random.key(step)
        _, best, *_ = policy.act(params, carry, observation, start, key, True)
        carry, wanted, *_ = policy.act(params, carry, observation, start, key, not sampled)
        actions, state = loaded.act(observation, state, key if sampled else None)
        np.testing.assert_array_equal(actions, wanted)
        jax.tree.map(np.testing.assert_array_equal, state, carry)
        assert bool(jnp.take_along_axis(observation.legal, actions[..., None], -1).all())
        differs |= bool((actions != best).any())
    assert differs == sampled


def test_bundles_act_on_the_published_vector(trained, bundle):
    import alem_env
    from alem_env.observe import dense

    observation = trained[0]
    static = alem_env.make(num_agents=3, num_comm_channels=4).static
    vector = VectorObservation(dense.expand(observation, static), observation.legal)
    loaded = load_policy(bundle)
    np.testing.assert_array_equal(loaded.act(vector)[0], loaded.act(observation)[0])


def test_bundles_of_an_unknown_kind_are_refused(bundle):
    card = json.loads((bundle / "card.json").read_text())
    card["network"]["kind"] = "tree"
    (bundle / "card.json").write_text(json.dumps(card))
    with pytest.raises(PolicyError, match="network.kind='tree' is unknown"):
        load_policy(bundle)


class _Worlds:
    """A probe as a world to evaluate in: `Mortal` for one episode each."""

    def __init__(self):
        self._probe = Mortal(10)

    def reset_batch(self, keys, params):
        return self._probe.reset(keys[0])

    def step_batch(self, keys, state, actions, params):
        return self._probe.step(keys[0], state, actions)


def test_evaluation_plays_it_greedily_and_sampled():
    config = config_for()
    learner = make(config).learner
    params = learner.init(jax.random.key(0)).params

    def outcome(state):
        worlds = state.clock.shape[0]
        return jnp.zeros((worlds, 2, 93), bool), {"total": jnp.zeros(worlds)}

    evaluator = Evaluator(_Worlds(), None, learner.policy, outcome)
    greedy = [evaluator.play(params, range(10), behaviour="greedy") for _ in range(2)]
    np.testing.assert_array_equal(greedy[0].team_return, greedy[1].team_return)
    for behaviour in ("greedy", "sampled", "random"):
        results = evaluator.play(params, range(10), behaviour=behaviour)
        np.testing.assert_array_equal(results.length, 4)
