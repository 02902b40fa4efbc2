"""Measure speed and memory of the world and of training.

    python scripts/benchmark.py env   [--num-envs N] [--reference PYTHON] [--json FILE]
    python scripts/benchmark.py train [--num-envs N] [--network cpu|published] [--json FILE]

`env` measures warm world-steps a second with legal mask and observation under random legal play,
without and with automatic resets; compile time; bytes a world and a stored observation; import
time. With --reference (an interpreter that has alem-env installed) the two take turns in the same
call and ratios are printed, above 1 where this project is better. Only ratios carry over to other
machines. `train` measures whole updates of IPPO, split into rollout and learning.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp

import alem_env

DIFFICULTY = "hard"
CHANNELS = 4


class WorldBench:
    """A batch of worlds that plays random legal actions for `steps` steps a measurement."""

    def __init__(self, num_envs: int, steps: int, resets: bool):
        self.num_envs, self.steps = num_envs, steps
        self.env = alem_env.make(num_agents=3, num_comm_channels=CHANNELS)
        self.params = alem_env.difficulty(DIFFICULTY)
        key = jax.random.key(0)
        if resets:
            self.vector = alem_env.VectorEnv(self.env, num_envs)
            obs, self.state = self.vector.reset(key, self.params)
            world = self.state.env_state
        else:
            keys = jax.random.split(key, num_envs)
            obs, self.state = self.env.reset_batch(keys, self.params)
            world = self.state
        self.carry = jax.block_until_ready((self.state, obs, jax.random.key(1)))
        self.state_bytes = _nbytes(world) // num_envs
        self.obs_bytes = _nbytes(obs) // num_envs // self.env.static.num_agents
        step = self._step_resets if resets else self._step_free
        run = alem_env.compiled(
            lambda carry: jax.lax.scan(step, carry, None, length=steps), donate_argnums=0
        )
        started = time.perf_counter()
        self.run = run.lower(self.carry).compile()
        self.compile_s = time.perf_counter() - started
        self.measure()  # warm up

    def _act(self, carry):
        state, obs, key = carry
        key, act_key, step_key = jax.random.split(key, 3)
        actions = jax.random.categorical(act_key, jnp.where(obs.legal, 0.0, -1e9))
        return state, actions, key, step_key

    def _step_free(self, carry, _):
        state, actions, key, step_key = self._act(carry)
        keys = jax.random.split(step_key, self.num_envs)
        obs, state, reward, *_ = self.env.step_batch(keys, state, actions, self.params)
        return (state, obs, key), _touch(obs, reward)

    def _step_resets(self, carry, _):
        state, actions, key, step_key = self._act(carry)
        obs, state, reward, *_ = self.vector.step(step_key, state, actions, self.params)
        return (state, obs, key), _touch(obs, reward)

    def measure(self) -> float:
        started = time.perf_counter()
        self.carry, _ = jax.block_until_ready(self.run(self.carry))
        return time.perf_counter() - started

    @property
    def world_steps(self) -> int:
        return self.steps * self.num_envs


class Reference:
    """The worker process that runs alem-env in its own interpreter."""

    def __init__(self, python: str):
        worker = Path(__file__).with_name("benchmark_reference.py")
        self.process = subprocess.Popen(
            [python, str(worker)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, **request) -> dict:
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("--reference: its interpreter stopped; does it have alem-env?")
        return json.loads(line)

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(timeout=30)


def benchmark_env(args: argparse.Namespace) -> dict:
    """Figures of both worlds; `ratio_*` where a reference is given."""
    result = {"num_envs": args.num_envs, "difficulty": DIFFICULTY, "channels": CHANNELS}
    result["import_s"] = import_seconds()
    reference = Reference(args.reference) if args.reference else None
    for name, resets in (("step", False), ("step_with_resets", True)):
        ours = WorldBench(args.num_envs, args.steps, resets)
        theirs = None
        if reference:
            # alem-env generates a world for every step with resets: fewer steps a measurement
            theirs = reference.ask(
                do="prepare", num_envs=args.num_envs, difficulty=DIFFICULTY, channels=CHANNELS,
                steps=max(1, args.steps // (40 if resets else 10)), resets=resets,
            )  # fmt: skip
        our_rates, their_rates = [], []
        for _ in range(args.repeats):
            our_rates.append(ours.world_steps / ours.measure())
            if reference:
                answer = reference.ask(do="measure", resets=resets)
                their_rates.append(answer["world_steps"] / answer["seconds"])
        result[f"{name}_per_s"] = statistics.median(our_rates)
        result[f"{name}_us"] = 1e6 / statistics.median(our_rates)
        result[f"{name}_compile_s"] = ours.compile_s
        result |= {"state_bytes": ours.state_bytes, "obs_bytes": ours.obs_bytes}
        if theirs:
            result[f"reference_{name}_us"] = 1e6 / statistics.median(their_rates)
            pairs = zip(our_rates, their_rates, strict=True)
            result[f"ratio_{name}"] = statistics.median(o / t for o, t in pairs)
            if not resets:
                result["reference_compile_s"] = theirs["compile_s"]
                result["ratio_compile"] = theirs["compile_s"] / ours.compile_s
                result["ratio_state_bytes"] = theirs["state_bytes"] / ours.state_bytes
                result["ratio_obs_bytes"] = theirs["obs_bytes"] / ours.obs_bytes
    if reference:
        reference.close()
    return result


def benchmark_train(args: argparse.Namespace) -> dict:
    """Whole IPPO updates: world-steps a second, and where the time goes."""
    from marl.training.timing import time_updates

    return time_updates(
        num_envs=args.num_envs, num_steps=args.num_steps, network=args.network,
        difficulty=DIFFICULTY, channels=CHANNELS, repeats=args.repeats,
    )  # fmt: skip


def import_seconds() -> float:
    """Seconds that `import alem_env` takes beyond `import jax`, in a new process."""
    code = (
        "import jax, time; t = time.perf_counter(); import alem_env; print(time.perf_counter() - t)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(out.stdout)


def _touch(obs, reward) -> jax.Array:
    """A number that depends on every output, so that none is optimised away."""
    return sum(leaf.sum().astype(jnp.float32) for leaf in jax.tree.leaves((obs, reward)))


def _nbytes(tree) -> int:
    return sum(leaf.nbytes for leaf in jax.tree.leaves(tree))


def show(result: dict) -> None:
    for name, value in result.items():
        print(f"{name:32s} {value:.4g}" if isinstance(value, float) else f"{name:32s} {value}")


def parse(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["env", "train"])
    parser.add_argument("--num-envs", type=_positive, default=64, help="worlds in the batch")
    parser.add_argument("--steps", type=_positive, default=200, help="env: steps a measurement")
    parser.add_argument("--repeats", type=_positive, default=5, help="measurements; median counts")
    parser.add_argument("--num-steps", type=_positive, default=64, help="train: rollout length")
    parser.add_argument("--network", choices=["cpu", "published"], default="published")
    parser.add_argument("--reference", metavar="PYTHON", help="interpreter that has alem-env")
    parser.add_argument("--json", metavar="FILE", type=Path, help="also write the figures here")
    args = parser.parse_args(argv)
    if args.reference and args.what == "train":
        parser.error("--reference: alem-env's package has no trainer; it goes with 'env'")
    if args.json and not args.json.resolve().parent.is_dir():
        parser.error(f"--json {args.json}: the folder does not exist")
    return args


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} must be at least 1")
    return value


def main() -> None:
    args = parse()
    result = benchmark_env(args) if args.what == "env" else benchmark_train(args)
    result = {
        "what": args.what,
        "jax": jax.__version__,
        "device": jax.devices()[0].platform,
    } | result
    show(result)
    if args.json:
        args.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
