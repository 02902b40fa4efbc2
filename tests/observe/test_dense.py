"""The published vector and its sparse forms."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from recorded import read

from alem_env.core.params import StaticParams
from alem_env.observe import dense
from alem_env.observe.compact import observe

RECORDINGS = ("fuzz_medium_0", "fuzz_1player_530", "fuzz_8players_540")


@functools.cache
def look(name):
    """Static parameters, compact observations (N, A, ...), what they expand to and should."""
    episode = read(name)

    def one(state):
        obs = observe(state, episode.params, episode.static)
        return obs, dense.expand(obs, episode.static)

    return episode.static, *jax.jit(jax.vmap(one))(episode.after), episode.observations


@pytest.mark.parametrize("name", RECORDINGS)
def test_every_recorded_observation_is_equal(name):
    _, _, vector, expected = look(name)
    assert vector.shape == expected.shape
    np.testing.assert_allclose(vector, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", ["fuzz_medium_0", "fuzz_8players_540"])
def test_rows_and_dense_columns_are_the_same_vector(name):
    static, obs, vector, _ = look(name)
    parts = jax.jit(dense.embedding_inputs, static_argnums=1)(obs, static)
    assert (parts.rows[parts.weights == 0] == 0).all()
    again = np.zeros(vector.shape, np.float32)
    again[..., dense.dense_columns(static)] = parts.dense
    for place in np.ndindex(again.shape[:-1]):
        np.add.at(again[place], np.asarray(parts.rows)[place], np.asarray(parts.weights)[place])
    np.testing.assert_array_equal(again, vector)


def test_rows_and_dense_columns_make_the_first_layer():
    static, obs, vector, _ = look("fuzz_medium_0")
    kernel = jax.random.normal(jax.random.key(0), (dense.obs_dim(static), 8))
    parts = jax.jit(dense.embedding_inputs, static_argnums=1)(obs, static)
    layer = (parts.weights[..., None] * kernel[parts.rows]).sum(-2)
    layer += parts.dense @ kernel[dense.dense_columns(static)]
    np.testing.assert_allclose(layer, vector @ kernel, atol=1e-3)


def test_expand_takes_any_leading_axes():
    static, obs, vector, _ = look("fuzz_medium_0")
    folded = jax.tree.map(lambda x: x[:6].reshape(2, 3, *x.shape[1:]), obs)
    expand = jax.jit(dense.expand, static_argnums=1)
    again = expand(folded, static)
    np.testing.assert_array_equal(again, vector[:6].reshape(2, 3, *vector.shape[1:]))
    alone = jax.tree.map(lambda x: x[0], obs)
    np.testing.assert_array_equal(expand(alone, static), vector[0])


@pytest.mark.parametrize(
    "agents, channels, size", [(3, 4, 9730), (3, 0, 9718), (1, 0, 9476), (2, 0, 9597)]
)
def test_published_sizes(agents, channels, size):
    assert dense.obs_dim(StaticParams(num_agents=agents, num_comm_channels=channels)) == size


def test_layout_covers_the_vector_once():
    static = StaticParams(num_comm_channels=4)
    for slices in (dense.feature_layout(static), dense.cell_channels(static)):
        parts = list(slices.values())
        assert parts[0].start == 0
        assert all(a.stop == b.start for a, b in zip(parts, parts[1:], strict=False))
    columns = jnp.asarray(dense.dense_columns(static))
    assert len(np.unique(columns)) == len(columns)
