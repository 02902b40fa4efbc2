"""The on-policy learners by name, made small."""

from marl.learners.ppo_config import PPOConfig
from marl.learners.registry import LEARNERS

NAMES = tuple(name for name, entry in LEARNERS.items() if issubclass(entry.options, PPOConfig))


def make_small(name, env, sizes=(5, 6, 4, 3, "tanh"), network=None, **options):
    """A learner with a network of those sizes; `network` are options of its own."""
    entry = LEARNERS[name]
    return entry.make(env, entry.network(*sizes, **(network or {})), entry.options(**options))
