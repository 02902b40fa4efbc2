"""Records choices of the reference's jax for test_sampling.py, with that interpreter:

    ref/bin/python tests/core/record_choices.py tests/core/choices.npz

Half a thousand planes of valid cells and draws on, or a few last bits beside, the border between
two cells, where rounding decides. `random.choice` looks up `sum * (1 - draw)` in sums of p.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np

CELLS, PLANES = 2304, 384


@jax.jit
@jax.vmap
def choose(valid, uniform):
    p = valid.astype(jnp.float32)
    sums = jnp.cumsum(p / jnp.maximum(p.sum(), 1.0))
    return jnp.searchsorted(sums, sums[-1] * (1 - uniform))


random = np.random.default_rng(0)
valid = random.random((PLANES, CELLS)) < random.random((PLANES, 1)) ** 3
valid[:, 7] = True
rank = random.integers(0, valid.sum(1))
border = np.minimum((1 - rank / valid.sum(1)).astype(np.float32), np.float32(1 - 2**-24))
beside = random.integers(-2, 3, PLANES) * np.float32(2**-24)
uniform = np.clip(border + beside, 0, 1 - 2**-24).astype(np.float32)
index = np.asarray(choose(valid, uniform)).astype(np.int16)
np.savez_compressed(
    sys.argv[1], valid=np.packbits(valid, axis=1), uniform=uniform, index=index, jax=jax.__version__
)
