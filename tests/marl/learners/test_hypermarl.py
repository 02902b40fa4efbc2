"""Generated heads: their scale at the start, and that they follow what describes an agent."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from kinds import make_small
from test_kinds import stirred

from marl import probes
from marl.networks.hypernetwork import GeneratedLayer

HEADS = ("actor_hidden", "actor_logits", "critic_hidden", "critic_value")


@pytest.mark.parametrize("inputs, outputs, gain", [(96, 64, 2**0.5), (64, 9, 0.01), (48, 1, 1.0)])
def test_generated_weights_are_nearly_orthogonal_at_the_start(inputs, outputs, gain):
    """A sum of orthogonal matrices with weights h: products of its columns are nearly gain² |h|² on
    the diagonal, and small beside it."""
    layer = GeneratedLayer(inputs, outputs, 64, gain)
    identities = jax.nn.initializers.orthogonal(2**0.5)(jax.random.key(1), (3, 64))
    params = layer.init(jax.random.key(0), identities, method="generate")
    kernels, biases = layer.apply(params, identities, method="generate")
    assert kernels.shape == (3, inputs, outputs) and not biases.any()
    hidden = nn_relu(identities @ params["params"]["kernel_hidden"]["kernel"])
    for kernel, h in zip(kernels, hidden, strict=True):
        scale = gain * np.linalg.norm(h)
        # relu leaves about half of the square of a length of 2
        np.testing.assert_allclose(scale, gain * 2**0.5, rtol=0.4)
        product = kernel.T @ kernel / scale**2
        np.testing.assert_allclose(np.trace(product) / outputs, 1.0, rtol=0.35)
        beside = np.asarray(product - np.diag(np.diag(product)))
        assert np.sqrt(np.mean(beside**2)) < 0.2
    # rows of the generator are orthogonal matrices themselves
    for row in params["params"]["kernel"]["kernel"][:5]:
        one = row.reshape(inputs, outputs)
        np.testing.assert_allclose(one.T @ one, gain**2 * np.eye(outputs), atol=1e-5 * gain**2)


def nn_relu(x):
    return np.maximum(np.asarray(x), 0.0)


@pytest.fixture(scope="module")
def seen():
    """(learner, parameters in the middle of training, a function that looks with parameters)."""
    learner = make_small("hypermarl", probes.Memory(4), num_envs=4, num_minibatches=1)
    state = learner.init(jax.random.key(0))
    same = jax.tree.map(lambda x: jnp.broadcast_to(x[:, :1], x.shape), state.observation)
    one_step = jax.tree.map(lambda x: x[None], same)
    reset = jnp.zeros((1, 4, 2), bool)

    def look(params):
        return learner.policy.unroll(params, state.carry, one_step, reset)[1:]

    return stirred(state.params), look


def test_equal_identities_make_equal_heads(seen):
    params, look = seen
    logits, value = look(params)
    assert jnp.max(jnp.abs(logits[..., 0, :] - logits[..., 1, :])) > 1e-2
    assert jnp.max(jnp.abs(value[..., 0] - value[..., 1])) > 1e-2
    alike = params | {"identities": jnp.broadcast_to(params["identities"][:1], (2, 64))}
    logits, value = look(alike)
    np.testing.assert_allclose(logits[..., 0, :], logits[..., 1, :], atol=1e-6)
    np.testing.assert_allclose(value[..., 0], value[..., 1], atol=1e-6)


def test_exchanged_identities_exchange_the_agents(seen):
    params, look = seen
    logits, value = look(params)
    other_logits, other_value = look(params | {"identities": params["identities"][::-1]})
    np.testing.assert_allclose(other_logits, logits[..., ::-1, :], atol=1e-5)
    np.testing.assert_allclose(other_value, value[..., ::-1], atol=1e-5)
