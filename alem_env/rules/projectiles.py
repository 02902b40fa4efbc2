"""Arrows and balls: shooting, flying, and what they hit. Shapes: n slots, A agents, M mobs."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from alem_env.core.batch import when_any
from alem_env.core.enums import Achievement, Action, Block, MobClass, ProjectileKind
from alem_env.core.params import EnvParams, StaticParams
from alem_env.core.state import Floor, Players, Projectiles, State
from alem_env.core.tables import DIRECTIONS, MAP_SIZE, PROJECTILE_DAMAGE
from alem_env.rules import combat
from alem_env.rules.common import (
    at,
    award,
    in_bounds,
    is_fighting_boss,
    is_occupied,
    is_solid,
    put,
    same_cell,
)


def spawn(
    projectiles: Projectiles,
    where: jax.Array,
    position: jax.Array,
    direction: jax.Array,
    owner: jax.Array,
    kind: jax.Array,
) -> tuple[Projectiles, jax.Array]:
    """Projectiles of several shooters, in order, each in the first idle slot that is left.

    Args:
        projectiles: n slots.
        where: (m,) bool, who shoots.
        position: (m, 2) int32, where it starts.
        direction: (m, 2) int32, its step.
        owner: (m,) int32.
        kind: (m,) int32, ProjectileKind; or one for all.

    Returns:
        The slots, and (m,) bool: who shot, which fails when no slot is left.
    """
    shooters, slots = where.shape[0], projectiles.active.shape[0]
    idle = ~projectiles.active
    kind = jnp.broadcast_to(jnp.asarray(kind, jnp.int32), (shooters,))
    idle_before = (np.tri(slots, k=-1, dtype=bool) & idle).sum(axis=1)
    shots_before = (np.tri(shooters, k=-1, dtype=bool) & where).sum(axis=1)
    shot = where & (shots_before < idle.sum())

    fields = dict(position=position, direction=direction, owner=owner, kind=kind)
    values = {name: getattr(projectiles, name) for name in fields}
    active = projectiles.active
    for i in range(shooters):
        taken = where[i] & idle & (idle_before == shots_before[i])
        active |= taken
        for name, new in fields.items():
            mask = taken if new.ndim == 1 else taken[:, None]
            values[name] = jnp.where(mask, new[i], values[name])
    return projectiles.replace(active=active, **values), shot


def shoot_arrows(state: State, actions: jax.Array, static: StaticParams) -> State:
    """Players with a bow and an arrow shoot where they look.

    Args:
        state: the world.
        actions: (A,) int32.
        static: number of agents.
    """
    players, inventory = state.players, state.inventory
    wants = (actions == Action.SHOOT_ARROW) & (inventory.bow >= 1) & (inventory.arrows >= 1)
    shots, shot = spawn(
        state.floor.player_projectiles,
        wants,
        players.position,
        jnp.asarray(DIRECTIONS)[players.direction],
        jnp.arange(static.num_agents, dtype=jnp.int32),
        int(ProjectileKind.ARROW2),
    )
    return state.replace(
        floor=state.floor.replace(player_projectiles=shots),
        inventory=inventory.replace(arrows=inventory.arrows - shot),
        achievements=award(state.achievements, {Achievement.FIRE_BOW: shot}),
    )


def fly_mob_projectiles(state: State) -> State:
    """Projectiles of mobs fly one cell, hurt and wake players, and break tables and furnaces."""
    floor, players = state.floor, state.players
    shots = floor.mob_projectiles
    position = shots.position + shots.direction
    block, breaks = _broken_blocks(at(floor.block, position), position, shots.active)

    touches = _on_players(shots.position, players.position)
    touches |= _on_players(position, players.position)  # (n, A)
    hits = touches & shots.active[:, None] & players.alive
    flies_on = in_bounds(position) & ~is_solid(block) & ~is_occupied(floor, position)

    lost = combat.damage_to_players(
        jnp.asarray(PROJECTILE_DAMAGE)[shots.kind][:, None, :],
        combat.player_defense(players, state.inventory),
        is_fighting_boss(state),
    )
    health = players.health
    for slot in range(shots.active.shape[0]):  # in order, which decides the last bit
        health = health - jnp.where(hits[slot], lost[slot], 0.0)

    hit = hits.any(axis=0)
    shots = shots.replace(position=position, active=shots.active & flies_on & ~hits.any(axis=1))
    blocks = when_any(breaks.any(), _clear_cells, floor.block, position, breaks)
    return state.replace(
        floor=floor.replace(block=blocks, mob_projectiles=shots),
        players=players.replace(
            health=health, sleeping=players.sleeping & ~hit, resting=players.resting & ~hit
        ),
    )


def fly_player_projectiles(state: State, params: EnvParams) -> State:
    """Projectiles of players fly one cell; they hit players and the mobs here and there."""
    floor, players = state.floor, state.players
    shots = floor.player_projectiles
    position = shots.position + shots.direction
    blocked = ~in_bounds(position) | is_solid(at(floor.block, position))
    # Only what a shot can change goes through the condition, so that no map is copied.
    targets = floor.replace(block=None, item=None, requirement=None, soft=None)
    earned = jnp.zeros(state.achievements.shape[1], bool)
    targets, health, earned = when_any(
        shots.active.any(),
        _strike,
        (targets, players.health, earned),
        position,
        state.players,
        combat.player_defense(players, state.inventory),
        params.friendly_fire,
    )
    shots = targets.player_projectiles
    shots = shots.replace(position=position, active=shots.active & ~blocked)
    planes = {name: getattr(floor, name) for name in ("block", "item", "requirement", "soft")}
    return state.replace(
        floor=targets.replace(player_projectiles=shots, **planes),
        players=players.replace(health=health),
        achievements=state.achievements | earned,  # a kill counts for the whole team
    )


def shot_damage(shots: Projectiles, players: Players) -> jax.Array:
    """Damage (n, 3) of players' projectiles: the kind's, the bow's spell, the owner's skill."""
    damage = jnp.asarray(PROJECTILE_DAMAGE)[shots.kind]
    arrow = (shots.kind == ProjectileKind.ARROW) | (shots.kind == ProjectileKind.ARROW2)
    # The enchantment's code is the channel it adds to; code 0, no enchantment, adds nothing.
    spell = players.bow_enchantment[shots.owner][:, None] == jnp.arange(3)
    spell &= arrow[:, None] & (jnp.arange(3) > 0)
    damage = damage + jnp.where(spell, damage[:, :1] / 2, 0.0)
    dexterity = 1 + 0.2 * (players.dexterity[shots.owner] - 1)
    intelligence = 1 + 0.5 * (players.intelligence[shots.owner] - 1)
    damage = damage * jnp.where(arrow, dexterity, 1.0)[:, None]
    return damage * jnp.where(shots.kind == ProjectileKind.FIREBALL, intelligence, 1.0)[:, None]


def _strike(
    before: tuple[Floor, jax.Array, jax.Array],
    position: jax.Array,
    players: Players,
    defense: jax.Array,
    friendly_fire: jax.Array,
):
    """What the players' projectiles do on their way to `position` (n, 2), one after the other.

    Args:
        before: the floor's mobs and projectiles; the players' health (A,); the achievements that
            the team earns (93,).
        position: (n, 2) int32.
        players: the team.
        defense: (A, 3) of the players.
        friendly_fire: () bool.

    Returns:
        `before` after them; projectiles that hit something are idle.
    """
    shots = before[0].player_projectiles
    damage = shot_damage(shots, players) * shots.active[:, None]
    on_player = _on_players(position, players.position)  # (n, A)
    first = jnp.argmax(on_player, axis=1)[:, None] == jnp.arange(on_player.shape[1])
    lost = combat.reduce_damage(damage[:, None, :], defense) * friendly_fire
    lost = jnp.where(on_player & first, lost, 0.0)

    def fly(carry, shot):
        floor, health, earned = carry
        active, start, end, damage, lost = shot
        floor, here = combat.attack_plain(floor, active[None], start[None], damage[None])
        spent = _any_hit(here)
        floor, there = combat.attack_plain(floor, active[None], end[None], damage[None] * ~spent)
        for blows in (here, there):
            for mob_class in (MobClass.MELEE, MobClass.RANGED):
                earned |= combat.defeats(blows[mob_class], mob_class)[0]
        return (floor, health - lost, earned), (spent | _any_hit(there))[0]

    (floor, health, earned), spent = lax.scan(
        fly, before, (shots.active, shots.position, position, damage, lost)
    )
    shots = shots.replace(active=shots.active & ~spent & ~on_player.any(axis=1))
    return floor.replace(player_projectiles=shots), health, earned


def _any_hit(blows: dict[MobClass, combat.Blows]) -> jax.Array:
    """(n,) bool: which attacks met a mob of any class."""
    return blows[MobClass.MELEE].hit | blows[MobClass.PASSIVE].hit | blows[MobClass.RANGED].hit


def _on_players(position: jax.Array, players: jax.Array) -> jax.Array:
    """(n, A) bool: which of (n, 2) cells are those of which players (A, 2)."""
    return (position[:, None, :] == players[None]).all(-1)


def _broken_blocks(block: jax.Array, position: jax.Array, active: jax.Array):
    """Blocks (n,) that projectiles meet and which projectiles break one.

    Of several that reach one table or furnace the first active one turns it into a path, and the
    rest fly on.
    """
    breakable = (block == Block.FURNACE) | (block == Block.CRAFTING_TABLE)
    breaks = active & breakable
    size = jnp.asarray(MAP_SIZE)
    cell = jnp.where(position < 0, position + size, position)
    earlier = same_cell(cell) & np.tri(active.shape[0], k=-1, dtype=bool)
    gone = (earlier & breaks[None, :]).any(axis=1)
    return jnp.where(gone & breakable, np.asarray(Block.PATH, block.dtype), block), breaks


def _clear_cells(plane: jax.Array, position: jax.Array, where: jax.Array) -> jax.Array:
    """A path at each of (n, 2) cells where `where` holds."""
    outside = jnp.asarray(MAP_SIZE, jnp.int32)
    cell = jnp.where(where[:, None], position, outside)  # dropped by the write
    return put(plane, cell, jnp.full(where.shape, int(Block.PATH)))
