#!/usr/bin/env python
"""Record fresh transitions with the public reference and verify that this world follows them.

    python scripts/verify_against_reference.py --reference ref/bin/python --seeds 1 2 --steps 100

The reference (alem-env 0.2.1 or 0.1.0) lives in a virtual environment of its own; its interpreter
runs scripts/record_reference.py into a temporary folder, one process for all seeds of a kind and
difficulty. Every file is then verified as scripts/verify_recording.py does. Prints a table; exit
status 0 if everything is equal, 1 if anything differs, 2 if the reference cannot be run.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

RECORDER = Path(__file__).with_name("record_reference.py")
KINDS = ("play", "fuzz", "ripen", "rim", "overflow")
VERSION_CODE = "import importlib.metadata as m; print(m.version('alem-env'))"


class ReferenceFailed(RuntimeError):
    """The reference's interpreter does not do what is asked of it."""


def run_reference(python: str, *arguments: str) -> str:
    """Output of the reference's interpreter, on the CPU."""
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    for name in ("PYTHONPATH", "XLA_FLAGS"):  # meant for this interpreter, and its jaxlib
        environment.pop(name, None)
    try:
        result = subprocess.run(
            [python, *arguments], capture_output=True, text=True, env=environment, check=False
        )
    except OSError as error:
        raise ReferenceFailed(
            f"--reference {python}: cannot be run ({error}); "
            "give the path of a Python interpreter that has alem-env"
        ) from error
    if result.returncode:
        lines = result.stderr.strip().splitlines() or ["no message"]
        raise ReferenceFailed(f"--reference {python}: failed, {lines[-1]}")
    return result.stdout.strip()


def version_of(python: str) -> str:
    from alem_env.core.params import RULES_VERSIONS

    try:
        version = run_reference(python, "-c", VERSION_CODE)
    except ReferenceFailed as error:
        raise ReferenceFailed(f"{error}; install alem-env=={RULES_VERSIONS[0]} there") from error
    if version not in RULES_VERSIONS:
        raise ReferenceFailed(
            f"--reference {python}: has alem-env {version}, whose rules are not known here; "
            f"install alem-env=={' or =='.join(RULES_VERSIONS)} there"
        )
    return version


def record(args: argparse.Namespace, kind: str, difficulty: str, folder: Path) -> list[Path]:
    """Recordings of all seeds, made by one process."""
    folder.mkdir(parents=True)
    run_reference(
        args.reference, str(RECORDER), "--out", str(folder / "{seed}.npz"), "--kind", kind,
        "--difficulty", difficulty, "--steps", str(args.steps), "--players", str(args.players),
        "--channels", str(args.channels), "--seed", *map(str, args.seeds),
        *(["--set", *args.set] if args.set else []),
    )  # fmt: skip
    return sorted(folder.glob("*.npz"), key=lambda path: int(path.stem))


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--reference", required=True, metavar="PYTHON", help="its interpreter")
    parser.add_argument("--seeds", type=int, nargs="+", required=True, metavar="SEED")
    parser.add_argument("--steps", type=int, default=100, help="of each recording, default 100")
    parser.add_argument(
        "--kinds", nargs="+", choices=KINDS, default=["fuzz", "play"], help="default: fuzz play"
    )
    parser.add_argument(
        "--difficulty", nargs="+", default=["none", "easy", "medium", "hard"],
        metavar="LEVEL", help="none, easy, medium, hard or an alpha; default: all four",
    )  # fmt: skip
    parser.add_argument("--players", type=int, default=3, help="1 to 8, default 3")
    parser.add_argument("--channels", type=int, default=4, help="message channels, default 4")
    parser.add_argument(
        "--set", nargs="+", default=[], metavar="FIELD=JSON",
        help="further EnvParams of the reference, for instance shared_reward=true",
    )  # fmt: skip
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the recordings there")
    args = parser.parse_args()
    if args.steps < 1:
        parser.error(f"--steps {args.steps}: must be at least 1")
    if args.keep and args.keep.exists() and any(args.keep.iterdir()):
        parser.error(f"--keep {args.keep}: not empty; name a new folder")
    return args


def verify_all(args: argparse.Namespace, folder: Path) -> tuple[list[tuple], bool]:
    """Rows of the table (kind, difficulty, files, steps, differing), and whether all is equal."""
    from alem_env import recording, verification

    rows = []
    for difficulty in args.difficulty:
        for kind in args.kinds:
            print(f"recording {len(args.seeds)} seeds of {kind} {difficulty} ...", flush=True)
            files = record(args, kind, difficulty, folder / f"{kind}_{difficulty}")
            steps = failed = 0
            for file in files:
                outcome = verification.verify(recording.load(file))
                steps += outcome.steps
                failed += outcome.difference is not None
                if outcome.difference:
                    print(f"  seed {file.stem}: DIFFERENCE at {outcome.difference}", flush=True)
            rows.append((kind, difficulty, len(files), steps, failed))
            print(f"  {len(files)} files, {steps} steps compared, {failed} differ", flush=True)
    return rows, not any(row[-1] for row in rows)


def main() -> int:
    args = parse_args()
    try:
        version = version_of(args.reference)
        with tempfile.TemporaryDirectory() as temporary:
            rows, equal = verify_all(args, args.keep or Path(temporary))
    except ReferenceFailed as error:
        print(error, file=sys.stderr)
        return 2
    print(f"\nalem-env {version}, {args.players} players, {args.channels} channels")
    print(f"{'kind':10} {'difficulty':10} {'files':>6} {'steps':>8} {'differ':>7}")
    totals = ("all", "", *(sum(row[column] for row in rows) for column in (2, 3, 4)))
    for kind, difficulty, files, steps, failed in [*rows, totals]:
        print(f"{kind:10} {difficulty:10} {files:6} {steps:8} {failed:7}")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
