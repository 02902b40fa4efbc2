"""On-policy learners solve environments whose best play and values are known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from marl import probes
from marl.learners.ppo_config import PPOConfig
from marl.learners.registry import LEARNERS

NAMES = tuple(name for name, entry in LEARNERS.items() if issubclass(entry.options, PPOConfig))
SIZES = (16, 32, 16, 16, "tanh")
UPDATES = 60
GAMMA = 0.9


@pytest.fixture(scope="module", params=NAMES)
def train(request):
    """Trains on a probe of that name, once.

    Returns:
        (a rollout of the greedy team: rewards (T, E, A) and values, the metrics of training's end).
    """
    done = {}

    def trained(name):
        if name not in done:
            done[name] = _train(request.param, probes.PROBES[name](16))
        return done[name]

    return trained


def _train(learner, env):
    entry = LEARNERS[learner]
    config = entry.options(
        num_envs=16, num_steps=16, num_minibatches=2, update_epochs=4, total_updates=UPDATES,
        lr=5e-3, gamma=GAMMA, gae_lambda=0.9,
    )  # fmt: skip
    learner = entry.make(env, entry.network(*SIZES), config)
    state = learner.init(jax.random.key(0))
    for _ in range(UPDATES):
        state, metrics = learner.train_step(state)
    _, batch = learner.collect(state)
    return batch, metrics


def _mean_team_return(metrics):
    return float(metrics["episodes"]["team_return"] / metrics["episodes"]["count"])


def test_value_after_one_delay_is_gamma(train):
    value = train("delayed_reward")[0].transition.value[:4, 0, 0]
    np.testing.assert_allclose(value, [GAMMA, 1.0, GAMMA, 1.0], atol=0.02)


def test_time_limit_is_no_end(train, request):
    value = train("time_limit")[0].transition.value
    # Generated heads are still on their way. Were a limit an end, 1 would be right before it.
    is_slow = request.node.callspec.params["train"] == "hypermarl"
    np.testing.assert_allclose(value, 1 / (1 - GAMMA), rtol=0.12 if is_slow else 0.02)


def test_what_was_seen_once_is_remembered(train):
    # guessing earns 1; nothing but memory tells the cue
    assert _mean_team_return(train("memory")[1]) > 1.9


def test_agents_coordinate(train):
    # independent guesses earn 0.75
    assert _mean_team_return(train("coordination")[1]) > 2.9


def test_masked_action_is_never_taken_and_the_best_legal_one_is(train):
    transition = train("masked_action")[0].transition
    assert jnp.min(transition.reward) >= 0
    legal = transition.observation.legal
    assert jnp.all(jnp.take_along_axis(legal, transition.action[..., None], axis=-1))
    best = jnp.where(legal[..., 2], 2, 1)
    assert jnp.mean(transition.action == best) > 0.97


def test_a_cost_now_is_paid_for_a_gain_later(train):
    # the greedy team that does not look ahead earns 0
    assert _mean_team_return(train("two_step_credit")[1]) > 1.7


def test_the_living_learn_beside_the_dead(train):
    batch, metrics = train("mortal")
    np.testing.assert_allclose(metrics["active_fraction"], 0.625)
    living = batch.transition.reward[..., 0].sum() / 16 / 4
    assert living > 0.95
