"""Generalised advantage estimation."""

import chex
import jax
import jax.numpy as jnp
from jax import lax


def gae(
    reward: jax.Array,
    value: jax.Array,
    last_value: jax.Array,
    terminated: jax.Array,
    truncated: jax.Array,
    final_value: jax.Array,
    gamma: float,
    gae_lambda: float,
) -> jax.Array:
    """Advantages of a rollout in which episodes end and new ones begin.

    A_t = d_t + gamma * lambda * (1 - done_t) * A_{t+1}, with done = terminated | truncated and
    d_t = r_t + gamma * v'_t - v_t, where v'_t is 0 after an end, the value of what would have
    followed (`final_value`) after a truncation, else the value at t + 1.

    Args:
        reward, value: (T, ...) float.
        last_value: (...) value of the observation after the last step.
        terminated, truncated: (T, ...) bool, of what the action at t brought about. The axes may
            be fewer than those of `reward`; they are filled up on the right. Both set means
            terminated.
        final_value: (T, ...) read only where truncated.

    Returns:
        (T, ...) advantages; `advantages + value` are the targets of the value.
    """
    chex.assert_equal_shape([reward, value, final_value])
    chex.assert_equal_shape([reward[0], last_value])
    terminated = _fill_right(terminated, reward)
    truncated = _fill_right(truncated, reward) & ~terminated
    following = jnp.concatenate([value[1:], last_value[None]])
    following = jnp.where(truncated, final_value, following)
    following = jnp.where(terminated, 0.0, following)
    delta = reward + gamma * following - value
    decay = jnp.where(terminated | truncated, 0.0, gamma * gae_lambda)

    def step(advantage_tp1, inputs):
        delta_t, decay_t = inputs
        advantage_t = delta_t + decay_t * advantage_tp1
        return advantage_t, advantage_t

    _, advantage = lax.scan(step, jnp.zeros_like(last_value), (delta, decay), reverse=True)
    return advantage


def _fill_right(flag: jax.Array, like: jax.Array) -> jax.Array:
    flag = flag.reshape(flag.shape + (1,) * (like.ndim - flag.ndim))
    return jnp.broadcast_to(flag, like.shape)
