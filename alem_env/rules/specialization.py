"""Roles: what one role does well, others may try with less success."""

import jax
import jax.numpy as jnp

from alem_env.core.params import EnvParams, StaticParams


def gate(
    chance: jax.Array, is_specialist: jax.Array, params: EnvParams, static: StaticParams
) -> jax.Array:
    """Who manages an action of a role this time.

    Args:
        chance: (A,) float32 in [0, 1), the draws; a hard gate does not look at them.
        is_specialist: (A,) bool, who has the role.
        params: chances of specialists and others.
        static: whether the gate is soft.

    Returns:
        (A,) bool.
    """
    if not static.soft_specialization:
        return is_specialist
    efficiency = jnp.where(
        is_specialist, params.specialist_efficiency, params.non_specialist_efficiency
    )
    return chance < efficiency
