#!/usr/bin/env python
"""Makes a policy bundle from a run: weights and a card that act by themselves.

    python scripts/export.py runs/easy                           # the newest, into runs/easy/policy
    python scripts/export.py runs/easy --out checkpoints/easy    # elsewhere
    python scripts/export.py runs/easy --update 450 --out early  # an older checkpoint
    python scripts/export.py runs/easy --best --out best         # the best on development worlds
    python scripts/export.py runs/easy --out ours --label 'our team'

A run writes such bundles by itself, policy/ and policy_best/, whenever it saves; this makes them
again, elsewhere, or of another checkpoint. A run of several seeds has a folder of each: all are
exported, each into its own. If the run was evaluated, and the bundle is of the same weights, its
card has the scores. docs/policies.md says what a bundle holds and how it acts.

Exit status: 0 done, 2 an option cannot work, 4 files could not be read or written.
"""

import argparse
from pathlib import Path

from command_line import run as run_command
from command_line import whole_number


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="folder of a run, or of one seed")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--update", type=whole_number(0, 450), metavar="N",
        help="the checkpoint of that update, instead of the newest",
    )  # fmt: skip
    which.add_argument(
        "--best", action="store_true", help="the policy that did best on development worlds"
    )
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="instead of RUN/policy")
    parser.add_argument("--label", metavar="TEXT", help="what tables call it")
    args = parser.parse_args()
    if args.out is None and (args.best or args.update is not None):
        parser.error(
            "RUN/policy is for the newest policy: with --best or --update give --out FOLDER"
        )
    if args.label is not None and not args.label.strip():
        parser.error("--label: give some words")
    return args


def main() -> int:
    args = parse_args()
    # Imported here, so that --help and wrong options answer at once.
    from marl.training.exporting import Options, run

    return run(Options(args.run, args.update, args.best, args.out, args.label))


if __name__ == "__main__":
    run_command(main)
