"""Which blocks need several agents, or one after the other."""

import jax
import jax.numpy as jnp
import numpy as np

from alem_env.core import rng
from alem_env.core.params import EnvParams
from alem_env.worldgen.biomes import MINABLE


def draw_requirements(
    key: jax.Array, blocks: jax.Array, params: EnvParams, num_agents: int
) -> tuple[jax.Array, jax.Array]:
    """Coordination of the minable blocks of one floor.

    Args:
        key: (2,) uint32.
        blocks: (48, 48) uint8.
        params: parameters.
        num_agents: size of the team.

    Returns:
        requirement (48, 48) int8 and soft (48, 48) bool, as in `core.state.Floor`.
    """
    keys = rng.split(key, 6)
    window_keys = rng.split(keys[4])
    keys = jnp.concatenate([keys[np.array([1, 2, 3, 5])], window_keys])
    words = jax.vmap(lambda k: rng.random_bits(k, blocks.size))(keys).reshape(-1, *blocks.shape)
    draws = rng.to_unit(words[:4])
    picked = draws[0] < params.coordination_probability
    handover = draws[1] < params.handover_ratio
    everyone = draws[2] < params.p_max_agents
    soft = draws[3] < params.soft_coordination_ratio
    window = _window(words[4], words[5], params)

    picked &= is_minable(blocks)
    agents = jnp.where(everyone, np.int32(num_agents), np.int32(2))
    requirement = jnp.where(picked, jnp.where(handover, -window, agents), 0).astype(jnp.int8)
    return requirement, picked & soft & ~handover


def is_minable(blocks: jax.Array) -> jax.Array:
    minable = blocks == np.uint8(MINABLE[0])
    for block in MINABLE[1:]:
        minable |= blocks == np.uint8(block)
    return minable


def _window(high: jax.Array, low: jax.Array, params: EnvParams) -> jax.Array:
    """Handover windows int32 of random words: `rng.fold_to_range`, but faster on whole maps."""
    shortest = jnp.asarray(params.handover_window_min, jnp.int32)
    span = jnp.maximum(jnp.asarray(params.handover_window_max, jnp.int32) + 1 - shortest, 1)
    fold = np.int32(2**16) % span
    multiplier = (fold * fold) % span
    mixed = _remainder(high, span) * multiplier + _remainder(low, span)
    return shortest + _remainder(mixed.astype(jnp.uint32), span)


def _remainder(words: jax.Array, span: jax.Array) -> jax.Array:
    """words % span int32 for spans up to 128, without the slow division of integers.

    65536 is folded first, so that what is left is below 2^24 and exact in float32; the quotient of
    floats is off by one at most.
    """
    upper, lower = (words >> np.uint32(16)).astype(jnp.int32), (words & np.uint32(0xFFFF))
    value = upper * (np.int32(2**16) % span) + lower.astype(jnp.int32)
    quotient = (value.astype(jnp.float32) / span.astype(jnp.float32)).astype(jnp.int32)
    rest = value - quotient * span
    rest = jnp.where(rest < 0, rest + span, rest)
    return jnp.where(rest >= span, rest - span, rest)
