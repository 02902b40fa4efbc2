"""PQN-VDN solves environments whose best play and values are known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_probes import assert_explained

from marl import probes
from marl.learners import pqn_vdn
from marl.learners.pqn_config import PQNConfig
from marl.networks.sizes import QNetworkConfig

NETWORK = QNetworkConfig(16, 32)
UPDATES = {"time_limit": 180}  # else 80; a return without an end takes longer to settle
GAMMA = 0.9


@pytest.fixture(scope="module")
def train():
    """Trains on a probe of that name, once.

    Returns:
        (a rollout of the greedy team, the worth (T + 1, E) that the team gives to each
        observation of it, the metrics of training's end, where nobody explored any more).
    """
    done = {}

    def trained(name):
        if name not in done:
            done[name] = _train(probes.PROBES[name](16), UPDATES.get(name, 80))
        return done[name]

    return trained


def _train(env, updates):
    config = PQNConfig(
        num_envs=16, num_steps=16, num_minibatches=2, update_epochs=4, total_updates=updates,
        lr=5e-3, max_grad_norm=10.0, gamma=GAMMA, q_lambda=0.9,
        epsilon_final=0.0, epsilon_decay_steps=updates // 2 * 16 * 16,
    )  # fmt: skip
    learner = pqn_vdn.make(env, NETWORK, config)
    state = learner.init(jax.random.key(0))
    for _ in range(updates):
        state, metrics = learner.train_step(state)
    state, batch = learner.collect(state)
    _, _, value = learner.policy.unroll(state.params, batch.carry, batch.observation, batch.reset)
    return batch, jnp.sum(jnp.where(batch.active, value, 0.0), -1), metrics


def _mean_team_return(metrics):
    return float(metrics["episodes"]["team_return"] / metrics["episodes"]["count"])


def test_metrics_are_explained(train):
    assert_explained(train("coordination")[2])


def test_worth_after_one_delay_is_gamma_for_each_agent(train):
    worth = train("delayed_reward")[1][:4, 0]
    np.testing.assert_allclose(worth, [2 * GAMMA, 2.0, 2 * GAMMA, 2.0], atol=0.04)


def test_time_limit_is_no_end(train):
    np.testing.assert_allclose(train("time_limit")[1], 2 / (1 - GAMMA), rtol=0.02)


def test_what_was_seen_once_is_remembered(train):
    # guessing earns 1; nothing but memory tells the cue
    assert _mean_team_return(train("memory")[2]) > 1.9


def test_agents_coordinate(train):
    # independent guesses earn 0.75
    assert _mean_team_return(train("coordination")[2]) > 2.9


def test_masked_action_is_never_taken_and_the_best_legal_one_is(train):
    batch = train("masked_action")[0]
    assert jnp.min(batch.reward) >= 0
    legal = batch.observation.legal[:-1]
    assert jnp.all(jnp.take_along_axis(legal, batch.action[..., None], axis=-1))
    best = jnp.where(legal[..., 2], 2, 1)
    assert jnp.mean(batch.action == best) > 0.97


def test_a_cost_now_is_paid_for_a_gain_later(train):
    # the greedy team that does not look ahead earns 0
    assert _mean_team_return(train("two_step_credit")[2]) > 1.7


def test_the_living_learn_beside_the_dead(train):
    batch, _, metrics = train("mortal")
    np.testing.assert_allclose(metrics["active_fraction"], 0.625)
    cue = batch.observation.vector[:-1:4, :, 0, 0] > 0
    assert batch.reset[0].all() and jnp.mean(batch.action[3::4, :, 0] == cue) > 0.95
