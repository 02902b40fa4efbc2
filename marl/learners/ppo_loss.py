"""The loss of PPO on a minibatch of sequences."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp

from marl.learners.ppo_config import PPOConfig
from marl.ops import losses, masked_categorical, value_norm
from marl.ops.statistics import masked_mean, standardise
from marl.types import Metrics, Policy, PyTree


class Sequences(NamedTuple):
    """What the loss reads. Where minibatches are drawn from agents (`config.splits_agents`) one
    sequence for each agent of each environment: leaves (T, N, ...) with N = E * A. Otherwise one
    for each team: leaves (T, E, A, ...)."""

    observation: PyTree
    reset: jax.Array  # bool
    active: jax.Array  # bool
    action: jax.Array  # int32
    log_prob: jax.Array
    value: jax.Array  # as the critic said it: normalised, if `config.value_norm`
    advantage: jax.Array  # in units of reward, or standardised, if `config.advantage_norm` says so
    target: jax.Array  # in units of reward


def loss(
    policy: Policy,
    config: PPOConfig,
    params: PyTree,
    sequences: Sequences,
    carry: PyTree,
    norm: value_norm.ValueNorm | None = None,
) -> tuple[jax.Array, Metrics]:
    """The PPO loss of a minibatch.

    Args:
        policy: how parameters act.
        config: hyper-parameters.
        params: to take the gradient of.
        sequences: the minibatch.
        carry: recurrent state before the first step.
        norm: scale of the critic's values, if `config.value_norm`.

    Returns:
        The loss (the sum of the agents' losses, if they have their own), and what it is made of:
        float32 scalars by the names that `update` lists.
    """
    _, logits, value = policy.unroll(params, carry, sequences.observation, sequences.reset)
    objective = functools.partial(_objective, config)
    if not config.separate_agents:
        return objective(sequences, logits, value, norm)
    each = jax.vmap(objective, in_axes=(2, 2, 2, 0))
    total, metrics = each(sequences, logits, value, norm)
    return jnp.sum(total), {name: jnp.mean(values) for name, values in metrics.items()}


def _objective(config, s, logits, value, norm):
    """The loss of those rows, and what it is made of."""
    legal = s.observation.legal
    log_ratio = masked_categorical.log_prob(logits, legal, s.action) - s.log_prob
    is_raw = config.advantage_norm == "minibatch"
    advantage = standardise(s.advantage, s.active) if is_raw else s.advantage
    policy_loss = masked_mean(
        losses.clipped_policy_loss(log_ratio, advantage, config.clip_eps), s.active
    )
    target = value_norm.normalise(norm, s.target)
    value_loss = jnp.mean(
        losses.clipped_value_loss(value, s.value, target, config.clip_eps, config.huber_delta)
    )
    entropy = masked_mean(masked_categorical.entropy(logits, legal), s.active)
    total = policy_loss + config.vf_coef * value_loss - config.ent_coef * entropy
    clipped = losses.is_clipped(log_ratio, config.clip_eps).astype(jnp.float32)
    return total, {
        "loss/total": total,
        "loss/policy": policy_loss,
        "loss/value": value_loss,
        "loss/entropy": entropy,
        "ppo/approx_kl": masked_mean(losses.approx_kl(log_ratio), s.active),
        "ppo/clip_fraction": masked_mean(clipped, s.active),
    }
