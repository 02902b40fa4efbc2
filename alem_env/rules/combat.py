"""Damage: of players to mobs and to each other, of mobs to players, of projectiles to mobs.

Shapes: A agents, M mobs. Damage and defense have three channels: physical,
fire, ice.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from alem_env.core import struct
from alem_env.core.enums import Achievement, Enchantment, MobClass, Specialization
from alem_env.core.state import Inventory, Mobs, Players, State
from alem_env.core.tables import (
    BOSS_EXTRA_DAMAGE,
    MOB_ACHIEVEMENT,
    MOB_DEFENSE,
    NO_ACHIEVEMENT,
    SWORD_DAMAGE,
)
from alem_env.rules.common import (
    award_each,
    cell_number,
    is_role,
    max_food,
)

FOOD_OF_PASSIVE = 6
SLEEPER_EXTRA_DAMAGE = 2.5

_CLASSES = np.arange(3)[:, None]  # MobClass, as a column of arrays (3, A) or (3, M)
_NOWHERE = -(2**20)  # no cell number

# 2 * MobCoordination + (enough agents) -> factor of damage. A soft elite takes half damage from too
# few and double from enough; a hard one none and triple.
_DAMAGE_FACTOR = np.array([1, 1, 0.5, 2, 0, 3], np.float32)

# class * 16 + kind -> share of damage absorbed; achievement for a kill, of the last kind none
_DEFENSE = np.zeros((3, 16, 3), np.float32)
_DEFENSE[:, : len(MOB_DEFENSE)] = MOB_DEFENSE.swapaxes(0, 1)
_DEFENSE = _DEFENSE.reshape(-1, 3)
_DEFEATS = np.full((3, 16), NO_ACHIEVEMENT, np.int32)
_DEFEATS[:, : MOB_ACHIEVEMENT.shape[1]] = MOB_ACHIEVEMENT
_DEFEATS = _DEFEATS.reshape(-1)
_NO_KIND = 15
# [class] -> achievement for killing an elite together
_KILL_TOGETHER = (
    Achievement.COORD_LARGE_PASSIVE_KILL,
    Achievement.COORD_ELITE_MELEE_KILL,
    Achievement.COORD_ELITE_RANGED_KILL,
)


@struct.dataclass
class Blows:
    """What A agents did to the mobs of each class, (3, A) by MobClass. Bool unless stated."""

    killed: jax.Array  # the mob hit is dead now, whoever struck last
    kind: jax.Array  # int32, kind of the mob hit
    food: jax.Array  # int32, what its meat is worth
    elite: jax.Array  # hit an elite mob
    together: jax.Array  # hit an elite mob with the agents it requires


# --- Amounts ------------------------------------------------------------------------------------


def player_damage(players: Players, inventory: Inventory) -> jax.Array:
    """Damage (A, 3) of a player's blow."""
    physical = jnp.asarray(SWORD_DAMAGE)[inventory.sword]
    physical = physical * (1 + is_role(players, Specialization.WARRIOR))
    fire = physical * (players.sword_enchantment == Enchantment.FIRE) * 0.5
    ice = physical * (players.sword_enchantment == Enchantment.ICE) * 0.5
    magic = 1 + 0.05 * (players.intelligence - 1)
    strength = 1 + 0.25 * (players.strength - 1)
    return jnp.stack([physical * strength, fire * magic, ice * magic], axis=1)


def player_defense(players: Players, inventory: Inventory) -> jax.Array:
    """Share (A, 3) of damage that a player's armour absorbs."""
    enchantment = players.armour_enchantment
    pieces = [
        inventory.armour * 0.1,
        (enchantment == Enchantment.FIRE) * 0.2,
        (enchantment == Enchantment.ICE) * 0.2,
    ]
    # in pairs, the order that the benchmark's program adds in, which decides the last bit
    first, second, third, fourth = jnp.moveaxis(jnp.stack(pieces, axis=1), 2, 0)
    return (first + third) + (second + fourth)


def reduce_damage(damage: jax.Array, defense: jax.Array) -> jax.Array:
    """Health lost (...,) to `damage` (..., 3) behind `defense` (..., 3).

    Last bits decide who lives with no health left, so they are the benchmark's: ice is added before
    fire, and `where` keeps the compiler from fusing products and sums, which would round once less.
    """
    lost = jnp.where(damage > 0, (1.0 - defense) * damage, 0.0)
    return (lost[..., 0] + lost[..., 2]) + lost[..., 1]


def damage_to_players(damage: jax.Array, defense: jax.Array, fighting_boss: jax.Array) -> jax.Array:
    """Health lost (...,) to a mob's `damage` (..., 3); monsters hit harder around the boss."""
    return reduce_damage(damage * (1 + fighting_boss * BOSS_EXTRA_DAMAGE), defense)


# --- Blows on mobs -------------------------------------------------------------------------------


def attack(
    mobs: Mobs,
    attacking: jax.Array,
    position: jax.Array,
    damage: jax.Array,
    same_target: jax.Array,
) -> tuple[Mobs, Blows]:
    """Attacks of players, each on the first mob of every class; elite mobs ask for company.

    Args:
        mobs: the mobs.
        attacking: (A,) bool.
        position: (A, 2) int32, cells struck.
        damage: (A, 3) float32.
        same_target: (A, A) bool, which agents face the same cell.
    """
    hit, target, kind, coordination, required = _find_targets(mobs, position)
    hit &= attacking
    elite = hit & (coordination > 0)
    enough = (same_target & hit[:, None, :]).sum(axis=2) >= jnp.maximum(required, 2)
    together = elite & enough
    factor = jnp.asarray(_DAMAGE_FACTOR)[2 * coordination + enough]
    factor = jnp.where(hit, factor, 0.0)

    lost = reduce_damage(damage, jnp.asarray(_DEFENSE)[16 * _CLASSES + kind])
    health = _wound(mobs.health, target, lost * factor)
    falls = mobs.alive & ~(health > 0)
    is_target = target[:, :, None] == np.arange(len(health))
    return mobs.replace(health=health, alive=mobs.alive & ~falls), Blows(
        killed=(factor > 0) & (is_target & falls).any(axis=2),
        kind=kind,
        food=FOOD_OF_PASSIVE * (1 + together * coordination),
        elite=elite,
        together=together,
    )


def _find_targets(mobs: Mobs, position: jax.Array):
    """The first live mob of each class on (A, 2) cells.

    Slot and traits of a mob are packed into one number, so that the least of them tells all.

    Returns:
        Whether there is one, its slot (beyond all others without one), kind, coordination, and the
        agents it requires. (3, A) each.
    """
    slots = np.arange(len(mobs.mob_class), dtype=np.int32)
    packed = mobs.kind + 16 * mobs.coordination + 64 * mobs.agents_required + 1024 * slots
    none = 1024 * len(slots)
    cell = jnp.where(mobs.alive, cell_number(mobs.position), _NOWHERE)
    there = cell == cell_number(position)[:, None]  # (A, M)
    is_class = mobs.mob_class == _CLASSES  # (3, M)
    first = jnp.where(there & is_class[:, None], packed, none).min(axis=2)
    return first < none, first >> 10, first & 15, (first >> 4) & 3, (first >> 6) & 15


def _wound(health: jax.Array, target: jax.Array, lost: jax.Array) -> jax.Array:
    """Health (M,) after attacks that cost slots `target` (3, A) the health `lost` (3, A).

    Several attacks on one mob are subtracted one after the other, which decides the last bit. A
    loop, since the compiler stores what a loop makes, and repeats other sums where they are read.
    """
    slots = np.arange(len(health))

    def strike(attack, health):
        # an agent strikes at most one mob of each class: no two are the same slot
        struck = slots == target[:, attack, None]  # (3, M)
        return health + jnp.where(struck, -lost[:, attack, None], 0.0).sum(axis=0)

    return lax.fori_loop(0, target.shape[1], strike, health)


# --- Players' blows -----------------------------------------------------------------------------


def strike_mobs(
    state: State,
    attacking: jax.Array,
    position: jax.Array,
    same_target: jax.Array,
    can_eat: jax.Array,
) -> tuple[State, jax.Array]:
    """Players strike the mobs in front of them, and eat what they killed.

    Args:
        state: the world.
        attacking: (A,) bool.
        position: (A, 2) int32, the cells in front.
        same_target: (A, A) bool, which agents face the same cell.
        can_eat: (A,) bool, who may eat a passive mob.

    Returns:
        The state with the achievements for defeated kinds, and who eats (A,) bool.
    """
    players = state.players
    damage = player_damage(players, state.inventory)
    floor = state.floor
    mobs, blows = attack(floor.mobs, attacking, position, damage, same_target)
    killed = floor.mobs.alive & ~mobs.alive & (mobs.mob_class != MobClass.PASSIVE)
    eats = blows.killed[MobClass.PASSIVE] & can_eat
    food = jnp.minimum(max_food(players), players.food + blows.food[MobClass.PASSIVE])
    state = state.replace(
        floor=floor.replace(mobs=mobs, monsters_killed=floor.monsters_killed + killed.sum()),
        players=players.replace(
            food=jnp.where(eats, food, players.food),
            hunger=jnp.where(eats, 0.0, players.hunger),
        ),
    )
    return _reward(state, blows, can_eat), eats


def _reward(state: State, blows: Blows, can_eat: jax.Array) -> State:
    """Achievements and counters. A passive mob counts as defeated where it is eaten."""
    together = blows.killed & blows.together
    counted = blows.killed & (can_eat | (_CLASSES != MobClass.PASSIVE))
    kind = jnp.where(counted, blows.kind, _NO_KIND)
    defeats = jnp.asarray(_DEFEATS)[16 * _CLASSES + kind]
    kills = jnp.where(together, np.array(_KILL_TOGETHER)[:, None], NO_ACHIEVEMENT)
    events = {
        "elite_melee_kills": together[MobClass.MELEE],
        "elite_ranged_kills": together[MobClass.RANGED],
        "large_passive_kills": together[MobClass.PASSIVE],
        "elite_attempts": blows.elite.any(axis=0),
        "elite_successes": blows.together.any(axis=0),
    }
    return state.replace(
        achievements=award_each(state.achievements, *defeats, *kills),
        counters=state.counters.add_events(**events),
    )


def meet_players(
    state: State, acting: jax.Array, position: jax.Array, friendly_fire: jax.Array
) -> State:
    """Players in front are revived when down and hit otherwise.

    Args:
        state: the world.
        acting: (A,) bool.
        position: (A, 2) int32, the cells in front.
        friendly_fire: () bool, whether teammates can be hurt.
    """
    players = state.players
    agents = np.arange(acting.shape[0])
    there = cell_number(position)[:, None] == cell_number(players.position)  # (A actor, A other)
    first = jnp.where(there, agents, len(agents)).min(axis=1)
    met = acting[:, None] & (first[:, None] == agents)

    # every pair's, (A, A, 3), of which those are kept that meet
    damage = player_damage(players, state.inventory)[:, None]
    damage = damage * (1 + SLEEPER_EXTRA_DAMAGE * players.sleeping[:, None])
    dealt = reduce_damage(damage, player_defense(players, state.inventory))
    dealt = jnp.where(met & friendly_fire, dealt, 0.0)

    taken = jnp.zeros(len(agents))
    for actor in agents:  # in order, which decides the last bit
        taken = taken + dealt[actor]
    revived = met.any(axis=0) & ~players.alive
    counters = state.counters.add(revives=revived.sum())
    counters = counters.replace(
        friendly_fire_damage=counters.friendly_fire_damage + dealt.sum(axis=1)
    )
    health = jnp.where(revived, 1.0, players.health - taken)
    return state.replace(players=players.replace(health=health), counters=counters)
