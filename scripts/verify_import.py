#!/usr/bin/env python
"""Verify that imported checkpoints act as the benchmark's own networks do.

    python scripts/verify_import.py --reference ref/bin/python --baselines alem-env/baselines

The benchmark's interpreter (Python 3.11 or 3.12 with alem-env[baselines-rl]) makes the networks of
its trainers, in their published sizes and with random parameters, saves each as its trainers do,
and runs it over episodes of random play and over vectors of random numbers, with resets. Every
checkpoint is then imported as scripts/import_checkpoint.py does, loaded, and given the same. Shown
is the largest difference of log-probabilities (or Q values) and of values, as a share of the
largest of them.

Exit status: 0 all below 1e-5, 1 a difference is larger, 2 the benchmark's program cannot be run,
130 after Ctrl-C.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from command_line import folder_of_baselines, folder_to_make, note, run, whole_number
from import_checkpoint import LEARNERS

RECORDER = Path(__file__).with_name("record_networks.py")
RULES, AGENTS, CHANNELS, DIFFICULTY = "0.1.0", 3, 4, "hard"  # of the released checkpoints
TOLERANCE = 1e-5


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--reference", required=True, metavar="PYTHON", help="its interpreter")
    parser.add_argument(
        "--baselines", type=folder_of_baselines, required=True, metavar="FOLDER",
        help="of a checkout of alem-env's repository",
    )  # fmt: skip
    parser.add_argument("--learners", nargs="+", choices=LEARNERS, default=LEARNERS)
    parser.add_argument(
        "--steps", type=whole_number(1, 12, 100), default=12, help="of the episodes, default 12"
    )
    parser.add_argument(
        "--keep", type=folder_to_make, metavar="FOLDER",
        help="keep checkpoints and policies there, in a new or empty folder",
    )  # fmt: skip
    return parser.parse_args()


def played(steps: int):
    """Observations (T, 2, A, ...) of two episodes of random play."""
    import jax
    import jax.numpy as jnp

    import alem_env

    env = alem_env.make(num_agents=AGENTS, num_comm_channels=CHANNELS, rules_version=RULES)
    worlds, params = alem_env.VectorEnv(env, 2), alem_env.difficulty(DIFFICULTY)
    observation, state = worlds.reset(jax.random.key(0), params)
    seen = [observation]
    for key in jax.random.split(jax.random.key(1), steps - 1):
        actions = jax.random.categorical(key, jnp.where(observation.legal, 0.0, -1e9))
        observation, state, *_ = worlds.step(key, state, actions, params)
        seen.append(observation)
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *seen)


def write_inputs(file: Path, observation, static):
    """For the reference: the observations as vectors, beside as many random ones, and resets.

    Returns:
        (the random vectors (T, 2, A, F), resets (T, 4)).
    """
    import numpy as np

    from alem_env import dense

    vectors = np.asarray(dense.expand(observation, static))
    generator = np.random.default_rng(0)
    random = generator.normal(size=vectors.shape).astype(np.float32)
    reset = generator.random((vectors.shape[0], 4)) < 0.3
    reset[0] = [True, False, True, False]
    both = np.concatenate([vectors, random], axis=1)
    np.savez(file, observations=both, reset=reset, channels=CHANNELS)
    return random, reset


def outputs_of(policy, features, reset) -> dict:
    """What an imported policy makes of features (T, E, A, ...), as the reference records it."""
    import jax

    from marl.networks import recipes
    from marl.tasks import task_for_static

    reset = reset[..., None].repeat(AGENTS, -1)
    carry = policy.policy.init_carry(reset.shape[1:])
    _, found = jax.jit(policy.policy.preferences)(policy.params, carry, features, reset)
    if policy.card["learner"] == "pqn_vdn":
        return {"q_values": found}
    # of the network as learners have it, which has the critic
    task = task_for_static(policy.card["env"])._replace(features=lambda observation: observation)
    whole = recipes.follow(policy.card["network"], task)
    start = whole.init_carry(reset.shape[1:])
    _, _, values = jax.jit(whole.unroll)(policy.params, start, features, reset)
    return {"log_probs": jax.nn.log_softmax(found), "values": values}


def compare(folder: Path, observed, random, reset) -> dict[str, float]:
    """Imports a recorded checkpoint, and gives the largest difference of each of its outputs."""
    import numpy as np

    from marl.export import load_policy
    from marl.importing.command import Options, import_checkpoint
    from marl.tasks import task_for_static

    import_checkpoint(Options(folder, folder / "policy"))
    policy, recorded = load_policy(folder / "policy"), np.load(folder / "outputs.npz")
    features = task_for_static(policy.card["env"]).features(observed)
    ours = [
        outputs_of(policy, given, starts)
        for given, starts in ((features, reset[:, :2]), (random, reset[:, 2:]))
    ]
    differences = {}
    for name in recorded:
        together = np.concatenate([np.asarray(part[name]) for part in ours], axis=1)
        largest = np.abs(recorded[name]).max()
        differences[name] = float(np.abs(together - recorded[name]).max() / largest)
    return differences


def verify(args: argparse.Namespace, folder: Path) -> bool:
    """Prints a line for each learner; whether all differences are small."""
    from reference_python import run_reference

    from alem_env import StaticParams

    note("playing two worlds, up to some minutes ...")
    static = StaticParams(num_agents=AGENTS, num_comm_channels=CHANNELS, rules_version=RULES)
    observed, inputs = played(args.steps), folder / "inputs.npz"
    random, reset = write_inputs(inputs, observed, static)
    note("running the benchmark's networks, up to some minutes ...")
    recorded = folder / "recorded"
    run_reference(
        args.reference, str(RECORDER), "--baselines", str(args.baselines), "--inputs", str(inputs),
        "--out", str(recorded), "--learners", *args.learners,
    )  # fmt: skip
    all_small = True
    for learner in args.learners:
        differences = compare(recorded / learner, observed, random, reset)
        all_small &= all(value < TOLERANCE for value in differences.values())
        print(f"{learner:14}" + "".join(f"  {n} {v:.1e}" for n, v in differences.items()))
    return all_small


def main() -> int:
    args = parse_args()
    # after --help and bad options
    from reference_python import ReferenceFailed, version_of

    from marl.importing.convert import ImportFailed

    try:
        version_of(args.reference)
        with tempfile.TemporaryDirectory() as temporary:
            folder = args.keep or Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            return 0 if verify(args, folder) else 1
    except (ReferenceFailed, ImportFailed) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    run(main)
