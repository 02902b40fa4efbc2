"""On-policy learners solve environments whose best play and values are known."""

import functools
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from marl import probes
from marl.learners.ppo_config import PPOConfig
from marl.learners.registry import LEARNERS

NAMES = tuple(name for name, entry in LEARNERS.items() if issubclass(entry.options, PPOConfig))
# learners with other options than PPO's -> the tests beside this file that try them on the probes
TRIED_ELSEWHERE = {"pqn_vdn": "test_probes_pqn_vdn.py"}
SIZES = (16, 32, 16, 16, "tanh")
UPDATES = 60
GAMMA = 0.9


@functools.cache
def learner_of(name, probe):
    """A learner of a probe, compiled once for all seeds."""
    env, entry = probes.PROBES[probe](16), LEARNERS[name]
    config = entry.options(
        num_envs=16, num_steps=16, num_minibatches=2, update_epochs=4, total_updates=UPDATES,
        lr=5e-3, gamma=GAMMA, gae_lambda=0.9,
    )  # fmt: skip
    return entry.make(env, entry.network(*SIZES), config)


@functools.cache
def trained(name, probe, seed=0):
    """Trains on a probe.

    Returns:
        (a rollout of the team at the end: rewards (T, E, A) and values, the metrics of training's
        end).
    """
    learner = learner_of(name, probe)
    state = learner.init(jax.random.key(seed))
    for _ in range(UPDATES):
        state, metrics = learner.update(*learner.collect(state))
    return learner.collect(state)[1], metrics


# What is asked of the network, or of a loss of its own, is asked of all learners; what all have
# from one skeleton is asked of one, and of the others with -m slow.
every_learner = pytest.mark.parametrize("name", NAMES)
any_learner = pytest.mark.parametrize(
    "name", [NAMES[0], *(pytest.param(name, marks=pytest.mark.slow) for name in NAMES[1:])]
)


def test_every_learner_is_tried_on_the_probes():
    assert set(NAMES) | set(TRIED_ELSEWHERE) == set(LEARNERS)
    for name, file in TRIED_ELSEWHERE.items():
        tests = Path(__file__).with_name(file).read_text()
        assert f"{name}.make(" in tests and "probes.PROBES[" in tests, name


def assert_explained(metrics):
    """Each metric has its line in docs/run_folder.md."""
    page = (Path(__file__).parents[2] / "docs" / "run_folder.md").read_text()
    assert not [name for name in metrics if name != "episodes" and f"`{name}`" not in page]


@every_learner
def test_metrics_are_explained(name):
    assert_explained(trained(name, "coordination")[1])


def _mean_team_return(metrics):
    return float(metrics["episodes"]["team_return"] / metrics["episodes"]["count"])


@any_learner
def test_value_after_one_delay_is_gamma(name):
    value = trained(name, "delayed_reward")[0].transition.value[:4, 0, 0]
    np.testing.assert_allclose(value, [GAMMA, 1.0, GAMMA, 1.0], atol=0.02)


@any_learner
def test_time_limit_is_no_end(name):
    value = trained(name, "time_limit")[0].transition.value
    # Generated heads are still on their way. Were a limit an end, 1 would be right before it.
    np.testing.assert_allclose(value, 1 / (1 - GAMMA), rtol=0.12 if name == "hypermarl" else 0.02)


@every_learner
def test_what_was_seen_once_is_remembered(name):
    # guessing earns 1; nothing but memory tells the cue
    assert _mean_team_return(trained(name, "memory")[1]) > 1.9


@every_learner
def test_agents_coordinate(name):
    # independent guesses earn 0.75
    assert _mean_team_return(trained(name, "coordination")[1]) > 2.9


@any_learner
def test_masked_action_is_never_taken_and_the_best_legal_one_is(name):
    transition = trained(name, "masked_action")[0].transition
    assert jnp.min(transition.reward) >= 0
    legal = transition.observation.legal
    assert jnp.all(jnp.take_along_axis(legal, transition.action[..., None], axis=-1))
    best = jnp.where(legal[..., 2], 2, 1)
    assert jnp.mean(transition.action == best) > 0.97


@any_learner
def test_a_cost_now_is_paid_for_a_gain_later(name):
    # the greedy team that does not look ahead earns 0
    assert _mean_team_return(trained(name, "two_step_credit")[1]) > 1.7


@every_learner
def test_the_living_learn_beside_the_dead(name):
    # The middle one of three teams: about one in 50 with generated heads stays at guessing, 0.5,
    # and which one depends on the last bits of sums.
    rewards = []
    for seed in range(3):
        batch, metrics = trained(name, "mortal", seed)
        np.testing.assert_allclose(metrics["active_fraction"], 0.625)
        rewards.append(batch.transition.reward[..., 0].sum() / 16 / 4)
    assert sorted(rewards)[1] > 0.95
