#!/usr/bin/env python
"""Replay recordings of the public benchmark on this world and report the first difference.

Each file is a recording of scripts/record_reference.py (kinds play, fuzz, ripen, rim, overflow) or
the facts of a public episode (llm_*.npz). The replay starts from this world's own initial state and
runs free: only the recorded edits are applied. Integers and booleans must match exactly, floats to
1e-5: every field of the state, legal actions, rewards, episode end, the published observation
vector and the final score.

One line a file: the steps compared and "ok", or the first difference (step, field, index, expected,
found). Exit status: 0 if all files are ok, 1 if any differs or cannot be read.
"""

import argparse
import sys
import time

PROGRESS_EVERY = 0.5  # seconds


class Progress:
    """A line on a terminal that is overwritten; silent elsewhere."""

    def __init__(self, total_files: int):
        self.total_files = total_files
        self.shown = sys.stderr.isatty()
        self.last = 0.0
        self.name = ""

    def start(self, number: int, path: str) -> None:
        self.name = f"[{number}/{self.total_files}] {path}"
        self._write(f"{self.name}: compiling or first step ...")

    def step(self, done: int, total: int) -> None:
        if time.monotonic() - self.last > PROGRESS_EVERY:
            self._write(f"{self.name}: step {done}/{total}")

    def clear(self) -> None:
        self._write("")

    def _write(self, text: str) -> None:
        if self.shown:
            self.last = time.monotonic()
            sys.stderr.write(f"\r\x1b[K{text[:120]}")
            sys.stderr.flush()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="recordings, .npz")
    parser.add_argument(
        "--single-step",
        action="store_true",
        help="start every step from the recorded state, to find the rule that is wrong",
    )
    args = parser.parse_args()

    from alem_env import recording, verification  # after --help and bad options

    progress = Progress(len(args.files))
    failed = steps = 0
    for number, path in enumerate(args.files, 1):
        progress.start(number, path)
        try:
            loaded = recording.load(path)
        except recording.RecordingError as error:
            progress.clear()
            print(f"ERROR {error}", flush=True)
            failed += 1
            continue
        total = loaded.num_steps
        outcome = verification.verify(
            loaded, args.single_step, lambda done, total=total: progress.step(done, total)
        )
        progress.clear()
        steps += outcome.steps
        verdict = f"DIFFERENCE at {outcome.difference}" if outcome.difference else "ok"
        failed += outcome.difference is not None
        print(f"{path}: {outcome.steps} of {total} steps compared, {verdict}", flush=True)
    if len(args.files) > 1:
        print(f"{len(args.files)} files, {steps} steps compared, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
