"""Running scales of returns: literal values, and both ways."""

import jax.numpy as jnp
import numpy as np

from marl.ops import value_norm


def test_first_returns_are_the_whole_average():
    norm = value_norm.follow(value_norm.start(), jnp.array([[1.0, 5.0], [3.0, 3.0]]))
    np.testing.assert_allclose(norm.weight, 1e-5, rtol=1e-3)
    # mean 3, mean of squares 11: deviation sqrt(2)
    got = value_norm.normalise(norm, jnp.array([3.0, 5.0]))
    np.testing.assert_allclose(got, [0.0, 2.0**0.5], rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(value_norm.denormalise(norm, got), [3.0, 5.0], rtol=1e-4)


def test_later_returns_weigh_a_little_more():
    norm = value_norm.start()
    for mean in (0.0, 4.0):
        norm = value_norm.follow(norm, jnp.full((7,), mean))
    np.testing.assert_allclose(norm.mean / norm.weight, 2.0, rtol=1e-4)
    np.testing.assert_allclose(norm.square / norm.weight, 8.0, rtol=1e-4)


def test_before_any_return_the_scale_is_the_smallest():
    np.testing.assert_allclose(value_norm.denormalise(value_norm.start(), jnp.array(5.0)), 0.5)


def test_each_agent_has_its_own_scale():
    returns = jnp.array([[[1.0, 10.0], [3.0, 30.0]]])
    norm = value_norm.follow(value_norm.start((2,)), returns)
    np.testing.assert_allclose(value_norm.normalise(norm, returns), [[[-1, -1], [1, 1]]], rtol=1e-2)


def test_without_a_norm_nothing_changes():
    x = jnp.array([1.0, 2.0])
    assert value_norm.normalise(None, x) is x and value_norm.denormalise(None, x) is x
