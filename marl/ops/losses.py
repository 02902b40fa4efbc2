"""Losses of PPO, a row at a time: callers average, and leave out rows, as they see fit."""

import chex
import jax
import jax.numpy as jnp
import optax


def clipped_policy_loss(
    log_ratio: jax.Array, advantage: jax.Array, clip_eps: float | jax.Array
) -> jax.Array:
    """-min(r A, clip(r, 1 - eps, 1 + eps) A) with r = exp(log_ratio), any shape."""
    chex.assert_equal_shape([log_ratio, advantage])
    ratio = jnp.exp(log_ratio)
    clipped = jnp.clip(ratio, 1.0 - clip_eps, 1.0 + clip_eps)
    return -jnp.minimum(ratio * advantage, clipped * advantage)


def clipped_value_loss(
    value: jax.Array,
    old_value: jax.Array,
    target: jax.Array,
    clip_eps: float | jax.Array,
    huber_delta: float | None = None,
) -> jax.Array:
    """The larger of two losses: of the value, and of the value held within `clip_eps` of what it
    was (in the value's units). Any shape. The loss is half the squared error, which goes on
    linearly beyond an error of `huber_delta`, if there is one."""
    chex.assert_equal_shape([value, old_value, target])
    held = old_value + jnp.clip(value - old_value, -clip_eps, clip_eps)
    if huber_delta is None:
        return 0.5 * jnp.maximum(jnp.square(value - target), jnp.square(held - target))
    free, bound = (optax.losses.huber_loss(v, target, delta=huber_delta) for v in (value, held))
    return jnp.maximum(free, bound)


def approx_kl(log_ratio: jax.Array) -> jax.Array:
    """(r - 1) - log r: its mean over samples of the old policy estimates KL(old || new), is never
    negative and varies little."""
    return jnp.expm1(log_ratio) - log_ratio


def is_clipped(log_ratio: jax.Array, clip_eps: float | jax.Array) -> jax.Array:
    """Bool: the ratio has left the range in which the policy loss has a slope both ways."""
    return jnp.abs(jnp.expm1(log_ratio)) > clip_eps
