"""Choices against jax 0.4's algorithm, written with the library's own scan and search."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from alem_env.core import sampling

CELLS = 2304


def reference_choice(uniform, weights):
    """`jax.random.choice(p=weights)` of jax 0.4.38 on CPU, given its uniform draw."""
    sums = lax.associative_scan(jnp.add, weights)
    return jnp.searchsorted(sums, sums[-1] * (1 - uniform))


@pytest.fixture(scope="module")
def both():
    return jax.jit(
        jax.vmap(
            lambda uniform, valid: (
                sampling.choose_at(uniform, valid),
                reference_choice(uniform, valid / valid.sum()),
            )
        )
    )


def test_cells_equal_the_reference_also_where_rounding_decides(both):
    random = np.random.default_rng(0)
    valid = random.random((256, CELLS)) < random.random((256, 1)) ** 3
    valid[:, 7] = True
    count = valid.sum(-1)
    # draws on the boundary between two cells, where exact counting and rounded sums disagree
    rank = random.integers(0, count)
    on_boundary = (1 - rank / count).astype(np.float32)
    uniform = np.minimum(on_boundary, np.float32(1 - 2**-24))
    ours, theirs = both(uniform, valid)
    np.testing.assert_array_equal(ours, theirs)
    exact = np.array([np.flatnonzero(v)[max(r - 1, 0)] for v, r in zip(valid, rank, strict=True)])
    assert (exact != np.asarray(theirs)).any(), "the draws do not test the rounding"

    ours, theirs = both(random.random(256, np.float32), valid)
    np.testing.assert_array_equal(ours, theirs)
    assert valid[np.arange(256), ours].all()


def test_no_valid_cell_gives_the_first(both):
    ours, theirs = both(np.float32([0.0, 0.3, 0.99]), np.zeros((3, CELLS), bool))
    np.testing.assert_array_equal(ours, [0, 0, 0])
    np.testing.assert_array_equal(theirs, [0, 0, 0])


@pytest.mark.parametrize("size", [1, 2, 9, 48])
def test_other_sizes(both, size):
    random = np.random.default_rng(size)
    valid = random.random((40, size)) < 0.6
    valid[:, 0] |= ~valid.any(-1)
    ours, theirs = both(random.random(40, np.float32), valid)
    np.testing.assert_array_equal(ours, theirs)


def test_slots_equal_jax():
    valid = np.random.default_rng(1).random((50, 9)) < 0.5
    valid[0] = False
    uniform = np.random.default_rng(2).random(50, np.float32)
    found = jax.vmap(sampling.choose_slot_at)(uniform, valid)
    expected = jax.vmap(reference_choice)(uniform, valid.astype(np.float32))
    np.testing.assert_array_equal(found, expected)
