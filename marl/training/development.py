"""Evaluations on development worlds while a run goes on, and which policy is the best so far."""

from marl.config import EvaluationConfig
from marl.evaluation.protocol import DEVELOPMENT_FIRST_SEED, Evaluator, Interrupted
from marl.host.stopping import StopRequest
from marl.training.counters import Counters
from marl.types import PyTree, Scoring


class Development:
    """Judges the policies of one run.

    Args:
        options: how often, on how many worlds, for how many steps.
        evaluator: plays; None if there are no worlds to play.
        counters: of the run; what was judged is noted there.
        stop: asked at times.
        scoring: what policies are judged by.
    """

    def __init__(
        self,
        options: EvaluationConfig,
        evaluator: Evaluator | None,
        counters: Counters,
        stop: StopRequest,
        scoring: Scoring,
    ):
        self._options, self._evaluator = options, evaluator
        self._counters, self._stop, self._scoring = counters, stop, scoring

    def is_due(self, at_end: bool = False) -> bool:
        """Whether the newest policy should be judged, and was not yet. That of the end is, so that
        the best one is not a half-trained one for want of another."""
        every, counters = self._options.every_updates, self._counters
        if self._evaluator is None or not every or (counters.update % every and not at_end):
            return False
        return counters.evaluated_update < counters.update

    def play(self, params: PyTree) -> dict[str, float] | None:
        """Names under "evaluation/" -> means over the worlds; None if it was stopped, so that the
        next call makes this evaluation again."""
        options = self._options
        first = DEVELOPMENT_FIRST_SEED
        try:
            results = self._evaluator.play(
                params,
                range(first, first + options.development_worlds),
                max_steps=options.development_max_steps,
                should_stop=self._stop,
            )
        except Interrupted:
            return None
        means = {n: float(v.mean()) for n, v in results.scores.items() if v.ndim == 1}
        means |= {
            "team_return": float(results.team_return.mean()),
            "length": float(results.length.mean()),
        }
        shown = self._scoring.shown
        return {f"evaluation/{name}": shown(name, mean) for name, mean in means.items()}

    def note(self, means: dict[str, float]) -> bool:
        """Notes what `play` found of the newest policy, and says whether it is the best so far."""
        counters, options = self._counters, self._options
        score = means[f"evaluation/{self._scoring.best}"]
        counters.evaluated_update = counters.update
        setting = [options.development_worlds, options.development_max_steps]
        if counters.best_setting != setting:  # scores of another setting do not compare
            counters.best_setting, counters.best_score, counters.candidates = setting, None, 0
        counters.candidates += 1
        is_best = counters.best_score is None or score > counters.best_score
        if is_best:
            counters.best_score, counters.best_update = score, counters.update
        return is_best
