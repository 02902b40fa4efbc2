"""Gated recurrent units and long short-term memory over a sequence, with resets."""

import jax
import jax.numpy as jnp
from jax import lax


def _gates(hidden, from_input, kernel, bias):
    """Reset gate, update gate, candidate, and the hidden state's share of the candidate."""
    size = hidden.shape[-1]
    from_hidden = hidden @ kernel
    both = jax.nn.sigmoid(from_input[..., : 2 * size] + from_hidden[..., : 2 * size])
    reset_gate, update_gate = both[..., :size], both[..., size:]
    share = from_hidden[..., 2 * size :] + bias
    candidate = jnp.tanh(from_input[..., 2 * size :] + reset_gate * share)
    return reset_gate, update_gate, candidate, share


@jax.custom_vjp
def scan_gru(
    kernel: jax.Array, bias: jax.Array, carry: jax.Array, from_input: jax.Array, reset: jax.Array
) -> jax.Array:
    """Hidden states (T, B, H) of a GRU whose inputs' share is computed already.

    The gradient of the kernel is one product over all steps at the end. Left to differentiation of
    the scan it would be a sum over the steps, which reads and writes the whole kernel each time.

    Args:
        kernel: (H, 3 H), reset gate, update gate, candidate side by side; bias (H,) of the last.
        carry: (B, H).
        from_input: (T, B, 3 H).
        reset: (T, B) bool; where set, the step sees a hidden state of zeros.
    """
    return _scan_forward(kernel, bias, carry, from_input, reset)[0]


def _scan_forward(kernel, bias, carry, from_input, reset):
    def step(hidden, inputs):
        from_input_t, reset_t = inputs
        seen = jnp.where(reset_t[:, None], 0.0, hidden)
        gates = _gates(seen, from_input_t, kernel, bias)
        _, update_gate, candidate, _ = gates
        hidden = (1.0 - update_gate) * candidate + update_gate * seen
        return hidden, (hidden, seen, gates)

    _, (states, seen, gates) = lax.scan(step, carry, (from_input, reset))
    return states, (kernel, reset, seen, gates)


def _scan_backward(residuals, states_gradient):
    kernel, reset, seen, gates = residuals

    def step(hidden_gradient, inputs):
        state_gradient, reset_t, seen_t, (reset_gate, update_gate, candidate, share) = inputs
        total = hidden_gradient + state_gradient
        to_candidate = total * (1.0 - update_gate) * (1.0 - jnp.square(candidate))
        to_update = total * (seen_t - candidate) * update_gate * (1.0 - update_gate)
        to_reset = to_candidate * share * reset_gate * (1.0 - reset_gate)
        to_share = to_candidate * reset_gate
        from_hidden = jnp.concatenate([to_reset, to_update, to_share], axis=-1)
        seen_gradient = total * update_gate + from_hidden @ kernel.T
        hidden_gradient = jnp.where(reset_t[:, None], 0.0, seen_gradient)
        return hidden_gradient, (from_hidden, to_candidate)

    inputs = (states_gradient, reset, seen, gates)
    start = jnp.zeros_like(states_gradient[0])
    carry_gradient, (from_hidden, to_candidate) = lax.scan(step, start, inputs, reverse=True)
    size = seen.shape[-1]
    input_gradient = jnp.concatenate([from_hidden[..., : 2 * size], to_candidate], axis=-1)
    kernel_gradient = jnp.einsum("tbh,tbg->hg", seen, from_hidden)
    bias_gradient = jnp.sum(from_hidden[..., 2 * size :], axis=(0, 1))
    return kernel_gradient, bias_gradient, carry_gradient, input_gradient, None


scan_gru.defvjp(_scan_forward, _scan_backward)


def _cell_step(cell, pre):
    """New cell state, its tanh, and the gates: input, forget, candidate, output."""
    in_gate, forget_gate, candidate, out_gate = jnp.split(pre, 4, axis=-1)
    gates = (
        jax.nn.sigmoid(in_gate),
        jax.nn.sigmoid(forget_gate),
        jnp.tanh(candidate),
        jax.nn.sigmoid(out_gate),
    )
    in_gate, forget_gate, candidate, _ = gates
    cell = forget_gate * cell + in_gate * candidate
    return cell, jnp.tanh(cell), gates


@jax.custom_vjp
def scan_lstm(
    kernel: jax.Array,
    carry: tuple[jax.Array, jax.Array],
    from_input: jax.Array,
    reset: jax.Array,
) -> tuple[jax.Array, jax.Array]:
    """An LSTM whose inputs' share is computed already; its gradient is arranged as `scan_gru`'s.

    Args:
        kernel: (H, 4 H), input gate, forget gate, candidate, output gate side by side.
        carry: cell state (B, H) and hidden state (B, H).
        from_input: (T, B, 4 H).
        reset: (T, B) bool; where set, the step sees states of zeros.

    Returns:
        (cell state after the last step (B, H), hidden states (T, B, H)).
    """
    return _scan_lstm_forward(kernel, carry, from_input, reset)[0]


def _scan_lstm_forward(kernel, carry, from_input, reset):
    def step(carry, inputs):
        from_input_t, reset_t = inputs
        cell, hidden = (jnp.where(reset_t[:, None], 0.0, x) for x in carry)
        new_cell, squashed, gates = _cell_step(cell, from_input_t + hidden @ kernel)
        new_hidden = gates[3] * squashed
        return (new_cell, new_hidden), (new_hidden, (cell, hidden, squashed, gates))

    (cell, _), (states, seen) = lax.scan(step, carry, (from_input, reset))
    return (cell, states), (kernel, reset, seen)


def _scan_lstm_backward(residuals, gradients):
    kernel, reset, seen = residuals
    cell_gradient, states_gradient = gradients

    def step(carry, inputs):
        cell_gradient, hidden_gradient = carry
        state_gradient, reset_t, (cell, _, squashed, gates) = inputs
        in_gate, forget_gate, candidate, out_gate = gates
        total = hidden_gradient + state_gradient
        to_cell = cell_gradient + total * out_gate * (1.0 - jnp.square(squashed))
        to_pre = jnp.concatenate(
            [
                to_cell * candidate * in_gate * (1.0 - in_gate),
                to_cell * cell * forget_gate * (1.0 - forget_gate),
                to_cell * in_gate * (1.0 - jnp.square(candidate)),
                total * squashed * out_gate * (1.0 - out_gate),
            ],
            axis=-1,
        )
        before = (to_cell * forget_gate, to_pre @ kernel.T)
        return tuple(jnp.where(reset_t[:, None], 0.0, x) for x in before), to_pre

    start = (cell_gradient, jnp.zeros_like(cell_gradient))
    carry_gradient, to_pre = lax.scan(step, start, (states_gradient, reset, seen), reverse=True)
    kernel_gradient = jnp.einsum("tbh,tbg->hg", seen[1], to_pre)
    return kernel_gradient, carry_gradient, to_pre, None


scan_lstm.defvjp(_scan_lstm_forward, _scan_lstm_backward)
