"""IPPO without parameter sharing: every agent acts and learns with a network of its own.

Agents learn side by side from the same environments, and touch nothing of one another: losses,
statistics and the clipping of gradients are each agent's own.
"""

import dataclasses
from typing import ClassVar

from marl.learners.on_policy import OnPolicyLearner, make_learner
from marl.learners.ppo_config import TeamPPOConfig
from marl.networks.sizes import NetworkConfig
from marl.networks.unshared import make_unshared_policy
from marl.tasks import make_task
from marl.types import PyTree


@dataclasses.dataclass(frozen=True)
class UnsharedConfig(TeamPPOConfig):
    """Hyper-parameters of IPPO without sharing.

    Attributes:
        clip_jointly: one norm of all agents' gradients decides how much all are scaled down, so
            that a large gradient of one slows the others. Published treatment: True.
    """

    separate_agents: ClassVar[bool] = True

    clip_jointly: bool = False

    @property
    def clip_by(self) -> str:
        return "all" if self.clip_jointly else "agents"


def make(
    env, network: NetworkConfig, config: UnsharedConfig, env_params: PyTree = None
) -> OnPolicyLearner:
    """A learner for a vector environment; arguments and result as of `marl.learners.ippo.make`."""
    task = make_task(env)
    return make_learner(task, make_unshared_policy(network, task), config, env_params)
