"""Losses and statistics against literal values."""

import jax
import jax.numpy as jnp
import numpy as np

from marl.ops import losses
from marl.ops.statistics import explained_variance, masked_mean, standardise


def test_advantages_of_the_dead_do_not_count():
    mask = jnp.array([True, True, True, False])
    for dead in (1000.0, -3.0, np.nan):
        got = standardise(jnp.array([1.0, 2.0, 3.0, dead]), mask)
        np.testing.assert_allclose(got, [-1.2247449, 0.0, 1.2247449, 0.0], rtol=1e-5)
    gradient = jax.grad(lambda x: jnp.sum(jnp.sin(standardise(x, mask))))(
        jnp.array([1.0, 2.0, 3.0, 1000.0])
    )
    assert gradient[3] == 0


def test_masked_mean_of_nothing_is_zero():
    assert masked_mean(jnp.array([5.0, 7.0]), jnp.zeros(2, bool)) == 0
    assert masked_mean(jnp.array([5.0, 7.0]), jnp.array([False, True])) == 7


def test_policy_loss_literal_values():
    ratio = jnp.array([1.0, 1.5, 1.5, 0.5, 0.5])
    advantage = jnp.array([2.0, 1.0, -1.0, 1.0, -1.0])
    got = losses.clipped_policy_loss(jnp.log(ratio), advantage, 0.2)
    # ratio beyond the range: no gain when it would gain more, full loss when it loses
    np.testing.assert_allclose(got, [-2.0, -1.2, 1.5, -0.5, 0.8], rtol=1e-5)
    slope = jax.grad(lambda r: losses.clipped_policy_loss(r, advantage, 0.2).sum())(jnp.log(ratio))
    assert slope[1] == 0 and slope[4] == 0 and (np.asarray(slope)[[0, 2, 3]] != 0).all()


def test_value_loss_literal_values():
    value, old = jnp.array([1.1, 2.0, 2.0]), jnp.array([1.0, 1.0, 1.0])
    target = jnp.array([2.0, 3.0, 0.0])
    # within the range (0.9); held at 1.2 (1.8 > 1.0); moved away (2.0 > 1.2)
    got = losses.clipped_value_loss(value, old, target, 0.2)
    np.testing.assert_allclose(got, [0.405, 1.62, 2.0], rtol=1e-5)


def test_kl_estimate_and_clip_fraction():
    log_ratio = jnp.log(jnp.array([1.0, 1.19, 1.21, 0.81, 0.79]))
    assert losses.approx_kl(log_ratio)[0] == 0 and (losses.approx_kl(log_ratio) >= 0).all()
    np.testing.assert_allclose(losses.approx_kl(jnp.log(2.0)), 1 - np.log(2), rtol=1e-6)
    np.testing.assert_array_equal(losses.is_clipped(log_ratio, 0.2), [0, 0, 1, 0, 1])


def test_explained_variance():
    target = jnp.array([1.0, 2.0, 3.0])
    assert explained_variance(target + 5, target) == 1
    np.testing.assert_allclose(explained_variance(jnp.zeros(3), target), 0, atol=1e-6)
    assert explained_variance(target, jnp.ones(3)) == 0


def test_value_loss_beyond_the_huber_delta_is_linear():
    value, old = jnp.array([1.1, 2.0, 9.0]), jnp.array([1.0, 1.0, 9.0])
    target = jnp.array([2.0, 3.0, 0.0])
    got = losses.clipped_value_loss(value, old, target, 0.2, huber_delta=1.5)
    # an error of 0.9; held at 1.2 an error of 1.8: 1.5 (1.8 - 0.75); an error of 9: 1.5 (9 - 0.75)
    np.testing.assert_allclose(got, [0.405, 1.575, 12.375], rtol=1e-5)
    wide = losses.clipped_value_loss(value, old, target, 0.2, huber_delta=100.0)
    np.testing.assert_allclose(wide, losses.clipped_value_loss(value, old, target, 0.2), rtol=1e-6)
    slope = jax.grad(lambda v: losses.clipped_value_loss(v, old, target, 0.2, 1.5).sum())(value)
    np.testing.assert_allclose(slope[2], 1.5)
