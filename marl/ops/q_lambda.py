"""Targets of Q-learning over several steps, from data of the team that learns.

Q(lambda) of Peng and Williams (1996), which PQN uses (arXiv 2407.04811, section 3): the trace is
not cut where an action was not the greedy one.
"""

import chex
import jax
import jax.numpy as jnp
from jax import lax

from marl.ops import masked_categorical


def greedy_value(q_values: jax.Array, legal: jax.Array) -> jax.Array:
    """The largest Q (...) among legal actions, of (..., N) both; that of the no-op where nothing
    is legal."""
    return jnp.max(masked_categorical.mask_logits(q_values, legal), axis=-1)


def chosen_value(q_values: jax.Array, actions: jax.Array) -> jax.Array:
    """Q (...) of the given actions (...), of (..., N)."""
    chosen = actions[..., None] == jnp.arange(q_values.shape[-1])
    return jnp.sum(jnp.where(chosen, q_values, 0.0), axis=-1)


def q_lambda(
    reward: jax.Array,
    value: jax.Array,
    terminated: jax.Array,
    truncated: jax.Array,
    final_value: jax.Array,
    gamma: float,
    trace_decay: float,
) -> jax.Array:
    """Targets of a rollout in which episodes end and new ones begin.

    G_t = r_t + gamma * ((1 - lambda) * v_{t+1} + lambda * G_{t+1}), with G_T = v_T. After an end
    it is r_t, and after a truncation r_t + gamma * `final_value`.

    Args:
        reward: (T, ...).
        value: (T + 1, ...), what the greedy choice is worth in each observation; the last is that
            of the observation after the last step.
        terminated, truncated: (T, ...) bool, of what the action at t brought about. Both set means
            terminated.
        final_value: (T, ...), worth of what would have followed; read only where truncated.
        gamma: discount.
        trace_decay: lambda.

    Returns:
        (T, ...) targets.
    """
    chex.assert_equal_shape([reward, value[1:], terminated, truncated, final_value])

    def step(target_tp1, inputs):
        reward_t, value_tp1, terminated_t, truncated_t, final_t = inputs
        after = (1.0 - trace_decay) * value_tp1 + trace_decay * target_tp1
        after = jnp.where(truncated_t, final_t, after)
        after = jnp.where(terminated_t, 0.0, after)
        target_t = reward_t + gamma * after
        return target_t, target_t

    inputs = (reward, value[1:], terminated, truncated, final_value)
    return lax.scan(step, value[-1], inputs, reverse=True)[1]
