"""Which mob slots hold elites and large animals, that several agents must fight together."""

import jax
import jax.numpy as jnp
import numpy as np

from alem_env.core import rng
from alem_env.core.enums import MobClass, MobCoordination
from alem_env.core.params import EnvParams, StaticParams
from alem_env.core.state import MOVING_ORDER
from alem_env.core.tables import NUM_FLOORS

_MORE_ELITES_PER_FLOOR = np.float32(0.05)


def draw_elites(
    key: jax.Array, params: EnvParams, static: StaticParams
) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    """Coordination of all mob slots on all floors.

    Returns:
        The key for what follows; the coordination and the agents required of the slots, (9, M)
        int32 each.
    """
    first = rng.split(key, 7)
    second = rng.split(first[0], 4)
    depth = np.arange(NUM_FLOORS, dtype=np.float32) * _MORE_ELITES_PER_FLOOR
    elite = (params.elite_mob_probability + depth)[:, None]
    kinds = {
        MobClass.MELEE: (static.max_melee_mobs, elite),
        MobClass.RANGED: (static.max_ranged_mobs, elite),
        MobClass.PASSIVE: (static.max_passive_mobs, params.large_passive_probability),
    }
    drawn = {}
    for i, (mob_class, (slots, chance)) in enumerate(kinds.items()):
        keys = jnp.stack([first[1 + i], first[4 + i], second[1 + i]])
        draws = jax.vmap(lambda k, n=slots: rng.uniform(k, (NUM_FLOORS, n)))(keys)
        special = draws[0] < chance
        hard = draws[1] < params.hard_mob_probability
        everyone = draws[2] < params.p_max_agents
        grade = jnp.where(hard, np.int32(MobCoordination.HARD), np.int32(MobCoordination.SOFT))
        agents = jnp.where(everyone, np.int32(static.num_agents), np.int32(2))
        drawn[mob_class] = (jnp.where(special, grade, 0), jnp.where(special, agents, 0))
    coordination, agents_required = zip(*(drawn[c] for c in MOVING_ORDER), strict=True)
    return second[0], (jnp.concatenate(coordination, 1), jnp.concatenate(agents_required, 1))
