"""Roles: what one role does well, others may try with less success."""

import jax
import jax.numpy as jnp

from alem_env.core import rng
from alem_env.core.params import EnvParams, StaticParams


def gate(
    key: jax.Array, is_specialist: jax.Array, params: EnvParams, static: StaticParams
) -> jax.Array:
    """Who manages an action of a role this time.

    Args:
        key: (2,) uint32, of this draw alone. With a hard gate nothing is drawn, and the reference
            does not split its key either: callers leave that split out then.
        is_specialist: (A,) bool, who has the role.
        params: chances of specialists and others.
        static: whether the gate is soft.

    Returns:
        (A,) bool.
    """
    if not static.soft_specialization:
        return is_specialist
    chance = jnp.where(
        is_specialist, params.specialist_efficiency, params.non_specialist_efficiency
    )
    return rng.uniform(key, is_specialist.shape) < chance
