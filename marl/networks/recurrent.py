"""Recurrent cores: their parameters, and how they start."""

import flax.linen as nn
import jax
import jax.numpy as jnp

from marl.networks import forward
from marl.networks.layers import orthogonal


def _per_gate(init, gates: int):
    """Each gate's kernel initialised by itself, side by side: as three Dense layers would be."""

    def initialise(key, shape, dtype=jnp.float32):
        rows, columns = shape
        keys = jax.random.split(key, gates)
        return jnp.concatenate([init(k, (rows, columns // gates), dtype) for k in keys], axis=1)

    return initialise


class GRU(nn.Module):
    """Parameters of `marl.networks.forward.gru`; each gate's kernel starts by itself."""

    hidden_size: int

    @nn.compact
    def __call__(
        self, carry: jax.Array, inputs: jax.Array, reset: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """As `marl.networks.forward.gru`."""
        size = self.hidden_size
        params = {
            "input_kernel": self.param(
                "input_kernel",
                _per_gate(nn.initializers.lecun_normal(), 3),
                (inputs.shape[-1], 3 * size),
            ),
            "input_bias": self.param("input_bias", nn.initializers.zeros, (3 * size,)),
            "hidden_kernel": self.param(
                "hidden_kernel", _per_gate(orthogonal(), 3), (size, 3 * size)
            ),
            "hidden_bias": self.param("hidden_bias", nn.initializers.zeros, (size,)),
        }
        return forward.gru(params, carry, inputs, reset)


class LSTM(nn.Module):
    """Parameters of `marl.networks.forward.lstm`; each gate's kernel starts by itself."""

    hidden_size: int

    @nn.compact
    def __call__(
        self, carry: tuple[jax.Array, jax.Array], inputs: jax.Array, reset: jax.Array
    ) -> tuple[tuple[jax.Array, jax.Array], jax.Array]:
        """As `marl.networks.forward.lstm`."""
        size = self.hidden_size
        params = {
            "input_kernel": self.param(
                "input_kernel",
                _per_gate(nn.initializers.lecun_normal(), 4),
                (inputs.shape[-1], 4 * size),
            ),
            "hidden_kernel": self.param(
                "hidden_kernel", _per_gate(orthogonal(), 4), (size, 4 * size)
            ),
            "bias": self.param("bias", nn.initializers.zeros, (4 * size,)),
        }
        return forward.lstm(params, carry, inputs, reset)
