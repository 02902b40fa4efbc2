"""Small parts that several networks share."""

from collections.abc import Callable

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax.custom_batching import sequential_vmap


def orthogonal(gain: float = 1.0) -> Callable:
    """Initialiser of orthogonal kernels (Saxe et al., arXiv:1312.6120), scaled by `gain`.

    Under `jax.vmap` one kernel is made after another, with the same numbers: on the CPU two QR
    decompositions of batches in one program can wait for each other for ever (jaxlib 0.10: each
    holds a thread of the pool, and waits for another thread of it).
    """
    initialise = nn.initializers.orthogonal(gain)

    def kernel(key: jax.Array, shape: tuple[int, ...], dtype=jnp.float32) -> jax.Array:
        return sequential_vmap(lambda key: initialise(key, shape, dtype))(key)

    return kernel


def dense(size: int, gain: float, name: str) -> nn.Dense:
    """A layer with orthogonal weights, scaled by `gain`, and biases of zero."""
    return nn.Dense(size, kernel_init=orthogonal(gain), name=name)
