"""The first layer on observations of real worlds equals a Dense layer on the published vector."""

from pathlib import Path

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from alem_env import recording
from alem_env.core.batch import over_worlds
from alem_env.observe import dense
from alem_env.observe.compact import observe
from alem_env.reference import from_reference
from marl.networks.embedding import Embedding
from marl.tasks import task_for_static

GOLDEN = Path(__file__).parents[2] / "golden" / "fuzz_hard_gates_40.npz"
EVERY, WORLDS = 60, 4


@pytest.fixture(scope="module")
def observed():
    """Static parameters, and observations of a few states of a recording."""
    episode = recording.load(GOLDEN)
    flat, states = episode.init, []
    for step in range(EVERY * WORLDS):
        if step % EVERY == 0:
            states.append(from_reference(flat, episode.static))
        flat = recording.patch(flat, episode.edits.at(step))
        flat = recording.patch(flat, episode.changes.at(step))
    worlds = jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
    look = over_worlds(lambda state: observe(state, episode.params, episode.static))
    return episode.static, jax.jit(look)(worlds)


def test_embedding_of_a_world_is_a_dense_layer_on_the_published_vector(observed):
    static, observation = observed
    task = task_for_static(
        {"num_agents": static.num_agents, "num_comm_channels": static.num_comm_channels}
    )
    vector = dense.expand(observation, static)
    assert vector.shape[-1] == task.feature_size and (vector != 0).sum(-1).max() > 300
    layer, published = Embedding(task.feature_size, 8, task.dense_columns), nn.Dense(8)
    params = published.init(jax.random.key(0), vector)
    features = task.features(observation)
    np.testing.assert_allclose(
        layer.apply(params, features), published.apply(params, vector), atol=1e-5
    )

    def gradient(apply, x):
        return jax.jit(jax.grad(lambda p: jnp.sum(jnp.sin(apply(p, x)))))(params)

    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5),
        gradient(layer.apply, features),
        gradient(published.apply, vector),
    )
