"""Advantages against literal values and a plain loop."""

import numpy as np

from marl.ops.gae import gae


def _gae(reward, value, last_value, terminated, truncated, final_value, gamma, lam):
    arrays = [np.asarray(x, np.float32) for x in (reward, value, last_value)]
    flags = [np.asarray(x, bool) for x in (terminated, truncated)]
    return np.asarray(gae(*arrays, *flags, np.asarray(final_value, np.float32), gamma, lam))


def test_literal_values_without_an_end():
    # d = [1 + .5*2 - 1, 1 + .5*3 - 2, 1 + .5*4 - 3] = [1, .5, 0]; decay .25
    got = _gae([1, 1, 1], [1, 2, 3], 4.0, [0, 0, 0], [0, 0, 0], [0, 0, 0], 0.5, 0.5)
    np.testing.assert_allclose(got, [1.125, 0.5, 0.0], rtol=1e-6)


def test_end_in_the_middle_cuts_value_and_trace():
    # d = [1, 1 - 2, 0]: the second step knows nothing of the third
    got = _gae([1, 1, 1], [1, 2, 3], 4.0, [0, 1, 0], [0, 0, 0], [9, 9, 9], 0.5, 0.5)
    np.testing.assert_allclose(got, [0.75, -1.0, 0.0], rtol=1e-6)


def test_truncation_in_the_middle_keeps_the_final_value_and_cuts_the_trace():
    # d = [1, 1 + .5*6 - 2, 0]
    got = _gae([1, 1, 1], [1, 2, 3], 4.0, [0, 0, 0], [0, 1, 0], [9, 6, 9], 0.5, 0.5)
    np.testing.assert_allclose(got, [1.5, 2.0, 0.0], rtol=1e-6)


def test_both_flags_mean_terminated():
    got = _gae([1, 1, 1], [1, 2, 3], 4.0, [0, 1, 0], [0, 1, 0], [9, 6, 9], 0.5, 0.5)
    np.testing.assert_allclose(got, [0.75, -1.0, 0.0], rtol=1e-6)


def test_end_of_the_last_step_ignores_the_last_value():
    got = _gae([1.0], [2.0], 100.0, [1], [0], [50.0], 0.9, 0.9)
    np.testing.assert_allclose(got, [-1.0], rtol=1e-6)


def test_equals_a_plain_loop_with_flags_an_environment():
    rng = np.random.default_rng(0)
    steps, envs, agents, gamma, lam = 9, 4, 3, 0.97, 0.8
    reward, value, final = rng.normal(size=(3, steps, envs, agents)).astype(np.float32)
    last = rng.normal(size=(envs, agents)).astype(np.float32)
    terminated, truncated = rng.random((2, steps, envs)) < 0.25
    expected = np.zeros_like(reward)
    for e in range(envs):
        for a in range(agents):
            trace = 0.0
            for t in reversed(range(steps)):
                after = value[t + 1, e, a] if t + 1 < steps else last[e, a]
                if terminated[t, e]:
                    after, trace = 0.0, 0.0
                elif truncated[t, e]:
                    after, trace = final[t, e, a], 0.0
                trace = reward[t, e, a] + gamma * after - value[t, e, a] + gamma * lam * trace
                expected[t, e, a] = trace
    got = _gae(reward, value, last, terminated, truncated, final, gamma, lam)
    np.testing.assert_allclose(got, expected, atol=1e-5)
