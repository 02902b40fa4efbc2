#!/usr/bin/env python
"""Record fresh transitions with the public reference and verify that this world follows them.

    python scripts/verify_against_reference.py --reference ref/bin/python --seeds 1 2 --steps 100

The reference (alem-env 0.2.1 or 0.1.0) lives in a virtual environment of its own; its interpreter
runs scripts/record_reference.py into a temporary folder, one process for all seeds of a kind and
difficulty. Every file is then verified as scripts/verify_recording.py does. Prints a table; exit
status 0 if everything is equal, 1 if anything differs, 2 if the reference cannot be run, 130 after
Ctrl-C.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from command_line import (
    LEVELS,
    MAX_SEED,
    MAX_STEPS,
    difficulty_level,
    field_value,
    folder_to_make,
    note,
    run,
    whole_number,
)
from reference import KINDS

RECORDER = Path(__file__).with_name("record_reference.py")


def record(args: argparse.Namespace, kind: str, difficulty: str, folder: Path) -> list[Path]:
    """Recordings of all seeds, made by one process."""
    from reference_python import ReferenceFailed, run_reference

    folder.mkdir(parents=True)
    run_reference(
        args.reference, str(RECORDER), "--out", str(folder / "{seed}.npz"), "--kind", kind,
        "--difficulty", difficulty, "--steps", str(args.steps), "--players", str(args.players),
        "--channels", str(args.channels), "--seed", *map(str, args.seeds),
        *(["--set", *args.set] if args.set else []),
    )  # fmt: skip
    files = sorted(folder.glob("*.npz"), key=lambda path: int(path.stem))
    if len(files) != len(args.seeds):
        raise ReferenceFailed(
            f"--reference {args.reference}: made {len(files)} recordings of {kind} {difficulty}, "
            f"and {len(args.seeds)} are needed; is it an interpreter that has alem-env?"
        )
    return files


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--reference", required=True, metavar="PYTHON", help="its interpreter")
    parser.add_argument(
        "--seeds", type=whole_number(0, 1, MAX_SEED), nargs="+", required=True, metavar="SEED"
    )
    parser.add_argument(
        "--steps",
        type=whole_number(1, 100, MAX_STEPS),
        default=100,
        help="of each recording, default 100",
    )
    parser.add_argument(
        "--kinds", nargs="+", choices=KINDS, default=["fuzz", "play"], help="default: fuzz play"
    )
    parser.add_argument(
        "--difficulty", type=difficulty_level, nargs="+",
        default=LEVELS, metavar="LEVEL",
        help=f"{', '.join(LEVELS)} or an alpha; default: all of these",
    )  # fmt: skip
    parser.add_argument("--players", type=int, choices=range(1, 9), default=3, help="default 3")
    parser.add_argument(
        "--channels", type=whole_number(0, 4, 32), default=4, help="message channels, default 4"
    )
    parser.add_argument(
        "--set", type=field_value, nargs="+", default=[], metavar="FIELD=JSON",
        help="further EnvParams of the reference, for instance shared_reward=true",
    )  # fmt: skip
    parser.add_argument(
        "--keep", type=folder_to_make, metavar="FOLDER",
        help="keep the recordings there, in a new or empty folder",
    )  # fmt: skip
    args = parser.parse_args()
    for name in ("seeds", "kinds", "difficulty"):  # given twice, once is meant
        setattr(args, name, list(dict.fromkeys(getattr(args, name))))
    return args


def verify_all(args: argparse.Namespace, folder: Path) -> tuple[list[tuple], bool]:
    """Rows of the table (kind, difficulty, files, steps, differing), and whether all is equal."""
    from replaying import Progress, replay

    rows = []
    progress = Progress(len(args.difficulty) * len(args.kinds) * len(args.seeds))
    for difficulty in args.difficulty:
        for kind in args.kinds:
            note(f"recording {len(args.seeds)} seeds of {kind} {difficulty} ...")
            files = record(args, kind, difficulty, folder / f"{kind}_{difficulty}")
            steps = failed = 0
            for file in files:
                outcome, _ = replay(file, progress)
                steps += outcome.steps
                failed += outcome.difference is not None
                if outcome.difference:
                    print(f"  seed {file.stem}: DIFFERENCE at {outcome.difference}", flush=True)
            rows.append((kind, difficulty, len(files), steps, failed))
            print(f"  {len(files)} files, {steps} steps compared, {failed} differ", flush=True)
    return rows, not any(row[-1] for row in rows)


def main() -> int:
    args = parse_args()
    # after --help and bad options
    from reference_python import ReferenceFailed, version_of

    try:
        version = version_of(args.reference)
        with tempfile.TemporaryDirectory() as temporary:
            rows, equal = verify_all(args, args.keep or Path(temporary))
    except ReferenceFailed as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"\nalem-env {version}, {args.players} players, {args.channels} channels")
    print(f"{'kind':10} {'difficulty':10} {'files':>6} {'steps':>8} {'differ':>7}")
    totals = ("all", "", *(sum(row[column] for row in rows) for column in (2, 3, 4)))
    for kind, difficulty, files, steps, failed in [*rows, totals]:
        print(f"{kind:10} {difficulty:10} {files:6} {steps:8} {failed:7}")
    return 0 if equal else 1


if __name__ == "__main__":
    run(main)
