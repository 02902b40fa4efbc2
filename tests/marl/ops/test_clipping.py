"""Whose gradients are measured together: literal values."""

import jax.numpy as jnp
import numpy as np

from marl.ops.clipping import CLIPS

GRADIENTS = {
    "actor": jnp.array([[3.0, 0.0], [0.3, 0.0]]),
    "critic": jnp.array([[0.0, 4.0], [0.0, 0.4]]),
}


def clipped(kind, max_norm):
    clip = CLIPS[kind](max_norm)
    return clip.update(GRADIENTS, clip.init(GRADIENTS))[0]


def test_all_together():
    got = clipped("all", 1.0)
    scale = 1 / np.sqrt(9 + 0.09 + 16 + 0.16)
    np.testing.assert_allclose(got["actor"], GRADIENTS["actor"] * scale, rtol=1e-6)


def test_each_agent_alone():
    got = clipped("agents", 1.0)
    np.testing.assert_allclose(got["actor"], [[0.6, 0.0], [0.3, 0.0]], rtol=1e-6)
    np.testing.assert_allclose(got["critic"], [[0.0, 0.8], [0.0, 0.4]], rtol=1e-6)


def test_each_network_alone():
    got = clipped("networks", 3.5)
    np.testing.assert_array_equal(got["actor"], GRADIENTS["actor"])
    norm = np.sqrt(16 + 0.16)
    np.testing.assert_allclose(got["critic"], GRADIENTS["critic"] * 3.5 / norm, rtol=1e-6)
