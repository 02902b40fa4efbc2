"""What actions make and place, and what that takes: for the rules, and for what is legal.

Source: alem-env 0.2.1.
"""

from typing import NamedTuple

from alem_env.core.enums import Achievement, Action, Block, Item
from alem_env.core.tables import NO_ACHIEVEMENT

# whose work it is, and where it is done
ANYONE, MINER, WARRIOR = range(3)
TABLE, TABLE_AND_FURNACE, FORGE = range(3)

MATERIALS = ("wood", "stone", "iron", "coal", "diamond")


class Recipe(NamedTuple):
    """What an action makes. Exactly one of the five after the materials says what."""

    action: Action
    role: int
    place: int  # FORGE is a table where crafting coordination is off
    wood: int = 0
    stone: int = 0
    iron: int = 0
    coal: int = 0
    diamond: int = 0
    pickaxe: int = 0  # level
    sword: int = 0  # level
    armour: int = 0  # level of one piece, the first that is below it
    arrows: int = 0  # number
    torches: int = 0  # number
    # Achievements. Other things made are seen in the inventory at the step's end.
    earns: int = NO_ACHIEVEMENT
    earns_together: int = NO_ACHIEVEMENT  # made with others at a forge


RECIPES = (
    Recipe(Action.MAKE_WOOD_PICKAXE, MINER, TABLE, wood=1, pickaxe=1),
    Recipe(Action.MAKE_STONE_PICKAXE, MINER, TABLE, wood=1, stone=1, pickaxe=2),
    Recipe(
        Action.MAKE_IRON_PICKAXE, MINER, TABLE_AND_FURNACE,
        wood=1, stone=1, iron=1, coal=1, pickaxe=3,
    ),
    Recipe(
        Action.MAKE_DIAMOND_PICKAXE, MINER, FORGE,
        wood=1, diamond=3, pickaxe=4, earns_together=Achievement.COORD_DIAMOND_PICKAXE,
    ),
    Recipe(Action.MAKE_WOOD_SWORD, ANYONE, TABLE, wood=1, sword=1),
    Recipe(Action.MAKE_STONE_SWORD, WARRIOR, TABLE, wood=1, stone=1, sword=2),
    Recipe(
        Action.MAKE_IRON_SWORD, WARRIOR, TABLE_AND_FURNACE,
        wood=1, stone=1, iron=1, coal=1, sword=3,
    ),
    Recipe(
        Action.MAKE_DIAMOND_SWORD, WARRIOR, FORGE,
        wood=1, diamond=2, sword=4, earns_together=Achievement.COORD_DIAMOND_SWORD,
    ),
    Recipe(
        Action.MAKE_IRON_ARMOUR, ANYONE, TABLE_AND_FURNACE, iron=3, coal=3, armour=1,
        earns=Achievement.MAKE_IRON_ARMOUR,
    ),
    Recipe(
        Action.MAKE_DIAMOND_ARMOUR, ANYONE, FORGE, diamond=3, armour=2,
        earns=Achievement.MAKE_DIAMOND_ARMOUR,
        earns_together=Achievement.COORD_DIAMOND_ARMOUR,
    ),
    Recipe(Action.MAKE_ARROW, WARRIOR, TABLE, wood=1, stone=1, arrows=2),
    Recipe(Action.MAKE_TORCH, MINER, TABLE, wood=1, coal=1, torches=4),
)  # fmt: skip


class Thing(NamedTuple):
    """What an action places: how many of which good it takes, and what it leaves on the cell."""

    action: Action
    good: str
    number: int
    earns: Achievement
    block: Block | None = None
    item: Item | None = None
    role: int = ANYONE


# In the order in which things are placed: what came before on a cell is in the way.
THINGS = (
    Thing(Action.PLACE_TABLE, "wood", 2, Achievement.PLACE_TABLE, Block.CRAFTING_TABLE),
    Thing(Action.PLACE_FURNACE, "stone", 1, Achievement.PLACE_FURNACE, Block.FURNACE),
    Thing(Action.PLACE_STONE, "stone", 1, Achievement.PLACE_STONE, Block.STONE, role=MINER),
    Thing(Action.PLACE_TORCH, "torches", 1, Achievement.PLACE_TORCH, item=Item.TORCH),
    Thing(Action.PLACE_PLANT, "sapling", 1, Achievement.PLACE_PLANT, Block.PLANT),
)
