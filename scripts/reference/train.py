"""Speed of the benchmark's own IPPO trainer, for `benchmark_reference.py`."""

import importlib
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import jax
from alem.alem_coop.alem_state import EnvParams, StaticEnvParams, get_coordination_params
from alem.alem_env import make_alem_env_from_name

UPDATES = 2  # of a measurement: the second is timed, since the first shares its run with the set-up


class Trainer:
    """The program that the trainer's `make_train` makes, for as many updates.

    Its options are those of its own YAML file, but for sizes and difficulty. It is left as it is:
    what it logs after each update (wandb.log) tells when that ended.
    """

    def __init__(self, baselines, num_envs, num_steps, difficulty, channels):
        sys.path.insert(0, baselines)
        module = importlib.import_module("ippo_rnn")
        self.ends = []
        module.wandb = SimpleNamespace(log=lambda *_, **__: self.ends.append(time.perf_counter()))
        self.world_steps = num_envs * num_steps
        from omegaconf import OmegaConf

        options = OmegaConf.to_container(OmegaConf.load(Path(baselines) / "config/ippo_rnn.yaml"))
        options |= dict(
            NUM_ENVS=num_envs, NUM_STEPS=num_steps, TOTAL_TIMESTEPS=UPDATES * self.world_steps,
            NUM_COMM_CHANNELS=channels, TRAINING_COORDINATION_DIFFICULTY=difficulty,
        )  # fmt: skip
        sequences = num_envs * options["NUM_AGENTS"]
        wanted = options["NUM_MINIBATCHES"]
        options["NUM_MINIBATCHES"] = max(n for n in range(1, wanted + 1) if sequences % n == 0)
        train = jax.jit(jax.vmap(module.make_train(options, _environment(options))))
        self.keys = jax.random.split(jax.random.PRNGKey(0), 1)
        started = time.perf_counter()
        self.run = train.lower(self.keys).compile()
        self.compile_s = time.perf_counter() - started

    def measure(self):
        """Seconds of an update."""
        self.ends.clear()
        jax.block_until_ready(self.run(self.keys))
        jax.effects_barrier()
        first, second = self.ends
        return second - first


def _environment(options):
    """As the trainer's own `single_run` makes it."""
    numbers = get_coordination_params(options["TRAINING_COORDINATION_DIFFICULTY"])
    numbers |= dict(
        soft_specialization=options["SOFT_SPECIALIZATION"],
        specialist_efficiency=options["SPECIALIST_EFFICIENCY"],
        non_specialist_efficiency=options["NON_SPECIALIST_EFFICIENCY"],
    )
    return make_alem_env_from_name(
        options["ENV_NAME"],
        env_params=EnvParams(shared_reward=options["SHARED_REWARD"], **numbers),
        static_env_params=StaticEnvParams(num_comm_channels=options["NUM_COMM_CHANNELS"]),
    )
