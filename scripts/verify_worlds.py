#!/usr/bin/env python
"""Verify that worlds generated in batches here are those of the public reference.

    python scripts/verify_worlds.py --reference ref/bin/python --worlds 4096 --difficulty hard

Both sides generate the worlds of the seeds, here in batches of --batch, and the digests of all
fields are compared. Prints the seeds that differ and a table; exit status 0 if every world is
equal, 1 if any differs, 2 if the reference cannot be run, 130 after Ctrl-C.
"""

import argparse
import sys
import time
from pathlib import Path

from command_line import (
    LEVELS,
    MAX_SEED,
    MAX_WORLDS,
    Status,
    difficulty_level,
    note,
    run,
    time_left,
    whole_number,
)

WITH_COORDINATION = tuple(level for level in LEVELS if level != "none")
WORKER = Path(__file__).with_name("digest_reference.py")


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--reference", required=True, metavar="PYTHON", help="its interpreter")
    parser.add_argument(
        "--worlds", type=whole_number(1, 4096, MAX_WORLDS), default=1024, metavar="N",
        help="of each difficulty, default 1024",
    )  # fmt: skip
    parser.add_argument(
        "--first-seed", type=whole_number(0, 0, MAX_SEED), default=0, metavar="SEED",
        help="default 0",
    )  # fmt: skip
    parser.add_argument(
        "--difficulty", type=difficulty_level, nargs="+",
        default=WITH_COORDINATION, metavar="LEVEL",
        help=f"{', '.join(WITH_COORDINATION)} or an alpha; default: all of these",
    )  # fmt: skip
    parser.add_argument(
        "--batch", type=whole_number(1, 512), default=64, metavar="N",
        help="worlds generated together here, default 64",
    )  # fmt: skip
    args = parser.parse_args()
    if "none" in map(str.lower, args.difficulty):
        parser.error(
            "--difficulty none: is a game of its own; verify it with verify_against_reference.py"
        )
    if args.first_seed + args.worlds - 1 > MAX_SEED:
        parser.error(
            f"--worlds {args.worlds}: from --first-seed {args.first_seed} on, only "
            f"{MAX_SEED - args.first_seed + 1} seeds are left; lower one of them"
        )
    return args


def digests(level: str, version: str, args: argparse.Namespace) -> list[str]:
    """Digests of the worlds generated here."""
    import jax
    import numpy as np
    from reference.digests import digest

    import alem_env
    from alem_env.core import rng
    from alem_env.reference import to_reference

    env = alem_env.make(num_agents=3, num_comm_channels=4, rules_version=version)
    params = alem_env.difficulty(level)
    seeds = range(args.first_seed, args.first_seed + args.worlds)
    keys = np.stack([rng.words(jax.random.key(seed)) for seed in seeds])
    found, status, began = [], Status(), time.monotonic()
    for start in range(0, args.worlds, args.batch):
        # the last batch is filled up, since another size would compile anew
        batch = np.resize(keys[start : start + args.batch], (args.batch, 2))
        _, states = env.reset_batch(batch, params)
        states = jax.tree.map(np.asarray, states)
        for i in range(min(args.batch, args.worlds - start)):
            world = jax.tree.map(lambda leaf, i=i: leaf[i], states)
            found.append(digest(to_reference(world, env.static)))
        if status.is_due:
            left = (args.worlds / len(found) - 1) * (time.monotonic() - began)
            status.show(f"{level}: {len(found)} of {args.worlds} worlds, {time_left(left)}")
    status.clear()
    return found


def compare(level: str, version: str, args: argparse.Namespace) -> int:
    """How many worlds differ; prints their seeds."""
    from reference_python import ReferenceFailed, run_reference

    note(f"{level}: {args.worlds} worlds of the reference ...")
    wanted = run_reference(
        args.reference, str(WORKER), "--difficulty", level,
        "--first-seed", str(args.first_seed), "--worlds", str(args.worlds),
    ).split()[-args.worlds :]  # fmt: skip
    if len(wanted) < args.worlds:
        raise ReferenceFailed(
            f"--reference {args.reference}: told of {len(wanted)} worlds, and {args.worlds} are "
            "needed; is it an interpreter that has alem-env?"
        )
    note(f"{level}: {args.worlds} worlds here, compiling first ...")
    found = digests(level, version, args)
    differ = [n for n, (a, b) in enumerate(zip(wanted, found, strict=True)) if a != b]
    for n in differ:
        print(f"DIFFERENCE: {level}, seed {args.first_seed + n}", flush=True)
    return len(differ)


def main() -> int:
    args = parse_args()
    # after --help and bad options
    from reference_python import ReferenceFailed, version_of

    try:
        version = version_of(args.reference)
        differ = {level: compare(level, version, args) for level in args.difficulty}
    except ReferenceFailed as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"alem-env {version}, seeds from {args.first_seed}, batches of {args.batch}")
    print(f"{'difficulty':10} {'worlds':>8} {'differ':>8}")
    for level, count in differ.items():
        print(f"{level:10} {args.worlds:8} {count:8}")
    return 1 if any(differ.values()) else 0


if __name__ == "__main__":
    run(main)
