"""What every on-policy learner must do, whatever its network: replay, gradients, ends, switches."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from kinds import NAMES, make_small

from marl import probes
from marl.learners import on_policy
from marl.ops import masked_categorical

# Episodes of 4 steps in rollouts of 8: an episode ends in the middle and at the end.
# The step size is large enough that the KL of four gradient steps shows.
OPTIONS = dict(
    num_envs=4, num_steps=8, num_minibatches=2, update_epochs=2, total_updates=10, adam_eps=1e-3,
    lr=0.01,
)  # fmt: skip


def stirred(params):
    """Parameters as in the middle of training: layers that start at 0 hide the ones below."""
    leaves, tree = jax.tree.flatten(params)
    keys = jax.random.split(jax.random.key(9), len(leaves))
    noise = [0.3 * jax.random.normal(k, x.shape) for k, x in zip(keys, leaves, strict=True)]
    return jax.tree.unflatten(tree, [x + n for x, n in zip(leaves, noise, strict=True)])


@pytest.fixture(scope="module")
def played():
    """By name: (learner, state and batch of the second rollout, which starts with a worn recurrent
    state)."""
    done = {}

    def play(name):
        if name not in done:
            learner = make_small(name, probes.Mortal(4), **OPTIONS)
            state = learner.init(jax.random.key(0))
            state, _ = learner.collect(state.replace(params=stirred(state.params)))
            done[name] = learner, *learner.collect(state)
        return done[name]

    return play


@pytest.mark.parametrize("name", NAMES)
def test_replay_before_the_update_gives_ratio_1(played, name):
    learner, state, batch = played(name)
    ends = batch.transition.terminated
    assert ends[3].all() and ends[7].all() and batch.transition.reset[0].all()
    sequences, carry = on_policy.make_sequences(learner.config, batch)

    def replay(reset):
        _, logits, value = learner.policy.unroll(state.params, carry, sequences.observation, reset)
        log_prob = masked_categorical.log_prob(
            logits, sequences.observation.legal, sequences.action
        )
        return jnp.exp(log_prob - sequences.log_prob), value

    ratio, value = replay(sequences.reset)
    np.testing.assert_allclose(ratio, 1.0, atol=1e-5)
    np.testing.assert_allclose(value, sequences.value, atol=1e-5)
    ratio, value = replay(jnp.zeros_like(sequences.reset))
    assert jnp.max(jnp.abs(ratio - 1)) > 1e-4, "the test would not notice a missing reset"
    assert jnp.max(jnp.abs(value - sequences.value)) > 1e-4


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_gets_a_gradient(played, name):
    learner, state, batch = played(name)
    sequences, carry = on_policy.make_sequences(learner.config, batch)
    gradient = jax.grad(
        lambda params: on_policy.loss(learner.policy, learner.config, params, sequences, carry)[0]
    )(state.params)
    paths = jax.tree_util.tree_leaves_with_path(gradient)
    assert not [jax.tree_util.keystr(path) for path, leaf in paths if not jnp.any(leaf != 0)]


@pytest.mark.parametrize("name", NAMES)
def test_rows_of_the_dead_change_nothing_but_the_value_loss(played, name):
    learner, state, batch = played(name)
    sequences, carry = on_policy.make_sequences(learner.config, batch)
    dead = ~sequences.active
    assert dead.any()
    spoilt = sequences._replace(
        advantage=jnp.where(dead, 1e3, sequences.advantage),
        log_prob=jnp.where(dead, -3.0, sequences.log_prob),
    )
    both = (
        on_policy.loss(learner.policy, learner.config, state.params, s, carry)
        for s in (sequences, spoilt)
    )
    jax.tree.map(np.testing.assert_array_equal, *both)


SWITCHES = [
    {"advantage_norm": "batch"}, {"value_norm": True}, {"huber_delta": 0.1}, {"max_kl": 1e-6},
    {"advantage_norm": "batch", "value_norm": True, "huber_delta": 10.0, "max_kl": 0.05},
]  # fmt: skip


@pytest.mark.parametrize("name", ["ippo", "ippo_unshared"])
@pytest.mark.parametrize("switches", SWITCHES, ids=lambda s: "+".join(s))
def test_switches_change_the_update_and_keep_it_sound(played, name, switches):
    plain, state, batch = played(name)
    config = dataclasses.replace(plain.config, **switches)
    learner = make_small(name, probes.Mortal(4), **(OPTIONS | switches))
    assert learner.config == config
    state = state.replace(value_norm=learner.init(jax.random.key(0)).value_norm)
    after, metrics = learner.update(state, batch)
    assert metrics["finite"]
    other, _ = plain.update(state.replace(value_norm=None), batch)
    leaves = zip(jax.tree.leaves(after.params), jax.tree.leaves(other.params), strict=True)
    assert any(jnp.any(a != b) for a, b in leaves)
    assert jax.tree.structure(after) == jax.tree.structure(state)


def test_updates_end_early_where_the_team_has_moved_too_far(played):
    plain, state, batch = played("ippo")
    _, metrics = plain.update(state, batch)
    assert metrics["ppo/steps_taken"] == 1.0 and metrics["ppo/approx_kl"] > 1e-6
    generous = make_small("ippo", probes.Mortal(4), **OPTIONS, max_kl=1e3)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6),
        generous.update(state, batch)[0].params,
        plain.update(state, batch)[0].params,
    )
    # the first gradient step starts from the team that played, and is always taken
    strict = make_small("ippo", probes.Mortal(4), **OPTIONS, max_kl=1e-9)
    after, metrics = strict.update(state, batch)
    assert metrics["ppo/steps_taken"] == 0.25
    sequences, carry = on_policy.make_sequences(plain.config, batch)
    chosen = on_policy.minibatch_order(plain.config, jax.random.split(state.key)[1], 8)[0]
    part = jax.tree.map(lambda x: x[:, chosen], sequences)
    gradient = jax.grad(
        lambda p: on_policy.loss(plain.policy, plain.config, p, part, carry[chosen])[0]
    )(state.params)
    direction, _ = on_policy.optimiser(plain.config).update(gradient, state.opt_state)
    wanted = jax.tree.map(lambda p, d: p - plain.config.lr * d, state.params, direction)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6), after.params, wanted)


def test_advantages_are_standardised_over_the_whole_rollout(played):
    for name in ("ippo", "ippo_unshared"):
        learner, _, batch = played(name)
        raw, _ = on_policy.make_sequences(learner.config, batch)
        config = dataclasses.replace(learner.config, advantage_norm="batch")
        sequences, _ = on_policy.make_sequences(config, batch)
        np.testing.assert_array_equal(sequences.target, raw.target)
        groups = [(sequences.advantage, sequences.active, raw.advantage)]
        if config.separate_agents:
            groups = [tuple(x[..., a] for x in groups[0]) for a in range(2)]
        for got, active, given in groups:
            got, given = np.asarray(got)[np.asarray(active)], np.asarray(given)[np.asarray(active)]
            np.testing.assert_allclose(got, (given - given.mean()) / given.std(), atol=1e-4)


def test_values_are_scaled_back_before_they_meet_rewards(played):
    """A critic that is right about returns of mean 10 and deviation 2 has no value loss."""
    from marl.ops import value_norm

    learner, state, batch = played("ippo")
    config = dataclasses.replace(learner.config, value_norm=True)
    weight = jnp.float32(0.5)
    norm = value_norm.ValueNorm(10.0 * weight, 104.0 * weight, weight)
    t = batch.transition
    scaled = batch.replace(
        transition=t.replace(value=(t.value - 10.0) / 2.0, final_value=t.final_value),
        last_value=(batch.last_value - 10.0) / 2.0,
    )
    wanted, _ = on_policy.make_sequences(learner.config, batch)
    got, carry = on_policy.make_sequences(config, scaled, norm)
    np.testing.assert_allclose(got.target, wanted.target, atol=1e-4)
    np.testing.assert_allclose(got.advantage, wanted.advantage, atol=1e-4)
    _, metrics = on_policy.loss(learner.policy, config, state.params, got, carry, norm)
    _, _, value = learner.policy.unroll(state.params, carry, got.observation, got.reset)
    target, eps = (np.asarray(got.target) - 10.0) / 2.0, config.clip_eps
    held = got.value + np.clip(value - got.value, -eps, eps)
    loss = np.maximum((value - target) ** 2, (held - target) ** 2) / 2
    np.testing.assert_allclose(metrics["loss/value"], loss.mean(), rtol=1e-4)
