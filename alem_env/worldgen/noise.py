"""Perlin noise, rounded as the benchmark's compiler rounds it.

The noise is compared with thresholds, so a last bit can move a mountain. Compilers contract
`a * b + c` into one rounding where they like; the benchmark's (jax 0.4.38 on CPU) does so at the
places marked `_multiply_add` below. These are computed here from exact pieces, so that every
compiler gives the same floats:

- a product that has to be rounded goes through `_rounded`, which no compiler can contract;
- the error of a product is recovered from halves of the factors (Dekker 1971), the error of a sum
  by Knuth's two-sum. All products in there are exact, so contracting them changes nothing.

Grid offsets and interpolation weights are multiples of 2^-20 and exact as they are.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from alem_env.core import rng
from alem_env.core.tables import MAP_SIZE

_SQRT2 = np.float32(np.sqrt(2.0))
_HIGH_BITS = np.uint32(0xFFFFF000)  # sign, exponent and the upper 12 of 24 bits


def angle_keys(keys: jax.Array) -> jax.Array:
    """Keys (n, 2) of the gradients of noises with keys (n, 2)."""
    second = jax.vmap(lambda key: rng.split(rng.split(key)[1])[1])
    return second(keys)


def noise(key: jax.Array, periods: tuple[int, int]) -> jax.Array:
    """Noise (48, 48) float32 in [0, 1], with `periods` lattice cells along rows and columns.

    Args:
        key: (2,) uint32, one of `angle_keys`.
        periods: divisors of the map's size.
    """
    angles = rng.uniform(key, (periods[0] + 1, periods[1] + 1)) * np.float32(2 * np.pi)
    surface = _interpolate(jnp.cos(angles), jnp.sin(angles), periods)
    scaled = _rounded(surface * _SQRT2)
    low, high = scaled.min(), scaled.max()
    # The divisor differs from cell to cell, in ways that do not matter, lest the compiler divide
    # by multiplying with one reciprocal, which rounds otherwise.
    tiny = (np.arange(scaled.size, dtype=np.float32).reshape(scaled.shape) + 1) * np.float32(1e-30)
    return _multiply_add(_SQRT2, surface, -low) / jnp.maximum(high - low, tiny)


def _interpolate(slope_row: jax.Array, slope_column: jax.Array, periods) -> jax.Array:
    """Unscaled noise (48, 48) of a lattice of gradients, each (periods[0] + 1, periods[1] + 1)."""
    steps = (MAP_SIZE[0] // periods[0], MAP_SIZE[1] // periods[1])
    row = _offsets(steps[0])[:, None]  # (steps, 1), position between two lattice rows
    column = np.tile(_offsets(steps[1]), periods[1])  # (48,)
    row_weight, column_weight = _smooth(row), _smooth(column)

    def corner(row_offset, column_offset, across, along):
        """Dot product of gradient (48,) and offset, (steps, 48)."""
        product, error = _two_product(column_offset, along)
        total, lost = _two_sum(_rounded(row_offset * across), product)
        return total + (lost + error)

    def edge(column_offset, gradients):
        """Interpolated along rows, on the lattice columns left or right of the cells."""
        upper = corner(row, column_offset, gradients[0], gradients[1])
        lower = corner(row - np.float32(1), column_offset, gradients[2], gradients[3])
        return _multiply_add(row_weight, lower, _rounded(upper * (1 - row_weight)))

    def strip(_, gradients):
        """The rows (steps, 48) between two lattice rows, with their gradients (4, columns + 1)."""
        left = edge(column, _stretch(gradients[:, :-1], steps[1]))
        right = edge(column - np.float32(1), _stretch(gradients[:, 1:], steps[1]))
        return None, _multiply_add(1 - column_weight, left, _rounded(column_weight * right))

    # A scan, since the CPU compiler would otherwise compute sines and cosines anew for every cell
    rows = jnp.stack([slope_row[:-1], slope_column[:-1], slope_row[1:], slope_column[1:]], 1)
    return lax.scan(strip, None, rows)[1].reshape(MAP_SIZE)


def _offsets(steps: int) -> np.ndarray:
    return np.arange(steps, dtype=np.float32) / np.float32(steps)


def _smooth(t: np.ndarray) -> np.ndarray:
    """Perlin's quintic; exact on multiples of 1/16."""
    return t * t * t * (t * (t * np.float32(6) - np.float32(15)) + np.float32(10))


def _stretch(lattice: jax.Array, steps: int) -> jax.Array:
    """Each column of (m, n) repeated: (m, n * steps)."""
    wide = jnp.broadcast_to(lattice[:, :, None], (*lattice.shape, steps))
    return wide.reshape(lattice.shape[0], -1)


# --- Exact arithmetic ----------------------------------------------------------------------------


def _multiply_add(a: np.ndarray, b: jax.Array, c: jax.Array) -> jax.Array:
    """a * b + c rounded once. `c` must not be an unrounded product; `a` is a constant.

    What is left of rounding twice is one case in 2^25, and then one last bit.
    """
    product, error = _two_product(a, b)
    total, lost = _two_sum(product, c)
    return total + (lost + error)


def _two_product(a: np.ndarray, b: jax.Array) -> tuple[jax.Array, jax.Array]:
    """a * b as a rounded product and its error."""
    product = _rounded(a * b)
    a_high = (np.asarray(a, np.float32).view(np.uint32) & _HIGH_BITS).view(np.float32)
    a_low = a - a_high
    b_high = _upper_half(b)
    b_low = b - b_high
    error = ((a_high * b_high - product) + a_high * b_low) + a_low * b_high
    return product, error + a_low * b_low


def _two_sum(a: jax.Array, b: jax.Array) -> tuple[jax.Array, jax.Array]:
    """a + b as a rounded sum and its error."""
    total = a + b
    b_part = total - a
    return total, (a - (total - b_part)) + (b - b_part)


def _upper_half(x: jax.Array) -> jax.Array:
    bits = lax.bitcast_convert_type(x, jnp.uint32) & _HIGH_BITS
    return lax.bitcast_convert_type(bits, jnp.float32)


def _rounded(product: jax.Array) -> jax.Array:
    """The product as a float32. The bound is never reached; it keeps a product from contracting."""
    return jnp.minimum(product, np.float32(64.0))
