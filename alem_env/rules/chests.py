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
from alem_env.core.state import Inventory, State
from alem_env.rules.common import is_role
from alem_env.rules.specialization import gate

_ORES = ("coal", "iron", "diamond", "sapphire", "ruby")
_ORE_BOUND = np.cumsum(np.array([0.3, 0.3, 0.15, 0.125, 0.125], np.float32), dtype=np.float32)
_ORE_LIMIT = (4, 3, 2, 2, 2)  # one more than the most that is found
_PICKAXE_BOUND = np.cumsum(np.array([0.4, 0.3, 0.2, 0.1], np.float32), dtype=np.float32)

BOW_FLOOR = 1
BOOK_FLOORS = (3, 4)

# in the order in which their keys are drawn
_DRAWS = (
    "wood", "wood_amount", "torch", "torch_amount", "ore", "ore_kind", "ore_amount", "potion",
    "potion_kind", "potion_amount", "arrow", "arrow_amount", "tool", "tool_kind", "pickaxe_level",
)  # fmt: skip


def loot(
    key: jax.Array, state: State, opens: jax.Array, params: EnvParams, static: StaticParams
) -> Inventory:
    """Inventory after agents took what their chests hold.

    Args:
        key: (2,) uint32.
        state: the world, in which `floor.chest_opened` says who opened one here before.
        opens: (A,) bool, who opens a chest now.
        params: efficiency of other roles.
        static: whether roles are soft.
    """
    inventory, players = state.inventory, state.players
    num_roles = 2 if static.soft_specialization else 0
    _, keys = rng.chain(key, num_roles + len(_DRAWS))
    draw = dict(zip(_DRAWS, keys[num_roles:], strict=True))
    # with hard roles the key given here goes unused
    miner = opens & gate(keys[0], is_role(players, Specialization.MINER), params, static)
    warrior = opens & gate(keys[1], is_role(players, Specialization.WARRIOR), params, static)

    def happens(name, chance):
        return rng.uniform(draw[name]) < np.float32(chance)

    def number(name, low, limit):
        return rng.randint(draw[name], (), low, limit)

    gained = {
        "wood": miner * happens("wood", 0.6) * number("wood_amount", 1, 6),
        "torches": miner * happens("torch", 0.6) * number("torch_amount", 4, 8),
        "arrows": warrior * happens("arrow", 0.5) * number("arrow_amount", 4, 9),
    }
    ore = _choose(draw["ore_kind"], _ORE_BOUND)
    finds_ore = miner * happens("ore", 0.6)
    for index, name in enumerate(_ORES):
        gained[name] = finds_ore * (ore == index) * number("ore_amount", 1, _ORE_LIMIT[index])

    potion = jnp.arange(inventory.potions.shape[1]) == number("potion_kind", 0, 6)
    potions = number("potion_amount", 1, 3) * happens("potion", 0.5) * potion

    finds_pickaxe = miner & happens("tool", 0.2) & (number("tool_kind", 0, 2) == 0)
    level = 1 + _choose(draw["pickaxe_level"], _PICKAXE_BOUND)
    pickaxe = jnp.where(finds_pickaxe, level, 0)

    first = ~state.floor.chest_opened
    finds_bow = warrior & first & (state.floor_index == BOW_FLOOR)
    in_library = (state.floor_index == BOOK_FLOORS[0]) | (state.floor_index == BOOK_FLOORS[1])
    gained["books"] = opens & first & in_library

    return inventory.replace(
        **{name: getattr(inventory, name) + amount for name, amount in gained.items()},
        potions=inventory.potions + opens[:, None] * potions,
        pickaxe=jnp.maximum(inventory.pickaxe, pickaxe),
        bow=jnp.where(finds_bow, 1, inventory.bow),
    )


def _choose(key: jax.Array, bound: np.ndarray) -> jax.Array:
    """() int32 index drawn with cumulative probabilities `bound`, as jax.random.choice does."""
    return (bound < bound[-1] * (1 - rng.uniform(key))).sum(dtype=jnp.int32)
