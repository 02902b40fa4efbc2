"""What the progress line of a training run says."""

from marl.config import TrainConfig
from marl.host.progress import duration
from marl.training.counters import Counters
from marl.training.episodes import EpisodeWindow


class Status:
    """Rate, time left, and how the last episodes went.

    Args:
        config: says how long the run is.
        counters: of the run, as they are now.
    """

    def __init__(self, config: TrainConfig, counters: Counters):
        self._config, self._counters = config, counters
        self._window = EpisodeWindow()
        self._update_seconds: float | None = None  # of late, smoothed

    def add(self, seconds: float, episodes: dict | None) -> None:
        """Takes note of an update."""
        before = self._update_seconds or seconds
        self._update_seconds = 0.9 * before + 0.1 * seconds
        self._window.add(episodes or {})

    def fraction(self) -> float:
        """How much of the run is done, 0 to 1."""
        updates = self._config.num_updates
        if updates is not None:
            return min(1.0, self._counters.update / updates)
        return min(1.0, self._counters.seconds / (60 * self._config.run.minutes))

    def is_finished(self) -> bool:
        return self.fraction() >= 1.0

    def text(self) -> str:
        """For example "8,192 steps, 900/s, 2:10 left | return 1.30"."""
        window, size = self._window, self._config.steps_per_update
        text = f"{self._counters.update * size:,} steps"
        if self._update_seconds:
            left = duration(self._seconds_left())
            text += f", {size / self._update_seconds:,.0f}/s, {left} left"
        value = window.mean("team_return")
        if value is not None:
            text += f" | return {value:.2f}"
        scores = [window.mean(name) for name in ("base", "coord", "total")]
        if all(score is not None for score in scores):
            text += " | Base/Coord/Total " + "/".join(f"{100 * s:.1f}" for s in scores)
        return text

    def _seconds_left(self) -> float:
        updates = self._config.num_updates
        if updates is None:
            return 60 * self._config.run.minutes - self._counters.seconds
        return (updates - self._counters.update) * self._update_seconds
