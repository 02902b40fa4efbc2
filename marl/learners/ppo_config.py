"""Hyper-parameters of learners that use PPO's loss."""

import dataclasses
from typing import ClassVar

from marl.options import whole_in_range

# Whole numbers, which start at 1, and the largest that is counted or makes sense.
COUNTED = 2**31 - 1
WHOLE_NUMBERS = {
    "num_envs": COUNTED,
    "num_steps": COUNTED,
    "num_minibatches": COUNTED,
    "update_epochs": 1000,
    "total_updates": COUNTED,
}

# The largest values of limits, which larger ones would never set.
LIMITS = {"huber_delta": 1e6, "max_kl": 1e3}

ADVANTAGE_NORMS = ("minibatch", "batch")


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
        advantage_norm: over which rows advantages get mean 0 and deviation 1: "minibatch", those
            of a gradient step, as published, or "batch", the whole rollout.
        value_norm: the critic learns returns scaled by their running mean and deviation, and its
            values are scaled back wherever rewards meet them (`marl.ops.value_norm`). The value's
            `clip_eps` and `huber_delta` are then in those units. Published: False.
        huber_delta: value errors beyond it count linearly; None: all count squared, as published.
        max_kl: gradient steps of an update end with the first whose approximate KL to the team
            that played is larger; None: none ends early, as published.
    """

    # A minibatch holds sequences of single agents, else of whole teams.
    splits_agents: ClassVar[bool] = True
    # Agents share nothing: each has a loss, and statistics, of its own.
    separate_agents: ClassVar[bool] = False
    # Whose gradients are scaled down together: a key of `marl.ops.clipping.CLIPS`.
    clip_by: ClassVar[str] = "all"

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
    advantage_norm: str = "minibatch"
    value_norm: bool = False
    huber_delta: float | None = None
    max_kl: float | None = None

    def __post_init__(self):
        for name, most in WHOLE_NUMBERS.items():
            whole_in_range(name, getattr(self, name), 1, most)
        for name in ("gamma", "gae_lambda"):
            value = getattr(self, name)
            if not 0.0 <= value <= 1.0:
                raise ValueError(f"{name}={value!r} must be between 0 and 1")
        for name in ("clip_eps", "lr", "max_grad_norm", "adam_eps"):
            value = getattr(self, name)
            if not value > 0.0:
                raise ValueError(f"{name}={value!r} must be above 0")
        for name, most in LIMITS.items():
            value = getattr(self, name)
            if value is not None and not 0.0 < value <= most:
                raise ValueError(
                    f"{name}={value!r} must be above 0 and at most {most:g}; null: no limit"
                )
        for name in ("ent_coef", "vf_coef"):
            value = getattr(self, name)
            if not value >= 0.0:
                raise ValueError(f"{name}={value!r} must not be negative")
        if self.advantage_norm not in ADVANTAGE_NORMS:
            raise ValueError(
                f"advantage_norm={self.advantage_norm!r} is unknown; "
                f"choose one of {', '.join(ADVANTAGE_NORMS)}"
            )

    @property
    def needs_length(self) -> tuple[str, str] | None:
        """The option for which the run's length must be known, and what to give instead."""
        return ("anneal_lr=true", "anneal_lr=false") if self.anneal_lr else None

    def sequences_per_minibatch(self, num_agents: int) -> int:
        """Sequences in a minibatch, of agents or of teams (`splits_agents`). Raises if the
        minibatches do not come out even."""
        sequences, what = self.num_envs, f"num_envs = {self.num_envs}"
        if self.splits_agents:
            sequences *= num_agents
            what = f"num_envs * num_agents = {self.num_envs} * {num_agents} = {sequences}"
        if sequences % self.num_minibatches:
            raise ValueError(f"num_minibatches={self.num_minibatches} must divide {what}")
        return sequences // self.num_minibatches


@dataclasses.dataclass(frozen=True)
class TeamPPOConfig(PPOConfig):
    """Hyper-parameters of PPO where the network must see whole teams: minibatches are drawn from
    the environments, and `num_minibatches` must divide num_envs."""

    splits_agents: ClassVar[bool] = False
