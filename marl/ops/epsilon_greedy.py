"""The best legal action, or with probability epsilon a random legal one.

Shapes: q_values (..., N) float, legal (..., N) bool, actions (...) int. Rows in which nothing is
legal take action 0 (no-op).
"""

import jax
import jax.numpy as jnp

from marl.ops import masked_categorical


def sample(
    key: jax.Array, q_values: jax.Array, legal: jax.Array, epsilon: float | jax.Array
) -> jax.Array:
    """Actions (...) int32; each row explores by itself."""
    key_explore, key_action = jax.random.split(key)
    explores = jax.random.uniform(key_explore, q_values.shape[:-1]) < epsilon
    anything = masked_categorical.sample(key_action, jnp.zeros_like(q_values), legal)
    return jnp.where(explores, anything, masked_categorical.mode(q_values, legal))


def log_prob(
    q_values: jax.Array, legal: jax.Array, actions: jax.Array, epsilon: float | jax.Array
) -> jax.Array:
    """Log-probability (...) with which `sample` takes actions that it can take."""
    count = jnp.maximum(jnp.sum(legal, axis=-1), 1)
    is_best = actions == masked_categorical.mode(q_values, legal)
    return jnp.log(epsilon / count + jnp.where(is_best, 1.0 - epsilon, 0.0))
