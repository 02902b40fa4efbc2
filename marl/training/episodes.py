"""Statistics of finished training episodes, from the sums that learners return."""

import collections

import numpy as np

from marl.types import Scoring


class EpisodeWindow:
    """Means over the last episodes, so that single ones do not make the display jump.

    Learners return, for each update, sums over the episodes that ended: `count`, and one sum for
    each statistic. Each episode counts once.

    Args:
        updates: how many of the last updates with episodes the window holds.
    """

    def __init__(self, updates: int = 20):
        self._recent = collections.deque(maxlen=updates)

    def add(self, sums: dict[str, np.ndarray]) -> None:
        if sums and float(sums["count"]) > 0:
            self._recent.append(sums)

    def mean(self, name: str) -> float | None:
        """Mean of a scalar statistic an episode, or None before the first one."""
        with_it = [s for s in self._recent if name in s]
        count = sum(float(s["count"]) for s in with_it)
        return sum(float(s[name]) for s in with_it) / count if count else None


def add_sums(a: dict | None, b: dict) -> dict:
    """Adds two tables of sums."""
    b = {name: np.asarray(value, np.float64) for name, value in b.items()}
    return b if a is None else {name: a[name] + b[name] for name in b}


def episode_record(sums: dict | None, scoring: Scoring) -> dict[str, float]:
    """Flat record of means an episode.

    Args:
        sums: of the episodes that ended, or None.
        scoring: what they mean.

    Returns:
        "episodes/count" and, if there are any, "episodes/<statistic>" as means (shares in
        percent), and "achievement/<name>": share of (episode, agent) pairs that reached it, where
        above 0.
    """
    if not sums:
        return {}
    count = float(sums["count"])
    record = {"episodes/count": count}
    if count == 0:
        return record
    for name, value in sums.items():
        if name == "achievements":
            rates = np.asarray(value).mean(0) / count
            named = zip(scoring.achievements, rates, strict=True)
            record.update({f"achievement/{name}": float(rate) for name, rate in named if rate > 0})
        elif name != "count" and np.ndim(value) == 0:
            record[f"episodes/{name}"] = scoring.shown(name, float(value) / count)
    return record
