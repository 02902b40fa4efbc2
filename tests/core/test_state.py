"""Packing of floors the team is not on."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alem_env.core import state as states
from alem_env.core import storage
from alem_env.core.enums import Block
from alem_env.core.tables import DARK_FLOORS, NUM_FLOORS

CELL = st.tuples(
    st.integers(0, len(Block) - 1), st.integers(0, 5), st.integers(-48, 8), st.booleans()
)


@settings(deadline=None)  # the first example compiles
@given(st.lists(CELL, min_size=16, max_size=16))
def test_cells_survive_packing(cells):
    block, item, requirement, soft = (np.array(c) for c in zip(*cells, strict=True))
    planes = (
        block.astype(np.uint8), item.astype(np.uint8), requirement.astype(np.int8),
        soft.astype(bool),
    )  # fmt: skip
    packed = storage.pack_cells(*(jnp.asarray(p) for p in planes))
    assert packed.dtype == jnp.uint16
    for found, expected in zip(storage.unpack_cells(packed), planes, strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_stamped_items_are_packed_as_one_that_is_none():
    item = jnp.arange(42, dtype=jnp.uint8)
    zeros = jnp.zeros_like(item)
    packed = storage.pack_cells(zeros, item, zeros.astype(jnp.int8), zeros.astype(bool))
    np.testing.assert_array_equal(storage.unpack_cells(packed)[1], np.minimum(item, 5))


@pytest.fixture
def floor():
    """A floor in which every field holds something, at the ends of its range."""
    random = np.random.default_rng(3)

    def whole(low, high, *shape, dtype=np.int32):
        return random.integers(low, high, shape, endpoint=True).astype(dtype)

    def mobs(slots):
        n = sum(slots)
        return states.Mobs(
            position=whole(0, 47, n, 2),
            health=random.random(n).astype(np.float32) * 24,
            alive=whole(0, 1, n).astype(bool),
            cooldown=whole(-100_000, 15, n),
            kind=whole(0, 7, n),
            coordination=whole(0, 2, n),
            agents_required=whole(0, 8, n),
            slots=slots,
        )

    def projectiles(n):
        return states.Projectiles(
            position=whole(-100_000, 100_000, n, 2),
            active=whole(0, 1, n).astype(bool),
            kind=whole(0, 7, n),
            direction=whole(-1, 1, n, 2),
            owner=whole(0, 7, n),
        )

    return states.Floor(
        block=whole(0, 41, 48, 48, dtype=np.uint8),
        item=whole(0, 4, 48, 48, dtype=np.uint8),
        requirement=whole(-48, 8, 48, 48, dtype=np.int8),
        soft=whole(0, 1, 48, 48).astype(bool),
        mobs=mobs((9, 9, 6)),
        mob_projectiles=projectiles(9),
        player_projectiles=projectiles(9),
        sites=states.Sites(position=whole(0, 47, 12, 2), built=whole(0, 3, 12)),
        chest_opened=whole(0, 1, 3).astype(bool),
        monsters_killed=np.int32(123_456),
    )


def test_a_floor_survives_packing(floor):
    floor = jax.tree.map(jnp.asarray, floor)
    restored = storage.unpack_floor(storage.pack_floor(floor), floor)
    for found, expected in zip(jax.tree.leaves(restored), jax.tree.leaves(floor), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_packing_many_floors_at_once_is_packing_each(floor):
    batch = jax.tree.map(lambda x: jnp.stack([jnp.asarray(x)] * 2), floor)
    one, two = storage.pack_floor(floor), storage.pack_floor(batch)
    for single, pair in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True):
        np.testing.assert_array_equal(pair[1], single)


def test_a_stored_floor_is_little_more_than_half_as_big(floor):
    size = sum(np.asarray(x).nbytes for x in jax.tree.leaves(floor))
    packed = sum(np.asarray(x).nbytes for x in jax.tree.leaves(storage.pack_floor(floor)))
    assert packed < 0.55 * size


def test_light_is_kept_for_dark_floors_only():
    index = np.asarray([states.light_index(f) for f in range(NUM_FLOORS)])
    np.testing.assert_array_equal(np.flatnonzero(index >= 0), DARK_FLOORS)
    np.testing.assert_array_equal(index[list(DARK_FLOORS)], range(len(DARK_FLOORS)))
