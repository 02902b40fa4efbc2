#!/usr/bin/env python
"""Digests of worlds that alem-env generates. Worker of verify_worlds.py; prints one line a world.

ref/bin/python scripts/digest_reference.py --difficulty hard --first-seed 0 --worlds 64
"""

import argparse

from command_line import MAX_SEED, difficulty_level, run, whole_number
from reference import need_reference

BATCH = 64


def parse_args():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--difficulty", type=difficulty_level, required=True, metavar="LEVEL")
    parser.add_argument(
        "--first-seed", type=whole_number(0, 0, MAX_SEED), required=True, metavar="SEED"
    )
    parser.add_argument("--worlds", type=whole_number(1, 64), required=True, metavar="N")
    return parser.parse_args()


def main():
    args = parse_args()
    need_reference(__file__)

    import jax
    import numpy as np
    from alem.alem_coop.world_gen.world_gen import generate_world
    from reference.digests import digest
    from reference.recorder import flatten, overrides_of, parameters

    params, static = parameters(overrides_of(args.difficulty), players=3, channels=4)
    generate = jax.jit(jax.vmap(lambda key: generate_world(key, params, static)))
    seeds = np.arange(args.first_seed, args.first_seed + args.worlds)
    for start in range(0, args.worlds, BATCH):
        # the last batch is filled up, since another size would compile anew
        batch = np.resize(seeds[start : start + BATCH], BATCH)
        worlds = flatten(generate(jax.vmap(jax.random.PRNGKey)(batch)))
        for i in range(min(BATCH, args.worlds - start)):
            print(digest({name: values[i] for name, values in worlds.items()}))
    return 0


if __name__ == "__main__":
    run(main)
