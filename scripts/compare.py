#!/usr/bin/env python
"""Tables of scores: your runs, and the published figures of learners and language models.

    python scripts/compare.py runs/easy runs/hard         # run folders
    python scripts/compare.py runs                        # every run in a folder
    python scripts/compare.py runs/a/evaluation.json results/b.json
    python scripts/compare.py runs --out results          # saves tables and plots, too
    python scripts/compare.py runs --baseline 'ippo (cpu)' --out results
    python scripts/compare.py --method a runs/s0 runs/s1 --method b runs/other* --baseline b
    python scripts/compare.py --method ours runs/easy runs/medium runs/hard --submission entry.json
    python scripts/compare.py                             # published figures only

A run folder counts with its evaluation.json; other evaluations (files of scripts/evaluate.py) are
given by name. Runs with the same label, options and budget are seeds of one method and make one
row; --method says so for others, such as runs that were limited by time. Rows stand in one table
only if their scores may be compared: same difficulty, track, rules, non-specialist efficiency,
channels, agents and step limit. What differs is said above each table.

Intervals are 95 % bootstraps: runs, then worlds; with fewer than 5 runs worlds only, "given these
runs". Published figures have the intervals that their source gives.

--out FOLDER leaves comparison.md, comparison.csv, comparison.json, scores.png and, if run folders
were given, curves.png: scores of training episodes against environment steps.

Exit status: 0 done, 2 an option or a file cannot be used, 4 files could not be written.
"""

import argparse

from command_line import file_to_write, folder_to_fill
from command_line import run as run_command


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="a run folder, a folder of them, or a file"
    )
    parser.add_argument(
        "--method", nargs="+", action="append", default=[], metavar=("NAME", "PATH"),
        help="runs that are one method of this name, whatever their options and budget",
    )  # fmt: skip
    parser.add_argument(
        "--baseline", metavar="NAME",
        help="also show by how much the others are above this method, paired by world",
    )  # fmt: skip
    parser.add_argument(
        "--out", type=folder_to_fill, metavar="FOLDER", help="save everything there"
    )
    parser.add_argument(
        "--submission", type=file_to_write, metavar="FILE.json",
        help="write the entry of one method for the benchmark's leaderboard: greedy, easy, medium "
        "and hard, the whole protocol with 10 seeds (worlds) or more on each",
    )  # fmt: skip
    parser.add_argument(
        "--no-published", action="store_true", help="leave the published figures out"
    )
    args = parser.parse_args()
    for name, *paths in args.method:
        if not paths:
            parser.error(f"--method {name}: give its runs, too: --method NAME PATH [PATH ...]")
    return args


def main() -> int:
    args = parse_args()
    # Imported here, so that --help and wrong options answer at once.
    from marl.comparison.command import Options, run

    return run(
        Options(
            paths=args.paths,
            named=[(name, paths) for name, *paths in args.method],
            out=args.out,
            baseline=args.baseline,
            submission=args.submission,
            published=not args.no_published,
        )
    )


if __name__ == "__main__":
    run_command(main)
