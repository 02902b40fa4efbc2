#!/usr/bin/env python
"""Checkpoints and outputs of the benchmark's own networks. Worker of verify_import.py.

ref/bin/python scripts/record_networks.py --baselines FOLDER --inputs FILE.npz --out FOLDER \\
    --learners ippo mappo
"""

import argparse
from pathlib import Path

from command_line import folder_of_baselines, folder_to_make, run
from reference import need_reference


def parse_args():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--baselines", type=folder_of_baselines, required=True, metavar="FOLDER",
        help="of a checkout of alem-env's repository",
    )  # fmt: skip
    parser.add_argument(
        "--inputs", type=Path, required=True, metavar="FILE",
        help="observations (T, E, A, F), reset (T, E), channels",
    )  # fmt: skip
    parser.add_argument("--out", type=folder_to_make, required=True, metavar="FOLDER")
    parser.add_argument("--learners", nargs="+", required=True, metavar="LEARNER")
    return parser.parse_args()


def main():
    args = parse_args()
    need_reference(__file__)
    import numpy as np
    from reference.networks import Recorder

    inputs = np.load(args.inputs)
    recorder = Recorder(
        args.baselines, inputs["observations"], inputs["reset"], int(inputs["channels"])
    )
    for learner in args.learners:
        recorder.record(learner, args.out / learner)
    return 0


if __name__ == "__main__":
    run(main)
