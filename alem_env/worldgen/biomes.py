"""What the floors are made of. Source of all values: alem-env 0.2.1."""

import dataclasses

import numpy as np

from alem_env.core.enums import Block

MOUNTAIN_THRESHOLD = 0.7  # mountain noise above it is rock
CAVE_THRESHOLD = 0.85  # mountain noise above it may hold caves and lava


@dataclasses.dataclass(frozen=True)
class Terrain:
    """A floor grown from noise: outdoors, caverns, the boss's graveyard.

    `water_reach` and `mountain_reach` are (divisor, cap) of the clearance around the players'
    start. `ores` are (rock that turns, into what, chance), tried one after the other.
    """

    ground: Block
    sea: Block
    coast: Block
    mountain: Block
    path: Block
    cave: Block
    tree_ground: Block
    tree: Block
    lava: Block
    start: Block  # under the players' starting cells
    ladder_ground: Block
    ores: tuple[tuple[Block, Block, float], ...]
    mountain_reach: tuple[float, float]
    water_reach: tuple[float, float] = (5.0, 1.0)
    water_threshold: float = 0.7
    sand_threshold: float = 0.6
    tree_noise_threshold: float = 0.5
    tree_rarity: float = 0.8
    ladder_down: bool = True
    ladder_up: bool = True

    @property
    def blocks(self) -> frozenset[Block]:
        """Every block that the floor may hold before construction sites."""
        names = ("ground", "sea", "coast", "mountain", "path", "cave", "tree", "lava", "start")
        return frozenset(getattr(self, n) for n in names) | {o[1] for o in self.ores if o[2] > 0}


@dataclasses.dataclass(frozen=True)
class Dungeon:
    """A floor of rooms and corridors."""

    special: Block  # in the first room
    fountain: Block
    rare_floor: Block  # in place of a tenth of the floor


def _ores(*chances: float) -> tuple[tuple[Block, Block, float], ...]:
    kinds = (Block.COAL, Block.IRON, Block.DIAMOND, Block.SAPPHIRE, Block.RUBY)
    return tuple((Block.STONE, k, c) for k, c in zip(kinds, chances, strict=True))


def _mines(*chances: float) -> Terrain:
    return Terrain(
        ground=Block.PATH, sea=Block.WATER, coast=Block.PATH, mountain=Block.STONE,
        path=Block.STONE, cave=Block.STONE, tree_ground=Block.PATH, tree=Block.STALAGMITE,
        lava=Block.LAVA, start=Block.PATH, ladder_ground=Block.PATH, ores=_ores(*chances),
        mountain_reach=(17.0, 1.5),
    )  # fmt: skip


OVERWORLD = Terrain(
    ground=Block.GRASS, sea=Block.WATER, coast=Block.SAND, mountain=Block.STONE, path=Block.PATH,
    cave=Block.PATH, tree_ground=Block.GRASS, tree=Block.TREE, lava=Block.LAVA, start=Block.GRASS,
    ladder_ground=Block.PATH, ores=_ores(0.03, 0.02, 0.001, 0.0, 0.0), mountain_reach=(5.0, 1.0),
    ladder_up=False,
)  # fmt: skip
GNOMISH_MINES = _mines(0.04, 0.02, 0.005, 0.0025, 0.0025)
TROLL_MINES = _mines(0.04, 0.03, 0.01, 0.01, 0.01)
FIRE_REALM = Terrain(
    ground=Block.FIRE_GRASS, sea=Block.LAVA, coast=Block.SAND, mountain=Block.STONE,
    path=Block.STONE, cave=Block.STONE, tree_ground=Block.FIRE_GRASS, tree=Block.FIRE_TREE,
    lava=Block.LAVA, start=Block.FIRE_GRASS, ladder_ground=Block.FIRE_GRASS,
    ores=_ores(0.05, 0.0, 0.0, 0.0, 0.025), mountain_reach=(5.0, 1.0), water_threshold=0.5,
)  # fmt: skip
ICE_REALM = Terrain(
    ground=Block.ICE_GRASS, sea=Block.WATER, coast=Block.ICE_GRASS, mountain=Block.STONE,
    path=Block.STONE, cave=Block.STONE, tree_ground=Block.ICE_GRASS, tree=Block.ICE_SHRUB,
    lava=Block.WATER, start=Block.ICE_GRASS, ladder_ground=Block.ICE_GRASS,
    ores=_ores(0.0, 0.0, 0.005, 0.02, 0.0), mountain_reach=(17.0, 1.5), water_threshold=0.5,
    tree_rarity=0.4,
)  # fmt: skip
GRAVEYARD = Terrain(
    ground=Block.PATH, sea=Block.PATH, coast=Block.PATH, mountain=Block.WALL, path=Block.WALL,
    cave=Block.WALL, tree_ground=Block.PATH, tree=Block.GRAVE, lava=Block.WALL,
    start=Block.NECROMANCER, ladder_ground=Block.PATH,
    ores=(
        (Block.WALL, Block.WALL_MOSS, 0.1), (Block.GRAVE, Block.GRAVE2, 0.333),
        (Block.GRAVE, Block.GRAVE3, 0.5), (Block.WALL, Block.SAPPHIRE, 0.0),
        (Block.WALL, Block.RUBY, 0.0),
    ),
    mountain_reach=(10.0, 10.0), tree_noise_threshold=-1.0, tree_rarity=0.95, ladder_down=False,
    ladder_up=False,
)  # fmt: skip

# floor -> what it is, in the order in which the benchmark hands out keys
TERRAINS = {
    0: OVERWORLD, 2: GNOMISH_MINES, 5: TROLL_MINES, 6: FIRE_REALM, 7: ICE_REALM, 8: GRAVEYARD,
}  # fmt: skip
DUNGEONS = {
    1: Dungeon(Block.PATH, Block.FOUNTAIN, Block.PATH),
    3: Dungeon(Block.ENCHANTMENT_TABLE_ICE, Block.WATER, Block.WATER),
    4: Dungeon(Block.ENCHANTMENT_TABLE_FIRE, Block.FOUNTAIN, Block.PATH),
}

# Blocks that may need coordination, and the floors that have any
MINABLE = (
    Block.TREE, Block.FIRE_TREE, Block.ICE_SHRUB, Block.STONE, Block.COAL, Block.IRON,
    Block.DIAMOND, Block.SAPPHIRE, Block.RUBY,
)  # fmt: skip
MINABLE_FLOORS = tuple(f for f, t in TERRAINS.items() if t.blocks & set(MINABLE))

# Blocks that a construction site may replace
SITE_GROUND = (Block.GRASS, Block.PATH)


def column(name: str, dtype=np.uint8) -> np.ndarray:
    """Field `name` of all terrains as an array with shape (6, 1, 1), to broadcast over maps."""
    values = np.array([getattr(t, name) for t in TERRAINS.values()], dtype)
    return values.reshape(-1, 1, 1)
