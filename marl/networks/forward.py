"""What the layers compute, as functions of their parameters: by jax alone, without flax.

Networks in training and exported policies share these. Shapes: time first, T steps; `features` are
`Sparse` or plain vectors (T, ..., F); `reset` (T, ...) bool, where set a step sees states of zeros.
"""

from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
import numpy as np

from marl.ops.recurrence import scan_gru, scan_lstm
from marl.ops.sum_rows import sum_rows
from marl.types import Sparse

ACTIVATIONS: dict[str, Callable] = {"tanh": jnp.tanh, "relu": jax.nn.relu}


def embed(
    params: Mapping, features: Sparse | jax.Array, dense_columns: tuple[int, ...]
) -> jax.Array:
    """A Dense layer: `kernel` (F, D), `bias` (D,).

    Args:
        params: of the layer.
        features: (..., F), or `Sparse` of (..., K).
        dense_columns: `Task.dense_columns`.

    Returns:
        (..., D).
    """
    kernel, bias = params["kernel"], params["bias"]
    if not isinstance(features, Sparse):
        return features @ kernel + bias
    columns = np.array(dense_columns, np.int32)
    from_dense = features.dense @ kernel.at[columns].get(mode="promise_in_bounds")
    count = features.rows.shape[-1]
    rows, weights = features.rows.reshape(-1, count), features.weights.reshape(-1, count)
    from_rows = sum_rows(kernel, rows, weights).reshape(from_dense.shape)
    return from_rows + from_dense + bias


def dense(params: Mapping, x: jax.Array) -> jax.Array:
    """A Dense layer: `kernel` (D, N), `bias` (N,); (..., D) to (..., N)."""
    return x @ params["kernel"] + params["bias"]


def gru(
    params: Mapping, carry: jax.Array, inputs: jax.Array, reset: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """flax's GRUCell over time, its gates' kernels side by side (reset, update, candidate):
    `input_kernel` (D, 3 H), `input_bias` (3 H,), `hidden_kernel` (H, 3 H), `hidden_bias` (H,). The
    inputs' share is computed for all steps at once; only the hidden state's is inside the scan.

    Args:
        params: of the layer.
        carry: (..., H) hidden state before the first step.
        inputs: (T, ..., D).
        reset: (T, ...).

    Returns:
        (hidden state after the last step, hidden states (T, ..., H)).
    """
    size = params["hidden_kernel"].shape[0]
    from_input = inputs @ params["input_kernel"] + params["input_bias"]
    states = scan_gru(
        params["hidden_kernel"],
        params["hidden_bias"],
        carry.reshape(-1, size),
        from_input.reshape(inputs.shape[0], -1, 3 * size),
        reset.reshape(inputs.shape[0], -1),
    ).reshape(inputs.shape[:-1] + (size,))
    return states[-1], states


def lstm(
    params: Mapping, carry: tuple[jax.Array, jax.Array], inputs: jax.Array, reset: jax.Array
) -> tuple[tuple[jax.Array, jax.Array], jax.Array]:
    """flax's OptimizedLSTMCell over time, its gates' kernels side by side (input, forget,
    candidate, output): `input_kernel` (D, 4 H), `hidden_kernel` (H, 4 H), `bias` (4 H,).

    Args:
        params: of the layer.
        carry: cell state and hidden state before the first step, (..., H) each.
        inputs: (T, ..., D).
        reset: (T, ...).

    Returns:
        (both states after the last step, hidden states (T, ..., H)).
    """
    size = params["hidden_kernel"].shape[0]
    from_input = inputs @ params["input_kernel"] + params["bias"]
    cell, states = scan_lstm(
        params["hidden_kernel"],
        jax.tree.map(lambda x: x.reshape(-1, size), carry),
        from_input.reshape(inputs.shape[0], -1, 4 * size),
        reset.reshape(inputs.shape[0], -1),
    )
    states = states.reshape(inputs.shape[:-1] + (size,))
    return (cell.reshape(states.shape[1:]), states[-1]), states


def generate(params: Mapping, identities: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Weights and biases of a layer for each agent, each by a network of one hidden layer (relu).

    Args:
        params: `kernel_hidden`, `kernel`, `bias_hidden` and `bias`, Dense layers.
        identities: (A, D), what describes the agents.

    Returns:
        (kernels (A, inputs * outputs), biases (A, outputs)).
    """
    made = (
        dense(params[name], jax.nn.relu(dense(params[f"{name}_hidden"], identities)))
        for name in ("kernel", "bias")
    )
    return tuple(made)


def by_agent(kernel: jax.Array, bias: jax.Array, x: jax.Array) -> jax.Array:
    """(..., A, inputs) to (..., A, outputs), each agent by its own kernel (A, inputs, outputs) and
    bias (A, outputs)."""
    return jnp.einsum("...ai,aio->...ao", x, kernel) + bias


def with_agent_id(features: Sparse | jax.Array, feature_size: int) -> Sparse | jax.Array:
    """Features (..., A, n) with `A` columns more, in which each agent has a 1 of its own."""
    shape = jax.tree.leaves(features)[0].shape[:-1]
    agents = shape[-1]
    if not isinstance(features, Sparse):
        ids = jnp.broadcast_to(jnp.eye(agents, dtype=features.dtype), shape + (agents,))
        return jnp.concatenate([features, ids], axis=-1)
    row = jnp.broadcast_to((feature_size + jnp.arange(agents))[:, None], shape + (1,))
    rows = jnp.concatenate([features.rows, row.astype(features.rows.dtype)], axis=-1)
    ones = jnp.ones(shape + (1,), features.weights.dtype)
    return Sparse(rows, jnp.concatenate([features.weights, ones], axis=-1), features.dense)


def with_agents(reset: jax.Array, legal: jax.Array) -> jax.Array:
    """A flag an environment (E,), or an agent (E, A), with as many axes as the agents have."""
    return reset if reset.ndim == legal.ndim - 1 else reset[..., None]
