"""The first layer: a Dense layer on a long, nearly empty vector that is never built."""

from collections.abc import Callable

import flax.linen as nn
import jax

from marl.networks.forward import embed
from marl.networks.layers import orthogonal
from marl.types import Sparse


class Embedding(nn.Module):
    """A Dense layer (`kernel`, `bias`) that takes sparse rows or a plain vector.

    `initialiser` makes the kernel's initialiser from its gain.
    """

    feature_size: int
    size: int
    dense_columns: tuple[int, ...] = ()
    gain: float = 2.0**0.5
    initialiser: Callable[[float], Callable] = orthogonal

    @nn.compact
    def __call__(self, features: Sparse | jax.Array) -> jax.Array:
        """Features `Sparse` of (..., K), or (..., feature_size); returns (..., size)."""
        kernel = self.param("kernel", self.initialiser(self.gain), (self.feature_size, self.size))
        bias = self.param("bias", nn.initializers.zeros, (self.size,))
        return embed({"kernel": kernel, "bias": bias}, features, self.dense_columns)
