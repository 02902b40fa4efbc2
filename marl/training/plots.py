"""The learning curve of a run, from its metrics.jsonl."""

from pathlib import Path

import numpy as np

from marl.training.loggers import is_evaluation, read_records

CURVE_FILE = "curve.png"
# Two-colour-blind-safe trio for Base, Coord, Total.
_COLOURS = {"base": "#0072B2", "coord": "#D55E00", "total": "#222222"}


def plot_curve(folder: Path, title: str) -> Path | None:
    """Draws return and scores against environment steps.

    Lines are training episodes, weighted by their number and smoothed; dots are evaluations on
    development worlds.

    Returns:
        The picture's path, or None if no episode has ended yet.
    """
    records = read_records(folder)
    if not _of_episodes(records):
        return None
    path = folder / CURVE_FILE
    temporary = path.with_name(f".{CURVE_FILE}")
    draw(records, title).savefig(temporary, dpi=120, format="png")
    temporary.replace(path)
    return path


def draw(records: list[dict], title: str):
    """The figure of `plot_curve`, of records among which are episodes."""
    from matplotlib.ticker import EngFormatter

    episodes = _of_episodes(records)
    figure = new_figure(9.0, 3.6, layout="constrained")
    left, right = figure.subplots(1, 2)
    steps = np.array([r["env_steps"] for r in episodes])
    counts = np.array([r["episodes/count"] for r in episodes])
    left.plot(steps, smooth(episodes, "episodes/team_return", counts), color=_COLOURS["base"])
    left.set(xlabel="environment steps", ylabel="team return of an episode")
    evaluations = [r for r in records if is_evaluation(r)]
    for name, colour in _COLOURS.items():
        if f"episodes/{name}" in episodes[0]:
            score = smooth(episodes, f"episodes/{name}", counts)
            right.plot(steps, score, color=colour, label=name.capitalize())
        # worlds other than ALEM may have a total only
        scored = [r for r in evaluations if r.get(f"evaluation/{name}") is not None]
        right.plot(
            [r["env_steps"] for r in scored],
            [r[f"evaluation/{name}"] for r in scored],
            "o", markersize=3, color=colour, clip_on=False,
        )  # fmt: skip
    dots = " (dots: greedy, development worlds)" if evaluations else ""
    right.set(xlabel=f"environment steps{dots}", ylabel="score, % of the maximum", ylim=(0, None))
    if right.get_legend_handles_labels()[0]:
        # Above the axes: curves may begin, and end, in any corner.
        right.legend(
            loc="lower right", bbox_to_anchor=(1.0, 1.02), ncols=3, frameon=False, borderaxespad=0.0
        )
    figure.suptitle(title, fontsize=10)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.3)
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    return figure


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
