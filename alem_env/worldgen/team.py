"""The team of a new world, and what it carries. A agents."""

import jax.numpy as jnp
import numpy as np

from alem_env.core import state as st
from alem_env.core.enums import Action, Specialization
from alem_env.core.params import EnvParams, StaticParams
from alem_env.core.tables import MAX_STACK, NUM_ARMOUR_SLOTS, NUM_POTIONS
from alem_env.worldgen.terrain import start_cells

_SPECIALIZATIONS = (Specialization.WARRIOR, Specialization.FORAGER, Specialization.MINER)
_FULL_NEED = 9  # food, drink, energy, mana and health at the start


def new_players(params: EnvParams, static: StaticParams) -> st.Players:
    """The team before its first step, in the middle of the first floor."""
    agents = static.num_agents
    roles = [_SPECIALIZATIONS[i % len(_SPECIALIZATIONS)] for i in range(agents)]
    supplies = jnp.round(_FULL_NEED * jnp.asarray(params.starting_resource_multiplier))
    supplies = jnp.broadcast_to(supplies.astype(jnp.int32), (agents,))

    def all_equal(value, dtype=jnp.int32, shape=(agents,)):
        # a member of an IntEnum would make a weakly typed array, and a step compile twice
        return jnp.full(shape, np.asarray(value, dtype))

    return st.Players(
        position=jnp.asarray(start_cells(agents), jnp.int32),
        direction=all_equal(Action.UP),
        alive=all_equal(True, bool),
        health=all_equal(_FULL_NEED, jnp.float32),
        food=supplies,
        drink=supplies,
        energy=supplies,
        mana=all_equal(_FULL_NEED),
        sleeping=all_equal(False, bool),
        resting=all_equal(False, bool),
        recover=all_equal(0, jnp.float32),
        hunger=all_equal(0, jnp.float32),
        thirst=all_equal(0, jnp.float32),
        fatigue=all_equal(0, jnp.float32),
        recover_mana=all_equal(0, jnp.float32),
        xp=all_equal(0),
        dexterity=all_equal(1),
        strength=all_equal(1),
        intelligence=all_equal(1),
        specialization=jnp.asarray(roles, jnp.int32),
        request_duration=all_equal(0),
        request_type=all_equal(0),
        learned_spell=all_equal(False, bool),
        sword_enchantment=all_equal(0),
        bow_enchantment=all_equal(0),
        armour_enchantment=all_equal(0, shape=(agents, NUM_ARMOUR_SLOTS)),
        message=all_equal(-1),
        death_cause=all_equal(0),
        floor_at_death=all_equal(-1),
    )


# What god mode starts with; of all else as much as can be carried
_BEST = {"pickaxe": 4, "sword": 4, "bow": 1, "armour": 2}
_SHAPES = {"armour": (NUM_ARMOUR_SLOTS,), "potions": (NUM_POTIONS,)}


def new_inventory(params: EnvParams, static: StaticParams) -> st.Inventory:
    """What each of the team carries: nothing, or in god mode all that it can."""
    god_mode = jnp.asarray(params.god_mode)
    amounts = {}
    for name in st.Inventory.__dataclass_fields__:
        amount = jnp.where(god_mode, _BEST.get(name, MAX_STACK), 0).astype(jnp.int32)
        amounts[name] = jnp.broadcast_to(amount, (static.num_agents, *_SHAPES.get(name, ())))
    return st.Inventory(**amounts)
