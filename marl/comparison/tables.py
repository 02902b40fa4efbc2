"""Rows and differences as Markdown that reads well in a terminal, too."""

from collections.abc import Iterable, Sequence

from marl.comparison.methods import Difference, covers
from marl.comparison.rows import (
    KIND_NAMES,
    OURS,
    PUBLISHED,
    SCORES,
    Conditions,
    Row,
    Score,
    blocks,
)
from marl.evaluation.report import interval_text

_INTRODUCTION = """\
# ALEM: scores

Percent of the maximum, weighted, of what a team unlocks together; [a, b] are 95 % intervals. Each table holds rows that may be compared.
Rows of different tables may not: what differs is said above the table.
"""  # noqa: E501


def as_markdown(rows: Sequence[Row], differences: Sequence[Difference] = ()) -> str:
    """The whole page."""
    parts = [_INTRODUCTION]
    first: dict[str, tuple[int, Conditions]] = {}
    for number, (conditions, members) in enumerate(blocks(rows), 1):
        parts.append(f"## {number}. {conditions.heading}\n")
        if conditions.difficulty in first:
            other, theirs = first[conditions.difficulty]
            parts.append(
                f"Not comparable with table {other}: here {conditions.difference(theirs)}.\n"
            )
        elif first:
            parts.append("Another difficulty: not comparable with the tables above.\n")
        first.setdefault(conditions.difficulty, (number, conditions))
        parts.append(_scores_table(members))
        parts += _kinds_table(members)
        parts += _differences_table([d for d in differences if d.method.conditions == conditions])
        parts.append(_notes(members))
    return "\n".join(part for part in parts if part)


def _scores_table(rows: Sequence[Row]) -> str:
    head = ("method", "policy", "budget", "Base %", "Coord %", "Total %", "worlds", "runs",
            "interval over")  # fmt: skip
    lines = [
        (
            row.name + (" (published)" if row.origin == PUBLISHED else ""),
            row.policy or "",
            row.budget,
            *(_score_text(row, row.scores[name]) for name in SCORES),
            "?" if row.num_worlds is None else str(row.num_worlds),
            "" if row.num_runs is None else str(row.num_runs),
            row.interval,
        )
        for row in rows
    ]
    return table(head, lines)


def _kinds_table(rows: Sequence[Row]) -> list[str]:
    rows = [row for row in rows if row.kinds]
    if not rows:
        return []
    head = ("method", "policy", *(f"{name} %" for name in KIND_NAMES.values()))
    lines = [
        (row.name, row.policy or "", *(_score_text(row, row.kinds[kind]) for kind in KIND_NAMES))
        for row in rows
    ]
    return ["Coord by kind of task, each of its own maximum:\n", table(head, lines)]


def _differences_table(found: Sequence[Difference]) -> list[str]:
    if not found:
        return []
    head = ("method", "policy", "Base", "Coord", "Total", "worlds", "runs", "interval over")
    lines = []
    for difference in found:
        total = difference.scores["total"]
        runs = (len(m.results) for m in (difference.method, difference.baseline))
        lines.append((
            difference.method.name,
            difference.method.policy,
            *(interval_text(difference.scores[name].as_dict(), "+") for name in SCORES),
            str(total.num_worlds),
            " and ".join(map(str, runs)),
            covers(total),
        ))  # fmt: skip
    title = f"Above {found[0].baseline.name}, paired by world, in points:\n"
    return [title, table(head, lines)]


def _notes(rows: Sequence[Row]) -> str:
    """What else must be known, each remark once, with the rows that it is about unless all are."""
    about: dict[str, list[str]] = {}
    for row in rows:
        who = f"{row.name}, {row.policy}" if row.policy else row.name
        for remark in _remarks(row):
            about.setdefault(remark, []).append(_escape(who))
    return "".join(
        f"- {remark}\n"
        if len(who) == len(rows)
        else f"- {'; '.join(dict.fromkeys(who))}: {remark}\n"
        for remark, who in about.items()
    )


def _remarks(row: Row) -> list[str]:
    remarks = [row.note] if row.note else []
    if row.capped and row.capped[0]:
        met, of = row.capped
        remarks.append(f"{met} of {of} episodes met the step limit and count as they stood")
    return [*remarks, f"worlds {row.worlds}", f"source: {_escape(row.source)}"]


def _score_text(row: Row, score: Score | None) -> str:
    """The mean and its interval: ours with two decimals, others as exact as their source."""
    if score is None:
        return "?"
    ends = [end for end in (score.mean, score.low, score.high) if end is not None]
    coarse = row.origin != OURS and all(round(end, 1) == end for end in ends)
    mean, *interval = (f"{end:.{1 if coarse else 2}f}" for end in ends)
    return f"{mean} [{', '.join(interval)}]" if interval else mean


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A Markdown table whose columns line up as text."""
    lines = [[_escape(cell) for cell in line] for line in (head, *lines)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = [[c.ljust(w) for c, w in zip(line, widths, strict=True)] for line in lines]
    rule = ["-" * width for width in widths]
    return "".join(f"| {' | '.join(line)} |\n" for line in (padded[0], rule, *padded[1:]))


def _escape(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
