"""The action DO: an agent acts on whatever is in front of it.

Shapes: A agents.
"""

import jax
import jax.numpy as jnp
import numpy as np

from alem_env.core.batch import when_any
from alem_env.core.enums import Achievement, Action, Block, Specialization
from alem_env.core.params import EnvParams, StaticParams
from alem_env.core.state import State
from alem_env.core.tables import BOSS_SPAWN_STEPS
from alem_env.rules import chests, combat, coordination, handover, mining
from alem_env.rules.chance import Chance
from alem_env.rules.common import (
    at,
    award,
    award_each,
    cell_number,
    facing,
    in_bounds,
    is_boss_vulnerable,
    is_fighting_boss,
    is_role,
    max_drink,
    max_food,
    put,
    same_cell,
)
from alem_env.rules.specialization import gate

SAPLING_CHANCE = 0.2
DRINK_OF_WATER = 4
FOOD_OF_PLANT = 4


def interact(
    chance: Chance, state: State, actions: jax.Array, params: EnvParams, static: StaticParams
) -> State:
    """All agents whose action is DO act on the cells in front of them, at once.

    First it is decided whose action goes through (coordination, handovers), then mobs are struck,
    then players met, then the block itself is used.

    Args:
        chance: the random numbers of the step.
        state: the world.
        actions: (A,) int32.
        params: numbers.
        static: switches.
    """
    is_forager = is_role(state.players, Specialization.FORAGER)
    forages = gate(chance.forages, is_forager, params, static)
    if static.coordination_enabled:
        state = handover.expire(state)

    cell = facing(state.players)
    block = at(state.floor.block, cell)
    same = same_cell(cell)
    acting = in_bounds(cell) & (actions == Action.DO)
    state, acting, sync, completes, earned = _gates(
        chance.coordinates, state, cell, block, same, acting, params, static
    )
    state, eats_meat = combat.strike_mobs(state, acting, cell, same, can_eat=forages)
    state = combat.meet_players(state, acting, cell, params.friendly_fire)

    used = mining.look_up(jnp.where(acting, block, np.uint8(Block.INVALID)))
    mines = state.inventory.pickaxe >= used.pickaxe
    opens = used.block == Block.CHEST
    eats = used.block == Block.RIPE_PLANT
    drinks = forages & ((used.block == Block.WATER) | (used.block == Block.FOUNTAIN))
    strikes_boss = used.block == Block.NECROMANCER
    hurts_boss = strikes_boss & is_boss_vulnerable(state) & is_fighting_boss(state)

    leaves = jnp.where(mines | opens | eats, used.leaves, 0)
    coordinated = mines & (used.coordinated > 0)
    state = _change_map(state, cell, block, same, leaves, completes | coordinated)
    state = _take_sapling(chance.finds_sapling, state, used.block == Block.GRASS, forages)
    state = _collect(state, used, mines, coordinated, sync)
    state = _open_chests(chance.chest_key, state, opens, params, static)
    state = _drink(state, drinks)
    state = _eat_plants(state, eats, cell)
    state = _hurt_boss(state, hurts_boss)
    earned |= {
        Achievement.COLLECT_FOOD: eats_meat,
        Achievement.COLLECT_DRINK: drinks,
        Achievement.EAT_PLANT: eats,
        Achievement.OPEN_CHEST: opens,
        Achievement.DAMAGE_NECROMANCER: hurts_boss,
    }
    return state.replace(achievements=award(state.achievements, earned))


def _gates(chance, state, cell, block, same, acting, params, static):
    """Whose action coordination lets through.

    What a construction site requires is for building, not for DO: acting on one always passes.

    Args:
        chance: (A,) float32, the draws of those who try a soft block alone.
        state: the world.
        cell: (A, 2) int32, the cells faced.
        block: (A,) uint8, what is there.
        same: (A, A) bool, who faces the same cell.
        acting: (A,) bool.
        params: numbers.
        static: switches.

    Returns:
        The state, who acts (A,) bool, the `coordination.Sync`, who (A,) completes a handover, and
        the achievements earned.
    """
    at_site = (block == Block.CONSTRUCTION_SITE) | (block == Block.CONSTRUCTION_IN_PROGRESS)
    requirement = at(state.floor.requirement, cell).astype(jnp.int32)
    soft = at(state.floor.soft, cell)
    if static.coordination_enabled:
        sync = coordination.together(
            chance,
            acting & ~at_site,
            requirement,
            soft,
            same,
            params.soft_solo_fail_prob,
        )
        state, completes, passes = handover.hand_over_block(state, sync.succeeds, cell, requirement)
    else:
        sync = coordination.no_coordination(acting & ~at_site, requirement, soft)
        completes, passes = jnp.zeros_like(acting), sync.succeeds
    state = state.replace(counters=coordination.count(state.counters, sync, requirement))
    earned = coordination.achievements(sync, requirement)
    earned[Achievement.HANDOVER_COMPLETE] = completes
    earned[Achievement.COORD_MINE_HANDOVER] = completes
    return state, passes | (acting & at_site), sync, completes, earned


def _change_map(state, cell, block, same, leaves, ends):
    """Blocks give way to what agents leave of them, and requirements end.

    Args:
        state: the world.
        cell: (A, 2) int32, the cells faced.
        block: (A,) uint8, what is there.
        same: (A, A) bool, who faces the same cell.
        leaves: (A,) the block that each leaves, 0 for no change.
        ends: (A,) bool, whose act ends the requirement.
    """
    floor = state.floor
    leaves = jnp.where(same, leaves[None, :], 0).max(axis=1)
    ends = (same & ends[None, :]).any(axis=1)
    requirement, soft = at(floor.requirement, cell), at(floor.soft, cell)
    return state.replace(
        floor=floor.replace(
            block=put(floor.block, cell, jnp.where(leaves > 0, leaves, block)),
            requirement=put(floor.requirement, cell, jnp.where(ends, 0, requirement)),
            soft=put(floor.soft, cell, soft & ~ends),
        )
    )


def _take_sapling(chance, state, on_grass, forages):
    takes = on_grass & (chance < SAPLING_CHANCE * forages)
    inventory = state.inventory
    return state.replace(inventory=inventory.replace(sapling=inventory.sapling + takes))


def _collect(state, used, mines, coordinated, sync):
    """What was mined goes into the inventory.

    Args:
        state: the world.
        used: `mining.Matter` of each agent, fields (A,).
        mines: (A,) bool, who mines something.
        coordinated: (A,) bool, who mines what may ask for coordination.
        sync: `coordination.Sync`, fields (A,).
    """
    soft, hard = mining.mined_together(coordinated, sync)
    events = {"mine_sync_soft": soft, "mine_sync_hard": hard}
    earned = mining.achievement(used, soft, hard)
    return state.replace(
        inventory=mining.gather(state.inventory, used, mines, sync.yields),
        achievements=award_each(state.achievements, earned),
        counters=state.counters.add_events(**events),
    )


def _open_chests(key, state, opens, params, static):
    floor = state.floor
    found = when_any(
        opens.any(),
        lambda _, *chests_opened: chests.loot(*chests_opened, params, static),
        jnp.zeros((opens.shape[0], len(chests.FINDS)), jnp.int32),
        key,
        opens,
        opens & ~floor.chest_opened,
        state.players.specialization,
        state.floor_index,
    )
    return state.replace(
        inventory=chests.take(state.inventory, found),
        floor=floor.replace(chest_opened=floor.chest_opened | opens),
    )


def _drink(state, drinks):
    players = state.players
    drink = jnp.minimum(max_drink(players), players.drink + DRINK_OF_WATER)
    players = players.replace(
        drink=jnp.where(drinks, drink, players.drink),
        thirst=jnp.where(drinks, 0.0, players.thirst),
    )
    return state.replace(players=players)


def _eat_plants(state, eats, cell):
    players, plants = state.players, state.plants
    food = jnp.minimum(max_food(players), players.food + FOOD_OF_PLANT)
    players = players.replace(
        food=jnp.where(eats, food, players.food),
        hunger=jnp.where(eats, 0.0, players.hunger),
    )
    there = cell_number(cell)[:, None] == cell_number(plants.position)  # (A, P)
    eaten = (eats[:, None] & there).any(axis=0)
    return state.replace(
        players=players,
        plants=plants.replace(age=jnp.where(eaten, 0, plants.age)),
    )


def _hurt_boss(state, hurts):
    return state.replace(
        boss_progress=state.boss_progress + hurts.any(),
        boss_spawn_steps=jnp.where(hurts.any(), BOSS_SPAWN_STEPS, state.boss_spawn_steps),
    )
