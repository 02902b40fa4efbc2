"""What the progress line of a training run says."""

from marl.config import TrainConfig
from marl.host.progress import duration
from marl.training.counters import Counters
from marl.training.episodes import EpisodeWindow
from marl.types import Scoring

# The rate is known after so many updates, of which the first is slower; or after one that long, s.
_UPDATES_TO_KNOW = 5
_LONG_UPDATE = 30.0


class Status:
    """Rate, time left, and how the last episodes went.

    Args:
        config: says how long the run is.
        counters: of the run, as they are now.
        scoring: what episodes are judged by.
    """

    def __init__(self, config: TrainConfig, counters: Counters, scoring: Scoring):
        self._config, self._counters, self._scoring = config, counters, scoring
        self._window = EpisodeWindow()
        self._update_seconds: float | None = None  # of late, smoothed
        self._seen = 0  # updates of this call
        self._has_remarked = False

    def add(self, seconds: float, episodes: dict | None) -> None:
        """Takes note of an update."""
        before = self._update_seconds or seconds
        self._update_seconds = 0.9 * before + 0.1 * seconds
        self._window.add(episodes or {})
        self._seen += 1

    def remark(self) -> str | None:
        """Once, when the rate is known: that the run takes days, if it does."""
        config, seconds = self._config, self._update_seconds
        is_known = self._seen >= _UPDATES_TO_KNOW or (seconds or 0.0) > _LONG_UPDATE
        if config.num_updates is None or self._has_remarked or not is_known:
            return None
        self._has_remarked = True
        days = config.num_updates * seconds / 86_400
        if days < 1:
            return None
        return (
            f"at {config.steps_per_update / seconds:,.0f} steps/s, total_steps="
            f"{config.total_steps:,} takes {days:,.1f} days; give a smaller total_steps, or a "
            "faster device. It can be stopped (Ctrl-C) and resumed at any time"
        )

    def fraction(self) -> float:
        """How much of the run is done, 0 to 1."""
        updates = self._config.num_updates
        if updates is not None:
            return min(1.0, self._counters.update / updates)
        return min(1.0, self._counters.seconds / (60 * self._config.run.minutes))

    def is_finished(self) -> bool:
        return self.fraction() >= 1.0

    def resumed(self) -> str:
        """What a run that was begun before is told to be: under way, or complete."""
        config, update = self._config, self._counters.update
        done = f"update {update} ({update * config.steps_per_update:,} steps)"
        if not self.is_finished():
            return f"resuming at {done}"
        if config.total_steps is None:
            longer = f"run.minutes={config.run.minutes:g} are over: raise it to train longer"
        elif config.num_updates < update:
            longer = f"more than total_steps={config.total_steps:,}: raise it beyond that"
        elif "total_steps" in config.free_options:
            longer = f"total_steps={config.total_steps:,} are done: raise it to train longer"
        else:
            what, _ = config.learner.options.needs_length
            longer = f"with learner.{what} a longer run is another run"
        anew = "To start anew, give another run.dir"
        return f"the run is complete at {done}; {longer}. {anew}"

    def text(self) -> str:
        """For example "8,192 steps, 900/s, 2:10 of training left | return 1.30"."""
        window, size = self._window, self._config.steps_per_update
        seeds = self._config.num_seeds
        text = f"{self._counters.update * size:,} steps"
        if seeds > 1:
            text += f" x {seeds} seeds"
        if self._update_seconds:
            left = duration(self._seconds_left())
            text += f", {seeds * size / self._update_seconds:,.0f}/s, {left} of training left"
        value = window.mean("team_return")
        if value is not None:
            text += f" | return {value:.2f}"
        shares = self._scoring.shares
        scores = {name: window.mean(name) for name in shares}
        if scores and None not in scores.values():
            shown = "/".join(f"{self._scoring.shown(n, s):.1f}" for n, s in scores.items())
            text += f" | {'/'.join(shares.values())} % {shown}"
        return text

    def _seconds_left(self) -> float:
        updates = self._config.num_updates
        if updates is None:
            return 60 * self._config.run.minutes - self._counters.seconds
        return (updates - self._counters.update) * self._update_seconds
