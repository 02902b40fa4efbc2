"""What chests hold.

All draws are scalars shared by every agent that opens a chest in the same step: they find the same,
as far as their roles let them take it. The order of the draws is the benchmark's.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from alem_env.core import rng
from alem_env.core.enums import Specialization
from alem_env.core.params import EnvParams, StaticParams
from alem_env.core.state import Inventory
from alem_env.core.tables import NUM_POTIONS
from alem_env.rules.specialization import gate

_ORES = ("coal", "iron", "diamond", "sapphire", "ruby")
_ORE_BOUND = np.cumsum(np.array([0.3, 0.3, 0.15, 0.125, 0.125], np.float32), dtype=np.float32)
_ORE_LIMIT = np.array([4, 3, 2, 2, 2], np.int32)  # one more than the most that is found
_PICKAXE_BOUND = np.cumsum(np.array([0.4, 0.3, 0.2, 0.1], np.float32), dtype=np.float32)

BOW_FLOOR = 1
BOOK_FLOORS = (3, 4)

_BY_ORE = -1
# In the order in which their keys are drawn: whole numbers from a to b - 1, or (0, 1) for a number
# in the unit interval. How much ore is found depends on the kind.
_DRAWS = {
    "wood": (0, 1), "wood_amount": (1, 6), "torch": (0, 1), "torch_amount": (4, 8),
    "ore": (0, 1), "ore_kind": (0, 1), "ore_amount": (1, _BY_ORE),
    "potion": (0, 1), "potion_kind": (0, NUM_POTIONS), "potion_amount": (1, 3),
    "arrow": (0, 1), "arrow_amount": (4, 9),
    "tool": (0, 1), "tool_kind": (0, 2), "pickaxe_level": (0, 1),
}  # fmt: skip


# What an agent must be, or where, to find something: bits of a number
_OPENS, _MINER, _WARRIOR, _FIRST, _IN_DUNGEON, _IN_LIBRARY = (1 << bit for bit in range(6))


class _Find(NamedTuple):
    """Something to be found, and when. Numbers go by their names in _DRAWS and _MORE."""

    item: str  # field of Inventory
    needs: int
    amount: str
    chance: str = "wood"  # the draw that must be below ...
    below: float = 1.0
    kind: str = "one"  # the number that must be `is_kind`
    is_kind: int = 1


_MORE = ("one", "ore_found", "level")  # numbers besides those drawn
FINDS = (
    _Find("wood", _MINER, "wood_amount", "wood", 0.6),
    _Find("torches", _MINER, "torch_amount", "torch", 0.6),
    _Find("arrows", _WARRIOR, "arrow_amount", "arrow", 0.5),
    _Find("books", _FIRST | _IN_LIBRARY, "one"),
    _Find("bow", _WARRIOR | _FIRST | _IN_DUNGEON, "one"),
    _Find("pickaxe", _MINER, "level", "tool", 0.2, "tool_kind", 0),
    *(_Find(o, _MINER, "ore_amount", "ore", 0.6, "ore_found", k) for k, o in enumerate(_ORES)),
    *(
        _Find("potions", _OPENS, "potion_amount", "potion", 0.5, "potion_kind", colour)
        for colour in range(NUM_POTIONS)
    ),
)


def loot(
    key: jax.Array,
    opens: jax.Array,
    first: jax.Array,
    specialization: jax.Array,
    floor_index: jax.Array,
    params: EnvParams,
    static: StaticParams,
) -> jax.Array:
    """What agents take from their chests: (A, 17) int32, how many of each of FINDS.

    Args:
        key: (2,) uint32.
        opens: (A,) bool, who opens a chest now.
        first: (A,) bool, who does so for the first time on this floor.
        specialization: (A,) int32.
        floor_index: () int32.
        params: efficiency of other roles.
        static: whether roles are soft.
    """
    num_roles = 2 if static.soft_specialization else 0
    _, keys = rng.chain(key, num_roles + len(_DRAWS))
    # with hard roles these go unused
    rolls = jax.vmap(lambda key: rng.uniform(key, opens.shape))(keys[:2])
    miner = opens & gate(rolls[0], specialization == Specialization.MINER, params, static)
    warrior = opens & gate(rolls[1], specialization == Specialization.WARRIOR, params, static)
    is_a = (
        opens * _OPENS
        | miner * _MINER
        | warrior * _WARRIOR
        | first * _FIRST
        | (floor_index == BOW_FLOOR) * _IN_DUNGEON
        | ((floor_index == BOOK_FLOORS[0]) | (floor_index == BOOK_FLOORS[1])) * _IN_LIBRARY
    )
    amount = _amounts(*_draw(keys[num_roles:]))
    needs = np.array([find.needs for find in FINDS], np.int32)
    return jnp.where(is_a[:, None] & needs == needs, amount, 0)


def take(inventory: Inventory, found: jax.Array) -> Inventory:
    """Inventory with what was found, (A, 17) as `loot` has it. A better pickaxe replaces one."""
    columns = {find.item: found[:, column] for column, find in enumerate(FINDS)}
    pickaxe, bow = columns.pop("pickaxe"), columns.pop("bow")
    columns["potions"] = found[:, -NUM_POTIONS:]
    return inventory.replace(
        **{item: getattr(inventory, item) + amount for item, amount in columns.items()},
        pickaxe=jnp.maximum(inventory.pickaxe, pickaxe),
        bow=jnp.maximum(inventory.bow, bow),
    )


def _amounts(chance: jax.Array, number: jax.Array) -> jax.Array:
    """(17,) int32, how many of FINDS there are for those they are for."""
    columns = _Find(*zip(*FINDS, strict=True))
    chances, numbers = list(_DRAWS), [*_DRAWS, *_MORE]
    drawn = chance[np.array([chances.index(name) for name in columns.chance])]
    kind = number[np.array([numbers.index(name) for name in columns.kind])]
    amount = number[np.array([numbers.index(name) for name in columns.amount])]
    there = (drawn < np.array(columns.below, np.float32)) & (kind == np.array(columns.is_kind))
    return jnp.where(there, amount, 0)


def _draw(keys: jax.Array):
    """All draws at once: (15,) float32 in the unit interval, and (18,) whole numbers with _MORE."""
    words = rng.stored(_words, keys)
    chance = rng.to_unit(words[:, 0])
    unit = dict(zip(_DRAWS, chance, strict=True))
    ore = _choose(unit["ore_kind"], _ORE_BOUND)
    level = 1 + _choose(unit["pickaxe_level"], _PICKAXE_BOUND)
    least, limit = np.array(list(_DRAWS.values()), np.int32).T
    limit = jnp.where(limit == _BY_ORE, jnp.asarray(_ORE_LIMIT)[ore], limit)
    number = rng.fold_to_range(words[:, 1], words[:, 2], least, limit)
    return chance, jnp.concatenate([number, jnp.stack([jnp.int32(1), ore, level])])


def _words(keys: jax.Array) -> jax.Array:
    """Of keys (n, 2) the words (n, 3) of a number in the unit interval and of a whole number."""
    return rng.bits_each(jnp.stack([keys, *rng.split_pair(keys)], axis=1))


def _choose(draw: jax.Array, bound: np.ndarray) -> jax.Array:
    """() int32 index with cumulative probabilities `bound`, as jax.random.choice has it."""
    return (bound < bound[-1] * (1 - draw)).sum(dtype=jnp.int32)
