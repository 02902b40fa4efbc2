"""IPPO with parameter sharing: every agent acts and learns with one network, alone."""

from marl.learners.on_policy import OnPolicyLearner, make_learner
from marl.learners.ppo_config import PPOConfig
from marl.networks.factory import make_policy
from marl.networks.sizes import NetworkConfig
from marl.tasks import make_task
from marl.types import PyTree


def make(
    env, network: NetworkConfig, config: PPOConfig, env_params: PyTree = None
) -> OnPolicyLearner:
    """A learner for a vector environment.

    Args:
        env: `alem_env.VectorEnv`, a probe, or anything of the kind `marl.types.VectorEnv`.
        network: sizes of the network.
        config: hyper-parameters.
        env_params: traced numbers handed to the environment at each call.

    Returns:
        `learner.init(key)`, `learner.train_step(state)` and `learner.policy`; and apart,
        `learner.collect(state) -> (state, batch)` and
        `learner.update(state, batch) -> (state, metrics)`, which donate nothing.

    Raises:
        ValueError: `config.num_envs` is not the environment's, or `config.num_minibatches` does not
            divide a rollout.
    """
    task = make_task(env)
    return make_learner(task, make_policy(network, task), config, env_params)
