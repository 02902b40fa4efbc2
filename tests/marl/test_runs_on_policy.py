"""Real learners in the real loop, on a probe: resumed equals uninterrupted, annealing on; and their
exported teams act as in training."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_runs_export import observe_recordings
from test_runs_loop import assert_equal_states, config_for, newest
from toys import CARD

import alem_env
from alem_env.observe import dense
from marl.export import describe_parameters, load_policy, save_policy
from marl.host.folder import prepare
from marl.host.stopping import StopRequest
from marl.learners.registry import LEARNERS
from marl.probes import DelayedReward
from marl.training.assembly import Assembly
from marl.training.command import BundleExporter
from marl.training.loop import train
from marl.types import VectorObservation

# Options of the learner and of its network, beside those that all have.
KINDS = {
    "ippo": ({}, {}),
    "ippo_unshared": ({"clip_jointly": False, "value_norm": True}, {}),
    "mappo": ({"value_norm": True}, {"critic_input": "agent_id"}),
    "hypermarl": ({}, {"identity_size": 3, "generator_size": 4}),
}


def config_of(name, stop_after=None):
    learner, network = KINDS[name]
    return config_for(
        4, stop_after=stop_after, network=network, name=name, anneal_lr=True, **learner
    )


def make(config):
    learner = LEARNERS[config.learner.name].make(
        DelayedReward(config.num_envs), config.network, config.learner.options
    )
    return Assembly(learner, BundleExporter(CARD), None, {})


@pytest.mark.parametrize("name", KINDS)
def test_resumed_equals_uninterrupted(name, tmp_path):
    whole, slices = tmp_path / "whole", tmp_path / "slices"
    config = config_of(name)
    train(config, make(config), prepare(whole), StopRequest())
    for stop_after in (1, 2, None):
        config = config_of(name, stop_after)
        train(config, make(config), prepare(slices), StopRequest())
    (update, state), (other_update, other) = (newest(f, make(config)) for f in (slices, whole))
    assert update == other_update == 4
    assert_equal_states(state, other)


class _Shapes:
    """As much of a vector environment as a learner is made of."""

    def __init__(self, env):
        self.env, self.num_envs = env, 2
        self.num_agents, self.num_actions = env.num_agents, env.num_actions
        self.reset = self.step = None


@pytest.fixture(scope="module")
def observation():
    """What the teams of two worlds see first."""
    return observe_recordings("play_hard_10000", "fuzz_hard_gates_40")


@pytest.mark.parametrize("name", KINDS)
def test_exported_teams_act_as_in_training(name, observation, tmp_path):
    env = alem_env.make(num_agents=3, num_comm_channels=4)
    entry = LEARNERS[name]
    network = entry.network(**config_of(name).network.__dict__)
    options = dataclasses.replace(config_of(name).learner.options, num_envs=2)
    learner = entry.make(_Shapes(env), network, options)
    policy = learner.policy
    params = policy.init_params(jax.random.key(1))
    leaves, tree = jax.tree.flatten(params)
    keys = jax.random.split(jax.random.key(2), len(leaves))
    params = jax.tree.unflatten(
        tree, [x + jax.random.normal(k, x.shape) for x, k in zip(leaves, keys, strict=True)]
    )
    card = CARD | {"network": policy.recipe, "parameters": describe_parameters(params)}
    save_policy(tmp_path / "policy", params, card)

    loaded = load_policy(tmp_path / "policy")
    jax.tree.map(np.testing.assert_array_equal, loaded.params, params)
    carry, state, start = policy.init_carry((2, 3)), None, jnp.zeros(2, bool)
    for _ in range(3):
        carry, wanted, *_ = policy.act(params, carry, observation, start, jax.random.key(0), True)
        actions, state = loaded.act(observation, state)
        np.testing.assert_array_equal(actions, wanted)
        seen = carry["actor"] if name == "mappo" else carry  # a critic's is not needed
        jax.tree.map(np.testing.assert_array_equal, state, seen)
    alone, _ = loaded.act(jax.tree.map(lambda x: x[1], observation))
    vector = VectorObservation(dense.expand(observation, env.static), observation.legal)
    first, _ = loaded.act(observation)
    np.testing.assert_array_equal(alone, first[1])
    np.testing.assert_array_equal(loaded.act(vector)[0], first)
    assert len(np.unique(first)) > 1
