"""The state of one world.

The team is always together on one floor. That floor is `State.floor`, and rules touch only it; the
other eight wait in `State.stored`, packed, until the team takes a ladder (`rules.floors`).
Light is stored for the four dark floors only. Shapes: A agents, n slots, S construction sites,
H pending handovers, P plants. Coordinates are (row, column).
"""

import jax
import jax.numpy as jnp
import numpy as np

from alem_env.core import struct
from alem_env.core.counters import Counters
from alem_env.core.enums import Achievement, MobClass
from alem_env.core.params import StaticParams
from alem_env.core.tables import LIGHT_INDEX

MOVING_ORDER = (MobClass.MELEE, MobClass.PASSIVE, MobClass.RANGED)


@struct.dataclass
class Mobs:
    """Creatures on one floor. Dead slots still move and cool down, as published.

    Slots are in the order in which mobs move: melee, passive, ranged (`MOVING_ORDER`); M are all.
    """

    position: jax.Array  # (M, 2) int32
    health: jax.Array  # (M,) float32
    alive: jax.Array  # (M,) bool
    cooldown: jax.Array  # (M,) int32, steps until the next attack; falls without limit
    kind: jax.Array  # (M,) int32, index into the creature tables
    coordination: jax.Array  # (M,) int32, MobCoordination, fixed by world generation
    agents_required: jax.Array  # (M,) int32, 0 for ordinary mobs
    slots: tuple[int, int, int] = struct.field(pytree_node=False)  # how many of each class

    @property
    def mob_class(self) -> np.ndarray:
        """(M,) int32, MobClass of each slot."""
        return np.repeat(np.array(MOVING_ORDER, np.int32), self.slots)

    def of(self, mob_class: MobClass) -> slice:
        """The slots of a class."""
        place = MOVING_ORDER.index(mob_class)
        start = sum(self.slots[:place])
        return slice(start, start + self.slots[place])

    def only(self, mob_class: MobClass) -> "Mobs":
        """The mobs of a class."""
        slots = tuple(
            n if c == mob_class else 0 for c, n in zip(MOVING_ORDER, self.slots, strict=True)
        )
        part = self.of(mob_class)
        return jax.tree.map(lambda leaf: leaf[part], self).replace(slots=slots)


def mob_slots(static: StaticParams) -> tuple[int, int, int]:
    """How many mobs of each class a floor has room for, in MOVING_ORDER."""
    return static.max_melee_mobs, static.max_passive_mobs, static.max_ranged_mobs


@struct.dataclass
class Projectiles:
    position: jax.Array  # (n, 2) int32; idle slots fly on, far outside the map
    active: jax.Array  # (n,) bool
    kind: jax.Array  # (n,) int32, ProjectileKind
    direction: jax.Array  # (n, 2) int32
    owner: jax.Array  # (n,) int32, slot of the ranged mob, or the player, that shot


@struct.dataclass
class Sites:
    """Construction sites of a floor; unused slots are at (0, 0)."""

    position: jax.Array  # (S, 2) int32
    built: jax.Array  # (S,) int32, Building


@struct.dataclass
class Floor:
    """The floor the team is on."""

    block: jax.Array  # (48, 48) uint8, Block
    item: jax.Array  # (48, 48) uint8, Item (rules 0.1.0: block ids above it, which mean no item)
    requirement: jax.Array  # (48, 48) int8: 0 none, k > 0 needs k agents, -w handed over in w steps
    soft: jax.Array  # (48, 48) bool, the requirement may be tried alone
    mobs: Mobs
    mob_projectiles: Projectiles
    player_projectiles: Projectiles
    sites: Sites
    chest_opened: jax.Array  # (A,) bool, this player opened a chest on this floor
    monsters_killed: jax.Array  # () int32


@struct.dataclass
class Ladders:
    """Where ladders arrive. Fixed by world generation."""

    down: jax.Array  # (9, A, 2) int8, cells of the ladders that lead down
    up: jax.Array  # (9, A, 2) int8
    # Rules 0.1.0 stamp block ids into the item map where a floor lacks a ladder: rows are floor 0
    # up, floor 8 down, floor 8 up. Only `reference.to_reference` reads them. Zero in 0.2.1.
    stamp: jax.Array  # (3, A) uint8


@struct.dataclass
class Inventory:
    wood: jax.Array  # (A,) int32, as all below unless stated
    stone: jax.Array
    coal: jax.Array
    iron: jax.Array
    diamond: jax.Array
    sapling: jax.Array
    pickaxe: jax.Array  # level 0 to 4: none, wood, stone, iron, diamond
    sword: jax.Array  # level 0 to 4
    bow: jax.Array  # 0 or 1
    arrows: jax.Array
    armour: jax.Array  # (A, 4), level 0 to 2 of each piece
    torches: jax.Array
    ruby: jax.Array
    sapphire: jax.Array
    potions: jax.Array  # (A, 6), by colour
    books: jax.Array


@struct.dataclass
class Players:
    position: jax.Array  # (A, 2) int32
    direction: jax.Array  # (A,) int32, 1 to 4: the movement action that points there
    alive: jax.Array  # (A,) bool
    health: jax.Array  # (A,) float32
    food: jax.Array  # (A,) int32
    drink: jax.Array  # (A,) int32
    energy: jax.Array  # (A,) int32
    mana: jax.Array  # (A,) int32
    sleeping: jax.Array  # (A,) bool
    resting: jax.Array  # (A,) bool
    recover: jax.Array  # (A,) float32, counters that raise or lower the needs above
    hunger: jax.Array  # (A,) float32
    thirst: jax.Array  # (A,) float32
    fatigue: jax.Array  # (A,) float32
    recover_mana: jax.Array  # (A,) float32
    xp: jax.Array  # (A,) int32
    dexterity: jax.Array  # (A,) int32, 1 to max_attribute
    strength: jax.Array  # (A,) int32
    intelligence: jax.Array  # (A,) int32
    specialization: jax.Array  # (A,) int32, Specialization
    request_duration: jax.Array  # (A,) int32, steps left
    request_type: jax.Array  # (A,) int32, the action that asked, 0 before the first
    learned_spell: jax.Array  # (A,) bool
    sword_enchantment: jax.Array  # (A,) int32, Enchantment
    bow_enchantment: jax.Array  # (A,) int32
    armour_enchantment: jax.Array  # (A, 4) int32
    message: jax.Array  # (A,) int32, channel spoken on in the last step, -1 for none
    death_cause: jax.Array  # (A,) int32, DeathCause
    floor_at_death: jax.Array  # (A,) int32, -1 while never dead


@struct.dataclass
class Plants:
    """Saplings; they grow on the overworld wherever the team is (`rules.plants`)."""

    position: jax.Array  # (P, 2) int32
    age: jax.Array  # (P,) int32
    growing: jax.Array  # (P,) bool


@struct.dataclass
class Handovers:
    """Tasks that one agent began and another must finish in time, on the team's floor."""

    active: jax.Array  # (H,) bool
    position: jax.Array  # (H, 2) int32
    deadline: jax.Array  # (H,) int32, timestep at which it has expired
    initiator: jax.Array  # (H,) int32
    building: jax.Array  # (H,) int32, Building; NONE for a mined block


@struct.dataclass
class State:
    floor: Floor
    floor_index: jax.Array  # () int32, 0 overworld to 8 graveyard
    stored: jax.Array  # (8, N) uint16, the other floors: see core.storage
    stored_slot: jax.Array  # (9,) int32, slot of each floor in `stored`, -1 for the team's floor
    light: jax.Array  # (4, 48, 48) float32 in [0, 1], of DARK_FLOORS; all others are fully lit
    ladders: Ladders
    players: Players
    inventory: Inventory
    plants: Plants
    handovers: Handovers
    counters: Counters
    achievements: jax.Array  # (A, 93) bool
    potion_effect: jax.Array  # (6,) int32, effect of each colour this episode
    boss_progress: jax.Array  # () int32
    boss_spawn_steps: jax.Array  # () int32, steps in which the boss calls monsters
    deepest_floor: jax.Array  # () int32
    light_level: jax.Array  # () float32, daylight
    timestep: jax.Array  # () int32
    sampled_alpha: jax.Array  # () float32, 0 unless StaticParams.randomize_alpha
    last_key: jax.Array  # (2,) uint32, the step's left-over key; no rule reads it


def light_index(floor_index: jax.Array) -> jax.Array:
    """Index into `State.light` of a floor, -1 for floors that are fully lit."""
    return jnp.asarray(LIGHT_INDEX)[floor_index]


NUM_ACHIEVEMENTS = len(Achievement)
