"""What chests hold.

All draws are scalars shared by every agent that opens a chest in the same step: they find the same,
as far as their roles let them take it. The order of the draws is the benchmark's.
"""

import jax
import jax.numpy as jnp
import numpy as np

from alem_env.core import rng
from alem_env.core.enums import Specialization
from alem_env.core.params import EnvParams, StaticParams
from alem_env.core.state import Inventory
from alem_env.rules.specialization import gate

_ORES = ("coal", "iron", "diamond", "sapphire", "ruby")
_ORE_BOUND = np.cumsum(np.array([0.3, 0.3, 0.15, 0.125, 0.125], np.float32), dtype=np.float32)
_ORE_LIMIT = np.array([4, 3, 2, 2, 2], np.int32)  # one more than the most that is found
_PICKAXE_BOUND = np.cumsum(np.array([0.4, 0.3, 0.2, 0.1], np.float32), dtype=np.float32)

BOW_FLOOR = 1
BOOK_FLOORS = (3, 4)

# In the order in which their keys are drawn: whole numbers from a to b - 1, or (0, 1) for a number
# in the unit interval. How much ore is found depends on the kind.
_DRAWS = {
    "wood": (0, 1), "wood_amount": (1, 6), "torch": (0, 1), "torch_amount": (4, 8),
    "ore": (0, 1), "ore_kind": (0, 1), "ore_amount": (1, None),
    "potion": (0, 1), "potion_kind": (0, 6), "potion_amount": (1, 3),
    "arrow": (0, 1), "arrow_amount": (4, 9),
    "tool": (0, 1), "tool_kind": (0, 2), "pickaxe_level": (0, 1),
}  # fmt: skip


def loot(
    inventory: Inventory,
    key: jax.Array,
    opens: jax.Array,
    first: jax.Array,
    specialization: jax.Array,
    floor_index: jax.Array,
    params: EnvParams,
    static: StaticParams,
) -> Inventory:
    """Inventory after agents took what their chests hold.

    Args:
        inventory: before.
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
    rolls = [rng.uniform(keys[k], opens.shape) for k in (0, 1)]
    miner = opens & gate(rolls[0], specialization == Specialization.MINER, params, static)
    warrior = opens & gate(rolls[1], specialization == Specialization.WARRIOR, params, static)
    chance, number, ore = _draw(keys[num_roles:])

    finds_wood = miner & (chance["wood"] < np.float32(0.6))
    finds_torches = miner & (chance["torch"] < np.float32(0.6))
    finds_ore = miner & (chance["ore"] < np.float32(0.6))
    finds_potion = opens & (chance["potion"] < np.float32(0.5))
    finds_arrows = warrior & (chance["arrow"] < np.float32(0.5))
    finds_pickaxe = miner & (chance["tool"] < np.float32(0.2)) & (number["tool_kind"] == 0)
    finds_bow = warrior & first & (floor_index == BOW_FLOOR)
    in_library = (floor_index == BOOK_FLOORS[0]) | (floor_index == BOOK_FLOORS[1])

    gained = {
        "wood": finds_wood * number["wood_amount"],
        "torches": finds_torches * number["torch_amount"],
        "arrows": finds_arrows * number["arrow_amount"],
        "books": first & in_library,
    }
    for index, name in enumerate(_ORES):
        gained[name] = finds_ore * (ore == index) * number["ore_amount"]
    potion = jnp.arange(inventory.potions.shape[1]) == number["potion_kind"]
    level = 1 + _choose(chance["pickaxe_level"], _PICKAXE_BOUND)
    return inventory.replace(
        **{name: getattr(inventory, name) + amount for name, amount in gained.items()},
        potions=inventory.potions + finds_potion[:, None] * potion * number["potion_amount"],
        pickaxe=jnp.maximum(inventory.pickaxe, finds_pickaxe * level),
        bow=jnp.where(finds_bow, 1, inventory.bow),
    )


def _draw(keys: jax.Array):
    """All draws at once, by name: in the unit interval, whole numbers; and the kind of ore."""
    chance = dict(zip(_DRAWS, rng.uniform_each(keys), strict=True))
    ore = _choose(chance["ore_kind"], _ORE_BOUND)
    low, limit = zip(*_DRAWS.values(), strict=True)
    limit = [jnp.asarray(_ORE_LIMIT)[ore] if bound is None else bound for bound in limit]
    number = rng.randint_each(keys, np.array(low, np.int32), jnp.stack(list(map(jnp.int32, limit))))
    return chance, dict(zip(_DRAWS, number, strict=True)), ore


def _choose(draw: jax.Array, bound: np.ndarray) -> jax.Array:
    """() int32 index with cumulative probabilities `bound`, as jax.random.choice has it."""
    return (bound < bound[-1] * (1 - draw)).sum(dtype=jnp.int32)
