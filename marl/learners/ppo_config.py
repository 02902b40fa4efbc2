"""Hyper-parameters of learners that use PPO's loss."""

import dataclasses

from marl.options import whole_in_range

# Whole numbers, which start at 1, and the largest that is counted or makes sense.
_COUNTED = 2**31 - 1
_MOST = {
    "num_envs": _COUNTED,
    "num_steps": _COUNTED,
    "num_minibatches": _COUNTED,
    "update_epochs": 1000,
    "total_updates": _COUNTED,
}


@dataclasses.dataclass(frozen=True)
class PPOConfig:
    """Hyper-parameters of PPO. Defaults are the published ones, with faults corrected.

    Attributes:
        num_envs: environments that run side by side.
        num_steps: steps of each in a rollout.
        num_minibatches: parts a rollout is split into; must divide num_envs * num_agents.
        update_epochs: passes over a rollout.
        total_updates: updates of the whole run; the learning rate reaches zero after them.
        gamma, gae_lambda: discount, and decay of the advantage estimate.
        clip_eps: range of the probability ratio, and of the value's change (reward units).
        ent_coef, vf_coef: weights of entropy and value loss.
        lr, anneal_lr: step size at the start, and whether it falls linearly to zero.
        max_grad_norm: global norm above which gradients are scaled down.
        adam_eps: Adam's epsilon.
        mask_dead_agents: rows of agents that cannot act leave policy loss, entropy, advantage
            statistics and KL; they stay in the value loss. Published treatment: False.
        bootstrap_truncated: a time limit is no end: the return goes on with the value of what
            would have followed. Published treatment: False.
    """

    num_envs: int = 1024
    num_steps: int = 64
    num_minibatches: int = 8
    update_epochs: int = 4
    total_updates: int = 15_258
    gamma: float = 0.99
    gae_lambda: float = 0.8
    clip_eps: float = 0.2
    ent_coef: float = 0.01
    vf_coef: float = 0.5
    lr: float = 2e-4
    anneal_lr: bool = True
    max_grad_norm: float = 1.0
    adam_eps: float = 1e-5
    mask_dead_agents: bool = True
    bootstrap_truncated: bool = True

    def __post_init__(self):
        for name, most in _MOST.items():
            whole_in_range(name, getattr(self, name), 1, most)
        for name in ("gamma", "gae_lambda"):
            value = getattr(self, name)
            if not 0.0 <= value <= 1.0:
                raise ValueError(f"{name}={value!r} must be between 0 and 1")
        for name in ("clip_eps", "lr", "max_grad_norm", "adam_eps"):
            value = getattr(self, name)
            if not value > 0.0:
                raise ValueError(f"{name}={value!r} must be above 0")
        for name in ("ent_coef", "vf_coef"):
            value = getattr(self, name)
            if not value >= 0.0:
                raise ValueError(f"{name}={value!r} must not be negative")

    def sequences_per_minibatch(self, num_agents: int) -> int:
        """Agent sequences in a minibatch. Raises if the minibatches do not come out even."""
        sequences = self.num_envs * num_agents
        if sequences % self.num_minibatches:
            raise ValueError(
                f"num_minibatches={self.num_minibatches} must divide num_envs * num_agents = "
                f"{self.num_envs} * {num_agents} = {sequences}"
            )
        return sequences // self.num_minibatches
