"""Means that leave rows out, and how well values explain returns."""

import chex
import jax
import jax.numpy as jnp

EPSILON = 1e-8


def masked_mean(x: jax.Array, mask: jax.Array) -> jax.Array:
    """Mean of x where the bool mask (of the same shape) holds; 0 if it holds nowhere. What x is
    elsewhere does not matter, not even if it is not finite."""
    chex.assert_equal_shape([x, mask])
    total = jnp.sum(jnp.where(mask, x, 0.0))
    return total / jnp.maximum(jnp.sum(mask), 1)


def standardise(x: jax.Array, mask: jax.Array) -> jax.Array:
    """x with mean 0 and (population) standard deviation 1 over the mask, and 0 elsewhere."""
    centred = jnp.where(mask, x - masked_mean(x, mask), 0.0)
    deviation = jnp.sqrt(masked_mean(jnp.square(centred), mask))
    return centred / (deviation + EPSILON)


def explained_variance(prediction: jax.Array, target: jax.Array) -> jax.Array:
    """1 - var(target - prediction) / var(target): 1 is perfect, 0 as good as a constant. Where
    the target is constant it says 0 (nothing to explain)."""
    chex.assert_equal_shape([prediction, target])
    variance = jnp.var(target)
    ratio = jnp.var(target - prediction) / jnp.where(variance > 0, variance, 1.0)
    return jnp.where(variance > 0, 1.0 - ratio, 0.0)


def global_norm(tree) -> jax.Array:
    """Euclidean norm of all leaves together."""
    return jnp.sqrt(sum(jnp.sum(jnp.square(leaf)) for leaf in jax.tree.leaves(tree)))
