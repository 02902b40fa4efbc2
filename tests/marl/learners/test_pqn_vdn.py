"""One update of PQN-VDN, taken apart: replay, masks, the dead, ends, gradients, schedules."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from marl import probes
from marl.learners import on_policy, pqn_vdn
from marl.learners.pqn_config import PQNConfig
from marl.networks.sizes import QNetworkConfig
from marl.ops.q_lambda import chosen_value

NETWORK = QNetworkConfig(5, 6)
# Episodes of 4 steps in rollouts of 7: an episode ends in the middle, and one is cut by the end.
CONFIG = PQNConfig(
    num_envs=4, num_steps=7, num_minibatches=2, update_epochs=2, total_updates=10, lr=0.01,
    epsilon_start=0.5,
)  # fmt: skip


class _LimitedMortal(probes.Mortal):
    ends_by_time_limit = True


class _CountedMortal(probes.Mortal):
    traced = 0

    def _earn(self, state, actions):
        type(self).traced += 1
        return super()._earn(state, actions)


def _collected(learner):
    """State and batch of the second rollout, which starts with a worn recurrent state."""
    state, _ = learner.collect(learner.init(jax.random.key(0)))
    return learner.collect(state)


@pytest.fixture(scope="module")
def learner():
    return pqn_vdn.make(_CountedMortal(4), NETWORK, CONFIG)


@pytest.fixture(scope="module")
def collected(learner):
    return _collected(learner)


@pytest.fixture(scope="module")
def gradient_of(learner):
    return jax.jit(
        jax.value_and_grad(
            lambda params, batch: pqn_vdn.loss(learner.policy, CONFIG, params, batch),
            has_aux=True,
        )
    )


def _step_by_step(policy, params, batch):
    """Q values (T + 1, E, A, N) as `act` meets the observations one after another, greedily."""
    carry, q_values = batch.carry, []
    for t in range(batch.reset.shape[0]):
        observation = jax.tree.map(lambda leaf, t=t: leaf[t], batch.observation)
        one = jax.tree.map(lambda leaf: leaf[None], observation)
        q_values.append(policy.unroll(params, carry, one, batch.reset[t : t + 1])[1][0])
        carry, *_ = policy.act(
            params, carry, observation, batch.reset[t, :, 0], jax.random.key(0), True
        )
    return jnp.stack(q_values)


def test_replay_with_the_same_parameters_gives_the_same_q(learner, collected):
    state, batch = collected
    assert batch.reset[:, 0, 0].sum() == 2 and not batch.reset[0].any()
    assert all(jnp.any(leaf != 0) for leaf in jax.tree.leaves(batch.carry))
    played = _step_by_step(learner.policy, state.params, batch)
    _, replayed, _ = learner.policy.unroll(
        state.params, batch.carry, batch.observation, batch.reset
    )
    np.testing.assert_allclose(replayed, played, atol=1e-6)
    forgetful = jnp.zeros_like(batch.reset)
    _, other, _ = learner.policy.unroll(state.params, batch.carry, batch.observation, forgetful)
    assert jnp.max(jnp.abs(other - played)) > 1e-4, "the test would not notice a missing reset"


def test_a_team_that_does_not_explore_takes_the_best_of_what_it_stores():
    calm = dataclasses.replace(CONFIG, epsilon_start=0.0, epsilon_final=0.0)
    learner = pqn_vdn.make(probes.MaskedAction(4), NETWORK, calm)
    state, batch = _collected(learner)
    _, q_values, value = learner.policy.unroll(
        state.params, batch.carry, batch.observation, batch.reset
    )
    np.testing.assert_allclose(chosen_value(q_values[:-1], batch.action), value[:-1], atol=1e-6)


def test_batches_hold_what_happened(collected):
    state, batch = collected
    assert batch.reward.shape == (7, 4) and batch.action.shape == (7, 4, 2)
    assert batch.active.shape == batch.reset.shape == (8, 4, 2)
    last = jax.tree.map(lambda leaf: leaf[-1], batch.observation)
    jax.tree.map(np.testing.assert_array_equal, last, state.observation)
    # rollouts of 7 after one of 7: clock 3 first, so that actions 0 and 4 are the last ones
    np.testing.assert_array_equal(batch.terminated[:, 0], [1, 0, 0, 0, 1, 0, 0])
    np.testing.assert_array_equal(batch.reset[:, 0, 0], [0, 1, 0, 0, 0, 1, 0, 0])
    np.testing.assert_array_equal(batch.active[:, 0, 1], [0, 1, 0, 0, 0, 1, 0, 0])
    assert batch.active[..., 0].all()


def test_illegal_actions_are_never_taken_nor_their_q_used(gradient_of):
    config = dataclasses.replace(CONFIG, epsilon_start=1.0)
    learner = pqn_vdn.make(probes.MaskedAction(4), NETWORK, config)
    state, batch = _collected(learner)
    legal = batch.observation.legal
    assert not legal.all()
    assert jnp.take_along_axis(legal[:-1], batch.action[..., None], axis=-1).all()

    def raised(params, height):
        """Adds to the Q of action 2 everywhere."""
        head = params["q_values"]
        return {**params, "q_values": {**head, "bias": head["bias"].at[2].add(height)}}

    def loss(params, batch):
        return pqn_vdn.loss(learner.policy, config, params, batch)[0]

    never = batch._replace(
        observation=batch.observation.replace(legal=legal.at[..., 2].set(False)),
        action=jnp.minimum(batch.action, 1),
    )
    assert loss(raised(state.params, 50.0), never) == loss(state.params, never)
    assert loss(raised(state.params, 50.0), batch) > loss(state.params, batch) + 10


def test_the_dead_leave_the_sum_in_predictions_and_targets(learner, collected, gradient_of):
    state, batch = collected
    dead = ~batch.active
    vector = batch.observation.vector
    spoilt = batch._replace(
        observation=batch.observation.replace(vector=jnp.where(dead[..., None], 7.0, vector))
    )
    # The recurrent state of an agent that died is only read again after a reset here.
    clean, other = (gradient_of(state.params, b) for b in (batch, spoilt))
    jax.tree.map(np.testing.assert_array_equal, clean, other)
    published = dataclasses.replace(CONFIG, mask_dead_agents=False)
    losses = [pqn_vdn.loss(learner.policy, published, state.params, b)[0] for b in (batch, spoilt)]
    assert abs(losses[0] - losses[1]) > 1e-4 and abs(losses[0] - clean[0][0]) > 1e-6


def test_time_limits_are_no_ends_unless_published():
    env = _LimitedMortal(4)
    learner = pqn_vdn.make(env, NETWORK, CONFIG)
    _, batch = _collected(learner)
    assert not batch.terminated.any()
    np.testing.assert_array_equal(batch.truncated[:, 0], [1, 0, 0, 0, 1, 0, 0])
    assert (batch.final_value[batch.truncated] != 0).all()
    assert (batch.final_value[~batch.truncated] == 0).all()
    published = dataclasses.replace(CONFIG, bootstrap_truncated=False)
    _, cut = _collected(pqn_vdn.make(env, NETWORK, published))
    np.testing.assert_array_equal(cut.terminated, batch.truncated)


def test_final_values_are_those_of_what_would_have_followed():
    """Of the agents that could act, by the network that has seen the episode."""
    env = _LimitedMortal(4)
    learner = pqn_vdn.make(env, NETWORK, CONFIG)
    state, batch = _collected(learner)
    carry, *_ = learner.policy.act(
        state.params, batch.carry, jax.tree.map(lambda x: x[0], batch.observation),
        batch.reset[0, :, 0], jax.random.key(0), True,
    )  # fmt: skip
    # After the last step of `Memory` the clock stands at 4: neither the cue nor the question.
    vector = jnp.broadcast_to(jnp.array([0.0, 0.0, 1.0]), (1, 4, 2, 3))
    legal = jnp.ones((1, 4, 2, 2), bool).at[:, :, 1, 1].set(False)
    followed = probes.VectorObservation(vector, legal)
    _, _, value = learner.policy.unroll(state.params, carry, followed, jnp.zeros((1, 4, 2), bool))
    np.testing.assert_allclose(batch.final_value[0], value[0, :, 0], atol=1e-6)
    everyone = dataclasses.replace(CONFIG, mask_dead_agents=False)
    _, batch = _collected(pqn_vdn.make(env, NETWORK, everyone))
    np.testing.assert_allclose(batch.final_value[0], value[0].sum(-1), atol=1e-6)


def test_published_rollouts_lose_their_last_step(learner, collected):
    state, batch = collected
    published = dataclasses.replace(CONFIG, learn_last_step=False)
    _, shorter = _collected(pqn_vdn.make(_CountedMortal(4), NETWORK, published))
    assert shorter.reward.shape == (6, 4) and shorter.active.shape == (7, 4, 2)
    np.testing.assert_array_equal(shorter.action, batch.action[:-1])
    jax.tree.map(np.testing.assert_array_equal, shorter.episodes, batch.episodes)
    np.testing.assert_array_equal(shorter.observation.vector[-1], batch.observation.vector[-2])
    with pytest.raises(ValueError, match="learn_last_step=False.*num_steps=1"):
        dataclasses.replace(published, num_steps=1)


def test_every_parameter_gets_a_gradient(collected, gradient_of):
    state, batch = collected
    gradient = gradient_of(state.params, batch)[1]
    paths = jax.tree_util.tree_leaves_with_path(gradient)
    assert len(paths) == 9
    assert not [jax.tree_util.keystr(path) for path, leaf in paths if not jnp.any(leaf != 0)]


def test_targets_are_constants(learner, collected, gradient_of):
    """Moving only what targets read (the observation after the last step) has no gradient."""
    state, batch = collected

    def loss(vector):
        observation = batch.observation.replace(vector=batch.observation.vector.at[-1].set(vector))
        moved = batch._replace(observation=observation)
        return pqn_vdn.loss(learner.policy, CONFIG, state.params, moved)[0]

    last = batch.observation.vector[-1]
    assert loss(last) != loss(last + 1.0)
    assert (jax.grad(loss)(last) == 0).all()


def test_worlds_stay_whole_in_minibatches(collected, gradient_of):
    """The mean over single worlds is the loss of all: nothing is mixed up between them."""
    state, batch = collected
    apart = [
        gradient_of(state.params, pqn_vdn.choose_worlds(batch, jnp.array([e])))[0][0]
        for e in range(4)
    ]
    np.testing.assert_allclose(np.mean(apart), gradient_of(state.params, batch)[0][0], rtol=1e-5)
    assert np.ptp(apart) > 1e-4


def test_exploration_counts_updates_alone():
    for epochs, minibatches in ((1, 1), (4, 8)):
        config = dataclasses.replace(
            CONFIG, update_epochs=epochs, num_minibatches=minibatches, total_updates=100,
            epsilon_start=1.0, epsilon_final=0.1,
        )  # fmt: skip
        by_share = [float(pqn_vdn.epsilon(config, jnp.int32(u))) for u in (0, 5, 10, 99)]
        np.testing.assert_allclose(by_share, [1.0, 0.55, 0.1, 0.1], atol=1e-6)
        steps = 20 * config.num_envs * config.num_steps
        config = dataclasses.replace(config, epsilon_decay_steps=steps)
        by_steps = [float(pqn_vdn.epsilon(config, jnp.int32(u))) for u in (0, 5, 10, 20, 99)]
        np.testing.assert_allclose(by_steps, [1.0, 0.775, 0.55, 0.1, 0.1], atol=1e-6)


def test_rollouts_explore_as_the_schedule_says():
    """A team whose best action is known acts otherwise in half of the explored half."""
    config = dataclasses.replace(CONFIG, num_envs=256, epsilon_start=0.5, epsilon_final=0.0)
    learner = pqn_vdn.make(probes.DelayedReward(256), NETWORK, config)
    state = learner.init(jax.random.key(1))
    bias = jnp.array([100.0, 0.0])
    head = {**state.params["q_values"], "bias": bias}
    state = state.replace(params={**state.params, "q_values": head})
    _, batch = learner.collect(state)
    np.testing.assert_allclose(jnp.mean(batch.action == 1), 0.25, atol=0.02)
    _, batch = learner.collect(state.replace(update=jnp.int32(5)))
    assert (batch.action == 0).all()


def test_not_finite_numbers_leave_the_team_as_it_was(learner, collected):
    state, batch = collected
    broken = batch._replace(reward=batch.reward.at[2, 1].set(jnp.nan))
    after, metrics = learner.update(state, broken)
    assert not metrics["finite"]
    jax.tree.map(np.testing.assert_array_equal, after.params, state.params)
    jax.tree.map(np.testing.assert_array_equal, after.opt_state, state.opt_state)
    after, metrics = learner.update(state, batch)
    assert metrics["finite"] and metrics["pqn/lr"] == np.float32(CONFIG.lr)
    changed = jax.tree.map(lambda a, b: bool(jnp.any(a != b)), after.params, state.params)
    assert all(jax.tree.leaves(changed))


def test_compiles_once_and_equals_its_parts(learner):
    apart, metrics_apart = learner.update(*learner.collect(learner.init(jax.random.key(3))))
    together, metrics = learner.train_step(learner.init(jax.random.key(3)))
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), apart.params, together.params
    )
    assert metrics["episodes"]["count"] == metrics_apart["episodes"]["count"] == 4
    traced = _CountedMortal.traced
    for _ in range(3):
        together, _ = learner.train_step(together)
    assert _CountedMortal.traced == traced
    assert together.update == 4


def test_keys_are_used_once(learner):
    with jax.debug_key_reuse(True):
        state = learner.init(jax.random.key(5))
        state, batch = jax.jit(
            lambda s: pqn_vdn.collect(learner.task, learner.policy, CONFIG, s, None)
        )(state)
        learner.update(state, batch)


def test_impossible_sizes_are_refused_by_name():
    with pytest.raises(ValueError, match="num_minibatches=3 must divide num_envs=4"):
        pqn_vdn.make(probes.Mortal(4), NETWORK, dataclasses.replace(CONFIG, num_minibatches=3))
    for bad in ({"epsilon_final": 1.5}, {"lr": 0.0}, {"epsilon_decay_steps": 0}, {"q_lambda": -1}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            dataclasses.replace(CONFIG, **bad)
    assert CONFIG.needs_length == ("anneal_lr=true", "anneal_lr=false")
    assert on_policy.learning_rate(CONFIG, jnp.int32(5)) == np.float32(0.005)
