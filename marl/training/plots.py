"""The learning curve of a run, from its metrics.jsonl."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from marl.training.loggers import is_evaluation, read_records

CURVE_FILE = "curve.png"
_COLOURS = ("#0072B2", "#D55E00", "#222222")  # for any eyes to tell apart


def plot_curve(folder: Path, title: str, shares: Mapping[str, str]) -> Path | None:
    """Draws return and scores against environment steps.

    Lines are training episodes, weighted by their number and smoothed; dots are evaluations on
    development worlds.

    Args:
        folder: of the run.
        title: above the curves.
        shares: score -> its name in the legend, as `Scoring.shares`.

    Returns:
        The picture's path, or None if no episode has ended yet.
    """
    records = read_records(folder)
    if not _of_episodes(records):
        return None
    path = folder / CURVE_FILE
    temporary = path.with_name(f".{CURVE_FILE}")
    draw(records, title, shares).savefig(temporary, dpi=120, format="png")
    temporary.replace(path)
    return path


def draw(records: list[dict], title: str, shares: Mapping[str, str]):
    """The figure of `plot_curve`, of records among which are episodes. Without scores that are
    shares, evaluations are dots among the returns."""
    from matplotlib.ticker import EngFormatter

    figure = new_figure(9.0 if shares else 5.0, 3.6, layout="constrained")
    left, *others = figure.subplots(1, 2 if shares else 1, squeeze=False)[0]
    dots = "\n(dots: greedy, development worlds)" if any(map(is_evaluation, records)) else ""
    _draw_statistics(left, records, {"team_return": None}, with_dots=not shares)
    left.set(xlabel="environment steps" + dots * (not shares), ylabel="team return of an episode")
    for right in others:
        _draw_statistics(right, records, shares, with_dots=True)
        right.set(
            xlabel=f"environment steps{dots}", ylabel="score, % of the maximum", ylim=(0, None)
        )
        handles, labels = right.get_legend_handles_labels()
        if handles:
            # Above the axes: curves may begin, and end, in any corner.
            figure.legend(
                handles, labels, loc="outside upper right", ncols=len(shares), frameon=False
            )
    figure.suptitle(title, fontsize=10)
    for axes in (left, *others):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.3)
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    return figure


def _draw_statistics(
    axes, records: list[dict], names: Mapping[str, str | None], *, with_dots: bool
) -> None:
    """Lines of training episodes, with these labels, and dots of evaluations."""
    episodes = _of_episodes(records)
    steps = np.array([r["env_steps"] for r in episodes])
    counts = np.array([r["episodes/count"] for r in episodes])
    for place, (name, label) in enumerate(names.items()):
        colour = _COLOURS[place % len(_COLOURS)]
        if f"episodes/{name}" in episodes[0]:
            axes.plot(
                steps, smooth(episodes, f"episodes/{name}", counts), color=colour, label=label
            )
        # the training of an environment may tell less than its evaluation, and the other way round
        scored = [r for r in records if is_evaluation(r)] if with_dots else []
        scored = [r for r in scored if r.get(f"evaluation/{name}") is not None]
        if scored:
            axes.plot(
                [r["env_steps"] for r in scored],
                [r[f"evaluation/{name}"] for r in scored],
                "o", markersize=3, color=colour, clip_on=False,
            )  # fmt: skip


def _of_episodes(records: list[dict]) -> list[dict]:
    return [r for r in records if (r.get("episodes/count") or 0) > 0]


def new_figure(width: float, height: float, **options):
    """A figure by the object interface: no global state, no window system. Sizes in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), **options)
    FigureCanvasAgg(figure)
    return figure


def smooth(records: list[dict], name: str, counts: np.ndarray) -> np.ndarray:
    """Running mean over a twentieth of the points, weighted by the number of episodes."""
    values = np.array([r.get(name) or 0.0 for r in records])
    width = max(1, len(values) // 20)
    total, weight = np.cumsum(values * counts), np.cumsum(counts)
    start = np.maximum(np.arange(len(values)) - width, -1)
    before = np.where(start >= 0, total[start], 0.0), np.where(start >= 0, weight[start], 0.0)
    return (total - before[0]) / (weight - before[1])
