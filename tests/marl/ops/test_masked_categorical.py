"""Masked distributions: finite everywhere, nothing illegal, empty rows silent."""

import jax
import jax.numpy as jnp
import numpy as np

from marl.ops import masked_categorical as mc


def test_entropy_of_three_equal_legal_actions_is_ln_3_with_finite_gradient():
    legal = jnp.array([True, True, True, False])
    value, gradient = jax.value_and_grad(mc.entropy)(jnp.zeros(4), legal)
    np.testing.assert_allclose(value, 1.0986123, rtol=1e-6)
    assert np.isfinite(gradient).all()


def test_gradient_stays_finite_with_extreme_logits():
    legal = jnp.array([True, False, True, False])
    logits = jnp.array([80.0, 1e4, -80.0, -1e4])
    for f in (mc.entropy, lambda z, m: mc.log_prob(z, m, jnp.int32(2))):
        value, gradient = jax.value_and_grad(f)(logits, legal)
        assert np.isfinite(value) and np.isfinite(gradient).all()
        assert (gradient[np.array([1, 3])] == 0).all()


def test_row_without_a_legal_action_acts_noop_and_adds_nothing():
    legal, logits = jnp.zeros((5, 4), bool), jnp.arange(20.0).reshape(5, 4)
    actions = mc.sample(jax.random.key(0), logits, legal)
    assert (actions == mc.NOOP).all() and (mc.mode(logits, legal) == mc.NOOP).all()
    assert (mc.entropy(logits, legal) == 0).all()
    assert (mc.log_prob(logits, legal, actions) == 0).all()
    gradient = jax.grad(lambda z: mc.entropy(z, legal).sum())(logits)
    assert (gradient == 0).all()


def test_log_prob_is_that_of_the_legal_actions_alone():
    logits, legal = jnp.array([0.3, -1.0, 2.0]), jnp.array([True, False, True])
    expected = 0.3 - np.log(np.exp(0.3) + np.exp(2.0))
    np.testing.assert_allclose(mc.log_prob(logits, legal, jnp.int32(0)), expected, rtol=1e-6)


def test_samples_are_legal_and_as_frequent_as_they_should_be():
    logits = jnp.broadcast_to(jnp.log(jnp.array([0.1, 0.6, 0.3])), (40_000, 3))
    legal = jnp.broadcast_to(jnp.array([True, False, True]), (40_000, 3))
    share = np.bincount(mc.sample(jax.random.key(1), logits, legal), minlength=3) / 40_000
    np.testing.assert_allclose(share, [0.25, 0.0, 0.75], atol=0.01)
    assert share[1] == 0


def test_kl_literal_value():
    p, q = jnp.log(jnp.array([0.5, 0.5, 1.0])), jnp.log(jnp.array([0.25, 0.75, 1.0]))
    legal = jnp.array([True, True, False])
    expected = 0.5 * np.log(2) + 0.5 * np.log(2 / 3)
    np.testing.assert_allclose(mc.kl_divergence(p, q, legal), expected, rtol=1e-5)
