"""Scores with intervals as one picture: a strip for each table, columns for Base, Coord, Total."""

import io
from collections.abc import Sequence

from marl.comparison.rows import OURS, PUBLISHED, REFERENCE, SCORES, Row, blocks
from marl.evaluation.protocol import RANDOM
from marl.training.plots import new_figure

# Okabe and Ito's colours for the colour-blind, each with a mark of its own.
_MARKS = {
    "greedy": ("#0072B2", "o"),
    "sampled": ("#D55E00", "s"),
    RANDOM: ("#555555", "^"),
    PUBLISHED: ("#009E73", "D"),
    REFERENCE: ("#CC79A7", "v"),
}
# Inches; labels of up to so many letters fit on the left.
_WIDTH, _LABELS, _ABOVE, _ROW, _BELOW = 14.0, 4.4, 0.6, 0.26, 0.35
_LONGEST = 68


def as_png(figure) -> bytes:
    picture = io.BytesIO()
    figure.savefig(picture, dpi=120, format="png")
    return picture.getvalue()


def scores_figure(rows: Sequence[Row]):
    """Rows from top to bottom as in the tables, one strip for each table."""
    strips = list(blocks(rows))
    heights = [_ABOVE + _ROW * len(members) + _BELOW for _, members in strips]
    figure = new_figure(_WIDTH, sum(heights))
    parts = figure.subfigures(len(strips), 1, height_ratios=heights, squeeze=False)[:, 0]
    for number, part in enumerate(parts):
        conditions, members = strips[number]
        height = heights[number]
        part.suptitle(
            f"{number + 1}. {conditions.heading}", fontsize=10, x=0.01, ha="left",
            y=1 - 0.08 / height, va="top",
        )  # fmt: skip
        inside = dict(
            left=_LABELS / _WIDTH, right=0.99, top=1 - _ABOVE / height, bottom=_BELOW / height
        )
        panels = part.subplots(1, len(SCORES), sharey=True, gridspec_kw=inside | {"wspace": 0.08})
        _draw_strip(panels, members)
    return figure


def _draw_strip(panels, rows: Sequence[Row]) -> None:
    for axes, name in zip(panels, SCORES, strict=True):
        furthest = 1.0
        for height, row in enumerate(rows):
            score = row.scores[name]
            if score is None:
                continue
            colour, mark = _MARKS[row.policy if row.origin == OURS else row.origin]
            if score.low is not None:
                axes.plot([score.low, score.high], [height] * 2, color=colour, linewidth=2)
            axes.plot(score.mean, height, mark, color=colour, markersize=5, clip_on=False)
            furthest = max(furthest, score.high or score.mean)
        axes.set_title(f"{name.capitalize()} %", fontsize=9)
        axes.set_xlim(0, 1.05 * furthest)
        axes.set_ylim(len(rows) - 0.5, -0.5)  # the first row on top
        axes.grid(alpha=0.3)
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_yticks(range(len(rows)), [_label(row) for row in rows])


def _label(row: Row) -> str:
    what = row.policy if row.origin == OURS else row.origin
    budget = "" if row.policy == RANDOM else row.budget
    parts = [row.name, *(part for part in (what, budget) if part and part not in row.name)]
    text = ", ".join(parts)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
