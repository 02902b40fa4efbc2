"""IPPO with parameter sharing: every agent acts and learns with one network."""

from marl.learners.on_policy import PPOConfig
from marl.networks.factory import NetworkConfig
from marl.types import Learner


def make(env, network: NetworkConfig, ppo: PPOConfig, env_params=None) -> Learner:
    """A learner for a vector environment.

    Args:
        env: `alem_env.VectorEnv`, a probe, or anything of the kind `marl.types.VectorEnv`.
        env_params: traced numbers handed to the environment; its default ones if None.

    Returns:
        `learner.init(key)`, `learner.train_step(state)`, `learner.policy`, and for tests
        `learner.collect(state) -> (state, batch)`, `learner.update(state, batch) -> (state, metrics)`.
    """
    raise NotImplementedError
