"""All numbers of a step against jax.random, phase by phase and split by split."""

import jax
import numpy as np
import pytest

from alem_env.core import rng
from alem_env.core.params import StaticParams
from alem_env.rules import chance


class Chain:
    """`key, sub = split(key)`, as the benchmark's rules do."""

    def __init__(self, key):
        self.key = key

    def split(self):
        self.key, sub = jax.random.split(self.key)
        return sub

    def uniform(self, shape=()):
        return np.asarray(jax.random.uniform(self.split(), shape))


@pytest.mark.parametrize("soft", [True, False])
@pytest.mark.parametrize("agents", [1, 3, 4])
def test_every_number_is_the_published_one(agents, soft):
    static = StaticParams(num_agents=agents, soft_specialization=soft)
    got = chance.draw(rng.words(rng.key(9999)), static)
    step = Chain(rng.key(9999))
    craft, interact, place, _, enchant, mobs, spawn, last = (Chain(step.split()) for _ in range(8))

    shape = (agents,)
    if soft:  # a hard gate draws nothing
        np.testing.assert_array_equal(got.miner_crafts, craft.uniform(shape))
        np.testing.assert_array_equal(got.warrior_crafts, craft.uniform(shape))
        np.testing.assert_array_equal(got.forages, interact.uniform(shape))
        np.testing.assert_array_equal(got.miner_places, place.uniform(shape))
        np.testing.assert_array_equal(got.warrior_enchants, enchant.uniform(shape))
    np.testing.assert_array_equal(got.coordinates, interact.uniform(shape))
    np.testing.assert_array_equal(got.finds_sapling, interact.uniform(shape))
    np.testing.assert_array_equal(got.chest_key, jax.random.key_data(interact.split()))
    enchant.split()
    np.testing.assert_array_equal(got.armour_key, jax.random.key_data(enchant.key))
    for mob_class in range(3):
        assert got.spawns[mob_class] == spawn.uniform()
        assert got.spawn_cell[mob_class] == spawn.uniform()
    np.testing.assert_array_equal(got.mobs_key, jax.random.key_data(mobs.key))
    np.testing.assert_array_equal(got.last_key, jax.random.key_data(last.key))
