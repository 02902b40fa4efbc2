"""HyperMARL (arXiv 2412.04233): IPPO whose agents have heads generated from what they are."""

from marl.learners.on_policy import OnPolicyLearner, make_learner
from marl.learners.ppo_config import TeamPPOConfig
from marl.networks.hypernetwork import make_hyper_policy
from marl.networks.sizes import HyperConfig
from marl.tasks import make_task
from marl.types import PyTree


def make(
    env, network: HyperConfig, config: TeamPPOConfig, env_params: PyTree = None
) -> OnPolicyLearner:
    """A learner for a vector environment; arguments and result as of `marl.learners.ippo.make`."""
    task = make_task(env)
    return make_learner(task, make_hyper_policy(network, task), config, env_params)
