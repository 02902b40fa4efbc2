"""Arrows and balls: shooting, flying, and what they hit. Shapes: n slots, A agents, M mobs."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from alem_env.core.batch import when_any
from alem_env.core.enums import Achievement, Action, Block, MobClass, ProjectileKind, Specialization
from alem_env.core.params import EnvParams
from alem_env.core.state import NUM_ACHIEVEMENTS, Mobs, Players, Projectiles, State
from alem_env.core.tables import (
    DIRECTIONS,
    MAP_SIZE,
    MOB_ACHIEVEMENT,
    MOB_DEFENSE,
    NO_ACHIEVEMENT,
    PROJECTILE_DAMAGE,
)
from alem_env.rules import combat
from alem_env.rules.common import (
    at,
    award_each,
    in_bounds,
    is_fighting_boss,
    is_role,
    is_solid,
    put,
    same_cell,
)

FIREBALL_MANA = 2


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
    slots = projectiles.active.shape[0]
    idle = ~projectiles.active
    idle_before = (np.tri(slots, k=-1, dtype=bool) & idle).sum(axis=1)
    shots_before = (np.tri(where.shape[0], k=-1, dtype=bool) & where).sum(axis=1)
    takes = idle[:, None] & where & (idle_before[:, None] == shots_before)  # (n, m)
    taken = takes.any(axis=1)

    kind = jnp.broadcast_to(jnp.asarray(kind, jnp.int32), where.shape)
    owner = jnp.asarray(owner, jnp.int32)
    new = jnp.concatenate([position, direction, owner[:, None], kind[:, None]], axis=1)  # (m, 6)
    new = (takes[:, :, None] * new).sum(axis=1)
    filled = projectiles.replace(
        position=jnp.where(taken[:, None], new[:, :2], projectiles.position),
        direction=jnp.where(taken[:, None], new[:, 2:4], projectiles.direction),
        owner=jnp.where(taken, new[:, 4], projectiles.owner),
        kind=jnp.where(taken, new[:, 5], projectiles.kind),
        active=projectiles.active | taken,
    )
    return filled, takes.any(axis=0)


def shoot(state: State, actions: jax.Array) -> State:
    """Players shoot where they look: arrows, then the fireballs of fighters who cast their spell.

    Args:
        state: the world.
        actions: (A,) int32.
    """
    players, inventory = state.players, state.inventory
    agents = np.arange(actions.shape[0])
    arrow = (actions == Action.SHOOT_ARROW) & (inventory.bow >= 1) & (inventory.arrows >= 1)
    fireball = (actions == Action.CAST_SPELL) & players.learned_spell
    fireball &= is_role(players, Specialization.WARRIOR) | is_role(players, Specialization.MINER)
    fireball &= players.mana >= FIREBALL_MANA
    shots, shot = spawn(
        state.floor.player_projectiles,
        jnp.concatenate([arrow, fireball]),
        jnp.tile(players.position, (2, 1)),
        jnp.tile(jnp.asarray(DIRECTIONS)[players.direction], (2, 1)),
        np.tile(agents, 2),
        np.repeat([ProjectileKind.ARROW2, ProjectileKind.FIREBALL], len(agents)),
    )
    arrow, fireball = jnp.split(shot, 2)
    earned = jnp.where(fireball, int(Achievement.CAST_SPELL), NO_ACHIEVEMENT)
    return state.replace(
        floor=state.floor.replace(player_projectiles=shots),
        players=players.replace(mana=players.mana - FIREBALL_MANA * fireball),
        inventory=inventory.replace(arrows=inventory.arrows - arrow),
        achievements=award_each(
            state.achievements, jnp.where(arrow, int(Achievement.FIRE_BOW), earned)
        ),
    )


def fly_mob_projectiles(state: State) -> State:
    """Projectiles of mobs fly one cell, hurt and wake players, and break tables and furnaces.

    Args:
        state: the world.
    """
    floor, players = state.floor, state.players
    shots = floor.mob_projectiles
    position = shots.position + shots.direction
    block, breaks = _broken_blocks(at(floor.block, position), position, shots.active)
    stopped = (_same(position, floor.mobs.position) & floor.mobs.alive).any(axis=1)
    flies_on = in_bounds(position) & ~is_solid(block) & ~stopped

    touches = _same(shots.position, players.position) | _same(position, players.position)
    hits = touches & shots.active[:, None] & players.alive  # (n, A)
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
    """Projectiles of players fly one cell; they hit players and the mobs here and there.

    Args:
        state: the world.
        params: `friendly_fire`.
    """
    floor, players = state.floor, state.players
    mobs, shots = floor.mobs, floor.player_projectiles
    position = shots.position + shots.direction
    blocked = ~in_bounds(position) | is_solid(at(floor.block, position))
    nothing = (jnp.zeros(NUM_ACHIEVEMENTS, bool), jnp.int32(0))
    before = (mobs.health, mobs.alive, players.health, ~blocked, nothing)
    health, alive, player_health, flies_on, (earned, killed) = when_any(
        shots.active.any(),
        _strike,
        before,
        mobs,
        shots,
        players,
        combat.player_defense(players, state.inventory),
        params.friendly_fire,
    )
    shots = shots.replace(position=position, active=shots.active & flies_on)
    return state.replace(
        floor=floor.replace(
            mobs=mobs.replace(health=health, alive=alive),
            player_projectiles=shots,
            monsters_killed=floor.monsters_killed + killed,
        ),
        players=players.replace(health=player_health),
        achievements=state.achievements | earned,  # for the whole team, as published
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
    before: tuple[jax.Array, jax.Array, jax.Array, jax.Array, jax.Array],
    mobs: Mobs,
    shots: Projectiles,
    players: Players,
    defense: jax.Array,
    friendly_fire: jax.Array,
):
    """What the players' projectiles do, one after the other.

    Each strikes the mob on its cell; if there is none, with full force the one on the next. A mob
    on each: the second is met, which stops the projectile, but not hurt.

    Args:
        before: health and life of the mobs (M,), health of the players (A,), (n,) bool: no
            obstacle ahead, and (93,) bool: achievements of the team.
        mobs: the mobs.
        shots: the projectiles, before they move.
        players: the team.
        defense: (A, 3) of the players.
        friendly_fire: () bool.

    Returns:
        `before` after them.
    """
    mob_health, mob_alive, health, flies_on, _ = before
    position = shots.position + shots.direction
    damage = shot_damage(shots, players)
    mob_defense = jnp.asarray(MOB_DEFENSE)[mobs.kind, mobs.mob_class]
    here = _same(shots.position, mobs.position) & shots.active[:, None]  # (n, M)
    there = _same(position, mobs.position) & shots.active[:, None]
    mob_lost = combat.reduce_damage(damage[:, None, :], mob_defense)

    on_player = _same(position, players.position)  # (n, A)
    first = on_player & (jnp.cumsum(on_player, axis=1) == 1)
    lost = combat.reduce_damage(damage[:, None, :], defense) * friendly_fire
    lost = jnp.where(first & shots.active[:, None], lost, 0.0)

    def fly(carry, shot):
        mob_health, alive, health = carry
        here, there, mob_lost, lost = shot
        struck = here & alive
        is_spent = struck.any()
        mob_health = mob_health - jnp.where(struck, mob_lost, 0.0)
        alive = alive & (mob_health > 0)
        met = there & alive
        mob_health = mob_health - jnp.where(met & ~is_spent, mob_lost, 0.0)
        return (mob_health, alive & (mob_health > 0), health - lost), struck | met

    (mob_health, mob_alive, health), met = lax.scan(
        fly, (mob_health, mob_alive, health), (here, there, mob_lost, lost)
    )
    killed = mobs.alive & ~mob_alive & (mobs.mob_class != MobClass.PASSIVE)
    column = jnp.asarray(MOB_ACHIEVEMENT)[mobs.mob_class, mobs.kind]
    defeats = killed[:, None] & (column[:, None] == np.arange(NUM_ACHIEVEMENTS))
    flies_on &= ~met.any(axis=1) & ~on_player.any(axis=1)
    return mob_health, mob_alive, health, flies_on, (defeats.any(axis=0), killed.sum())


def _same(position: jax.Array, others: jax.Array) -> jax.Array:
    """(n, m) bool: which of (n, 2) cells are which of (m, 2) others."""
    return (position[:, None, :] == others[None]).all(-1)


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
