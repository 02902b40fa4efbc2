"""Bootstrap intervals: literal values, and the right unit."""

import numpy as np
import pytest

from marl.evaluation.statistics import bootstrap_interval, paired_difference


def test_two_worlds_of_one_run_have_a_known_distribution():
    # Draws of two worlds out of (0, 1): means 0, 1/2, 1 with chances 1/4, 1/2, 1/4.
    interval = bootstrap_interval(np.array([0.0, 1.0]))
    assert (interval.mean, interval.low, interval.high) == (0.5, 0.0, 1.0)
    half = bootstrap_interval(np.array([0.0, 1.0]), level=0.4)
    assert (half.low, half.high) == (0.5, 0.5)


def test_equal_values_have_no_width():
    interval = bootstrap_interval(np.full((5, 4), 7.25))
    assert (interval.mean, interval.low, interval.high) == (7.25, 7.25, 7.25)
    assert (interval.num_runs, interval.num_worlds, interval.given) == (5, 4, "")


def test_normal_data_gives_the_textbook_interval():
    values = np.random.default_rng(1).normal(3.0, 2.0, 400)
    interval = bootstrap_interval(values)
    half_width = 1.96 * values.std() / np.sqrt(400)
    assert interval.low == pytest.approx(values.mean() - half_width, abs=0.02)
    assert interval.high == pytest.approx(values.mean() + half_width, abs=0.02)


def test_spread_between_runs_counts_only_with_enough_runs():
    runs = np.arange(8.0)[:, None] + np.zeros((8, 6))  # runs differ, worlds do not
    few, many = bootstrap_interval(runs[:4]), bootstrap_interval(runs)
    assert few.low == few.high == 1.5 and few.given == "given these runs"
    assert many.low < 2.5 and many.high > 4.5 and many.given == ""
    assert bootstrap_interval(runs[:1]).given == "given this run"


def test_worlds_count_with_many_runs_too():
    worlds = np.zeros((8, 6)) + np.arange(6.0)
    interval = bootstrap_interval(worlds)
    assert interval.low < 1.8 and interval.high > 3.2


def test_crossed_bootstrap_equals_a_plain_loop():
    values = np.random.default_rng(0).normal(size=(6, 5)) + np.arange(6)[:, None]
    interval = bootstrap_interval(values, resamples=4000)
    rng = np.random.default_rng(123)
    means = [
        values[rng.integers(6, size=6)][:, rng.integers(5, size=5)].mean() for _ in range(4000)
    ]
    low, high = np.quantile(means, [0.025, 0.975])
    assert interval.low == pytest.approx(low, abs=0.12)
    assert interval.high == pytest.approx(high, abs=0.12)


def test_differences_are_paired_by_world():
    worlds = np.random.default_rng(0).normal(0, 100, 20)  # worlds differ far more than the sides
    difference = paired_difference(worlds + 1.0, worlds)
    assert difference.mean == pytest.approx(1.0)
    assert difference.high - difference.low < 1e-9


def test_repeatable():
    values = np.random.default_rng(3).normal(size=(5, 20))
    assert bootstrap_interval(values) == bootstrap_interval(values)


@pytest.mark.parametrize("bad", [[], [np.nan, 1.0], np.zeros((2, 2, 2))])
def test_bad_tables_are_refused(bad):
    with pytest.raises(ValueError):
        bootstrap_interval(np.array(bad))


def test_other_worlds_cannot_be_paired():
    with pytest.raises(ValueError, match="3 worlds and b 2"):
        paired_difference(np.zeros(3), np.zeros(2))
