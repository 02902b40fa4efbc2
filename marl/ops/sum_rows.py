"""Products with a long, nearly empty vector that is never built.

`sum_rows(kernel, indices, values)` is `x @ kernel` for the x with `values` at `indices`. How it is
computed depends on the platform, and is chosen here and nowhere else.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap, sequential_vmap

# Rows added per loop turn on CPU: fewer turns, and partial sums stay in registers (measured).
_ROWS_A_TURN = 8
# Observations expanded at a time elsewhere, and the numbers they may come to (512 MiB), so that
# memory stays bounded.
_ROWS_EXPANDED = 8192
_NUMBERS_EXPANDED = 2**27


@jax.custom_vjp
def sum_rows(kernel: jax.Array, indices: jax.Array, values: jax.Array) -> jax.Array:
    """Sums of rows of the kernel. Under `jax.vmap` it runs for one kernel after another.

    Args:
        kernel: (V, D).
        indices: (N, K) int, all within [0, V).
        values: (N, K), the factor of each row. Treated as constants by differentiation.

    Returns:
        (N, D), sum over k of values[n, k] * kernel[indices[n, k]].
    """
    return _sum_rows(kernel, indices, values)


def _forward(kernel, indices, values):
    return _sum_rows(kernel, indices, values), (kernel, indices, values)


def _backward(residuals, gradient):
    kernel, indices, values = residuals
    return _scatter_rows(jnp.zeros_like(kernel), gradient, indices, values), None, None


sum_rows.defvjp(_forward, _backward)


@custom_vmap
def _sum_rows(kernel, indices, values):
    return lax.platform_dependent(
        kernel, indices, values, cpu=_sum_rows_by_turns, default=_sum_rows_by_product
    )


@_sum_rows.def_vmap
def _sum_rows_of_many(size, is_many, kernel, indices, values):
    """One kernel for all: its observations are put in one line. Many: one after another, since a
    gather from stacked kernels leaves the fast path on CPU."""
    indices, values = (
        x if many else jnp.broadcast_to(x, (size, *x.shape))
        for x, many in zip((indices, values), is_many[1:], strict=True)
    )
    if is_many[0]:
        return lax.map(lambda one: _sum_rows(*one), (kernel, indices, values)), True
    count = indices.shape[-1]
    sums = _sum_rows(kernel, indices.reshape(-1, count), values.reshape(-1, count))
    return sums.reshape(indices.shape[:-1] + kernel.shape[-1:]), True


@sequential_vmap  # as a batch, both branches of the CPU's condition would run, and copy the kernels
def _scatter_rows(zeros, gradient, indices, values):
    return lax.platform_dependent(
        zeros, gradient, indices, values, cpu=_scatter_by_turns, default=_scatter_by_product
    )


def _sum_rows_by_turns(kernel, indices, values):
    """CPU: walk along K; a turn adds a few rows to all N sums, in one fused pass."""
    count = indices.shape[1]
    turns = -(-count // _ROWS_A_TURN)
    padding = ((0, 0), (0, turns * _ROWS_A_TURN - count))
    shape = (turns, _ROWS_A_TURN, indices.shape[0])
    indices = jnp.pad(indices, padding).T.reshape(shape)
    values = jnp.pad(values, padding).T.reshape(shape)

    def turn(total, rows):
        index, value = rows
        for k in range(_ROWS_A_TURN):
            row = kernel.at[index[k]].get(mode="promise_in_bounds")
            total = total + row * value[k][:, None]
        return total, None

    start = jnp.zeros((indices.shape[2], kernel.shape[1]), kernel.dtype)
    return lax.scan(turn, start, (indices, values))[0]


def _scatter_by_turns(zeros, gradient, indices, values):
    """CPU: walk along K; a turn adds one gradient row for each of the N sums. Rows of weight 1 are
    added as they are, and those of weight 0 fall off the end: a product fused into the scatter
    makes it twice as slow (measured)."""
    beyond = zeros.shape[0]

    def unweighted(total, index, value):
        return total.at[jnp.where(value == 0, beyond, index)].add(gradient, mode="drop")

    def weighted(total, index, value):
        return total.at[index].add(gradient * value[:, None], mode="promise_in_bounds")

    def turn(total, rows):
        index, value = rows
        is_plain = jnp.all((value == 0) | (value == 1))
        return lax.cond(is_plain, unweighted, weighted, total, index, value), None

    return lax.scan(turn, zeros, (indices.T, values.T))[0]


def _expand(indices, values, size):
    row = jnp.arange(indices.shape[0])[:, None]
    zeros = jnp.zeros((indices.shape[0], size), values.dtype)
    return zeros.at[row, indices].add(values, mode="promise_in_bounds")


def _blocks(array, size):
    """(N, ...) to (blocks, rows, ...), filled up with zeros; a row will be expanded to `size`."""
    count = array.shape[0]
    rows = min(count, _ROWS_EXPANDED, max(1, _NUMBERS_EXPANDED // size))
    blocks = -(-count // rows)
    padding = ((0, blocks * rows - count),) + ((0, 0),) * (array.ndim - 1)
    return jnp.pad(array, padding).reshape((blocks, rows) + array.shape[1:])


def _sum_rows_by_product(kernel, indices, values):
    """Accelerators: expand a block of observations and use the matrix unit."""

    def block(rows):
        return _expand(*rows, kernel.shape[0]) @ kernel

    size = kernel.shape[0]
    sums = lax.map(block, (_blocks(indices, size), _blocks(values, size)))
    return sums.reshape(-1, kernel.shape[1])[: indices.shape[0]]


def _scatter_by_product(zeros, gradient, indices, values):
    def block(total, rows):
        gradient_rows, index, value = rows
        return total + _expand(index, value, zeros.shape[0]).T @ gradient_rows, None

    rows = tuple(_blocks(array, zeros.shape[0]) for array in (gradient, indices, values))
    return lax.scan(block, zeros, rows)[0]
