"""Functions of a batch that look like functions of one world."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from alem_env.adapters.batching import one_of_a_batch


@pytest.fixture
def sizes():
    return []


@pytest.fixture
def one(sizes):
    """x, y, factor -> (x + y) * factor, and the largest x of the batch it was computed in."""

    def batch(worlds, factor):
        sizes.append(len(worlds["x"]))
        x, y = worlds["x"], worlds["y"]
        return {"value": (x + y) * factor, "largest": jnp.broadcast_to(x.max(), x.shape)}

    return one_of_a_batch(lambda worlds, factor: batch(worlds, factor))


def test_one_world_is_a_batch_of_one(one, sizes):
    found = one({"x": 2, "y": 3}, 10)
    assert (int(found["value"]), int(found["largest"])) == (50, 2)
    assert sizes == [1]


@pytest.mark.parametrize("compile_it", [False, True])
def test_maps_of_maps_are_one_batch(one, sizes, compile_it):
    x = jnp.arange(6).reshape(2, 3)
    mapped = jax.vmap(jax.vmap(one, ({"x": 0, "y": None}, None)), ({"x": 0, "y": 0}, None))
    found = (jax.jit(mapped) if compile_it else mapped)({"x": x, "y": jnp.array([10, 20])}, 2)
    np.testing.assert_array_equal(found["value"], (x + np.array([[10], [20]])) * 2)
    np.testing.assert_array_equal(found["largest"], np.full((2, 3), 5))
    assert sizes[-1] == 6


def test_other_axes_may_be_mapped(one):
    x = jnp.arange(6).reshape(3, 2)
    found = jax.vmap(jax.vmap(one, (0, None)), (1, None), 1)({"x": x, "y": x}, 1)
    np.testing.assert_array_equal(found["value"], x * 2)


def test_what_is_shared_may_differ_between_batches(one):
    worlds = {"x": jnp.arange(3), "y": jnp.zeros(3, int)}
    found = jax.vmap(jax.vmap(one, (0, None)), (None, 0))(worlds, jnp.array([1, 10]))
    np.testing.assert_array_equal(found["value"], [[0, 1, 2], [0, 10, 20]])
    np.testing.assert_array_equal(found["largest"], np.full((2, 3), 2))


def test_it_may_be_scanned(one):
    def turn(x, _):
        return jax.vmap(one, ({"x": 0, "y": None}, None))({"x": x, "y": 1}, 2)["value"], None

    found, _ = jax.lax.scan(turn, jnp.arange(3), None, length=2)
    np.testing.assert_array_equal(found, (np.arange(3) * 2 + 2) * 2 + 2)
