#!/usr/bin/env python
"""Replay recordings of the public benchmark on this world and report the first difference.

Each file is a recording of scripts/record_reference.py (kinds play, fuzz, ripen, rim, overflow) or
the facts of a public episode (llm_*.npz). The replay starts from this world's own initial state and
runs free: only the recorded edits are applied. Integers and booleans must match exactly, floats to
1e-5: every field of the state, legal actions, rewards, episode end, the published observation
vector and the final score.

One line a file on standard output: the steps compared and "ok", or the first difference (step,
field, index, expected, found). Progress goes to standard error. Exit status: 0 if all files are ok,
1 if any differs or cannot be read, 130 after Ctrl-C.
"""

import argparse

from command_line import run


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="recordings, .npz")
    parser.add_argument(
        "--single-step",
        action="store_true",
        help="start every step from the recorded state, to find the rule that is wrong",
    )
    return parser.parse_args()


def main() -> int:
    args = parse_args()
    from replaying import Progress, replay  # after --help and bad options

    from alem_env.recording import RecordingError

    progress = Progress(len(args.files))
    failed = steps = 0
    for path in args.files:
        try:
            outcome, total = replay(path, progress, args.single_step)
        except RecordingError as error:
            print(f"ERROR {error}", flush=True)
            failed += 1
            continue
        steps += outcome.steps
        verdict = f"DIFFERENCE at {outcome.difference}" if outcome.difference else "ok"
        failed += outcome.difference is not None
        print(f"{path}: {outcome.steps} of {total} steps compared, {verdict}", flush=True)
    if len(args.files) > 1:
        print(f"{len(args.files)} files, {steps} steps compared, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    run(main)
