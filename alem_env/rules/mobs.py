"""Mobs walk, attack and shoot.

Mobs move one after another: melee, passive, ranged, by slot. What a mob wishes to do depends on its
own draws and position and on the players, who stand still meanwhile, so all wishes are formed at
once; only who gets in whose way, wounds and projectile slots are settled in order.

Shapes: M mobs of all classes, A agents. Dead slots move as well.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from alem_env.core import rng, struct
from alem_env.core.enums import Achievement, MobClass
from alem_env.core.params import EnvParams
from alem_env.core.state import MOVING_ORDER, Mobs, Players, State
from alem_env.core.tables import MAP_SIZE, MELEE_DAMAGE, RANGED_PROJECTILE
from alem_env.rules import combat, projectiles
from alem_env.rules.common import at, award, cell_number, in_bounds, is_fighting_boss, is_in_player
from alem_env.rules.terrain import MOB_BARRIERS, passes

SIGHT = 10  # melee mobs chase players nearer than this
CHASE_CHANCE = 0.75
AIM_CHANCE = 0.15  # ranged mobs keep their distance this often, and wander otherwise
FAR, TOO_CLOSE = 6, 3  # along the axis a ranged mob looks along
MELEE_COOLDOWN = 5
RANGED_COOLDOWN = 4
_NOBODY = np.int32(2**30)  # distance to the nearest player when all are dead


@struct.dataclass
class Draws:
    """Uniform random numbers (M,) of the mobs; passive mobs use only the first."""

    wander: jax.Array
    axis: jax.Array
    mood: jax.Array


@struct.dataclass
class Wishes:
    """What each mob wants to do."""

    cell: jax.Array  # (M, 2) int32, where it wants to be
    aim: jax.Array  # (M, 2) int32, unit step towards its nearest player along one axis
    strikes: jax.Array  # (M, A) bool, melee mobs: whom they hit
    shoots: jax.Array  # (M,) bool, ranged mobs
    cooldown: jax.Array  # (M,) int32, of the next step
    stays: jax.Array  # (M,) bool, False if it vanishes because no player is near


def move_mobs(key: jax.Array, state: State, params: EnvParams) -> State:
    """All mobs and all projectiles take their turn.

    Args:
        key: (2,) uint32.
        state: the world.
        params: `mob_despawn_distance`, `friendly_fire`.
    """
    before = state.floor.mobs
    melee, archers = before.of(MobClass.MELEE), before.of(MobClass.RANGED)
    wishes = form_wishes(
        before, draw(key, before.slots), state.players, params, is_fighting_boss(state)
    )
    alive = before.alive & wishes.stays
    mobs = before.replace(
        position=settle_moves(before, wishes, alive, state),
        alive=alive,
        cooldown=wishes.cooldown,
    )
    state = strike_players(state, mobs.kind[melee], wishes.strikes[melee])
    shots, _ = projectiles.spawn(
        state.floor.mob_projectiles,
        wishes.shoots[archers],
        before.position[archers],
        wishes.aim[archers],
        jnp.arange(before.slots[-1], dtype=jnp.int32),
        jnp.asarray(RANGED_PROJECTILE)[mobs.kind[archers]],
    )
    state = state.replace(floor=state.floor.replace(mobs=mobs, mob_projectiles=shots))
    state = projectiles.fly_mob_projectiles(state)
    return projectiles.fly_player_projectiles(state, params)


def draw(key: jax.Array, counts: tuple[int, int, int]) -> Draws:
    """The random numbers of all mobs, from one chain of keys.

    Every mob splits the key it is handed. A melee mob splits four times and hands on the last
    sub-key, the others hand on the key; between classes the chain is split once more.
    """
    melee, passive, ranged = counts  # of slots
    hands_on_sub = [False, *([False, False, False, True] * melee), False]
    first_passive = len(hands_on_sub)
    hands_on_sub += [False] * (passive + 1)
    first_ranged = len(hands_on_sub)
    hands_on_sub += [False] * (3 * ranged)

    # Words apart and nothing but keys in the loop: this way the compiler makes vector code of it.
    def link(key, hands_on_sub):
        first, second = (rng.threefry(*key, np.uint32(i), np.uint32(i + 2)) for i in (0, 1))
        following = tuple(jnp.where(hands_on_sub, sub, k) for k, sub in (first, second))
        return following, key

    _, keys = lax.scan(link, (key[0], key[1]), np.array(hands_on_sub))
    subs = [rng.threefry(*keys, np.uint32(i), np.uint32(i + 2))[1] for i in (0, 1)]
    numbers = rng.uniform_each(jnp.stack(subs, axis=-1))
    first = np.concatenate(
        [
            1 + 4 * np.arange(melee),
            first_passive + np.arange(passive),
            first_ranged + 3 * np.arange(ranged),
        ]
    )
    several = np.repeat([1, 0, 1], counts)
    numbers = numbers[np.stack([first, first + several, first + 2 * several])]
    return Draws(wander=numbers[0], axis=numbers[1], mood=numbers[2])


def form_wishes(
    mobs: Mobs,
    draws: Draws,
    players: Players,
    params: EnvParams,
    boss: jax.Array,
) -> Wishes:
    """What all mobs want, given the players.

    Args:
        mobs: the mobs.
        draws: their random numbers.
        players: the team.
        params: `mob_despawn_distance`.
        boss: () bool, fighting the boss: monsters see everyone and never vanish.
    """
    melee, passive, ranged = (mobs.mob_class == c for c in MOVING_ORDER)
    ready = (mobs.cooldown <= 0) & mobs.alive
    target, strikes = _nearest_player(mobs, players, melee, ready)

    # look along the longer axis, on a tie along either
    by_row = (jnp.abs(target.rows) > jnp.abs(target.columns)) | (
        (jnp.abs(target.rows) == jnp.abs(target.columns)) & (1.0 - draws.axis <= 0.5)
    )
    away = jnp.where(by_row, jnp.abs(target.rows), jnp.abs(target.columns))
    aim_row = jnp.where(by_row, jnp.sign(target.rows), 0)
    aim_column = jnp.where(by_row, 0, jnp.sign(target.columns))
    far = away >= FAR

    chases = melee & ((target.distance < SIGHT) | boss) & (draws.mood < CHASE_CHANCE)
    aims = ranged & (draws.mood < AIM_CHANCE)
    factor = jnp.where(chases | aims & far, 1, 0) - (aims & (away <= TOO_CLOSE))
    wander_row, wander_column = _wander(mobs.position, draws.wander, passive)
    shoots = ranged & ready & ~far
    busy = strikes.any(axis=1) | shoots
    step_row = jnp.where(factor == 0, wander_row, factor * aim_row)
    step_column = jnp.where(factor == 0, wander_column, factor * aim_column)
    step = jnp.stack([step_row, step_column], axis=1)
    return Wishes(
        cell=mobs.position + jnp.where(busy[:, None], 0, step),
        aim=jnp.stack([aim_row, aim_column], axis=1),
        strikes=strikes,
        shoots=shoots,
        cooldown=jnp.where(
            busy,
            np.where(melee, MELEE_COOLDOWN, RANGED_COOLDOWN),
            mobs.cooldown - np.where(passive, 0, 1),
        ),
        stays=(target.distance < params.mob_despawn_distance) | (boss & ~passive),
    )


class _Target(NamedTuple):
    """The nearest player alive; the first of several, and player 0 if all are dead. (M,) int32."""

    distance: jax.Array  # rows and columns together, _NOBODY if all are dead
    rows: jax.Array  # from the mob
    columns: jax.Array


def _nearest_player(
    mobs: Mobs, players: Players, melee: np.ndarray, ready: jax.Array
) -> tuple[_Target, jax.Array]:
    """Whom each mob looks at, and `Wishes.strikes`.

    Args:
        mobs: the mobs.
        players: the team.
        melee: (M,) bool, melee mobs.
        ready: (M,) bool, alive and cooled down.
    """
    row, column = mobs.position[:, 0], mobs.position[:, 1]
    nearest = jnp.full(row.shape, _NOBODY)
    rows_away, columns_away, strikes = None, None, []
    for agent in range(players.alive.shape[0]):
        rows = players.position[agent, 0] - row
        columns = players.position[agent, 1] - column
        distance = jnp.abs(rows) + jnp.abs(columns)
        strikes.append(melee & ready & players.alive[agent] & (distance == 1))
        nearer = players.alive[agent] & (distance < nearest)
        nearest = jnp.where(nearer, distance, nearest)
        rows_away = rows if agent == 0 else jnp.where(nearer, rows, rows_away)
        columns_away = columns if agent == 0 else jnp.where(nearer, columns, columns_away)
    return _Target(nearest, rows_away, columns_away), jnp.stack(strikes, axis=1)


def settle_moves(mobs: Mobs, wishes: Wishes, alive: jax.Array, state: State) -> jax.Array:
    """Positions (M, 2) after all mobs moved in order, each only if its cell is free then.

    A cell is taken by a mob that has not had its turn and is alive, or that had its turn and is
    alive still. Whom each mob would meet, where that one was and where it wants to go, is kept as
    bits, so that the pass in order is a few operations on words.

    Args:
        mobs: the mobs before.
        wishes: where they want to be.
        alive: (M,) bool, which of them are alive after their turn.
        state: the world, for its blocks and players.
    """
    barriers = jnp.asarray(MOB_BARRIERS)[mobs.kind, mobs.mob_class]
    possible = in_bounds(wishes.cell) & passes(at(state.floor.block, wishes.cell), barriers)
    possible &= ~is_in_player(state.players, wishes.cell)
    possible &= (wishes.cell != mobs.position).any(-1)

    where, goal = cell_number(mobs.position), cell_number(wishes.cell)
    slots = np.arange(sum(mobs.slots))
    own = np.zeros((len(slots), -(-len(slots) // 32)), np.uint32)  # the bit of each mob
    own[slots, slots // 32] = 1 << (slots % 32)
    earlier = np.cumsum(own, axis=0, dtype=np.uint32) - own  # bits of those who have moved before
    later = ~earlier - own
    on_place = _pack_bits(goal[:, None] == where[None, :], own)
    on_goal = _pack_bits(goal[:, None] == goal[None, :], own)
    still_alive = _pack_bits(alive, own)
    possible &= (on_place & later & _pack_bits(mobs.alive, own) == 0).all(axis=1)
    stayed = on_place & earlier & still_alive
    went = on_goal & earlier & still_alive

    def settle(moved, mob):
        possible, stayed, went, bit = mob
        free = possible & (((stayed & ~moved) | (went & moved)) == 0).all()
        return moved | jnp.where(free, bit, np.uint32(0)), free

    start = jnp.zeros_like(stayed[0])
    _, moved = lax.scan(settle, start, (possible, stayed, went, jnp.asarray(own)), unroll=8)
    return jnp.where(moved[:, None], wishes.cell, mobs.position)


def strike_players(state: State, kind: jax.Array, strikes: jax.Array) -> State:
    """Melee mobs hit players, one after another: the first blow wakes, and sleepers suffer more.

    Args:
        state: the world.
        kind: (n,) int32, of the melee mobs.
        strikes: (n, A) bool, whom each hits.
    """
    players = state.players
    defense = combat.player_defense(players, state.inventory)
    damage = jnp.asarray(MELEE_DAMAGE)[kind][:, None, :]
    boss = is_fighting_boss(state)
    lost_awake = combat.damage_to_players(damage, defense, boss)
    sleeping_damage = damage * (1 + combat.SLEEPER_EXTRA_DAMAGE)
    lost_asleep = combat.damage_to_players(sleeping_damage, defense, boss)
    health, sleeping = players.health, players.sleeping
    for mob in range(kind.shape[0]):
        lost = jnp.where(sleeping, lost_asleep[mob], lost_awake[mob])
        health = health - jnp.where(strikes[mob], lost, 0.0)
        sleeping &= ~strikes[mob]
    hit = strikes.any(axis=0)
    return state.replace(
        players=players.replace(health=health, sleeping=sleeping, resting=players.resting & ~hit),
        achievements=award(state.achievements, {Achievement.WAKE_UP: players.sleeping & hit}),
    )


def _wander(position: jax.Array, number: jax.Array, lazy: np.ndarray):
    """Random step (rows, columns), each (M,), to a cell of the map; lazy mobs mostly stay."""
    row, column = position[:, 0], position[:, 1]
    rows, columns = MAP_SIZE
    left = (column > 0).astype(jnp.int32)
    right = left + (column < columns - 1)
    up = right + (row > 0)
    down = up + (row < rows - 1)
    chosen = (down + np.where(lazy, 4, 0)).astype(jnp.float32) * (1.0 - number)
    to_left = chosen <= left
    to_right = ~to_left & (chosen <= right)
    to_up = (chosen > right) & (chosen <= up)
    to_down = (chosen > up) & (chosen <= down)
    return (to_down.astype(jnp.int32) - to_up, to_right.astype(jnp.int32) - to_left)


def _pack_bits(flags: jax.Array, own: np.ndarray) -> jax.Array:
    """Bools (..., M) as words (..., W) uint32, with the bits that each has in `own` (M, W)."""
    words = [jnp.where(flags, bits, np.uint32(0)).sum(axis=-1) for bits in own.T]
    return jnp.stack(words, axis=-1)
