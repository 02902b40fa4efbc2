"""Returns on a scale that critics learn easily: running mean and deviation (ValueNorm).

As in the practice of MAPPO (arXiv 2103.01955): exponential averages of the returns and of their
squares, freed of their start at 0. The critic's output is in the normalised units; it is scaled
back before it meets rewards.
"""

import jax
import jax.numpy as jnp

from alem_env import struct

DECAY = 0.99999  # of the averages, at each update of them
MIN_VARIANCE = 1e-2
_MIN_WEIGHT = 1e-5


@struct.dataclass
class ValueNorm:
    """Averages; scalars, or one for each agent (A,). All zero before the first update."""

    mean: jax.Array  # of the returns, not yet divided by `weight`
    square: jax.Array  # of their squares, likewise
    weight: jax.Array  # what the averages' own weights add up to


def start(shape: tuple[int, ...] = ()) -> ValueNorm:
    """Before any return: mean 0, and the smallest deviation."""
    return ValueNorm(*(jnp.zeros(shape, jnp.float32) for _ in range(3)))


def follow(norm: ValueNorm, returns: jax.Array) -> ValueNorm:
    """The averages after these returns as well. The axes of `norm` are the last of `returns`; over
    the others the mean is taken."""
    axes = tuple(range(returns.ndim - norm.mean.ndim))
    seen = ValueNorm(
        jnp.mean(returns, axes), jnp.mean(jnp.square(returns), axes), jnp.ones_like(norm.weight)
    )
    return jax.tree.map(lambda old, new: DECAY * old + (1.0 - DECAY) * new, norm, seen)


def _mean_and_deviation(norm: ValueNorm) -> tuple[jax.Array, jax.Array]:
    weight = jnp.maximum(norm.weight, _MIN_WEIGHT)
    mean = norm.mean / weight
    variance = norm.square / weight - jnp.square(mean)
    return mean, jnp.sqrt(jnp.maximum(variance, MIN_VARIANCE))


def normalise(norm: ValueNorm | None, returns: jax.Array) -> jax.Array:
    """Returns (..., *norm's shape) in the critic's units; without a norm those are rewards'."""
    if norm is None:
        return returns
    mean, deviation = _mean_and_deviation(norm)
    return (returns - mean) / deviation


def denormalise(norm: ValueNorm | None, values: jax.Array) -> jax.Array:
    """The critic's values (..., *norm's shape) in units of reward."""
    if norm is None:
        return values
    mean, deviation = _mean_and_deviation(norm)
    return values * deviation + mean
