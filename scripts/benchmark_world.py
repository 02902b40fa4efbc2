"""Speed and memory of the world, alone or in turns with the reference. See `benchmark.py`."""

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
from command_line import note
from reference_python import ReferenceFailed, environment

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
        self.state_bytes = nbytes(world) // num_envs
        self.obs_bytes = nbytes(obs) // num_envs // self.env.static.num_agents
        step = self._step_resets if resets else self._step_free
        run = alem_env.compiled(
            lambda carry: jax.lax.scan(step, carry, None, length=steps), donate_argnums=0
        )
        started = time.perf_counter()
        self.run = run.lower(self.carry).compile()
        self.compile_s = time.perf_counter() - started
        self.measure()  # warm up

    def _step_free(self, carry, _):
        state, obs, key = carry
        actions, key, step_key = act(obs, key)
        keys = jax.random.split(step_key, self.num_envs)
        obs, state, reward, *_ = self.env.step_batch(keys, state, actions, self.params)
        return (state, obs, key), touch((obs, reward))

    def _step_resets(self, carry, _):
        state, obs, key = carry
        actions, key, step_key = act(obs, key)
        obs, state, reward, *_ = self.vector.step(step_key, state, actions, self.params)
        return (state, obs, key), touch((obs, reward))

    def measure(self) -> float:
        started = time.perf_counter()
        self.carry, _ = jax.block_until_ready(self.run(self.carry))
        return time.perf_counter() - started

    @property
    def world_steps(self) -> int:
        return self.steps * self.num_envs


class Reference:
    """The worker process that runs alem-env in its own interpreter, while entered."""

    def __init__(self, python: str):
        self.python = python

    def __enter__(self) -> "Reference":
        worker = Path(__file__).with_name("benchmark_reference.py")
        self.process = subprocess.Popen(
            [self.python, str(worker)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            # what it compiled before is not used, or its compile time would mean nothing
            env=environment(JAX_ENABLE_COMPILATION_CACHE="false"),
            process_group=0,  # Ctrl-C is for this process alone, which then ends the worker
        )  # fmt: skip
        return self

    def __exit__(self, kind, *_) -> None:
        if kind is None:
            self.process.stdin.close()
        else:
            self.process.kill()
        self.process.wait()

    def ask(self, **request) -> dict:
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise ReferenceFailed(
                f"--reference {self.python}: stopped while measuring; what it said is above. "
                "If memory ran out, lower --num-envs"
            )
        return json.loads(line)


def measure_world(num_envs: int, args: argparse.Namespace, reference: Reference | None) -> dict:
    """Figures of `num_envs` worlds; `ratio_*` where a reference is given."""
    result = {"num_envs": num_envs}
    for name, resets in (("step", False), ("step_with_resets", True)):
        what = "with automatic resets" if resets else "without resets"
        note(f"{num_envs} worlds: compiling the step {what} ...")
        ours = WorldBench(num_envs, args.steps, resets)
        theirs = None
        if reference:
            note(f"{num_envs} worlds: the reference compiles its step {what} ...")
            # alem-env generates a world for every step with resets: fewer steps a measurement
            theirs = reference.ask(
                do="prepare", num_envs=num_envs, difficulty=DIFFICULTY, channels=CHANNELS,
                steps=max(1, args.steps // (40 if resets else 10)), resets=resets,
            )  # fmt: skip
        note(f"{num_envs} worlds: measuring {args.repeats} times ...")
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
    return result


def import_seconds() -> float:
    """Seconds that `import alem_env` takes beyond `import jax`, in a new process."""
    code = (
        "import jax, time; t = time.perf_counter(); import alem_env; print(time.perf_counter() - t)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(out.stdout)


def act(obs, key: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Random legal actions (E, A), the next key, and the key of a step."""
    key, act_key, step_key = jax.random.split(key, 3)
    actions = jax.random.categorical(act_key, jnp.where(obs.legal, 0.0, -1e9))
    return actions, key, step_key


def touch(tree) -> jax.Array:
    """A number that depends on every array, so that none is optimised away."""
    return sum((leaf.sum().astype(jnp.float32) for leaf in jax.tree.leaves(tree)), jnp.zeros(()))


def nbytes(tree) -> int:
    return sum(leaf.nbytes for leaf in jax.tree.leaves(tree))
