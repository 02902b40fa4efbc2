"""Numbers of the game as numpy tables, indexed by the codes of `core.enums`.

Source of all values: alem-env 0.2.1. Numpy on purpose: importing this module starts no device.
"""

import numpy as np

from alem_env.core.enums import Achievement, Block, Building, MobClass

MAP_SIZE = (48, 48)  # rows, columns of every floor
NUM_FLOORS = 9
VIEW_SIZE = (9, 11)  # rows, columns an agent sees around itself
DARK_FLOORS = (2, 5, 7, 8)  # light is stored for these only; it is 1.0 everywhere on the others
# The benchmark's list. `worldgen.sites` places none on 7, the ice realm, which has no fitting
# ground. Floor 0 gets `EnvParams.num_construction_sites`, others `num_mining_construction_sites`.
CONSTRUCTION_FLOORS = (0, 2, 5, 7)
DUNGEON_FLOORS = (1, 3, 4)
BOSS_FLOOR = NUM_FLOORS - 1

# floor -> index into `State.light`, -1 where everything is lit
LIGHT_INDEX = np.full(NUM_FLOORS, -1, np.int32)
LIGHT_INDEX[list(DARK_FLOORS)] = np.arange(len(DARK_FLOORS))

# direction code (= movement action) -> (row, column) step; code 0 is no step, other actions too
DIRECTIONS = np.zeros((16, 2), np.int32)
DIRECTIONS[1:5] = [[0, -1], [0, 1], [-1, 0], [1, 0]]

# The eight neighbours, in the order in which "the nearest block" is looked for.
NEIGHBOURS = np.array(
    [[0, -1], [0, 1], [-1, 0], [1, 0], [-1, -1], [-1, 1], [1, -1], [1, 1]], np.int32
)

# --- Blocks -----------------------------------------------------------------------------------

SOLID = np.zeros(len(Block), bool)
SOLID[
    [
        Block.STONE, Block.TREE, Block.COAL, Block.IRON, Block.DIAMOND, Block.CRAFTING_TABLE,
        Block.FURNACE, Block.PLANT, Block.RIPE_PLANT, Block.WALL, Block.WALL_MOSS, Block.STALAGMITE,
        Block.RUBY, Block.SAPPHIRE, Block.CHEST, Block.FOUNTAIN, Block.FIRE_TREE, Block.ICE_SHRUB,
        Block.ENCHANTMENT_TABLE_FIRE, Block.ENCHANTMENT_TABLE_ICE, Block.GRAVE, Block.GRAVE2,
        Block.GRAVE3, Block.NECROMANCER, Block.NECROMANCER_VULNERABLE, Block.CONSTRUCTION_SITE,
        Block.EPIC_SHELTER, Block.EPIC_FORGE, Block.EPIC_BEACON, Block.CONSTRUCTION_IN_PROGRESS,
    ]
] = True  # fmt: skip

TAKES_ITEM = np.zeros(len(Block), bool)
TAKES_ITEM[[Block.GRASS, Block.SAND, Block.PATH, Block.FIRE_GRASS, Block.ICE_GRASS]] = True

# --- Creatures --------------------------------------------------------------------------------

# floor -> kind that lives there, columns (passive, melee, ranged)
FLOOR_MOB_KIND = np.array(
    [
        [0, 0, 0],  # 0 overworld
        [2, 2, 2],  # 1 dungeon
        [1, 1, 1],  # 2 gnomish mines
        [2, 3, 3],  # 3 sewers
        [2, 4, 4],  # 4 vaults
        [1, 5, 5],  # 5 troll mines
        [1, 6, 6],  # 6 fire realm
        [1, 7, 7],  # 7 ice realm
        [0, 0, 0],  # 8 graveyard
    ],
    np.int32,
)

# floor -> chance a player and step, columns (passive, melee, ranged, melee by night)
FLOOR_SPAWN_CHANCE = np.array(
    [[0.1, 0.02, 0.05, 0.1]]
    + [[0.1, 0.06, 0.05, 0.0]] * 6
    + [[0.0, 0.06, 0.05, 0.0]]
    + [[0.1, 0.06, 0.05, 0.0]],
    np.float32,
)

_LAND, _FLY, _SWIM, _AMPHIBIAN = (0, 1, 1), (0, 0, 0), (1, 0, 1), (0, 0, 1)
# [kind, class] -> may not enter (plain ground, water, lava); nothing enters solid blocks
MOB_COLLISION = np.array(
    [
        [_LAND, _LAND, _LAND],  # cow, zombie, skeleton
        [_FLY, _LAND, _LAND],  # bat, gnome warrior, gnome archer
        [_LAND, _LAND, _LAND],  # snail, orc soldier, orc mage
        [_LAND, _AMPHIBIAN, _LAND],  # -, lizard, kobold
        [_LAND, _LAND, _LAND],  # -, knight, archer
        [_LAND, _LAND, _SWIM],  # -, troll, deep thing
        [_LAND, _LAND, _FLY],  # -, pigman, fire elemental
        [_LAND, _LAND, _FLY],  # -, frost troll, ice elemental
        [_LAND, _LAND, _LAND],
    ],
    bool,
)
PLAYER_COLLISION = np.array(_LAND, bool)

# kind -> (physical, fire, ice)
MELEE_DAMAGE = np.array(
    [[2, 0, 0], [4, 0, 0], [3, 0, 0], [5, 0, 0], [6, 0, 0], [6, 1, 1], [3, 5, 0], [4, 0, 5]],
    np.float32,
)
PROJECTILE_DAMAGE = np.array(
    [[2, 0, 0], [4, 0, 0], [0, 3, 0], [0, 0, 3], [5, 0, 0], [4, 3, 3], [3, 5, 0], [4, 0, 5]],
    np.float32,
)

# [kind, class] -> health at spawning
MOB_HEALTH = np.array(
    [
        [3, 5, 3],
        [4, 7, 5],
        [6, 9, 6],
        [8, 11, 8],
        [0, 12, 12],
        [0, 20, 4],
        [0, 20, 14],
        [0, 24, 16],
        [0, 0, 0],
    ],
    np.float32,
)

# [kind, class] -> share of (physical, fire, ice) damage that is absorbed
MOB_DEFENSE = np.zeros((9, 3, 3), np.float32)
MOB_DEFENSE[4, [MobClass.MELEE, MobClass.RANGED]] = [0.5, 0.0, 0.0]
MOB_DEFENSE[5, MobClass.MELEE] = [0.2, 0.0, 0.0]
MOB_DEFENSE[6, [MobClass.MELEE, MobClass.RANGED]] = [0.9, 1.0, 0.0]
MOB_DEFENSE[7, [MobClass.MELEE, MobClass.RANGED]] = [0.9, 0.0, 1.0]

# ranged mob kind -> projectile kind
RANGED_PROJECTILE = np.array([0, 0, 2, 1, 4, 5, 6, 7], np.int32)

# [class, kind] -> achievement for defeating it (0 where the kind does not exist)
MOB_ACHIEVEMENT = np.zeros((3, 8), np.int32)
MOB_ACHIEVEMENT[MobClass.PASSIVE, :3] = [
    Achievement.EAT_COW, Achievement.EAT_BAT, Achievement.EAT_SNAIL,
]  # fmt: skip
MOB_ACHIEVEMENT[MobClass.MELEE] = [
    Achievement.DEFEAT_ZOMBIE, Achievement.DEFEAT_GNOME_WARRIOR, Achievement.DEFEAT_ORC_SOLIDER,
    Achievement.DEFEAT_LIZARD, Achievement.DEFEAT_KNIGHT, Achievement.DEFEAT_TROLL,
    Achievement.DEFEAT_PIGMAN, Achievement.DEFEAT_FROST_TROLL,
]  # fmt: skip
MOB_ACHIEVEMENT[MobClass.RANGED] = [
    Achievement.DEFEAT_SKELETON, Achievement.DEFEAT_GNOME_ARCHER, Achievement.DEFEAT_ORC_MAGE,
    Achievement.DEFEAT_KOBOLD, Achievement.DEFEAT_ARCHER, Achievement.DEFEAT_DEEP_THING,
    Achievement.DEFEAT_FIRE_ELEMENTAL, Achievement.DEFEAT_ICE_ELEMENTAL,
]  # fmt: skip

MONSTERS_TO_CLEAR_FLOOR = 8
OVERWORLD_KILLS = 10  # the overworld counts from here, so that its ladder down is open
BOSS_EXTRA_DAMAGE = 0.5
BOSS_SPAWN_STEPS = 7

# --- Players ----------------------------------------------------------------------------------

MAX_STACK = 99
REQUEST_STEPS = 10
NUM_POTIONS = 6
NUM_ARMOUR_SLOTS = 4
ENCHANTING_MANA = 9
SWORD_DAMAGE = np.array([1, 2, 3, 5, 8], np.int32)  # by sword level

# building -> price, columns (wood, stone, iron, coal)
BUILDING_COST = np.zeros((len(Building), 4), np.int32)
BUILDING_COST[Building.SHELTER] = [10, 5, 0, 0]
BUILDING_COST[Building.FORGE] = [0, 10, 3, 2]
BUILDING_COST[Building.BEACON] = [0, 0, 3, 2]
BUILDING_BLOCK = np.array([0, Block.EPIC_SHELTER, Block.EPIC_FORGE, Block.EPIC_BEACON], np.int32)

# --- Light ------------------------------------------------------------------------------------

SUNRISE = 0.3  # share of a day that is past when an episode begins

_OFFSETS = np.arange(-4, 5, dtype=np.float32)
_DISTANCE = np.sqrt(_OFFSETS[:, None] ** 2 + _OFFSETS[None, :] ** 2).astype(np.float32)
TORCH_LIGHT = np.clip(1 - _DISTANCE / np.float32(5.0), 0.0, 1.0)  # 9 x 9 around a torch
BEACON_LIGHT = np.clip(np.float32(1.0) - _DISTANCE / np.float32(4.0), 0.0, 1.0)

# --- Achievements -----------------------------------------------------------------------------

NO_ACHIEVEMENT = -1

COORDINATION_ACHIEVEMENTS = tuple(a for a in Achievement if a >= Achievement.COORD_2_AGENTS_SOFT)

_WEIGHT_3 = (
    *range(Achievement.COLLECT_SAPPHIRE, Achievement.ENTER_SEWERS),
    Achievement.COORD_2_AGENTS_SOFT, Achievement.COORD_LARGE_PASSIVE_KILL,
    Achievement.COORD_MINE_STONE_SOFT, Achievement.COORD_MINE_STONE_HARD,
    Achievement.COORD_MINE_COAL_SOFT, Achievement.COORD_MINE_COAL_HARD,
)  # fmt: skip
_WEIGHT_5 = (
    *range(Achievement.ENTER_SEWERS, Achievement.ENTER_FIRE_REALM),
    Achievement.COORD_2_AGENTS_HARD, Achievement.COORD_3_AGENTS_SOFT,
    Achievement.HANDOVER_COMPLETE, Achievement.COORD_MINE_HANDOVER,
    Achievement.COORD_MINE_IRON_SOFT, Achievement.COORD_MINE_IRON_HARD,
    Achievement.COORD_MINE_DIAMOND_SOFT, Achievement.COORD_MINE_DIAMOND_HARD,
    Achievement.COORD_BUILD_SHELTER,
)  # fmt: skip
_WEIGHT_8 = (
    *range(Achievement.ENTER_FIRE_REALM, Achievement.COORD_2_AGENTS_SOFT),
    Achievement.COORD_MINE_SAPPHIRE_SOFT, Achievement.COORD_MINE_SAPPHIRE_HARD,
    Achievement.COORD_MINE_RUBY_SOFT, Achievement.COORD_MINE_RUBY_HARD,
    Achievement.COORD_3_AGENTS_HARD, Achievement.COORD_BUILD_FORGE, Achievement.COORD_BUILD_BEACON,
    Achievement.COORD_DIAMOND_PICKAXE, Achievement.COORD_DIAMOND_SWORD,
    Achievement.COORD_DIAMOND_ARMOUR, Achievement.COORD_ELITE_MELEE_KILL,
    Achievement.COORD_ELITE_RANGED_KILL,
)  # fmt: skip
ACHIEVEMENT_WEIGHT = np.ones(len(Achievement), np.int32)
ACHIEVEMENT_WEIGHT[list(_WEIGHT_3)] = 3
ACHIEVEMENT_WEIGHT[list(_WEIGHT_5)] = 5
ACHIEVEMENT_WEIGHT[list(_WEIGHT_8)] = 8

# floor -> achievement for entering it (0 for the overworld, as the reference has it)
FLOOR_ACHIEVEMENT = np.array(
    [
        0, Achievement.ENTER_DUNGEON, Achievement.ENTER_GNOMISH_MINES, Achievement.ENTER_SEWERS,
        Achievement.ENTER_VAULT, Achievement.ENTER_TROLL_MINES, Achievement.ENTER_FIRE_REALM,
        Achievement.ENTER_ICE_REALM, Achievement.ENTER_GRAVEYARD,
    ],
    np.int32,
)  # fmt: skip
