"""Ladders: the whole team changes floor when one player takes one."""

import jax
import jax.numpy as jnp
import numpy as np

from alem_env.core.batch import when_any
from alem_env.core.enums import Action, Item
from alem_env.core.params import EnvParams
from alem_env.core.state import (
    NUM_ACHIEVEMENTS,
    Floor,
    Handovers,
    Inventory,
    Plants,
    State,
    StoredFloor,
    pack_floor,
    unpack_floor,
)
from alem_env.core.tables import FLOOR_ACHIEVEMENT, MONSTERS_TO_CLEAR_FLOOR, NUM_FLOORS
from alem_env.rules.common import at, pay_back
from alem_env.rules.plants import ripen

OVERWORLD = 0


def change_floor(state: State, actions: jax.Array, params: EnvParams) -> State:
    """Takes the team down, or else up, if any player on such a ladder asks for it.

    Handovers of the floor that is left end, and prices paid for buildings come back. Being on a
    floor other than the overworld earns its achievement in every step; the first time gives
    experience.
    """
    players, level = state.players, state.floor_index
    step = _floor_step(state, actions, params)
    moves = step != 0
    new_level = level + step
    arrival = jnp.where(step > 0, state.ladders.up[new_level], state.ladders.down[new_level])

    column = jnp.asarray(FLOOR_ACHIEVEMENT)[new_level]
    earned = (new_level != OVERWORLD) & (jnp.arange(NUM_ACHIEVEMENTS) == column)
    is_new = (earned & ~state.achievements).any(-1)

    floor, stored, stored_slot, handovers, inventory = when_any(
        moves,
        _swap,
        (state.floor, state.stored, state.stored_slot, state.handovers, state.inventory),
        level,
        new_level,
        state.plants,
    )
    return state.replace(
        floor=floor,
        floor_index=new_level,
        stored=stored,
        stored_slot=stored_slot,
        handovers=handovers,
        inventory=inventory,
        deepest_floor=jnp.maximum(state.deepest_floor, new_level),
        achievements=state.achievements | earned,
        players=players.replace(
            position=jnp.where(moves, arrival.astype(jnp.int32), players.position),
            xp=players.xp + is_new,
        ),
    )


def _floor_step(state: State, actions: jax.Array, params: EnvParams) -> jax.Array:
    """() int32: 1 down, -1 up, 0 stay."""
    item = at(state.floor.item, state.players.position)
    is_cleared = state.floor.monsters_killed >= MONSTERS_TO_CLEAR_FLOOR
    can_descend = params.god_mode | ((item == np.uint8(Item.LADDER_DOWN)) & is_cleared)
    can_ascend = params.god_mode | (item == np.uint8(Item.LADDER_UP))
    descends = ((actions == Action.DESCEND) & can_descend).any()
    descends &= state.floor_index < NUM_FLOORS - 1
    ascends = ((actions == Action.ASCEND) & can_ascend).any() & (state.floor_index > OVERWORLD)
    return jnp.where(descends, 1, jnp.where(ascends, -1, 0))


_Swapped = tuple[Floor, StoredFloor, jax.Array, Handovers, Inventory]


def _swap(current: _Swapped, level: jax.Array, new_level: jax.Array, plants: Plants) -> _Swapped:
    """Stores the team's floor where the new one was stored; nothing where the level stays."""
    floor, stored, stored_slot, handovers, inventory = current
    moves = new_level != level
    slot = stored_slot[new_level]  # -1 where the level stays
    loaded = unpack_floor(jax.tree.map(lambda leaf: leaf[slot], stored))
    loaded = loaded.replace(block=ripen(loaded.block, plants, new_level == OVERWORLD))

    write = jnp.where(moves, slot, NUM_FLOORS)  # beyond the slots nothing is written
    stored = jax.tree.map(lambda all_, one: all_.at[write].set(one), stored, pack_floor(floor))
    floors = jnp.arange(NUM_FLOORS)
    new_slot = jnp.where(floors == level, slot, jnp.where(floors == new_level, -1, stored_slot))

    def choose(new, old):
        return jnp.where(moves, new, old)

    return (
        jax.tree.map(choose, loaded, floor),
        stored,
        choose(new_slot, stored_slot),
        jax.tree.map(lambda leaf: choose(jnp.zeros_like(leaf), leaf), handovers),
        pay_back(inventory, moves & handovers.active, handovers.initiator, handovers.building),
    )
