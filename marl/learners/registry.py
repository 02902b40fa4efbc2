"""Learners by the name the command line knows."""

from collections.abc import Callable
from typing import NamedTuple

from marl.learners import hypermarl, ippo, ippo_unshared, mappo, pqn_vdn
from marl.learners.ppo_config import PPOConfig, TeamPPOConfig
from marl.learners.pqn_config import PQNConfig
from marl.networks.sizes import CentralisedConfig, HyperConfig, NetworkConfig, QNetworkConfig


class Entry(NamedTuple):
    """How a learner is made, and the classes of its hyper-parameters and of its network's."""

    make: Callable  # (env, network, config, env_params) -> marl.types.Learner
    options: type  # of the kind `marl.types.LearnerOptions`
    network: type = NetworkConfig


LEARNERS = {
    "ippo": Entry(ippo.make, PPOConfig),
    "ippo_unshared": Entry(ippo_unshared.make, ippo_unshared.UnsharedConfig),
    "mappo": Entry(mappo.make, mappo.MAPPOConfig, CentralisedConfig),
    "hypermarl": Entry(hypermarl.make, TeamPPOConfig, HyperConfig),
    "pqn_vdn": Entry(pqn_vdn.make, PQNConfig, QNetworkConfig),
}


def get(name: str) -> Callable:
    """The `make(env, network, config, env_params)` of that learner."""
    if name not in LEARNERS:
        raise ValueError(f"learner={name!r} is unknown; choose one of {', '.join(LEARNERS)}")
    return LEARNERS[name].make
