"""Spaces with the names of JaxMARL's (`jaxmarl.environments.spaces`), so that it is not needed."""

import dataclasses

import jax
import jax.numpy as jnp


@dataclasses.dataclass(frozen=True)
class Discrete:
    """The numbers 0 to n - 1."""

    n: int
    dtype: jnp.dtype = jnp.int32
    shape = ()

    def sample(self, key: jax.Array) -> jax.Array:
        """() int, each as likely."""
        return jax.random.randint(key, self.shape, 0, self.n, self.dtype)

    def contains(self, x: jax.Array) -> jax.Array:
        """() bool."""
        return (x >= 0) & (x < self.n)


@dataclasses.dataclass(frozen=True)
class Box:
    """Arrays of a shape, each number within [low, high]."""

    low: float
    high: float
    shape: tuple[int, ...]
    dtype: jnp.dtype = jnp.float32

    def sample(self, key: jax.Array) -> jax.Array:
        """(*shape) uniform; nan where a bound is infinite."""
        return jax.random.uniform(key, self.shape, self.dtype, self.low, self.high)

    def contains(self, x: jax.Array) -> jax.Array:
        """() bool."""
        return ((x >= self.low) & (x <= self.high)).all()
