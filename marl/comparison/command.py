"""`scripts/compare.py`: from paths to tables, plots and files."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from marl.comparison import curves, files, methods, plots, reading, submission, tables
from marl.comparison.rows import ComparisonError, Row, published_rows
from marl.host.exits import BAD_OPTION, FILES_FAILED, guarded
from marl.host.files import write_atomic, write_json

# What a folder given with --out holds afterwards.
MARKDOWN, CSV, JSON = "comparison.md", "comparison.csv", "comparison.json"
SCORES_PICTURE, CURVES_PICTURE = "scores.png", "curves.png"


@dataclasses.dataclass(frozen=True)
class Options:
    """What `scripts/compare.py` was asked for; its --help says what each means."""

    paths: Sequence[str]
    named: Sequence[tuple[str, Sequence[str]]]
    out: Path | None
    baseline: str | None
    submission: Path | None
    published: bool


def run(options: Options) -> int:
    """Does what the options say; messages for the user, an exit code for the shell."""
    return guarded(
        lambda: _run(options),
        {ComparisonError: BAD_OPTION, OSError: FILES_FAILED},
        memory_advice="the evaluations do not fit into memory; give fewer of them",
        stopped="stopped; files that are there are whole",
    )


def _run(options: Options) -> int:
    found = reading.find(options.paths)
    named = [(name, reading.find(paths)) for name, paths in options.named]
    for source in (found, *(given for _, given in named)):
        for remark in source.remarks:
            print(f"note: {remark}")
    pooled = methods.pool(_results(found), [(name, _results(given)) for name, given in named])
    differences = methods.differences(pooled, options.baseline) if options.baseline else []
    entry = submission.entry(pooled) if options.submission else None
    rows = _rows(pooled, options.published)
    if rows:
        print(tables.as_markdown(rows, differences))
    if entry:
        write_json(options.submission, entry)
        print(f"leaderboard entry: {options.submission}")
    if options.out:
        _save(options.out, rows, differences, _curves(found, named))
    return 0


def _results(found: reading.Found) -> list[reading.Result]:
    return [result for file in found.files for result in reading.read_evaluation(file)]


def _rows(pooled: Sequence[methods.Method], with_published: bool) -> list[Row]:
    """Ours, and published ones of the same difficulties (all of them where we have none)."""
    rows = [method.row() for method in pooled]
    if not with_published:
        return rows
    levels = {row.conditions.difficulty for row in rows}
    return rows + published_rows(levels or None)


def _curves(found: reading.Found, named) -> list[curves.Curve]:
    """A curve of each run folder, once, with the name that was given first."""
    names = {run.resolve(): name for name, given in named for run in given.runs}
    names = {run.resolve(): None for run in found.runs} | names
    read = {run: curves.read_curve(run, name) for run, name in names.items()}
    for run, curve in read.items():
        if curve is None:
            print(f"note: {run} has no curve: no episode has ended there, or it has no config.yaml")
    return [curve for curve in read.values() if curve is not None]


def _save(folder: Path, rows, differences, drawn: Sequence[curves.Curve]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if rows:
            write_atomic(folder / MARKDOWN, tables.as_markdown(rows, differences))
            write_atomic(folder / CSV, files.as_csv(rows))
            write_json(folder / JSON, files.as_values(rows, differences))
            write_atomic(folder / SCORES_PICTURE, plots.as_png(plots.scores_figure(rows)))
        if drawn:
            picture = plots.as_png(curves.curves_figure(curves.bands(drawn)))
            write_atomic(folder / CURVES_PICTURE, picture)
    except OSError as error:
        raise OSError(
            f"--out {folder}: cannot be written ({error.strerror or error}); name another folder"
        ) from error
    written = [MARKDOWN, CSV, JSON, SCORES_PICTURE] * bool(rows) + [CURVES_PICTURE] * bool(drawn)
    print(f"{folder} holds " + ", ".join(written))
