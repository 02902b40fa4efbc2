"""Learners by the name the command line knows."""

from collections.abc import Callable

from marl.learners import ippo

LEARNERS: dict[str, Callable] = {"ippo": ippo.make}


def get(name: str) -> Callable:
    """The `make(env, network, config, env_params)` of that learner."""
    if name not in LEARNERS:
        raise ValueError(f"learner={name!r} is unknown; choose one of {', '.join(LEARNERS)}")
    return LEARNERS[name]
