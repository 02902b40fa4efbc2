"""How fast whole updates are, and where the time goes. For `scripts/benchmark.py`."""

import statistics
import time
from collections.abc import Callable

import jax

import alem_env
from marl.learners import ippo
from marl.learners.ppo_config import PPOConfig
from marl.networks import factory

NETWORKS = {"small": factory.CPU, "published": factory.PUBLISHED}  # as conf/network/


def time_updates(
    *, num_envs: int, num_steps: int, network: str, difficulty: str, channels: int, repeats: int
) -> dict[str, float]:
    """Times IPPO on ALEM: rollout and learning by themselves, each compiled and warmed up first.

    Args:
        num_envs: worlds side by side.
        num_steps: steps of each world between two updates.
        network: key of `NETWORKS`.
        difficulty: of the world.
        channels: message actions.
        repeats: measurements; the median counts.

    Returns:
        World-steps a second, seconds of rollout and learning an update, seconds to compile.
    """
    env = alem_env.VectorEnv(alem_env.make(num_comm_channels=channels), num_envs)
    sequences = num_envs * env.num_agents
    config = PPOConfig(
        num_envs=num_envs,
        num_steps=num_steps,
        num_minibatches=max(m for m in range(1, 9) if sequences % m == 0),
        total_updates=repeats + 1,
    )
    learner = ippo.make(env, NETWORKS[network], config, alem_env.difficulty(difficulty))
    state = learner.init(jax.random.key(0))
    collect, update = learner.collect, learner.update
    first_collect, (state, batch) = _seconds(collect, state)
    first_update, (state, _) = _seconds(update, state, batch)
    rollouts, updates = [], []
    for _ in range(repeats):
        seconds, (state, batch) = _seconds(collect, state)
        rollouts.append(seconds)
        seconds, (state, _) = _seconds(update, state, batch)
        updates.append(seconds)
    rollout, learning = statistics.median(rollouts), statistics.median(updates)
    return dict(
        num_envs=num_envs,
        num_steps=num_steps,
        network=network,
        steps_per_s=num_envs * num_steps / (rollout + learning),
        rollout_s=rollout,
        learning_s=learning,
        compile_s=first_collect + first_update - rollout - learning,
    )


def _seconds(function: Callable, *args):
    started = time.perf_counter()
    result = jax.block_until_ready(function(*args))
    return time.perf_counter() - started, result
