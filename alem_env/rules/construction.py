"""Buildings on construction sites: shelter, forge, beacon.

A site asks for agents at once (`requirement` > 0) or to be handed over (< 0): one pays and begins,
another finishes for free. Nothing is drawn. Shapes: A agents, S sites.
"""

import jax
import jax.numpy as jnp
import numpy as np

from alem_env.core import struct
from alem_env.core.batch import when_any
from alem_env.core.enums import Achievement, Action, Block, Building
from alem_env.core.params import StaticParams
from alem_env.core.state import State
from alem_env.core.tables import BEACON_LIGHT, BUILDING_BLOCK, BUILDING_COST, NO_ACHIEVEMENT
from alem_env.rules import handover, light
from alem_env.rules.common import (
    PRICED_GOODS,
    at,
    award_each,
    facing,
    in_bounds,
    put,
    same_cell,
)

_BUILDING_OF_ACTION = {
    Action.BUILD_SHELTER: Building.SHELTER,
    Action.BUILD_FORGE: Building.FORGE,
    Action.BUILD_BEACON: Building.BEACON,
}
# of no building and of each
_ACHIEVEMENT = np.array(
    [
        NO_ACHIEVEMENT, Achievement.COORD_BUILD_SHELTER, Achievement.COORD_BUILD_FORGE,
        Achievement.COORD_BUILD_BEACON,
    ],
    np.int32,
)  # fmt: skip
# after nothing, a beginning, and each building
_RESULT_BLOCK = np.array([0, Block.CONSTRUCTION_IN_PROGRESS, *BUILDING_BLOCK[1:]], np.int32)


@struct.dataclass
class _Work:
    """What agents do on their sites. (A,) bool unless stated."""

    cell: jax.Array  # (A, 2) int32
    same: jax.Array  # (A, A), face the same cell
    building: jax.Array  # int32, Building wanted, NONE for no building
    requirement: jax.Array  # int32
    row: jax.Array  # int32, row of the handover completed
    joins: jax.Array  # builds on a site that asks for agents at once, with a payer present
    unfunded: jax.Array  # builds on a site, with no payer present
    enough: jax.Array  # as many agents build the same here as required
    together: jax.Array  # the building gets built, by agents at once
    completes: jax.Array  # the building gets built, begun by another
    begins: jax.Array  # pays, and leaves it to another
    pays: jax.Array  # pays for all agents who build together, or begins


def construct(state: State, actions: jax.Array, static: StaticParams) -> State:
    """All agents that build do so at once.

    Args:
        state: the world, with late handovers dropped.
        actions: (A,) int32.
        static: whether there is construction at all.
    """
    if not static.construction_enabled:
        return state
    builds = in_bounds(facing(state.players)) & (_wanted(actions) != Building.NONE)
    hot = state.replace(stored=None, ladders=None)  # keeps what is not touched out of the loop
    hot = when_any(builds.any(), _construct, hot, actions)
    return hot.replace(stored=state.stored, ladders=state.ladders)


def _construct(state: State, actions: jax.Array) -> State:
    work = _plan(state, actions)
    built = jnp.where(work.together | work.completes, work.building, int(Building.NONE))
    state = _change_map(state, work, built)
    state = _pay(state, work)
    state = _hand_over(state, work)
    state = _reward(state, work, built)
    beacon = built == Building.BEACON
    return state.replace(
        light=light.shine(state.light, state.floor_index, work.cell, beacon, BEACON_LIGHT)
    )


def _wanted(actions: jax.Array) -> jax.Array:
    """Building (A,) int32 that each agent's action asks for."""
    wanted = jnp.zeros_like(actions)
    for action, building in _BUILDING_OF_ACTION.items():
        wanted = jnp.where(actions == action, int(building), wanted)
    return wanted


def _plan(state: State, actions: jax.Array) -> _Work:
    cell = facing(state.players)
    same = same_cell(cell)
    wanted = _wanted(actions)
    builds = in_bounds(cell) & (wanted != Building.NONE)
    block = at(state.floor.block, cell)
    on_site = builds & (block == Block.CONSTRUCTION_SITE)
    on_begun = builds & (block == Block.CONSTRUCTION_IN_PROGRESS)
    requirement = at(state.floor.requirement, cell).astype(jnp.int32)
    soft = at(state.floor.soft, cell)

    can_pay = _can_pay(state.inventory, wanted)
    alike = same & (wanted[:, None] == wanted[None, :])
    crew = alike & builds[None, :]
    payer = (crew & can_pay[None, :]).any(axis=1)
    enough = crew.sum(axis=1, dtype=jnp.int32) >= jnp.abs(requirement)
    joins = on_site & (requirement > 0) & payer
    together = joins & (enough | soft)

    found, row = handover.find(state.handovers, cell, state.timestep)
    same_kind = state.handovers.building[row] == wanted
    completes = handover.first_of_row(on_begun & found & same_kind, row)
    first = handover.first_of_cell(same)
    begins = on_site & (requirement < 0) & can_pay & ~found & first
    payers = together & can_pay
    pays_for_crew = payers & handover.first_of_cell(alike & payers[None, :])
    return _Work(
        cell=cell,
        same=same,
        building=wanted,
        requirement=requirement,
        row=row.astype(jnp.int32),
        joins=joins,
        unfunded=on_site & ~payer,
        enough=enough,
        together=together,
        completes=completes,
        begins=begins,
        pays=begins | pays_for_crew,
    )


def _can_pay(inventory, building: jax.Array) -> jax.Array:
    """(A,) bool: who wants a building (A,) and holds its price."""
    held = jnp.stack([getattr(inventory, good) for good in PRICED_GOODS], axis=1)
    price = jnp.asarray(BUILDING_COST)[building]
    return (held >= price).all(axis=1) & (building != Building.NONE)


def _change_map(state: State, work: _Work, built: jax.Array) -> State:
    floor = state.floor
    # of different buildings on one cell in one step, the one with the highest code stands
    result = jnp.where(built > 0, 1 + built, work.begins)
    result = (work.same * result[None, :]).max(axis=1)
    stands = result > 1
    block = jnp.where(result > 0, jnp.asarray(_RESULT_BLOCK)[result], at(floor.block, work.cell))
    requirement = jnp.where(stands, 0, work.requirement)
    soft = at(floor.soft, work.cell) & ~stands

    sites = floor.sites.built
    slots = jnp.arange(sites.shape[0])
    there = (floor.sites.position == work.cell[:, None, :]).all(-1)  # (A, S)
    site = jnp.argmax(there, axis=1)
    marks = there.any(axis=1) & (built > 0)
    for agent in range(built.shape[0]):  # the last agent's building is noted
        sites = jnp.where((slots == site[agent]) & marks[agent], built[agent], sites)
    return state.replace(
        floor=floor.replace(
            block=put(floor.block, work.cell, block),
            requirement=put(floor.requirement, work.cell, requirement),
            soft=put(floor.soft, work.cell, soft),
            sites=floor.sites.replace(built=sites),
        )
    )


def _pay(state: State, work: _Work) -> State:
    price = jnp.asarray(BUILDING_COST)[jnp.where(work.pays, work.building, int(Building.NONE))]
    inventory = state.inventory
    return state.replace(
        inventory=inventory.replace(
            **{good: getattr(inventory, good) - price[:, k] for k, good in enumerate(PRICED_GOODS)}
        )
    )


def _hand_over(state: State, work: _Work) -> State:
    begun_by = state.handovers.initiator[work.row]
    agents = jnp.arange(work.completes.shape[0])
    helped = (work.completes[:, None] & (begun_by[:, None] == agents)).any(axis=0)
    handovers, begun = handover.update(
        state.handovers,
        work.completes,
        work.row,
        work.begins,
        work.cell,
        state.timestep + jnp.abs(work.requirement) + 1,
        work.building,
    )
    completed = work.completes.sum(dtype=jnp.int32)
    return state.replace(
        handovers=handovers,
        achievements=award_each(
            state.achievements,
            jnp.where(work.completes | helped, int(Achievement.HANDOVER_COMPLETE), NO_ACHIEVEMENT),
        ),
        counters=state.counters.add(
            handover_successes=completed,
            handover_setups=begun,
            construction_handovers=completed,
            construction_handover_setups=begun,
        ),
    )


def _reward(state: State, work: _Work, built: jax.Array) -> State:
    coordinated = (work.together & work.enough) | work.completes
    honoured = jnp.where(coordinated, work.building, int(Building.NONE))
    return state.replace(
        achievements=award_each(state.achievements, jnp.asarray(_ACHIEVEMENT)[honoured]),
        counters=state.counters.add_events(
            construction_attempts=work.joins,
            construction_successes=work.together,
            construction_unfunded=work.unfunded,
            shelters_built=built == Building.SHELTER,
            forges_built=built == Building.FORGE,
            beacons_built=built == Building.BEACON,
        ),
    )
