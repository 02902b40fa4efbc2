"""Noise against a plain numpy version with true fused multiply-adds."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from alem_env.core import rng
from alem_env.core.tables import MAP_SIZE
from alem_env.worldgen import noise as ours

F = np.float32


def fused(a, b, c):
    """a * b + c of float32, rounded once: the product is exact in float64."""
    return (a.astype(np.float64) * b + c).astype(F)


def numpy_noise(angles, periods):
    """The benchmark's noise as jax 0.4.38 contracts it on CPU."""
    steps = [MAP_SIZE[i] // periods[i] for i in range(2)]
    dx, dy = np.meshgrid(*(np.arange(48) % s / F(s) for s in steps), indexing="ij")
    dx, dy = dx.astype(F), dy.astype(F)
    slopes = [f.repeat(steps[0], 0).repeat(steps[1], 1) for f in angles]

    def corner(i, j):
        gx, gy = (
            s[i * steps[0] : 48 + i * steps[0], j * steps[1] : 48 + j * steps[1]] for s in slopes
        )
        return fused(dy - F(j), gy, (dx - F(i)) * gx)

    def smooth(t):
        return t * t * t * (t * (t * F(6) - F(15)) + F(10))

    tx, ty = smooth(dx), smooth(dy)
    left, right = (fused(tx, corner(1, j), corner(0, j) * (F(1) - tx)) for j in range(2))
    surface = fused(left, F(1) - ty, ty * right)
    scaled = surface * F(np.sqrt(2))
    low, high = scaled.min(), scaled.max()
    return fused(surface, F(np.sqrt(2)), -low) / (high - low)


@pytest.mark.parametrize("periods", [(3, 3), (12, 12), (6, 24)])
@pytest.mark.parametrize("size", [1, 7, 120])
def test_noise_is_rounded_as_published(periods, size):
    keys = rng.split(rng.words(jax.random.key(size)), size)
    found = jax.jit(jax.vmap(lambda key: ours.noise(key, periods)))(keys)
    shape = (periods[0] + 1, periods[1] + 1)
    angles = jax.vmap(lambda key: rng.uniform(key, shape))(keys) * F(2 * np.pi)
    waves = zip(np.asarray(jnp.cos(angles)), np.asarray(jnp.sin(angles)), strict=True)
    expected = np.stack([numpy_noise(pair, periods) for pair in waves])
    np.testing.assert_array_equal(found, expected)
    assert abs(expected.min()) < 1e-6 and abs(expected.max() - 1) < 1e-6
