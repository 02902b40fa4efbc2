"""Learning curves: scores of training episodes against environment steps, over seeds."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from marl.comparison.methods import distinction, frozen
from marl.comparison.reading import config_of, options_of
from marl.comparison.rows import SCORES
from marl.evaluation.statistics import MIN_RUNS, bootstrap_interval
from marl.training.loggers import read_records
from marl.training.plots import new_figure, smooth

_POINTS = 100  # where curves of several seeds are read off
_RESAMPLES = 1000
# Okabe and Ito's colours for the colour-blind; lines change their style when they come round.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_STYLES = ("-", "--", ":", "-.")
_WORLD = ("rules_version", "num_comm_channels", "num_agents", "non_specialist_efficiency")


@dataclasses.dataclass(frozen=True)
class Curve:
    """One run.

    Attributes:
        world: the world of its training in words: curves of different ones stand apart.
        name: the method.
        options: that decide what is learnt.
        steps: (N,) environment steps.
        scores: base, coord, total -> (N,) percent, smoothed.
    """

    world: str
    name: str
    options: dict
    steps: np.ndarray
    scores: dict[str, np.ndarray]


@dataclasses.dataclass(frozen=True)
class Band:
    """Several runs of one method.

    Attributes:
        name: the method, with the number of its seeds.
        steps: (N,) environment steps, as far as all of its runs went.
        means: score -> (N,).
        lows, highs: score -> (N,), ends of the band; equal to the mean for one run.
    """

    name: str
    steps: np.ndarray
    means: dict[str, np.ndarray]
    lows: dict[str, np.ndarray]
    highs: dict[str, np.ndarray]


def read_curve(folder: Path, name: str | None) -> Curve | None:
    """The curve of a run, or None if no episode has ended, or it has no options.

    Args:
        folder: of the run.
        name: of its method; None: its learner and set-up.
    """
    config = config_of(folder)
    records = [r for r in read_records(folder) if (r.get("episodes/count") or 0) > 0]
    records = [r for r in records if all(r.get(f"episodes/{s}") is not None for s in SCORES)]
    if config is None or not records:
        return None
    counts = np.array([r["episodes/count"] for r in records])
    return Curve(
        world=_world(config),
        name=name or f"{config.get('learner.name')} ({config.get('name')})",
        options={} if name else options_of(folder),
        steps=np.array([r["env_steps"] for r in records], float),
        scores={s: smooth(records, f"episodes/{s}", counts) for s in SCORES},
    )


def _world(config: dict) -> str:
    rules, channels, agents, efficiency = (config.get(f"env.{name}") for name in _WORLD)
    without = config.get("env.without")
    efficiency = "the difficulty's own" if efficiency is None else f"{efficiency:g}"
    return (
        f"{config.get('env.difficulty')}, rules {rules}, non-specialist efficiency {efficiency}, "
        f"{channels} channels, {agents} agents" + (f", without {without}" if without else "")
    )


def bands(curves: Sequence[Curve]) -> dict[str, list[Band]]:
    """World of training -> methods. Runs of the same options are seeds of one method."""
    groups: dict[tuple, list[Curve]] = {}
    for curve in curves:
        groups.setdefault((curve.world, curve.name, frozen(curve.options)), []).append(curve)
    found: dict[str, list[Band]] = {}
    for (world, name, _), members in groups.items():
        alike = [group[0] for key, group in groups.items() if key[:2] == (world, name)]
        parts = [name, *distinction(members[0].options, alike)]
        found.setdefault(world, []).append(_band(", ".join(parts), members))
    return found


def _band(name: str, curves: Sequence[Curve]) -> Band:
    start = max(curve.steps[0] for curve in curves)
    end = max(start, min(curve.steps[-1] for curve in curves))
    steps = np.linspace(start, end, _POINTS)
    means, lows, highs = {}, {}, {}
    for score in SCORES:
        values = np.stack([np.interp(steps, c.steps, c.scores[score]) for c in curves])  # (R, N)
        means[score] = values.mean(0)
        lows[score], highs[score] = _ends(values)
    runs = f"{len(curves)} seed{'s' * (len(curves) > 1)}"
    return Band(f"{name}, {runs}", steps, means, lows, highs)


def _ends(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """95 % interval over the runs (R, N); their range where they are too few for one."""
    if len(values) < MIN_RUNS:
        return values.min(0), values.max(0)
    intervals = [bootstrap_interval(v[:, None], resamples=_RESAMPLES) for v in values.T]
    return np.array([i.low for i in intervals]), np.array([i.high for i in intervals])


def curves_figure(found: dict[str, list[Band]]):
    """A strip for each world of training, columns for Base, Coord, Total."""
    from matplotlib.ticker import EngFormatter

    figure = new_figure(13.0, 3.6 * len(found) + 0.4, layout="constrained")
    parts = figure.subfigures(len(found), 1, squeeze=False)[:, 0]
    for part, (world, members) in zip(parts, found.items(), strict=True):
        part.suptitle(f"training on {world}", fontsize=10, x=0.01, ha="left")
        panels = part.subplots(1, len(SCORES))
        for axes, score in zip(panels, SCORES, strict=True):
            for number, band in enumerate(members):
                turn, place = divmod(number, len(_COLOURS))
                look = dict(color=_COLOURS[place], linestyle=_STYLES[turn % len(_STYLES)])
                axes.plot(band.steps, band.means[score], label=band.name, **look)
                axes.fill_between(
                    band.steps, band.lows[score], band.highs[score],
                    color=look["color"], alpha=0.2, linewidth=0,
                )  # fmt: skip
            axes.set(xlabel="environment steps", ylabel=f"{score.capitalize()} %")
            axes.set_ylim(bottom=0)
            axes.grid(alpha=0.3)
            axes.spines[["top", "right"]].set_visible(False)
            axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        panels[-1].legend(frameon=False, fontsize=8)
    figure.supxlabel(
        "training episodes (sampled actions), smoothed; bands: 95 % intervals over seeds, or their "
        f"range where there are fewer than {MIN_RUNS}",
        fontsize=8,
    )
    return figure
