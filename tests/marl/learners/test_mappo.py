"""A critic that sees everything: what goes in, for whom, and what it can tell apart."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from kinds import make_small
from test_kinds import stirred

from marl import probes
from marl.learners import on_policy
from marl.networks.centralised import join_team
from marl.networks.embedding import Embedding
from marl.networks.sizes import CRITIC_INPUTS
from marl.types import Sparse

OPTIONS = dict(
    num_envs=16, num_steps=16, num_minibatches=2, update_epochs=4, total_updates=80, lr=5e-3,
    gamma=0.9,
)  # fmt: skip


class _Unequal(probes.Probe):
    """One step, the same view for everyone; the first agent earns 1 and the second 3."""

    def _see(self, state):
        return jnp.ones((self.num_envs, self.num_agents, self.feature_size))

    def _earn(self, state, actions):
        return jnp.broadcast_to(jnp.array([1.0, 3.0]), actions.shape)


@pytest.mark.parametrize("critic_input, values", [("team", [2.0, 2.0]), ("agent_id", [1.0, 3.0])])
def test_published_critic_learns_the_mean_and_the_corrected_one_each(critic_input, values):
    learner = make_small(
        "mappo", _Unequal(16), (8, 8, 8, 8, "tanh"), {"critic_input": critic_input}, **OPTIONS
    )
    state = learner.init(jax.random.key(0))
    for _ in range(60):
        state, _ = learner.train_step(state)
    _, batch = learner.collect(state)
    np.testing.assert_allclose(batch.transition.value[0].mean(0), values, atol=0.15)
    agents = 1 if critic_input == "team" else 2
    assert state.carry["critic"].shape == (16, agents, 8)


@pytest.mark.parametrize("critic_input", CRITIC_INPUTS)
def test_values_depend_on_what_teammates_see(critic_input):
    learner = make_small("mappo", probes.Memory(3), network={"critic_input": critic_input},
                         num_envs=3, num_minibatches=1)  # fmt: skip
    state = learner.init(jax.random.key(0))
    params, seen = stirred(state.params), state.observation
    other = seen.replace(vector=seen.vector.at[:, 1, 0].add(2.0))
    reset = jnp.zeros((1, 3, 2), bool)

    def look(observation):
        one_step = jax.tree.map(lambda x: x[None], observation)
        return learner.policy.unroll(params, state.carry, one_step, reset)[1:]

    (logits, value), (other_logits, other_value) = look(seen), look(other)
    np.testing.assert_array_equal(logits[..., 0, :], other_logits[..., 0, :])  # actors do not
    assert jnp.all(value[..., 0] != other_value[..., 0])
    swapped = look(jax.tree.map(lambda x: x[:, ::-1], seen))[1]
    differ = jnp.max(jnp.abs(value[..., 0] - value[..., 1]))
    if critic_input == "team":
        assert differ == 0
    else:
        assert differ > 1e-3
    # seen from oneself, exchanged agents exchange their values; otherwise places matter
    is_symmetric = np.allclose(swapped[..., ::-1], value, atol=1e-5)
    assert is_symmetric == (critic_input == "rolled")


def test_long_vectors_are_the_agents_vectors_one_after_another():
    rng = np.random.default_rng(0)
    agents, size, columns = 3, 20, (4, 11)
    rows = rng.integers(0, size, (5, agents, 6))
    weights = rng.normal(size=rows.shape)
    dense = rng.normal(size=(5, agents, 2))
    vector = np.zeros((5, agents, size))
    for place in np.ndindex(5, agents):
        np.add.at(vector[place], rows[place], weights[place])
        vector[place][list(columns)] += dense[place]
    sparse = Sparse(*(jnp.asarray(x) for x in (rows.astype(np.int32), weights, dense)))
    long_columns = tuple(c + k * size for k in range(agents) for c in columns)
    layer, published = Embedding(agents * size, 7, long_columns), nn.Dense(7)
    for order in (np.arange(3)[None], (np.arange(3) + np.arange(3)[:, None]) % 3):
        long = np.concatenate([vector[:, order[:, k]] for k in range(agents)], axis=-1)
        np.testing.assert_allclose(join_team(vector, size, order), long, rtol=1e-6)
        params = published.init(jax.random.key(0), long)
        np.testing.assert_allclose(
            layer.apply(params, join_team(sparse, size, order)),
            published.apply(params, long),
            atol=1e-5,
        )


def test_actor_and_critic_are_clipped_apart():
    learner = make_small("mappo", probes.Memory(4), num_envs=4, num_minibatches=1, adam_eps=1e-3)
    params = learner.init(jax.random.key(0)).params
    optimiser = on_policy.optimiser(learner.config)

    def actor_direction(critic_gradient):
        gradient = {
            "actor": jax.tree.map(lambda x: jnp.full_like(x, 1e-3), params["actor"]),
            "critic": jax.tree.map(lambda x: jnp.full_like(x, critic_gradient), params["critic"]),
        }
        return optimiser.update(gradient, optimiser.init(params))[0]["actor"]

    jax.tree.map(np.testing.assert_array_equal, actor_direction(1e-3), actor_direction(1e3))
