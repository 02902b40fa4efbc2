"""The first layer equals Dense, the core equals flax's GRU, the whole has the published size."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from marl.networks import embedding, recipes, sizes
from marl.networks.actor_critic import RecurrentActorCritic
from marl.networks.centralised import make_centralised_policy
from marl.networks.exported import exported_team, require_weights_fit
from marl.networks.factory import make_policy
from marl.networks.hypernetwork import make_hyper_policy
from marl.networks.recurrent import GRU
from marl.networks.sizes import CentralisedConfig, HyperConfig, NetworkConfig
from marl.networks.unshared import make_unshared_policy
from marl.ops import recurrence, sum_rows
from marl.tasks import task_for_static
from marl.types import Sparse

FEATURES, COLUMNS, ROWS = 40, (3, 17, 39), 11


@pytest.fixture(scope="module")
def sparse_and_dense():
    """Sparse observations (5, 2), with doubled rows and surplus entries, and what they mean."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, FEATURES, (5, 2, ROWS))
    rows[..., 1] = rows[..., 0]
    weights = np.where(rng.random(rows.shape) < 0.7, 1.0, rng.normal(size=rows.shape))
    weights[..., :3] = rng.random((5, 2, 3)) < 0.7  # one-hot fields: weights are 0 or 1
    weights[..., -2:], rows[..., -2:] = 0.0, 0
    dense = rng.normal(size=(5, 2, len(COLUMNS)))
    vector = np.zeros((5, 2, FEATURES))
    for place in np.ndindex(5, 2):
        np.add.at(vector[place], rows[place], weights[place])
        vector[place][list(COLUMNS)] += dense[place]
    arrays = (jnp.asarray(x, jnp.float32) for x in (weights, dense, vector))
    weights, dense, vector = arrays
    return Sparse(jnp.asarray(rows, jnp.int32), weights, dense), vector


def test_embedding_is_a_dense_layer_forward_and_backward(sparse_and_dense):
    sparse, vector = sparse_and_dense
    layer, dense = embedding.Embedding(FEATURES, 8, COLUMNS), nn.Dense(8)
    params = layer.init(jax.random.key(0), sparse)
    params = jax.tree.map(lambda p: p + 0.1, params)  # biases that count
    probe = jax.random.normal(jax.random.key(1), (5, 2, 8))

    def value(p, apply, x):
        return jnp.sum(jnp.sin(apply(p, x)) * probe)

    np.testing.assert_allclose(layer.apply(params, sparse), dense.apply(params, vector), atol=1e-5)
    np.testing.assert_allclose(layer.apply(params, vector), dense.apply(params, vector), atol=1e-5)
    ours = jax.grad(value)(params, layer.apply, sparse)
    theirs = jax.grad(value)(params, dense.apply, vector)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), ours, theirs)


def test_formulation_for_accelerators_is_the_same_function(sparse_and_dense, monkeypatch):
    monkeypatch.setattr(sum_rows, "_ROWS_EXPANDED", 4)  # several blocks, the last one not full
    sparse, _ = sparse_and_dense
    rows, weights = sparse.rows.reshape(10, ROWS), sparse.weights.reshape(10, ROWS)
    kernel = jax.random.normal(jax.random.key(0), (FEATURES, 8))
    gradient = jax.random.normal(jax.random.key(1), (10, 8))
    np.testing.assert_allclose(
        sum_rows._sum_rows_by_product(kernel, rows, weights),
        sum_rows._sum_rows_by_turns(kernel, rows, weights),
        atol=1e-5,
    )
    zeros = jnp.zeros_like(kernel)
    np.testing.assert_allclose(
        sum_rows._scatter_by_product(zeros, gradient, rows, weights),
        sum_rows._scatter_by_turns(zeros, gradient, rows, weights),
        atol=1e-5,
    )


@pytest.mark.parametrize("axes", [(0, 0, 0), (None, 0, 0), (0, None, None)])
def test_embeddings_side_by_side_are_those_one_by_one(sparse_and_dense, axes):
    """As for teams whose agents have kernels of their own, or worlds that are looked at apart."""
    sparse, _ = sparse_and_dense
    kernels = jax.random.normal(jax.random.key(0), (2, FEATURES, 8))
    many = (kernels, sparse.rows.swapaxes(0, 1), sparse.weights.swapaxes(0, 1))
    args = tuple(x[1] if axis is None else x for x, axis in zip(many, axes, strict=True))
    probe = jax.random.normal(jax.random.key(1), (5, 8))

    def value(*one):
        return jnp.sum(jnp.sin(sum_rows.sum_rows(*one)) * probe)

    one = tuple(x[1] for x in many)
    both = jax.vmap(sum_rows.sum_rows, axes)(*args)
    np.testing.assert_allclose(both[1], sum_rows.sum_rows(*one), atol=1e-5)
    wanted = jax.grad(value)(*one)
    each = jax.vmap(jax.grad(value), axes)(*args)
    np.testing.assert_allclose(each[1], wanted, atol=1e-5)
    total = jax.grad(lambda kernel: jnp.sum(jax.vmap(value, axes)(kernel, *args[1:])))(args[0])
    if axes[0] is None:
        np.testing.assert_allclose(total, each.sum(0), atol=1e-4)
    else:
        np.testing.assert_allclose(total, each, atol=1e-5)


def test_gru_is_flax_gru_with_resets():
    size, width, steps = 6, 4, 5
    inputs = jax.random.normal(jax.random.key(0), (steps, 3, width))
    reset = jnp.array([[0, 0, 1], [0, 0, 0], [1, 0, 0], [0, 0, 0], [0, 1, 1]], bool)
    carry = jax.random.normal(jax.random.key(1), (3, size))
    params = GRU(size).init(jax.random.key(2), carry, inputs, reset)["params"]
    params = jax.tree.map(lambda p: p + 0.05, params)

    def gate(kernel, k):
        return kernel[..., k * size : (k + 1) * size]

    cell = {"hn": {"kernel": gate(params["hidden_kernel"], 2), "bias": params["hidden_bias"]}}
    for k, name in enumerate("rzn"):
        cell[f"i{name}"] = {
            "kernel": gate(params["input_kernel"], k),
            "bias": gate(params["input_bias"], k),
        }
        if name != "n":
            cell[f"h{name}"] = {"kernel": gate(params["hidden_kernel"], k)}
    last, states = GRU(size).apply({"params": params}, carry, inputs, reset)
    hidden = carry
    for t in range(steps):
        hidden = jnp.where(reset[t][:, None], 0.0, hidden)
        hidden, _ = nn.GRUCell(size).apply({"params": cell}, hidden, inputs[t])
        np.testing.assert_allclose(states[t], hidden, atol=1e-5)
    np.testing.assert_allclose(last, hidden, atol=1e-5)


def test_gru_gradients_are_those_of_differentiating_its_steps():
    size, steps, batch = 5, 6, 3
    keys = jax.random.split(jax.random.key(0), 6)
    kernel = jax.random.normal(keys[0], (size, 3 * size))
    bias = jax.random.normal(keys[1], (size,))
    carry = jax.random.normal(keys[2], (batch, size))
    inputs = jax.random.normal(keys[3], (steps, batch, 3 * size))
    weights = jax.random.normal(keys[4], (steps, batch, size))
    reset = jax.random.bernoulli(keys[5], 0.3, (steps, batch)).at[0].set(jnp.array([1, 0, 0], bool))

    def gradients(scan):
        def value(*args):
            return jnp.sum(jnp.sin(scan(*args, reset)) * weights)

        return jax.jit(jax.grad(value, argnums=(0, 1, 2, 3)))(kernel, bias, carry, inputs)

    ours = gradients(recurrence.scan_gru)
    theirs = gradients(lambda *args: recurrence._scan_forward(*args)[0])
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)
    assert (ours[2][0] == 0).all() and (ours[2][1] != 0).all()


PUBLISHED_SIZES = {
    make_policy: (NetworkConfig(), 2_589_885),
    make_unshared_policy: (NetworkConfig(), 3 * 2_589_885),
    make_centralised_policy: (CentralisedConfig(critic_input="team"), 2_524_092 + 4_984_705),
    make_hyper_policy: (HyperConfig(), 25_614_013),
}


@pytest.mark.parametrize("make", PUBLISHED_SIZES)
def test_published_networks_have_the_published_sizes(make):
    config, size = PUBLISHED_SIZES[make]
    task = task_for_static({"num_agents": 3, "num_comm_channels": 4})
    assert (task.feature_size, task.num_actions) == (9730, 60)
    policy = make(config, task)
    params = jax.eval_shape(policy.init_params, jax.random.key(0))
    assert sum(leaf.size for leaf in jax.tree.leaves(params)) == size
    assert config.embedding_gain == 2**0.5
    again = jax.eval_shape(recipes.follow(policy.recipe, task).init_params, jax.random.key(0))
    assert again == params


@pytest.mark.parametrize("kind", recipes.MAKERS)
def test_networks_of_every_kind_act_when_exported(kind):
    """Their own weights are what acting needs, in preferences of every action."""
    task = task_for_static({"num_agents": 3, "num_comm_channels": 4})
    recipe = {"kind": kind, **({"epsilon": 0.1} if kind == sizes.RECURRENT_Q else {})}
    params = jax.eval_shape(recipes.follow(recipe, task).init_params, jax.random.key(0))
    require_weights_fit(exported_team(recipe, task), params, task)


def test_initial_scales():
    network = RecurrentActorCritic(30, (), 5, 16, 3.0, 12, 10, 8, "tanh")
    params = network.init(
        jax.random.key(0), jnp.zeros((1, 12)), jnp.zeros((1, 1, 30)), jnp.zeros((1, 1), bool)
    )["params"]

    def gains(kernel):
        return np.linalg.svd(np.asarray(kernel), compute_uv=False)

    np.testing.assert_allclose(gains(params["embedding"]["kernel"]), 3.0, rtol=1e-4)
    np.testing.assert_allclose(gains(params["actor"]["hidden"]["kernel"]), 2.0, rtol=1e-4)
    np.testing.assert_allclose(gains(params["actor"]["logits"]["kernel"]), 0.01, rtol=1e-4)
    np.testing.assert_allclose(gains(params["critic"]["hidden"]["kernel"]), 2.0, rtol=1e-4)
    np.testing.assert_allclose(gains(params["critic"]["value"]["kernel"]), 1.0, rtol=1e-4)
    for k in range(3):
        gate = params["core"]["hidden_kernel"][:, k * 12 : (k + 1) * 12]
        np.testing.assert_allclose(gains(gate), 1.0, rtol=1e-4)


BAD = [{"hidden_size": 0}, {"activation": "gelu"}, {"actor_size": 1.5}, {"embedding_gain": 0.0}]


@pytest.mark.parametrize("bad", BAD)
def test_impossible_networks_are_refused_by_name(bad):
    with pytest.raises(ValueError, match=f"network.{next(iter(bad))}"):
        NetworkConfig(**bad)


def test_double_precision_is_refused_by_name():
    task = task_for_static({"num_agents": 3, "num_comm_channels": 4})
    policy = make_policy(NetworkConfig(), task)
    with jax.enable_x64(True), pytest.raises(ValueError, match="unset JAX_ENABLE_X64"):
        policy.init_params(jax.random.key(0))


BAD_KINDS = [
    (CentralisedConfig, {"critic_input": "everything"}),
    (HyperConfig, {"identity_size": 0}),
    (HyperConfig, {"generator_size": 2**20}),
]


@pytest.mark.parametrize("kind, bad", BAD_KINDS)
def test_impossible_networks_of_other_kinds_are_refused_by_name(kind, bad):
    with pytest.raises(ValueError, match=f"network.{next(iter(bad))}"):
        kind(**bad)
