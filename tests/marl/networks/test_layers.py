"""Small parts that several networks share."""

import subprocess
import sys

import flax.linen as nn
import jax
import numpy as np

from marl.networks.layers import orthogonal

KEYS = jax.random.split(jax.random.key(0), 3)
# One program with several batches of kernels, as a network of an agent each has. Were they batches
# of decompositions, it would nearly always wait for itself on a CPU with two threads.
MANY = """
import jax
from marl.networks.layers import orthogonal

def start(key):
    keys = jax.random.split(key, (12, 3))
    return [jax.vmap(lambda k: orthogonal()(k, (64, 64)))(each) for each in keys]

start = jax.jit(start)
for seed in range(200):
    jax.block_until_ready(start(jax.random.key(seed)))
"""


def test_a_batch_of_kernels_is_each_of_them():
    expected = [nn.initializers.orthogonal(2.0)(key, (8, 5)) for key in KEYS]
    batch = jax.jit(jax.vmap(lambda key: orthogonal(2.0)(key, (8, 5))))(KEYS)
    np.testing.assert_allclose(batch, expected, atol=1e-6)
    np.testing.assert_allclose(batch[0].T @ batch[0], 4.0 * np.eye(5), atol=1e-5)


def test_batches_of_kernels_do_not_wait_for_each_other():
    subprocess.run([sys.executable, "-c", MANY], check=True, timeout=120)
