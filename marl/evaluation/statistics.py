"""Means with bootstrap intervals over runs and worlds, in plain numpy.

Runs (trained teams) and worlds (reset seeds) are crossed: every run plays every world. The
bootstrap draws runs with replacement, then worlds, and keeps the pairing. With fewer than
`MIN_RUNS` runs the spread between runs cannot be estimated, so only worlds are drawn, and the
interval says nothing about other runs: its `given` reads "given this run" or "given these runs".
"""

import dataclasses

import numpy as np

MIN_RUNS = 5
NUM_RESAMPLES = 10_000
SEED = 0


@dataclasses.dataclass(frozen=True)
class Interval:
    """A mean and its percentile bootstrap interval.

    Attributes:
        mean: mean over all runs and worlds.
        low: lower end.
        high: upper end.
        num_runs: trained runs behind it.
        num_worlds: worlds behind it.
        given: "" when runs were resampled, otherwise what the interval is conditional on.
        level: coverage asked for.
    """

    mean: float
    low: float
    high: float
    num_runs: int
    num_worlds: int
    given: str
    level: float = 0.95

    def as_dict(self) -> dict:
        return dataclasses.asdict(self)


def bootstrap_interval(
    values: np.ndarray, *, level: float = 0.95, resamples: int = NUM_RESAMPLES, seed: int = SEED
) -> Interval:
    """Interval of the mean of crossed results.

    Args:
        values: (R, W) one number for each run and world, or (W,) for one run.
        level: coverage.
        resamples: bootstrap draws.
        seed: of numpy's generator; fixed, so that a table can be repeated.

    Raises:
        ValueError: no values, more than two axes, or numbers that are not finite.
    """
    values = _as_table("values", values)
    means = _resampled_means(values, resamples, seed)
    return _interval(values, means, level)


def paired_difference(
    a: np.ndarray,
    b: np.ndarray,
    *,
    level: float = 0.95,
    resamples: int = NUM_RESAMPLES,
    seed: int = SEED,
) -> Interval:
    """Interval of mean(a) - mean(b) over the same worlds.

    The worlds drawn are the same for both sides; runs are drawn for each side by itself, when
    both have at least `MIN_RUNS` of them.

    Args:
        a: (Ra, W) or (W,).
        b: (Rb, W) or (W,), the same worlds in the same order.
        level: coverage.
        resamples: bootstrap draws.
        seed: of numpy's generator.
    """
    a, b = _as_table("a", a), _as_table("b", b)
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"a has {a.shape[1]} worlds and b {b.shape[1]}; pair the same worlds")
    rng = np.random.default_rng(seed)
    worlds = rng.integers(a.shape[1], size=(resamples, a.shape[1]))
    draw_runs = min(len(a), len(b)) >= MIN_RUNS
    means = []
    for side in (a, b):
        runs = rng.integers(len(side), size=(resamples, len(side))) if draw_runs else None
        means.append(_means_of_draws(side, runs, worlds))
    difference = means[0] - means[1]
    low, high = np.quantile(difference, [(1 - level) / 2, (1 + level) / 2])
    runs = min(len(a), len(b))
    return Interval(
        float(a.mean() - b.mean()), float(low), float(high), runs, a.shape[1], _given(runs), level
    )


def _as_table(name: str, values: np.ndarray) -> np.ndarray:
    values = np.atleast_2d(np.asarray(values, np.float64))
    if values.ndim != 2 or values.size == 0:
        raise ValueError(f"{name} has shape {values.shape}; expected (runs, worlds), not empty")
    if not np.isfinite(values).all():
        raise ValueError(f"{name} holds numbers that are not finite")
    return values


def _given(num_runs: int) -> str:
    if num_runs >= MIN_RUNS:
        return ""
    return "given this run" if num_runs == 1 else "given these runs"


def _resampled_means(values: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    num_runs, num_worlds = values.shape
    runs = None
    if num_runs >= MIN_RUNS:
        runs = rng.integers(num_runs, size=(resamples, num_runs))
    worlds = rng.integers(num_worlds, size=(resamples, num_worlds))
    return _means_of_draws(values, runs, worlds)


def _means_of_draws(values, runs, worlds) -> np.ndarray:
    """Mean (B,) of the sub-tables that `runs` (B, R), or all, and `worlds` (B, W) pick."""
    if runs is None:
        return values.mean(0)[worlds].mean(1)
    # A draw is a table of counts, so its mean is run counts x values x world counts.
    run_counts, world_counts = _counts(runs, values.shape[0]), _counts(worlds, values.shape[1])
    sums = np.einsum("br,rw,bw->b", run_counts, values, world_counts, optimize=True)
    return sums / (runs.shape[1] * worlds.shape[1])


def _counts(draws: np.ndarray, size: int) -> np.ndarray:
    """(B, n) picks -> (B, size) how often each index was picked."""
    counts = np.zeros((len(draws), size))
    np.add.at(counts, (np.arange(len(draws))[:, None], draws), 1.0)
    return counts


def _interval(values: np.ndarray, means: np.ndarray, level: float) -> Interval:
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    runs, worlds = values.shape
    return Interval(
        float(values.mean()), float(low), float(high), runs, worlds, _given(runs), level
    )
