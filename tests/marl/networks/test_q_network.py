"""The LSTM equals flax's, agents are told apart, the whole has the published size."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from marl.networks import recipes
from marl.networks.factory import make_policy
from marl.networks.forward import with_agent_id
from marl.networks.q_network import make_q_policy
from marl.networks.recurrent import LSTM
from marl.networks.sizes import NetworkConfig, QNetworkConfig
from marl.ops import recurrence
from marl.probes import Memory
from marl.tasks import make_task, task_for_static
from marl.types import Sparse, VectorObservation


def test_lstm_is_flax_lstm_with_resets():
    size, width, steps = 6, 4, 5
    inputs = jax.random.normal(jax.random.key(0), (steps, 3, width))
    reset = jnp.array([[0, 0, 1], [0, 0, 0], [1, 0, 0], [0, 0, 0], [0, 1, 1]], bool)
    carry = tuple(jax.random.normal(jax.random.key(k), (3, size)) for k in (1, 2))
    params = LSTM(size).init(jax.random.key(3), carry, inputs, reset)["params"]
    params = jax.tree.map(lambda p: p + 0.05, params)
    cell = {}
    for k, name in enumerate("ifgo"):
        gate = slice(k * size, (k + 1) * size)
        cell[f"i{name}"] = {"kernel": params["input_kernel"][:, gate]}
        cell[f"h{name}"] = {
            "kernel": params["hidden_kernel"][:, gate],
            "bias": params["bias"][gate],
        }
    last, states = LSTM(size).apply({"params": params}, carry, inputs, reset)
    for t in range(steps):
        carry = tuple(jnp.where(reset[t][:, None], 0.0, x) for x in carry)
        carry, hidden = nn.OptimizedLSTMCell(size).apply({"params": cell}, carry, inputs[t])
        np.testing.assert_allclose(states[t], hidden, atol=1e-5)
    for ours, theirs in zip(last, carry, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_lstm_gradients_are_those_of_differentiating_its_steps():
    size, steps, batch = 5, 6, 3
    keys = jax.random.split(jax.random.key(0), 7)
    kernel = jax.random.normal(keys[0], (size, 4 * size))
    carry = tuple(jax.random.normal(k, (batch, size)) for k in keys[1:3])
    inputs = jax.random.normal(keys[3], (steps, batch, 4 * size))
    weights = jax.random.normal(keys[4], (steps, batch, size))
    reset = jax.random.bernoulli(keys[5], 0.3, (steps, batch)).at[0].set(jnp.array([1, 0, 0], bool))
    reset = reset.at[:, 1].set(False)  # one sequence through which gradients reach the start

    def gradients(scan):
        def value(*args):
            cell, states = scan(*args, reset)
            return jnp.sum(jnp.sin(states) * weights) + jnp.sum(jnp.cos(cell))

        return jax.jit(jax.grad(value, argnums=(0, 1, 2)))(kernel, carry, inputs)

    ours = gradients(recurrence.scan_lstm)
    theirs = gradients(lambda *args: recurrence._scan_lstm_forward(*args)[0])
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=2e-5), ours, theirs)
    for part in ours[1]:
        assert (part[0] == 0).all() and (part[1] != 0).all()


def test_published_network_has_the_published_size():
    # The published one holds 19,466 more: scale and shift of a normalisation of its inputs, whose
    # result it throws away.
    task = task_for_static({"num_agents": 3, "num_comm_channels": 4})
    params = jax.eval_shape(
        make_q_policy(QNetworkConfig(), task, 0.01).init_params, jax.random.key(0)
    )
    shapes = {
        jax.tree_util.keystr(path, simple=True, separator="/"): leaf.shape
        for path, leaf in jax.tree_util.tree_leaves_with_path(params)
    }
    assert shapes == {
        "embedding/kernel": (9730 + 3, 1024), "embedding/bias": (1024,),
        "norm/scale": (1024,), "norm/bias": (1024,),
        "core/input_kernel": (1024, 4096), "core/hidden_kernel": (1024, 4096),
        "core/bias": (4096,),
        "q_values/kernel": (1024, 60), "q_values/bias": (60,),
    }  # fmt: skip
    assert sum(leaf.size for leaf in jax.tree.leaves(params)) == 18_443_334 - 2 * 9733


def test_agents_are_told_apart_in_both_forms():
    vector = jnp.zeros((2, 3, 5)).at[..., 1].set(2.0)
    features = Sparse(
        jnp.ones((2, 3, 1), jnp.int32), jnp.full((2, 3, 1), 2.0), jnp.zeros((2, 3, 0))
    )
    plain, sparse = with_agent_id(vector, 5), with_agent_id(features, 5)
    np.testing.assert_array_equal(plain[..., 5:], jnp.broadcast_to(jnp.eye(3), (2, 3, 3)))
    expanded = jnp.zeros((2, 3, 8))
    for place in np.ndindex(2, 3):
        expanded = expanded.at[place + (sparse.rows[place],)].add(sparse.weights[place])
    np.testing.assert_array_equal(expanded, plain)


@pytest.fixture(scope="module")
def small():
    """A task of two agents, a policy's parameters, and observations (4, 3 worlds, 2 agents)."""
    task = make_task(Memory(3))
    params = make_q_policy(QNetworkConfig(4, 6), task, 0.1).init_params(jax.random.key(0))
    vector = jax.random.normal(jax.random.key(1), (4, 3, 2, 3))
    legal = jnp.ones((4, 3, 2, 2), bool)
    return task, params, VectorObservation(vector, legal)


def test_the_same_sight_is_worth_another_thing_to_another_agent(small):
    task, params, observation = small
    same = observation.replace(
        vector=observation.vector.at[:, :, 1].set(observation.vector[:, :, 0])
    )
    policy = make_q_policy(QNetworkConfig(4, 6), task, 0.1)
    none = jnp.zeros((4, 3, 2), bool)
    _, q_values, _ = policy.unroll(params, policy.init_carry((3, 2)), same, none)
    assert (jnp.abs(q_values[:, :, 0] - q_values[:, :, 1]).max(-1) > 1e-4).all()


def test_published_blank_first_observations(small):
    """All zeros, the agent's number too, where an episode starts, and nowhere else."""
    task, params, observation = small
    reset = jnp.zeros((4, 3, 2), bool).at[2, 0].set(True)
    seeing, blank = (make_q_policy(QNetworkConfig(4, 6), task, 0.1, b) for b in (False, True))
    carry = seeing.init_carry((3, 2))
    q_seeing, q_blank = (p.unroll(params, carry, observation, reset)[1] for p in (seeing, blank))
    np.testing.assert_array_equal(q_seeing[:, 1:], q_blank[:, 1:])
    np.testing.assert_array_equal(q_seeing[:2], q_blank[:2])
    np.testing.assert_array_equal(q_blank[2, 0, 0], q_blank[2, 0, 1])
    assert (q_seeing[2:, 0] != q_blank[2:, 0]).all()


def test_recipes_make_the_same_policy_again(small):
    task, params, observation = small
    policy = make_q_policy(QNetworkConfig(4, 6), task, 0.7)
    again = recipes.follow(policy.recipe, task)
    assert again.recipe == policy.recipe
    observation = jax.tree.map(lambda x: jnp.repeat(x[0], 50, 0), observation)
    start, reset = policy.init_carry((150, 2)), jnp.ones(150, bool)

    def actions(policy, greedy):
        outcome = policy.act(params, start, observation, reset, jax.random.key(5), greedy)
        return np.asarray(outcome[1])

    for greedy in (False, True):
        np.testing.assert_array_equal(actions(policy, greedy), actions(again, greedy))
    calm = recipes.follow({**policy.recipe, "epsilon": 0.0}, task)
    np.testing.assert_array_equal(actions(calm, False), actions(policy, True))
    assert (actions(policy, False) != actions(policy, True)).any()
    actor = make_policy(NetworkConfig(), task)
    assert recipes.follow(actor.recipe, task).recipe == actor.recipe
    with pytest.raises(ValueError, match="network.kind='tree'"):
        recipes.follow({"kind": "tree"}, task)


@pytest.mark.parametrize(
    "bad", [{"hidden_size": 0}, {"embedding_size": 1.5}, {"hidden_size": 10**6}]
)
def test_impossible_networks_are_refused_by_name(bad):
    with pytest.raises(ValueError, match=f"network.{next(iter(bad))}"):
        QNetworkConfig(**bad)
