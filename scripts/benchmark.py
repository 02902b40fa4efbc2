"""Measure speed and memory of the world and of training.

    python scripts/benchmark.py env    --num-envs 64 [256 1024] [--reference PYTHON] [--json FILE]
    python scripts/benchmark.py phases --num-envs 64
    python scripts/benchmark.py train  --num-envs 64 --learner ippo mappo --preset published cpu
                                       [--reference PYTHON --baselines FOLDER]

`env` measures warm world-steps a second with legal mask and observation under random legal play,
without and with automatic resets; compile time; bytes a world and a stored observation; import
time. With --reference (an interpreter that has alem-env installed) the two take turns in the same
call and ratios are printed, above 1 where this project is better. `phases` tells what each phase of
a step costs. `train` measures whole updates of real runs, split into rollout, learning and the
host's part; with --reference (an interpreter with alem-env[baselines-rl]) and --baselines (the
folder of that name in a checkout of the benchmark's repository) the published IPPO trainer takes
turns with each, and ratio_train is to its steps a second.

Each takes several sizes in one call, which shows how cost grows. Only ratios carry over to other
machines. What is measured is compiled anew, whatever compiled programs are kept.
"""

import argparse
import json
import resource
import sys

from command_line import (
    MAX_STEPS,
    MAX_WORLDS,
    TRAINER,
    file_to_write,
    folder_of_baselines,
    run,
    whole_number,
)
from hydra_command import CONF

LEARNERS = sorted(path.stem for path in (CONF / "learner").glob("*.yaml"))


def measure_env(args: argparse.Namespace) -> dict:
    from benchmark_world import CHANNELS, DIFFICULTY, Reference, import_seconds, measure_world
    from reference_python import version_of

    # asked before any long work
    version = version_of(args.reference) if args.reference else None
    result = {"difficulty": DIFFICULTY, "channels": CHANNELS, "import_s": import_seconds()}
    if not version:
        return result | by_size(args, lambda n: measure_world(n, args, None))
    result["reference"] = f"alem-env {version}"
    with Reference(args.reference) as reference:
        return result | by_size(args, lambda n: measure_world(n, args, reference))


def measure_phases(args: argparse.Namespace) -> dict:
    from benchmark_phases import time_phases
    from benchmark_world import CHANNELS, DIFFICULTY

    result = {"difficulty": DIFFICULTY, "channels": CHANNELS}
    return result | by_size(args, lambda n: time_phases(n, args.steps, args.repeats))


def measure_train(args: argparse.Namespace) -> dict:
    from benchmark_train import PublishedTrainer, cases, lacks_for_training, measure_training
    from benchmark_world import CHANNELS, DIFFICULTY, Reference
    from reference_python import ReferenceFailed, version_of

    result = {"difficulty": DIFFICULTY, "channels": CHANNELS}
    if not args.reference:
        figures = [measure_training(case, args, None) | peak_memory() for case in cases(args)]
        return result | listed(figures)
    result["reference"] = f"alem-env {version_of(args.reference)}"
    if lacking := lacks_for_training(args.reference):
        raise ReferenceFailed(
            f"--reference {args.reference}: has no {lacking}, which the published trainer needs; "
            f"{args.reference} -m pip install 'alem-env[baselines-rl]'"
        )
    figures, trainer = [], None
    with Reference(args.reference) as reference:
        for case in cases(args):
            if trainer is None or trainer.num_envs != case[0]:
                trainer = PublishedTrainer(reference, args.baselines, case[0], args.num_steps)
            figures.append(measure_training(case, args, trainer) | peak_memory())
    return result | listed(figures)


COMMANDS = {
    "env": (measure_env, "the world, also against the reference"),
    "phases": (measure_phases, "each phase of a step by itself"),
    "train": (measure_train, "whole updates of learners, also against the published trainer"),
}


def by_size(args: argparse.Namespace, measure) -> dict:
    """`listed` figures of each size; memory after each."""
    return listed([measure(num_envs) | peak_memory() for num_envs in args.num_envs])


def listed(figures: list[dict]) -> dict:
    """The figures of one measurement, or those of several under "sizes"."""
    return figures[0] if len(figures) == 1 else {"sizes": figures}


def peak_memory() -> dict[str, int]:
    """The most bytes in use so far in this process: of the device, or where it does not tell, of
    the process. Sizes in one call are best given in rising order."""
    import jax

    of_device = (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use")
    if of_device:
        return {"device_peak_bytes": of_device}
    unit = 1 if sys.platform == "darwin" else 1024
    return {"process_peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit}


def show(result: dict) -> None:
    """A row a figure, a column a size."""
    sizes = result.get("sizes", [{}])
    rows = [(name, [value]) for name, value in result.items() if name != "sizes"]
    rows += [(name, [size[name] for size in sizes]) for name in sizes[0]]
    for name, values in rows:
        if isinstance(values[0], dict):
            print(f"{name}:")
            parts = [(f"  {part}", [value[part] for value in values]) for part in values[0]]
        else:
            parts = [(name, values)]
        for label, numbers in parts:
            print(f"{label:32s}", *(f"{text(number):>12s}" for number in numbers))


def text(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def parse(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="what", required=True, metavar="env | phases | train")
    options = {
        name: commands.add_parser(name, help=about, description=f"Measures {about}.")
        for name, (_, about) in COMMANDS.items()
    }
    for command in options.values():
        command.add_argument(
            "--num-envs", type=whole_number(1, 64, MAX_WORLDS), nargs="+", default=[64],
            metavar="N", help="worlds in the batch, one or several sizes; default 64",
        )  # fmt: skip
        command.add_argument(
            "--repeats", type=whole_number(1, 5, 10_000), default=5, metavar="N",
            help="measurements, of which the median counts; default 5",
        )  # fmt: skip
        command.add_argument(
            "--json", metavar="FILE", type=file_to_write, help="also write the figures here"
        )
    for name in ("env", "phases"):
        options[name].add_argument(
            "--steps", type=whole_number(1, 200, MAX_STEPS), default=200, metavar="N",
            help="steps of each world in a measurement; default 200",
        )  # fmt: skip
    options["env"].add_argument(
        "--reference", metavar="PYTHON", help="interpreter that has alem-env; take turns with it"
    )
    options["train"].add_argument(
        "--num-steps", type=whole_number(1, 64, 2**16), default=64, metavar="N",
        help="steps of each world in an update; default 64",
    )  # fmt: skip
    options["train"].add_argument(
        "--learner", choices=LEARNERS, nargs="+", default=["ippo"], metavar="NAME",
        help=f"as learner=NAME of scripts/train.py, of {', '.join(LEARNERS)}; default: ippo",
    )  # fmt: skip
    options["train"].add_argument(
        "--preset", choices=["published", "cpu"], nargs="+", default=["published"], metavar="NAME",
        help="network and hyper-parameters: published, cpu (scripts/train.py's own), or both; "
        "default: published",
    )  # fmt: skip
    options["train"].add_argument(
        "--reference", metavar="PYTHON",
        help="interpreter that has alem-env[baselines-rl]; take turns with its IPPO trainer",
    )  # fmt: skip
    options["train"].add_argument(
        "--baselines", metavar="FOLDER", type=folder_of_baselines,
        help=f"folder with the published {TRAINER}, of a checkout of alem-env",
    )  # fmt: skip
    args = parser.parse_args(argv)
    if args.what == "train" and bool(args.reference) != bool(args.baselines):
        options["train"].error(
            "--reference and --baselines go together: the interpreter, and the trainers, which "
            "alem-env's package lacks"
        )
    return args


def main() -> int:
    args = parse()
    # after --help and bad options
    import jax
    from reference_python import ReferenceFailed

    jax.config.update("jax_enable_compilation_cache", False)  # or compile times mean nothing
    measure, _ = COMMANDS[args.what]
    try:
        figures = measure(args)
    except ReferenceFailed as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    device = jax.devices()[0].platform
    result = {"what": args.what, "jax": jax.__version__, "device": device} | figures
    show(result)
    if args.json:
        args.json.write_text(json.dumps(result, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    run(main)
