"""MAPPO (arXiv 2103.01955): shared actors, and a critic that sees what all agents see.

Actor and critic share nothing, and their gradients are clipped apart, as published.
"""

import dataclasses
from typing import ClassVar

from marl.learners.on_policy import OnPolicyLearner, make_learner
from marl.learners.ppo_config import TeamPPOConfig
from marl.networks.centralised import make_centralised_policy
from marl.networks.sizes import CentralisedConfig
from marl.tasks import make_task
from marl.types import PyTree


@dataclasses.dataclass(frozen=True)
class MAPPOConfig(TeamPPOConfig):
    """Hyper-parameters of MAPPO. What its critic sees is an option of the network."""

    clip_by: ClassVar[str] = "networks"

    num_envs: int = 512
    total_updates: int = 30_517


def make(
    env, network: CentralisedConfig, config: MAPPOConfig, env_params: PyTree = None
) -> OnPolicyLearner:
    """A learner for a vector environment; arguments and result as of `marl.learners.ippo.make`."""
    task = make_task(env)
    return make_learner(task, make_centralised_policy(network, task), config, env_params)
