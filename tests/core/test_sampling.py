"""Choices against those of jax 0.4.38, recorded, and against its order of additions in numpy."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from alem_env.core import sampling
from alem_env.core.sampling import CELLS

RECORDED = Path(__file__).with_name("choices.npz")


@pytest.fixture(scope="module")
def choose():
    return jax.jit(jax.vmap(sampling.choose_at))


@pytest.fixture(scope="module")
def recorded():
    with np.load(RECORDED) as file:
        return {**file, "valid": np.unpackbits(file["valid"], axis=1).astype(bool)}


def by_count(uniform, valid):
    """Choices in exact arithmetic."""
    rank = np.ceil(valid.sum(1) * (1 - uniform.astype(np.float64))).astype(int)
    return np.array([np.flatnonzero(v)[r - 1] for v, r in zip(valid, rank, strict=True)])


def up_to_each(values):
    """Sums up to each of at most 16 numbers, as the compiler of jax 0.4.38 adds them."""
    sums = []
    for end in range(len(values)):
        lanes = np.zeros(16, np.float32)
        lanes[15 - end :] = values[: end + 1]
        while len(lanes) > 1:
            lanes = lanes[: len(lanes) // 2] + lanes[len(lanes) // 2 :]
        sums.append(lanes[0])
    return np.array(sums, np.float32)


def cumulative(p):
    """Its cumulative sum of 2,304 numbers, one number at a time."""
    rows = [up_to_each(row) for row in p.reshape(-1, 16)]
    groups = [up_to_each(group) for group in np.array([row[-1] for row in rows]).reshape(-1, 16)]
    before = np.concatenate([[0], up_to_each(np.array([g[-1] for g in groups]))])[:-1]
    upto = np.concatenate([g + b for g, b in zip(groups, before.astype(np.float32), strict=True)])
    before_row = np.concatenate([[0], upto])[:-1].astype(np.float32)
    return np.concatenate([row + b for row, b in zip(rows, before_row, strict=True)])


def test_recorded_choices_of_the_reference_where_rounding_decides(choose, recorded):
    index = choose(recorded["uniform"], recorded["valid"])
    np.testing.assert_array_equal(index, recorded["index"])
    moved = by_count(recorded["uniform"], recorded["valid"]) != recorded["index"]
    assert moved.sum() > 20, "the draws do not test the rounding"


def test_ordinary_draws_equal_the_order_of_additions_in_numpy(choose):
    random = np.random.default_rng(3)
    valid = random.random((12, CELLS)) < random.random((12, 1))
    uniform = random.random(12, np.float32)
    index = choose(uniform, valid)
    for cells, draw, found in zip(valid, uniform, index, strict=True):
        sums = cumulative((cells / np.float32(cells.sum())).astype(np.float32))
        assert found == np.searchsorted(sums, sums[-1] * (np.float32(1) - draw))
        assert cells[found]


def test_no_valid_cell_gives_the_first(choose):
    index = choose(np.float32([0.0, 0.3, 0.99]), np.zeros((3, CELLS), bool))
    np.testing.assert_array_equal(index, [0, 0, 0])


def test_slots_equal_jax():
    valid = np.random.default_rng(1).random((50, 9)) < 0.5
    valid[0] = False
    uniform = np.random.default_rng(2).random(50, np.float32)

    def choice(uniform, weights):  # sums of whole numbers, the same in every order
        sums = jnp.cumsum(weights)
        return jnp.searchsorted(sums, sums[-1] * (1 - uniform))

    found = jax.vmap(sampling.choose_slot_at)(uniform, valid)
    expected = jax.vmap(choice)(uniform, valid.astype(np.float32))
    np.testing.assert_array_equal(found, expected)
