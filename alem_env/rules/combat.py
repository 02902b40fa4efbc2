"""Damage: of players to mobs and to each other, of mobs to players, of projectiles to mobs.

Shapes: A agents, n attacks (one an agent, or one a projectile), m mobs of a class. Damage and
defense have three channels: physical, fire, ice.
"""

import jax
import jax.numpy as jnp
from flax import struct

from alem_env.core.enums import Achievement, Enchantment, MobClass, MobCoordination, Specialization
from alem_env.core.state import NUM_ACHIEVEMENTS, Floor, Inventory, Mobs, Players, State
from alem_env.core.tables import BOSS_EXTRA_DAMAGE, MOB_ACHIEVEMENT, MOB_DEFENSE, SWORD_DAMAGE
from alem_env.rules.common import is_role, max_food

FOOD_OF_PASSIVE = 6
SLEEPER_EXTRA_DAMAGE = 2.5

# the field of Floor that holds each class, in the order in which a blow reaches them
MOB_FIELDS = {MobClass.MELEE: "melee", MobClass.PASSIVE: "passive", MobClass.RANGED: "ranged"}


@struct.dataclass
class Blows:
    """What n attacks did to the mobs of one class."""

    hit: jax.Array  # (n,) bool, there was a live mob
    killed: jax.Array  # (n,) bool, the mob hit is dead now, whoever struck last
    kind: jax.Array  # (n,) int32, its kind
    multiplier: jax.Array  # (n,) float32, of damage and food, for striking together
    elite: jax.Array  # (n,) bool, hit an elite mob
    together: jax.Array  # (n,) bool, hit an elite mob with the agents it requires


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
    return jnp.stack(pieces, axis=1).sum(axis=2)


def reduce_damage(damage: jax.Array, defense: jax.Array) -> jax.Array:
    """Health lost (...,) to `damage` (..., 3) behind `defense` (..., 3)."""
    return ((1.0 - defense) * damage).sum(axis=-1)


def damage_to_players(damage: jax.Array, defense: jax.Array, fighting_boss: jax.Array) -> jax.Array:
    """Health lost (...,) to a mob's `damage` (..., 3); monsters hit harder around the boss."""
    return reduce_damage(damage * (1 + fighting_boss * BOSS_EXTRA_DAMAGE), defense)


# --- Blows on mobs ------------------------------------------------------------------------------


def attack_plain(
    floor: Floor, attacking: jax.Array, position: jax.Array, damage: jax.Array
) -> tuple[Floor, dict[MobClass, Blows]]:
    """Attacks that ignore coordination, as projectiles do.

    Args:
        floor: the team's floor.
        attacking: (n,) bool.
        position: (n, 2) int32, cells struck.
        damage: (n, 3) float32.

    Returns:
        The floor, with its mobs and `monsters_killed`, and the blows by class.
    """
    blows = {}
    for mob_class, field in MOB_FIELDS.items():
        mobs = getattr(floor, field)
        target, hit = _find_target(mobs, attacking, position)
        kind = mobs.kind[target]
        lost = reduce_damage(damage, jnp.asarray(MOB_DEFENSE)[kind, int(mob_class)])
        after, killed = _wound(mobs, target, lost, hit)
        nobody = jnp.zeros_like(hit)
        blows[mob_class] = Blows(hit, killed, kind, jnp.ones_like(lost), nobody, nobody)
        floor = _replace_mobs(floor, mob_class, after)
    return floor, blows


def attack_together(
    floor: Floor,
    attacking: jax.Array,
    position: jax.Array,
    damage: jax.Array,
    same_target: jax.Array,
) -> tuple[Floor, dict[MobClass, Blows]]:
    """Attacks of players, where elite mobs ask for company.

    A soft elite takes half damage from too few and double from enough; a hard one none and triple.

    Args:
        floor: the team's floor.
        attacking: (A,) bool.
        position: (A, 2) int32, cells struck.
        damage: (A, 3) float32.
        same_target: (A, A) bool, which agents face the same cell.

    Returns:
        The floor, with its mobs and `monsters_killed`, and the blows by class.
    """
    blows = {}
    for mob_class, field in MOB_FIELDS.items():
        mobs = getattr(floor, field)
        target, hit = _find_target(mobs, attacking, position)
        kind, coordination = mobs.kind[target], mobs.coordination[target]
        elite = coordination > 0
        hard = coordination == MobCoordination.HARD
        required = jnp.maximum(mobs.agents_required[target], 2)
        enough = (same_target & hit[None, :]).sum(axis=1) >= required

        multiplier = jnp.where(elite & enough, jnp.where(hard, 3.0, 2.0), 1.0)
        alone = jnp.where(elite & ~hard & ~enough, 0.5, 1.0)
        lost = reduce_damage(damage, jnp.asarray(MOB_DEFENSE)[kind, int(mob_class)])
        landed = hit & ~(elite & hard & ~enough)
        after, killed = _wound(mobs, target, lost * multiplier * alone, landed)
        blows[mob_class] = Blows(hit, killed, kind, multiplier, hit & elite, hit & elite & enough)
        floor = _replace_mobs(floor, mob_class, after)
    return floor, blows


def defeats(blows: Blows, mob_class: MobClass) -> jax.Array:
    """(n, 93) bool: the achievement that each of n attacks earned by a kill.

    For a projectile all agents earn it, and passive mobs earn nothing; for a player's own blow on
    a passive mob, mask with who may eat.
    """
    column = jnp.asarray(MOB_ACHIEVEMENT)[int(mob_class), blows.kind]
    return blows.killed[:, None] & (column[:, None] == jnp.arange(NUM_ACHIEVEMENTS))


def _find_target(mobs: Mobs, attacking: jax.Array, position: jax.Array):
    """First live mob (n,) on each of (n, 2) cells, and whether there is one and it is attacked."""
    there = (position[:, None, :] == mobs.position[None]).all(-1) & mobs.alive  # (n, m)
    return jnp.argmax(there, axis=1), there.any(axis=1) & attacking


def _wound(mobs: Mobs, target: jax.Array, lost: jax.Array, landed: jax.Array):
    """Mobs after attacks (n,) that cost `target` the health `lost`, and which attacks killed.

    Several attacks on one mob are subtracted one after the other, which decides the last bit.
    """
    health = mobs.health
    slots = jnp.arange(health.shape[0])
    for attack in range(target.shape[0]):
        struck = (slots == target[attack]) & landed[attack]
        health = health + jnp.where(struck, -lost[attack], 0.0)
    alive = (health > 0) & mobs.alive
    return mobs.replace(health=health, alive=alive), landed & ~alive[target]


def _replace_mobs(floor: Floor, mob_class: MobClass, mobs: Mobs) -> Floor:
    before = getattr(floor, MOB_FIELDS[mob_class])
    floor = floor.replace(**{MOB_FIELDS[mob_class]: mobs})
    if mob_class == MobClass.PASSIVE:
        return floor
    killed = (before.alive & ~mobs.alive).sum()
    return floor.replace(monsters_killed=floor.monsters_killed + killed)


# --- Players' blows -----------------------------------------------------------------------------


def strike_mobs(
    state: State,
    attacking: jax.Array,
    position: jax.Array,
    same_target: jax.Array,
    can_eat: jax.Array,
) -> tuple[State, dict[Achievement, jax.Array]]:
    """Players strike the mobs in front of them, and eat what they killed.

    Args:
        state: the world.
        attacking: (A,) bool.
        position: (A, 2) int32, the cells in front.
        same_target: (A, A) bool, which agents face the same cell.
        can_eat: (A,) bool, who may eat a passive mob.

    Returns:
        The state, with the achievements for defeated kinds, and other achievements earned (A,).
    """
    players = state.players
    damage = player_damage(players, state.inventory)
    floor, blows = attack_together(state.floor, attacking, position, damage, same_target)
    melee, passive, ranged = (blows[c] for c in MOB_FIELDS)

    eats = passive.killed & can_eat
    food = (FOOD_OF_PASSIVE * passive.multiplier).astype(jnp.int32)
    food = jnp.minimum(max_food(players), players.food + food)
    kills = {
        Achievement.COORD_ELITE_MELEE_KILL: melee.killed & melee.together,
        Achievement.COORD_ELITE_RANGED_KILL: ranged.killed & ranged.together,
        Achievement.COORD_LARGE_PASSIVE_KILL: passive.killed & passive.together,
    }
    defeated = (
        defeats(melee, MobClass.MELEE)
        | defeats(passive, MobClass.PASSIVE) & can_eat[:, None]
        | defeats(ranged, MobClass.RANGED)
    )
    elite_melee, elite_ranged, large_passive = (who.any() for who in kills.values())
    counters = state.counters
    counters = counters.replace(
        elite_melee_kills=counters.elite_melee_kills + elite_melee,
        elite_ranged_kills=counters.elite_ranged_kills + elite_ranged,
        large_passive_kills=counters.large_passive_kills + large_passive,
        elite_attempts=counters.elite_attempts + (melee.elite | passive.elite | ranged.elite).any(),
        elite_successes=counters.elite_successes
        + (melee.together | passive.together | ranged.together).any(),
    )
    state = state.replace(
        floor=floor,
        players=players.replace(
            food=jnp.where(eats, food, players.food),
            hunger=jnp.where(eats, 0.0, players.hunger),
        ),
        counters=counters,
        achievements=state.achievements | defeated,
    )
    return state, {Achievement.COLLECT_FOOD: eats, **kills}


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
    agents = acting.shape[0]
    there = (position[:, None, :] == players.position[None]).all(-1)  # (A actor, A other)
    other = jnp.argmax(there, axis=1)
    meets = there.any(axis=1) & acting
    met = meets[:, None] & (other[:, None] == jnp.arange(agents))

    damage = player_damage(players, state.inventory)
    damage = damage * (1 + SLEEPER_EXTRA_DAMAGE * players.sleeping[other, None])
    defense = player_defense(players, state.inventory)[other]
    dealt = meets * reduce_damage(damage, defense) * friendly_fire

    taken = jnp.zeros(agents)
    for actor in range(agents):  # in order, which decides the last bit
        taken = taken + jnp.where(met[actor], dealt[actor], 0.0)
    revived = met.any(axis=0) & ~players.alive
    counters = state.counters.replace(
        revives=state.counters.revives + revived.sum(),
        friendly_fire_damage=state.counters.friendly_fire_damage + dealt,
    )
    health = jnp.where(revived, 1.0, players.health - taken)
    return state.replace(players=players.replace(health=health), counters=counters)
