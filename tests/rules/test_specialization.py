"""The soft gate: specialists as they are, others by luck."""

import jax
import jax.numpy as jnp
import numpy as np

from alem_env.core import rng
from alem_env.core.params import StaticParams, difficulty, make_params
from alem_env.rules.specialization import gate

SPECIALIST = jnp.array([True, False, False, True])
STATIC = StaticParams(num_agents=4)


@jax.jit
def draw(keys, params):
    return jax.vmap(lambda key: gate(rng.uniform(key, (4,)), SPECIALIST, params, STATIC))(keys)


def test_specialists_always_succeed_and_others_at_their_rate():
    keys = rng.split(rng.words(rng.key(3)), 2000)
    luck = np.asarray(draw(keys, make_params(non_specialist_efficiency=0.2)))
    assert luck[:, [0, 3]].all()
    assert abs(luck[:, [1, 2]].mean() - 0.2) < 0.03


def test_agents_are_lucky_apart():
    keys = rng.split(rng.words(rng.key(4)), 200)
    luck = np.asarray(draw(keys, make_params(non_specialist_efficiency=0.5)))
    assert (luck[:, 1] != luck[:, 2]).any()


def test_hard_gate_is_the_role_itself():
    static = StaticParams(num_agents=4, soft_specialization=False)
    got = gate(jnp.ones(4), SPECIALIST, difficulty("easy"), static)
    assert (got == SPECIALIST).all()
