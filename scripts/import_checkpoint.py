#!/usr/bin/env python
"""Make a policy of this program out of a checkpoint of the benchmark's own trainers.

    python scripts/import_checkpoint.py 1B/ippo-rnn/hard/seed0 --out imported/policy
    python scripts/import_checkpoint.py FOLDER --learner mappo --difficulty easy --out mappo/policy
    python scripts/evaluate.py policy=imported/policy

CHECKPOINT is the folder that alem-env's baselines saved (orbax), or one with it in checkpoint/. If
config.json lies beside it, learner, difficulty, steps, seed and activation are read there, and
options that contradict it are refused. Agents, channels and all sizes are those of the arrays.

Released checkpoints were made under rules 0.1.0, with 3 agents and 4 channels:

    hf download alem-world/alem-rl-baselines --local-dir alem-rl-baselines

--out FOLDER becomes an ordinary policy: evaluate.py and render.py play it.

Exit status: 0 done, 2 an option or the checkpoint cannot be used, 4 files could not be written.
"""

import argparse
from pathlib import Path

from command_line import MAX_SEED, difficulty_level, folder_to_make, whole_number
from command_line import run as run_command

# marl knows both, but may not be imported before options are read.
LEARNERS = ("ippo", "ippo_unshared", "hypermarl", "mappo", "pqn_vdn")
RULES_VERSIONS = ("0.1.0", "0.2.1")
MAX_TRAINED = 10**15


def steps(text: str) -> int:
    """The type of an argparse option that is a number of steps, which 1e9 is, too."""
    try:
        number = float(text)
    except ValueError:
        number = 0.5
    whole = str(int(number)) if number.is_integer() else text
    return whole_number(1, 10**9, MAX_TRAINED)(whole)


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkpoint", type=Path, metavar="CHECKPOINT", help="a folder")
    parser.add_argument(
        "--out", type=folder_to_make, required=True, metavar="FOLDER", help="a new or empty one"
    )
    parser.add_argument("--learner", choices=LEARNERS, help="that trained it")
    parser.add_argument(
        "--difficulty", type=difficulty_level, metavar="LEVEL",
        help="of its training: none, easy, medium, hard or an alpha",
    )  # fmt: skip
    parser.add_argument("--steps", type=steps, help="environment steps of its training")
    parser.add_argument("--seed", type=whole_number(0, 1, MAX_SEED), help="of its training")
    parser.add_argument(
        "--activation", choices=("tanh", "relu"),
        help="of its network; default: that of the trainer's own configuration",
    )  # fmt: skip
    parser.add_argument(
        "--rules-version", choices=RULES_VERSIONS, default=RULES_VERSIONS[0],
        help="of the world of its training, default 0.1.0 (as released)",
    )  # fmt: skip
    return parser.parse_args()


def main() -> int:
    args = parse_args()
    # Imported here, so that --help and wrong options answer at once.
    from marl.importing.command import Options, run

    return run(Options(**vars(args)))


if __name__ == "__main__":
    run_command(main)
