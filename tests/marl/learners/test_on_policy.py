"""One update, taken apart: replay, rows of the dead, gradients, schedules, safety."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from marl import probes
from marl.learners import ippo, on_policy, registry
from marl.learners.ppo_config import PPOConfig
from marl.networks.sizes import NetworkConfig
from marl.ops import masked_categorical

NETWORK = NetworkConfig(5, 6, 4, 3, "tanh")
# Episodes of 4 steps in rollouts of 8: an episode ends in the middle and at the end.
CONFIG = PPOConfig(
    num_envs=4, num_steps=8, num_minibatches=2, update_epochs=2, total_updates=10, adam_eps=1e-3
)


class _CountedMortal(probes.Mortal):
    traced = 0

    def _earn(self, state, actions):
        type(self).traced += 1
        return super()._earn(state, actions)


@pytest.fixture(scope="module")
def learner():
    return ippo.make(_CountedMortal(4), NETWORK, CONFIG)


@pytest.fixture(scope="module")
def collected(learner):
    """State and batch of the second rollout, which starts with a worn recurrent state."""
    state, _ = learner.collect(learner.init(jax.random.key(0)))
    return learner.collect(state)


def _log_prob(learner, params, sequences, carry):
    _, logits, _ = learner.policy.unroll(params, carry, sequences.observation, sequences.reset)
    return masked_categorical.log_prob(logits, sequences.observation.legal, sequences.action)


def test_replay_before_the_update_gives_ratio_1(learner, collected):
    state, batch = collected
    ends = batch.transition.terminated
    assert ends[3].all() and ends[7].all() and batch.transition.reset[0].all()
    assert jnp.any(batch.carry != 0)
    sequences, carry = on_policy.make_sequences(CONFIG, batch)
    ratio = jnp.exp(_log_prob(learner, state.params, sequences, carry) - sequences.log_prob)
    np.testing.assert_allclose(ratio, 1.0, atol=1e-5)
    forgetful = sequences._replace(reset=jnp.zeros_like(sequences.reset))
    other = jnp.exp(_log_prob(learner, state.params, forgetful, carry) - sequences.log_prob)
    assert jnp.max(jnp.abs(other - 1)) > 1e-4, "the test would not notice a missing reset"


def test_rows_of_the_dead_change_nothing_but_the_value_loss(learner, collected):
    state, batch = collected
    sequences, carry = on_policy.make_sequences(CONFIG, batch)
    dead = ~sequences.active
    assert dead.any()
    spoilt = sequences._replace(
        advantage=jnp.where(dead, 1e3, sequences.advantage),
        log_prob=jnp.where(dead, -3.0, sequences.log_prob),
    )
    gradient_of = jax.jit(
        jax.value_and_grad(
            lambda params, s: on_policy.loss(learner.policy, CONFIG, params, s, carry),
            has_aux=True,
        )
    )
    clean, other = (gradient_of(state.params, s) for s in (sequences, spoilt))
    jax.tree.map(np.testing.assert_array_equal, clean, other)
    higher = sequences._replace(target=jnp.where(dead, 1e3, sequences.target))
    assert gradient_of(state.params, higher)[0][1]["loss/value"] > clean[0][1]["loss/value"] + 1


def test_published_treatment_keeps_rows_of_the_dead(collected):
    published = dataclasses.replace(CONFIG, mask_dead_agents=False)
    sequences, _ = on_policy.make_sequences(published, collected[1])
    assert sequences.active.all()


def test_every_parameter_gets_a_gradient(learner, collected):
    state, batch = collected
    sequences, carry = on_policy.make_sequences(CONFIG, batch)
    gradient = jax.grad(
        lambda params: on_policy.loss(learner.policy, CONFIG, params, sequences, carry)[0]
    )(state.params)
    paths = jax.tree_util.tree_leaves_with_path(gradient)
    assert not [jax.tree_util.keystr(path) for path, leaf in paths if not jnp.any(leaf != 0)]


def test_each_epoch_visits_each_sequence_once():
    order = on_policy.minibatch_order(CONFIG, jax.random.key(0), 8)
    assert order.shape == (4, 4)
    epochs = np.sort(np.asarray(order).reshape(2, 8), axis=1)
    np.testing.assert_array_equal(epochs, [np.arange(8)] * 2)
    assert (order[:2] != order[2:]).any()


def test_learning_rate_counts_updates_alone():
    for epochs, minibatches in ((1, 1), (4, 8)):
        config = dataclasses.replace(
            CONFIG, update_epochs=epochs, num_minibatches=minibatches, lr=0.5, total_updates=100
        )
        got = [float(on_policy.learning_rate(config, jnp.int32(u))) for u in (0, 50, 99, 200)]
        np.testing.assert_allclose(got, [0.5, 0.25, 0.005, 0.0], atol=1e-7)
    constant = dataclasses.replace(CONFIG, anneal_lr=False, lr=0.5)
    assert on_policy.learning_rate(constant, jnp.int32(7)) == 0.5


def test_not_finite_numbers_leave_the_team_as_it_was(learner, collected):
    state, batch = collected
    reward = batch.transition.reward.at[2, 1, 0].set(jnp.nan)
    broken = batch.replace(transition=batch.transition.replace(reward=reward))
    after, metrics = learner.update(state, broken)
    assert not metrics["finite"]
    jax.tree.map(np.testing.assert_array_equal, after.params, state.params)
    jax.tree.map(np.testing.assert_array_equal, after.opt_state, state.opt_state)
    after, metrics = learner.update(state, batch)
    assert metrics["finite"] and metrics["ppo/lr"] == np.float32(CONFIG.lr)
    assert jnp.any(
        after.params["actor"]["logits"]["kernel"] != state.params["actor"]["logits"]["kernel"]
    )


def test_compiles_once_and_equals_its_parts(learner):
    state = learner.init(jax.random.key(3))
    apart, metrics_apart = learner.update(*learner.collect(state))
    together, metrics = learner.train_step(learner.init(jax.random.key(3)))
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), apart.params, together.params
    )
    assert metrics["episodes"]["count"] == metrics_apart["episodes"]["count"] == 8
    assert metrics["episodes"]["length"] == 32
    traced = _CountedMortal.traced
    for _ in range(3):
        together, _ = learner.train_step(together)
    assert _CountedMortal.traced == traced
    assert together.update == 4


def test_keys_are_used_once(learner):
    with jax.debug_key_reuse(True):
        state = learner.init(jax.random.key(5))
        state, batch = jax.jit(
            lambda s: on_policy.collect(learner.task, learner.policy, CONFIG, s, None)
        )(state)
        learner.update(state, batch)


def test_parameters_do_not_depend_on_the_number_of_environments(learner):
    more = ippo.make(probes.Mortal(8), NETWORK, dataclasses.replace(CONFIG, num_envs=8))
    key = jax.random.key(1)
    jax.tree.map(np.testing.assert_array_equal, more.init(key).params, learner.init(key).params)


def test_impossible_sizes_are_refused_by_name():
    with pytest.raises(ValueError, match="num_minibatches=3 must divide"):
        ippo.make(probes.Mortal(4), NETWORK, dataclasses.replace(CONFIG, num_minibatches=3))
    with pytest.raises(ValueError, match="num_envs=4 does not match"):
        ippo.make(probes.Mortal(8), NETWORK, CONFIG)
    with pytest.raises(ValueError, match="gamma=1.5"):
        dataclasses.replace(CONFIG, gamma=1.5)
    with pytest.raises(ValueError, match="learner='ppo'"):
        registry.get("ppo")
