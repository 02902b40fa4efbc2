"""Hyper-parameters of PQN-VDN."""

import dataclasses
from typing import ClassVar

from marl.learners.ppo_config import COUNTED, WHOLE_NUMBERS
from marl.options import whole_in_range

# Share of the run over which exploration falls where no number of steps is given, as published.
EXPLORING_SHARE = 0.1


@dataclasses.dataclass(frozen=True)
class PQNConfig:
    """Hyper-parameters of PQN-VDN. Defaults are the published ones, with faults corrected.

    Attributes:
        num_envs: environments that run side by side.
        num_steps: steps of each in a rollout.
        num_minibatches: parts a rollout is split into; must divide num_envs, as a team's agents
            stay together.
        update_epochs: passes over a rollout.
        total_updates: updates of the whole run; the learning rate reaches zero after them.
        gamma, q_lambda: discount, and decay of the trace (see `marl.ops.q_lambda`).
        lr, anneal_lr: step size at the start, and whether it falls linearly to zero.
        max_grad_norm: global norm above which gradients are scaled down.
        epsilon_start, epsilon_final: probability of a random legal action, at the start and after
            `epsilon_decay_steps`; it falls linearly.
        epsilon_decay_steps: environment steps; None: a tenth of the run, as published.
        mask_dead_agents: what agents that cannot act are worth leaves the team's sum, in
            predictions and in targets. Published treatment: False.
        bootstrap_truncated: a time limit is no end: the target goes on with the worth of what
            would have followed. Published treatment: False.
        learn_last_step: the last step of a rollout is learnt from, too: its target rests on the
            observation that follows. Published treatment: False; it serves as that observation.
        blank_first_observation: in training, the first observation of each episode is all zeros.
            Published treatment: True.
    """

    # A minibatch holds whole teams: PPO splits by agents.
    splits_agents: ClassVar[bool] = False
    # Q values are in units of reward.
    value_norm: ClassVar[bool] = False

    num_envs: int = 512
    num_steps: int = 128
    num_minibatches: int = 16
    update_epochs: int = 4
    total_updates: int = 15_258
    gamma: float = 0.99
    q_lambda: float = 0.9
    lr: float = 5e-5
    anneal_lr: bool = True
    max_grad_norm: float = 0.5
    epsilon_start: float = 1.0
    epsilon_final: float = 0.01
    epsilon_decay_steps: int | None = None
    mask_dead_agents: bool = True
    bootstrap_truncated: bool = True
    learn_last_step: bool = True
    blank_first_observation: bool = False

    def __post_init__(self):
        for name, most in WHOLE_NUMBERS.items():
            whole_in_range(name, getattr(self, name), 1, most)
        if self.epsilon_decay_steps is not None:
            whole_in_range("epsilon_decay_steps", self.epsilon_decay_steps, 1, COUNTED)
        for name in ("gamma", "q_lambda", "epsilon_start", "epsilon_final"):
            value = getattr(self, name)
            if not 0.0 <= value <= 1.0:
                raise ValueError(f"{name}={value!r} must be between 0 and 1")
        for name in ("lr", "max_grad_norm"):
            value = getattr(self, name)
            if not value > 0.0:
                raise ValueError(f"{name}={value!r} must be above 0")
        if self.num_steps == 1 and not self.learn_last_step:
            raise ValueError(
                "learn_last_step=False leaves nothing to learn from with num_steps=1; "
                "raise num_steps, or set learn_last_step=True"
            )

    @property
    def needs_length(self) -> tuple[str, str] | None:
        """The option for which the run's length must be known, and what to give instead."""
        if self.anneal_lr:
            return "anneal_lr=true", "anneal_lr=false"
        if self.epsilon_decay_steps is None:
            return "epsilon_decay_steps=null", "epsilon_decay_steps=N"
        return None

    @property
    def exploring_updates(self) -> float:
        """Updates over which exploration falls."""
        if self.epsilon_decay_steps is None:
            return EXPLORING_SHARE * self.total_updates
        return self.epsilon_decay_steps / (self.num_envs * self.num_steps)

    def sequences_per_minibatch(self, num_agents: int) -> int:
        """Team sequences in a minibatch. Raises if the minibatches do not come out even."""
        del num_agents  # they stay together
        if self.num_envs % self.num_minibatches:
            raise ValueError(
                f"num_minibatches={self.num_minibatches} must divide num_envs={self.num_envs}"
            )
        return self.num_envs // self.num_minibatches
