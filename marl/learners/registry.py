"""Learners by the name the command line knows."""

from collections.abc import Callable
from typing import NamedTuple

from marl.learners import ippo
from marl.learners.ppo_config import PPOConfig


class Entry(NamedTuple):
    """How a learner is made, and the class of its hyper-parameters."""

    make: Callable  # (env, network, config, env_params) -> marl.types.Learner
    options: type


LEARNERS = {"ippo": Entry(ippo.make, PPOConfig)}


def get(name: str) -> Callable:
    """The `make(env, network, config, env_params)` of that learner."""
    if name not in LEARNERS:
        raise ValueError(f"learner={name!r} is unknown; choose one of {', '.join(LEARNERS)}")
    return LEARNERS[name].make
