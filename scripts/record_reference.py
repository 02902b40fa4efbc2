#!/usr/bin/env python
"""Record exact transitions of the public reference environment, as data to test against.

Run it in a virtual environment of its own (Python 3.11 or 3.12); 0.1.0 works as well as 0.2.1:

    python3 -m venv ref && ref/bin/pip install alem-env==0.2.1
    ref/bin/python scripts/record_reference.py --out {seed}.npz --kind fuzz --seed 0 1

Kinds of recording:

play      reset, then legal uniformly random actions. Reaches what early play reaches.
fuzz      every few steps the state is edited first: another floor, a full inventory, mobs and
          special blocks next to the players, handovers about to expire, the boss fight, ... so that
          single transitions of the whole game are covered, also those that play never reaches.
ripen     plants ripen on the overworld while the team is on another floor; then it returns.
rim       players, mobs and projectiles on the map's outermost cells, mostly facing outward.
overflow  like fuzz, with clocks, counters, cooldowns and stray projectiles about to leave 8 or 16
          bits, or the episode about to end.

One recording is one .npz file:

meta                    JSON: versions, seed, kind, EnvParams overrides, players, field names, ...
init/<field>            state right after generate_world(PRNGKey(seed))
edit/<field>/{t,i,v}    sparse edits of the state before step t (t: step, i: flat index, v: value)
step/<field>/{t,i,v}    what step t changed
keys, actions           (T, 2) uint32 legacy key and (T, players) int32 action of each step
mask                    (T, players, actions) bool, legal in the state that step t starts from
rewards, done           (T, players) float32, (T,) bool
obs/{t,i,v}             sparse dense-vector observation (players, obs_dim) after every tenth step
score/<name>            compute_score of the last state

Integers and booleans are to be matched exactly; floats to 1e-5, since XLA versions differ in the
last bit. The reference draws its random numbers with jax 0.4's non-partitionable threefry.
"""

import argparse
from pathlib import Path

from command_line import (
    LEVELS,
    MAX_SEED,
    MAX_STEPS,
    check_writable,
    difficulty_level,
    field_value,
    run,
    whole_number,
)
from reference import KINDS, need_reference


def parse_args():
    ap = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ap.add_argument("--out", required=True, help="file to write; {seed} in it is replaced")
    ap.add_argument("--kind", choices=KINDS, default="play")
    ap.add_argument(
        "--difficulty", type=difficulty_level, default="medium", metavar="LEVEL",
        help=f"{', '.join(LEVELS)} or an alpha",
    )  # fmt: skip
    ap.add_argument(
        "--seed", type=whole_number(0, 1, MAX_SEED), nargs="+", default=[0],
        help="one file per seed",
    )  # fmt: skip
    ap.add_argument("--steps", type=whole_number(1, 200, MAX_STEPS), default=200)
    ap.add_argument("--players", type=whole_number(1, 3, 8), default=3)
    ap.add_argument("--channels", type=whole_number(0, 4, 32), default=4)
    ap.add_argument(
        "--set", type=field_value, nargs="*", default=[], metavar="FIELD=JSON",
        help="further EnvParams overrides",
    )  # fmt: skip
    args = ap.parse_args()
    if len(args.seed) > 1 and "{seed}" not in args.out:
        ap.error(f"--out {args.out}: with several seeds the name must hold {{seed}}")
    try:
        for seed in args.seed:
            check_writable(Path(args.out.replace("{seed}", str(seed))))
    except OSError as error:
        ap.error(f"--out {args.out}: {error}; name another file")
    return args


def main():
    args = parse_args()
    need_reference(__file__)
    from reference.recorder import record_all  # after --help and bad options

    record_all(args)
    return 0


if __name__ == "__main__":
    run(main)
