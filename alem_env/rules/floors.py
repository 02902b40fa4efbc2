"""Ladders: the whole team changes floor when one player takes one."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from alem_env.core import storage
from alem_env.core.batch import when_any
from alem_env.core.enums import Action, Item
from alem_env.core.params import EnvParams
from alem_env.core.state import NUM_ACHIEVEMENTS, Handovers, Plants, State
from alem_env.core.tables import FLOOR_ACHIEVEMENT, MONSTERS_TO_CLEAR_FLOOR, NUM_FLOORS
from alem_env.rules.common import PRICED_GOODS, at, refunds
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

    state = _swap_floors(state, moves, new_level)
    return state.replace(
        floor_index=new_level,
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


class _Words(NamedTuple):
    """What changes with the floor but for its planes; one vector in the order of these fields."""

    small: dict  # the floor's fields: see core.storage
    wide: dict
    handovers: Handovers
    goods: list[jax.Array]  # (A,) each of what buildings cost


def _swap_floors(state: State, moves: jax.Array, new_level: jax.Array) -> State:
    """Stores the team's floor where the new one was stored, if it `moves`."""
    level, slots = state.floor_index, state.stored_slot
    goods = [getattr(state.inventory, name) for name in PRICED_GOODS]
    words = _Words(*storage.fields(state.floor), state.handovers, goods)
    planes, vector, stored = when_any(
        moves,
        partial(_swap, like=words),
        (storage.planes(state.floor), storage.to_words(words), state.stored),
        moves,
        slots[new_level],
        state.plants,
        new_level == OVERWORLD,
    )
    words = storage.from_words(vector, words)
    floors = np.arange(NUM_FLOORS)
    freed = jnp.where(floors == level, slots[new_level], jnp.where(floors == new_level, -1, slots))
    return state.replace(
        floor=storage.build_floor(planes, (words.small, words.wide), state.floor),
        stored=stored,
        stored_slot=jnp.where(moves, freed, slots),
        handovers=words.handovers,
        inventory=state.inventory.replace(**dict(zip(PRICED_GOODS, words.goods, strict=True))),
    )


def _swap(
    current: tuple[storage.Planes, jax.Array, jax.Array],
    moves: jax.Array,
    slot: jax.Array,
    plants: Plants,
    is_overworld: jax.Array,
    like: _Words,
) -> tuple[storage.Planes, jax.Array, jax.Array]:
    """Planes and words of the team's floor, and the stored rows, after it moved.

    Few arrays pass through the loop of `when_any`, for each of them costs something even when
    nobody moves.

    Args:
        current: the same before.
        moves: () bool; a team that does not move keeps its floor.
        slot: () int32, of the floor moved to.
        plants: what may have ripened meanwhile.
        is_overworld: () bool, where the team moves to.
        like: shapes of the words.
    """
    planes, words, stored = current
    small, wide, _, goods = jnp.split(words, np.cumsum([storage.num_words(w) for w in like[:-1]]))
    row = storage.pack_row(planes, small, wide)
    loaded, new_small, new_wide = storage.unpack_row(stored[slot], small.size)
    block = ripen(loaded[0], plants, is_overworld)

    pending = storage.from_words(words, like).handovers
    agents = like.goods[0].size
    returned = refunds(pending.active, pending.initiator, pending.building, agents)
    ended = jnp.zeros(storage.num_words(pending), words.dtype)
    new_words = jnp.concatenate([new_small, new_wide, ended, goods + returned.T.reshape(-1)])

    def choose(new, old):
        return jnp.where(moves, new, old)

    return (
        jax.tree.map(choose, (block, *loaded[1:]), planes),
        choose(new_words, words),
        stored.at[jnp.where(moves, slot, NUM_FLOORS)].set(row),  # nothing is written beyond
    )
