"""Targets of Q(lambda), and what a choice is worth, against literal values and a plain loop."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from marl.ops import epsilon_greedy
from marl.ops.q_lambda import chosen_value, greedy_value, q_lambda


def _q_lambda(reward, value, terminated, truncated, final_value, gamma, trace_decay):
    reward, value, final_value = (np.asarray(x, np.float32) for x in (reward, value, final_value))
    flags = [np.asarray(x, bool) for x in (terminated, truncated)]
    return np.asarray(q_lambda(reward, value, *flags, final_value, gamma, trace_decay))


NONE = [0, 0, 0]


def test_literal_values_without_an_end():
    # G_2 = 1 + .5*8 = 5; G_1 = 1 + .5*(.5*6 + .5*5) = 3.75; G_0 = 1 + .5*(.5*4 + .5*3.75)
    got = _q_lambda([1, 1, 1], [2, 4, 6, 8], NONE, NONE, NONE, 0.5, 0.5)
    np.testing.assert_allclose(got, [2.9375, 3.75, 5.0], rtol=1e-6)


def test_end_in_the_middle_leaves_the_reward_alone():
    got = _q_lambda([1, 1, 1], [2, 4, 6, 8], [0, 1, 0], NONE, [9, 9, 9], 0.5, 0.5)
    np.testing.assert_allclose(got, [1 + 0.5 * (2 + 0.5), 1.0, 5.0], rtol=1e-6)


def test_truncation_in_the_middle_goes_on_with_the_final_value():
    # G_1 = 1 + .5*6 = 4, whatever the next episode's first observation is worth
    got = _q_lambda([1, 1, 1], [2, 4, 99, 8], NONE, [0, 1, 0], [9, 6, 9], 0.5, 0.5)
    np.testing.assert_allclose(got, [1 + 0.5 * (2 + 2), 4.0, 5.0], rtol=1e-6)


def test_both_flags_mean_terminated():
    got = _q_lambda([1.0], [2, 4], [1], [1], [50.0], 0.9, 0.9)
    np.testing.assert_allclose(got, [1.0], rtol=1e-6)


def test_lambda_0_is_one_step_and_lambda_1_is_the_return():
    reward, value = [1, 2, 3], [5, 6, 7, 8]
    got = _q_lambda(reward, value, NONE, NONE, NONE, 0.5, 0.0)
    np.testing.assert_allclose(got, [1 + 3.0, 2 + 3.5, 3 + 4.0], rtol=1e-6)
    got = _q_lambda(reward, value, NONE, NONE, NONE, 0.5, 1.0)
    np.testing.assert_allclose(got, [1 + 1 + 0.75 + 1, 2 + 1.5 + 2, 3 + 4.0], rtol=1e-6)


def test_equals_the_mixture_of_n_step_returns():
    """The definition: G is the lambda-weighted mean of all n-step returns up to the horizon."""
    rng = np.random.default_rng(0)
    steps, worlds, gamma, lam = 8, 5, 0.93, 0.7
    reward, final = rng.normal(size=(2, steps, worlds))
    value = rng.normal(size=(steps + 1, worlds))
    terminated, truncated = rng.random((2, steps, worlds)) < 0.2

    def bootstrap(t, e):
        """What follows step t, and whether the episode ended with it."""
        if terminated[t, e]:
            return 0.0, True
        return (final[t, e], True) if truncated[t, e] else (value[t + 1, e], False)

    expected = np.zeros((steps, worlds))
    for t, e in np.ndindex(steps, worlds):
        earned, weight = 0.0, 1.0
        for n in range(steps - t):
            earned += gamma**n * reward[t + n, e]
            after, ended = bootstrap(t + n, e)
            is_last = ended or t + n == steps - 1
            share = weight if is_last else weight * (1 - lam)
            expected[t, e] += share * (earned + gamma ** (n + 1) * after)
            if is_last:
                break
            weight *= lam
    got = _q_lambda(reward, value, terminated, truncated, final, gamma, lam)
    np.testing.assert_allclose(got, expected, atol=1e-5)


def test_shapes_that_would_broadcast_are_refused():
    with pytest.raises(AssertionError):
        _q_lambda(np.ones((3, 2)), np.ones((4, 2)), np.zeros((3, 1)), NONE, NONE, 0.5, 0.5)


def test_worth_is_that_of_legal_actions():
    q_values = jnp.array([[1.0, 5.0, -2.0], [1.0, 5.0, -2.0], [-3.0, 5.0, 7.0]])
    legal = jnp.array([[1, 0, 1], [0, 0, 1], [0, 0, 0]], bool)
    np.testing.assert_array_equal(greedy_value(q_values, legal), [1.0, -2.0, -3.0])
    np.testing.assert_array_equal(chosen_value(q_values, jnp.array([2, 1, 0])), [-2.0, 5.0, -3.0])
    gradient = jax.grad(lambda q: greedy_value(q, legal).sum())(q_values)
    np.testing.assert_array_equal(gradient, [[1, 0, 0], [0, 0, 1], [1, 0, 0]])


def test_exploration_has_the_frequencies_that_it_says():
    q_values = jnp.broadcast_to(jnp.array([0.0, 9.0, 2.0, 1.0]), (40_000, 4))
    legal = jnp.broadcast_to(jnp.array([1, 0, 1, 1], bool), q_values.shape)
    actions = epsilon_greedy.sample(jax.random.key(0), q_values, legal, 0.3)
    frequencies = np.bincount(np.asarray(actions), minlength=4) / len(actions)
    np.testing.assert_allclose(frequencies, [0.1, 0.0, 0.8, 0.1], atol=0.01)
    for action in (0, 2, 3):
        log_prob = epsilon_greedy.log_prob(q_values[:1], legal[:1], jnp.array([action]), 0.3)
        np.testing.assert_allclose(np.exp(log_prob), [frequencies[action]], atol=0.01)


@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_exploration_at_its_ends(epsilon):
    q_values = jax.random.normal(jax.random.key(1), (500, 5))
    legal = jax.random.bernoulli(jax.random.key(2), 0.5, q_values.shape)
    actions = np.asarray(epsilon_greedy.sample(jax.random.key(3), q_values, legal, epsilon))
    best = np.where(legal, q_values, -np.inf).argmax(-1)
    nothing = ~np.asarray(legal).any(-1)
    assert nothing.any() and (actions[nothing] == 0).all()
    assert np.take_along_axis(np.asarray(legal), actions[:, None], -1)[~nothing, 0].all()
    assert (actions == best).all() == (epsilon == 0.0)
