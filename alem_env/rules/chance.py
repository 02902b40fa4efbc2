"""The random numbers of a step, drawn at once.

Each random phase of the benchmark splits a key of its own, one split after another. The chains of
all phases are walked side by side here, and what rules draw unconditionally is drawn together: one
block of the generator in the compiled program instead of one for each rule. Rare draws (chests,
enchanted armour) and those of mobs get the key they start from.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from alem_env.core import rng, struct
from alem_env.core.params import StaticParams

PHASES = ("craft", "interact", "place", "construct", "enchant", "mobs", "spawn", "last")
_DRAWING = ("craft", "interact", "place", "enchant", "spawn")  # those that draw here
_NUM_SPAWNS = 3


@struct.dataclass
class Chance:
    """A rule compares its numbers, float32 in [0, 1), with a probability. Shapes: A agents."""

    miner_crafts: jax.Array  # (A,), as all of this group: gates of roles
    warrior_crafts: jax.Array
    forages: jax.Array
    miner_places: jax.Array
    warrior_enchants: jax.Array
    coordinates: jax.Array  # (A,), failing alone at a task that is softly synchronised
    finds_sapling: jax.Array  # (A,)
    spawns: jax.Array  # (3,), by MobClass
    spawn_cell: jax.Array  # (3,), by MobClass
    chest_key: jax.Array  # (2,) uint32, as all keys
    armour_key: jax.Array
    mobs_key: jax.Array
    last_key: jax.Array  # left over


def draw(key: jax.Array, static: StaticParams) -> Chance:
    """All random numbers of a step.

    Args:
        key: (2,) uint32, of the step.
        static: number of agents; a hard gate of roles draws nothing, and some splits fall away.
    """
    return from_phase_keys(rng.chain(key, len(PHASES))[1], static)


def from_phase_keys(keys: jax.Array, static: StaticParams) -> Chance:
    """The same from the keys (8, 2) of the PHASES."""
    soft = int(static.soft_specialization)
    # splits before the number: (phase, place in its chain)
    per_agent = {
        "miner_crafts": ("craft", 0),
        "warrior_crafts": ("craft", 1),
        "forages": ("interact", 0),
        "coordinates": ("interact", soft),
        "finds_sapling": ("interact", soft + 1),
        "miner_places": ("place", 0),
        "warrior_enchants": ("enchant", 0),
    }
    scalars = [("spawn", place) for place in range(2 * _NUM_SPAWNS)]
    starts = keys[np.array([PHASES.index(phase) for phase in _DRAWING])]
    chain_keys, subs = _walk(starts, 2 * _NUM_SPAWNS)

    index = {phase: row for row, phase in enumerate(_DRAWING)}
    row, place = np.array([(index[p], n) for p, n in [*per_agent.values(), *scalars]]).T
    numbers = _numbers(subs[place, row], len(per_agent), static.num_agents)
    spawn = numbers[len(per_agent) :, 0]
    return Chance(
        **{name: numbers[k] for k, name in enumerate(per_agent)},
        spawns=spawn[::2],
        spawn_cell=spawn[1::2],
        chest_key=subs[soft + 2, index["interact"]],
        armour_key=chain_keys[soft, index["enchant"]],
        mobs_key=keys[PHASES.index("mobs")],
        last_key=keys[PHASES.index("last")],
    )


def _walk(keys: jax.Array, length: int) -> tuple[jax.Array, jax.Array]:
    """Keys and sub-keys (length, P, 2) after each split of the chains that start at keys (P, 2)."""

    def link(key, _):
        key, sub = rng.split_pair(key)
        return key, (key, sub)

    return lax.scan(link, keys, None, length=length)[1]


def _numbers(keys: jax.Array, num_vectors: int, agents: int) -> jax.Array:
    """Numbers (K, A) of keys (K, 2): A numbers each of the first, one each of the others."""
    half = (agents + 1) // 2
    first = np.tile(np.arange(half, dtype=np.uint32), (len(keys), 1))
    second = np.where(first + half == agents, 0, first + half).astype(np.uint32)
    first[num_vectors:], second[num_vectors:] = 0, 0

    def numbers(rows):
        key, first, second = rows
        return rng.to_unit(
            jnp.concatenate(rng.threefry(key[:, :1], key[:, 1:], first, second), axis=1)
        )

    return rng.stored(numbers, (keys, first, second))[:, :agents]
