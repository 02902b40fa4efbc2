"""The benchmark's random stream against jax's own non-partitionable threefry."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from alem_env.core import rng


@pytest.fixture(scope="module", autouse=True)
def layout_of_jax_0_4():
    with jax.threefry_partitionable(False):
        yield


@pytest.fixture
def words():
    return rng.words(jax.random.key(7))


@pytest.fixture
def key():
    return jax.random.key(7)


def test_literal_values_whatever_the_flag():
    for partitionable in (False, True):
        with jax.threefry_partitionable(partitionable):
            split = rng.split(rng.words(jax.random.key(9999)))
            normal = jax.random.normal(rng.key(0))
        expected = [[1351671791, 1842006932], [236786558, 4236683991]]
        np.testing.assert_array_equal(split, expected)
        assert normal == pytest.approx(-0.20584226, abs=1e-8)


@pytest.mark.parametrize("num", [1, 2, 3, 7, 10])
def test_split(words, key, num):
    np.testing.assert_array_equal(
        rng.split(words, num), jax.random.key_data(jax.random.split(key, num))
    )


def test_split_pair_of_many_keys(words):
    keys = rng.split(words, 6).reshape(2, 3, 2)
    first, second = rng.split_pair(keys)
    expected = jax.vmap(jax.vmap(rng.split))(keys)
    np.testing.assert_array_equal(jnp.stack([first, second], 2), expected)


@pytest.mark.parametrize("num", [1, 4, 5, 9])
def test_chain(words, key, num):
    last, subs = rng.chain(words, num)
    for i in range(num):
        key, sub = jax.random.split(key)
        np.testing.assert_array_equal(subs[i], jax.random.key_data(sub))
    np.testing.assert_array_equal(last, jax.random.key_data(key))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 2304])
def test_bits_and_uniform(words, key, size):
    np.testing.assert_array_equal(
        rng.random_bits(words, size), jax.random.bits(key, (size,), jnp.uint32)
    )
    np.testing.assert_array_equal(rng.uniform(words, (size,)), jax.random.uniform(key, (size,)))


def test_one_draw_from_each_of_many_keys(words, key):
    keys, theirs = rng.split(words, 8), jax.random.split(key, 8)
    np.testing.assert_array_equal(rng.uniform_each(keys), jax.vmap(jax.random.uniform)(theirs))


@pytest.mark.parametrize("bounds", [(0, 2), (3, 11), (-5, 300), (4, 4), (9, 2)])
def test_randint(words, key, bounds):
    np.testing.assert_array_equal(
        rng.randint(words, (9, 2), *bounds), jax.random.randint(key, (9, 2), *bounds)
    )


def test_randint_with_a_range_of_each_draw(words, key):
    low, high = np.arange(5), np.array([9, 3, 4, 100, 5])
    np.testing.assert_array_equal(
        rng.randint(words, (5,), low, high), jax.random.randint(key, (5,), low, high)
    )


def test_permutation(words, key):
    np.testing.assert_array_equal(rng.permutation(words, 6), jax.random.permutation(key, 6))
    with pytest.raises(ValueError, match="1601"):
        rng.permutation(words, 1601)


def test_fold_in(words, key):
    np.testing.assert_array_equal(
        rng.fold_in(words, 5), jax.random.key_data(jax.random.fold_in(key, 5))
    )


def test_typed_keys_draw_the_same_stream():
    with jax.threefry_partitionable(True):  # not the stream of other typed keys
        ours = jax.random.uniform(rng.key(3), (5,))
        default = jax.random.uniform(jax.random.key(3), (5,))
    expected = jax.random.uniform(jax.random.key(3), (5,))
    np.testing.assert_array_equal(ours, expected)
    assert not np.array_equal(default, expected)
