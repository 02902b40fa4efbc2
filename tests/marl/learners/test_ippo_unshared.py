"""Agents that share nothing: what one learns leaves the others as they were."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from kinds import make_small
from test_kinds import stirred

from marl import probes
from marl.learners import on_policy
from marl.networks.factory import make_policy
from marl.networks.sizes import NetworkConfig
from marl.tasks import make_task

OPTIONS = dict(
    num_envs=4, num_steps=8, num_minibatches=2, update_epochs=2, total_updates=10,
    adam_eps=1e-3, ent_coef=0.0, max_grad_norm=0.01,
)  # fmt: skip


def updated(**options):
    """Learner, parameters before and after an update in which agent 1 alone has an error."""
    learner = make_small("ippo_unshared", probes.Memory(4), **(OPTIONS | options))
    state = learner.init(jax.random.key(0))
    state, batch = learner.collect(state.replace(params=stirred(state.params)))
    t = batch.transition
    # The first agent is dead, and its reward is what its values expected.
    following = jnp.concatenate([t.value[1:], batch.last_value[None]])
    expected = t.value - learner.config.gamma * jnp.where(t.terminated[..., None], 0, following)
    reward = t.reward.at[..., 0].set(expected[..., 0])
    t = t.replace(reward=reward, active=t.active.at[..., 0].set(False))
    after, metrics = learner.update(state, batch.replace(transition=t))
    return learner, state.params, after.params, metrics


@pytest.mark.parametrize("jointly", [False, True])
def test_only_the_agent_that_errs_changes(jointly):
    _, before, after, metrics = updated(clip_jointly=jointly)
    assert metrics["finite"]
    for old, new in zip(jax.tree.leaves(before), jax.tree.leaves(after), strict=True):
        np.testing.assert_allclose(new[0], old[0], atol=1e-6)
        assert jnp.max(jnp.abs(new[1] - old[1])) > 1e-5


def test_agents_start_differently_and_act_by_their_own_network():
    learner = make_small("ippo_unshared", probes.Memory(4), **OPTIONS)
    task = make_task(probes.Memory(4))
    alone = make_policy(NetworkConfig(5, 6, 4, 3, "tanh"), task)
    params = stirred(learner.init(jax.random.key(0)).params)
    kernel = params["embedding"]["kernel"]
    assert kernel.shape[0] == 2 and jnp.any(kernel[0] != kernel[1])
    keys = jax.random.split(jax.random.key(1), 2)
    observation = task.reset(jax.random.key(2), None)[0]
    observation = jax.tree.map(lambda x: jnp.stack([x] * 3), observation)
    reset = jnp.zeros((3, 4, 2), bool).at[1, 2].set(True)
    carry = jax.random.normal(keys[0], (4, 2, 6))
    end, logits, value = learner.policy.unroll(params, carry, observation, reset)
    for agent in range(2):
        given = (params, carry, observation, reset)
        one = (
            jax.tree.map(functools.partial(jnp.take, indices=agent, axis=axis), tree)
            for tree, axis in zip(given, (0, 1, 2, 2), strict=True)
        )
        got = (end[:, agent], logits[:, :, agent], value[:, :, agent])
        wanted = alone.unroll(*one)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), got, wanted)


@pytest.mark.parametrize("jointly", [False, True])
def test_a_large_gradient_slows_the_others_only_if_clipped_jointly(jointly):
    learner = make_small("ippo_unshared", probes.Memory(4), **OPTIONS, clip_jointly=jointly)
    params = learner.init(jax.random.key(0)).params
    clip = on_policy.optimiser(learner.config)
    gradient = jax.tree.map(lambda x: jnp.ones_like(x).at[1].set(1e3), params)
    direction, _ = clip.update(gradient, clip.init(params))
    size = float(jnp.abs(direction["critic"]["value"]["bias"][0, 0]))
    count = sum(x[0].size for x in jax.tree.leaves(params))
    alone = 0.01 / np.sqrt(count)
    np.testing.assert_allclose(size, _adam(alone / 1e3 if jointly else alone), rtol=1e-3)


def _adam(gradient):
    """Adam's first direction."""
    return gradient / (gradient + OPTIONS["adam_eps"])
