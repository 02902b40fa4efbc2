"""Gated recurrent unit over a sequence, with resets."""

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax import lax


def _per_gate(init, gates: int):
    """Each gate's kernel initialised by itself, side by side: as three Dense layers would be."""

    def initialise(key, shape, dtype=jnp.float32):
        rows, columns = shape
        keys = jax.random.split(key, gates)
        return jnp.concatenate([init(k, (rows, columns // gates), dtype) for k in keys], axis=1)

    return initialise


class GRU(nn.Module):
    """The same function as flax's GRUCell scanned over time, its gates' kernels side by side
    (reset, update, candidate). The inputs' share is computed for all steps at once; only the
    hidden state's product is left inside the scan.
    """

    hidden_size: int

    @nn.compact
    def __call__(
        self, carry: jax.Array, inputs: jax.Array, reset: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """Args:
            carry: (..., H) hidden state before the first step.
            inputs: (T, ..., D).
            reset: (T, ...) bool; where set, the step sees a hidden state of zeros.

        Returns:
            (hidden state after the last step, hidden states (T, ..., H)).
        """
        size = self.hidden_size
        input_kernel = self.param(
            "input_kernel",
            _per_gate(nn.initializers.lecun_normal(), 3),
            (inputs.shape[-1], 3 * size),
        )
        input_bias = self.param("input_bias", nn.initializers.zeros, (3 * size,))
        hidden_kernel = self.param(
            "hidden_kernel", _per_gate(nn.initializers.orthogonal(), 3), (size, 3 * size)
        )
        hidden_bias = self.param("hidden_bias", nn.initializers.zeros, (size,))
        from_input = inputs @ input_kernel + input_bias

        def step(hidden, inputs_t):
            from_input_t, reset_t = inputs_t
            hidden = jnp.where(reset_t[..., None], 0.0, hidden)
            from_hidden = hidden @ hidden_kernel
            gates = jax.nn.sigmoid(from_input_t[..., : 2 * size] + from_hidden[..., : 2 * size])
            reset_gate, update_gate = gates[..., :size], gates[..., size:]
            candidate = jnp.tanh(
                from_input_t[..., 2 * size :]
                + reset_gate * (from_hidden[..., 2 * size :] + hidden_bias)
            )
            hidden = (1.0 - update_gate) * candidate + update_gate * hidden
            return hidden, hidden

        return lax.scan(step, carry, (from_input, reset))
