"""Drawings of everything in the world, 16 x 16 pixels, made of simple shapes. Numpy only."""

import functools

import numpy as np

from alem_env.core.enums import Block, Item, MobClass

SIZE = 16
_Y, _X = np.mgrid[:SIZE, :SIZE]

Colour = tuple[int, int, int]
Shape = np.ndarray  # (16, 16) bool

_GRASS, _STONE, _WOOD, _PATH = (112, 172, 88), (132, 134, 142), (150, 108, 66), (178, 158, 126)
_WALL, _ICE, _ASH, _NIGHT = (84, 80, 96), (196, 222, 234), (122, 74, 60), (22, 20, 30)
_WHITE, _BLACK, _GOLD, _RED = (244, 240, 230), (30, 28, 34), (238, 190, 70), (200, 62, 62)
_WATER, _EMBER = (70, 128, 204), (246, 150, 54)


# --- Shapes -------------------------------------------------------------------------------------


def _box(top: int, left: int, bottom: int, right: int) -> Shape:
    """Rows top to bottom and columns left to right, both ends included."""
    return (_Y >= top) & (_Y <= bottom) & (_X >= left) & (_X <= right)


def _disc(row: float, column: float, radius: float) -> Shape:
    return (_Y - row) ** 2 + (_X - column) ** 2 <= radius**2


def _gem(row: float, column: float, radius: float) -> Shape:
    return np.abs(_Y - row) + np.abs(_X - column) <= radius


def _spike(top: int, column: float) -> Shape:
    return (_Y >= top) & (np.abs(_X - column) * 2 <= _Y - top) & (_Y < 15)


def _dots(seed: int, count: int, radius: float = 1.2) -> Shape:
    places = np.random.default_rng(seed).integers(2, 14, (count, 2))
    return np.any([_disc(row, column, radius) for row, column in places], axis=0)


def _frame() -> Shape:
    return ~_box(1, 1, 14, 14)


_BRICKS = (_Y % 5 == 4) | ((_X + 4 * (_Y // 5 % 2)) % 8 == 7)
_STRIPES = (_X + _Y) % 8 < 2
_CROSS = (np.abs(_X - _Y) <= 1) | (np.abs(_X + _Y - 15) <= 1)
_RUNGS = (_box(1, 4, 14, 5) | _box(1, 10, 14, 11)) | (_box(1, 4, 14, 11) & (_Y % 4 == 2))
_CROWN = _disc(6, 7.5, 5.6)
_GLARE = _box(6, 6, 6, 6) | _box(6, 9, 6, 9)
_OVEN = _box(8, 4, 13, 11)
_TAPE = [(_frame() & _STRIPES, _GOLD), (_frame() & ~_STRIPES, _BLACK)]
_TRUNK = _box(11, 7, 14, 8)
_STONE_SLAB = _disc(6, 7.5, 4.2) | _box(6, 4, 13, 11)
_HOUSE = _spike(1, 7.5) & (_Y < 9) | _box(8, 4, 14, 11)
_SPROUT = _box(8, 7, 13, 8) | _disc(7, 5, 2.2) | _disc(6, 10, 2.2)


def _ground(colour: Colour, seed: int, contrast: int = 12) -> np.ndarray:
    """A square of one colour with a little grain."""
    grain = np.random.default_rng(seed).integers(-contrast, contrast + 1, (SIZE // 2, SIZE // 2, 1))
    grain = grain.repeat(2, 0).repeat(2, 1)
    return np.clip(np.array(colour) + grain, 0, 255).astype(np.uint8)


def _paint(tile: np.ndarray, *layers: tuple[Shape, Colour]) -> np.ndarray:
    tile = tile.copy()
    for shape, colour in layers:
        tile[shape] = colour
    return tile


# --- Blocks -------------------------------------------------------------------------------------

_ORE = {
    Block.COAL: _BLACK, Block.IRON: (216, 176, 144), Block.DIAMOND: (150, 236, 240),
    Block.SAPPHIRE: (72, 104, 226), Block.RUBY: (222, 56, 92),
}  # fmt: skip
_PLAIN = {
    Block.INVALID: _BLACK, Block.OUT_OF_BOUNDS: _BLACK, Block.GRASS: _GRASS,
    Block.WATER: _WATER, Block.STONE: _STONE, Block.PATH: _PATH,
    Block.SAND: (228, 210, 154), Block.LAVA: (232, 104, 44), Block.DARKNESS: _NIGHT,
    Block.FIRE_GRASS: _ASH, Block.ICE_GRASS: _ICE, Block.GRAVEL: (150, 142, 138),
}  # fmt: skip
# block -> what it stands on, and what is drawn there
_DRAWN = {
    Block.TREE: (_GRASS, [(_TRUNK, (104, 70, 42)), (_CROWN, (44, 112, 58))]),
    Block.FIRE_TREE: (_ASH, [(_TRUNK, (60, 40, 36)), (_CROWN, (226, 120, 46))]),
    Block.ICE_SHRUB: (_ICE, [(_disc(9, 7.5, 5), (112, 176, 188))]),
    Block.WOOD: (_WOOD, [(_Y % 4 == 3, (112, 78, 46))]),
    Block.CRAFTING_TABLE: (_WOOD, [(_frame(), (96, 64, 38)), (_CROSS, (112, 78, 46))]),
    Block.FURNACE: ((96, 96, 104), [(_frame(), (62, 62, 70)), (_OVEN, _EMBER)]),
    Block.PLANT: (_GRASS, [(_SPROUT, (60, 134, 60))]),
    Block.RIPE_PLANT: (_GRASS, [(_SPROUT, (60, 134, 60)), (_dots(3, 4, 1.6), _RED)]),
    Block.WALL: (_WALL, [(_BRICKS, (58, 54, 68))]),
    Block.WALL_MOSS: (_WALL, [(_BRICKS, (58, 54, 68)), (_dots(5, 6, 1.8), (84, 130, 78))]),
    Block.STALAGMITE: (_PATH, [(_spike(2, 5) | _spike(5, 11), (118, 106, 96))]),
    Block.CHEST: (_PATH, [(_box(4, 2, 13, 13), (140, 92, 44)), (_box(8, 2, 8, 13), (84, 54, 28)),
                          (_box(7, 7, 10, 8), _GOLD)]),
    Block.FOUNTAIN: (_PATH, [(_disc(7.5, 7.5, 6.5), _STONE), (_disc(7.5, 7.5, 4.8), _WATER)]),
    Block.ENCHANTMENT_TABLE_FIRE: (_WALL, [(_box(5, 2, 13, 13), (72, 44, 92)),
                                           (_gem(5, 7.5, 4), (242, 120, 50))]),
    Block.ENCHANTMENT_TABLE_ICE: (_WALL, [(_box(5, 2, 13, 13), (72, 44, 92)),
                                          (_gem(5, 7.5, 4), (138, 212, 244))]),
    Block.NECROMANCER: (_WALL, [(_HOUSE, (40, 26, 52)), (_GLARE, _RED)]),
    Block.NECROMANCER_VULNERABLE: (_WALL, [(_HOUSE, (120, 60, 130)),
                                           (_GLARE, _WHITE)]),
    Block.GRAVE: (_ASH, [(_STONE_SLAB, _STONE)]),
    Block.GRAVE2: (_ASH, [(_STONE_SLAB, (112, 116, 122)), (_box(6, 7, 11, 8), _BLACK)]),
    Block.GRAVE3: (_ASH, [(_STONE_SLAB, (150, 148, 140)), (_box(7, 5, 8, 10), _BLACK)]),
    Block.CONSTRUCTION_SITE: (_PATH, _TAPE),
    Block.CONSTRUCTION_IN_PROGRESS: (_PATH, [*_TAPE, (_HOUSE & (_Y > 8), _WOOD)]),
    Block.EPIC_SHELTER: (_GRASS, [(_HOUSE, _WOOD), (_box(10, 7, 14, 8), _BLACK)]),
    Block.EPIC_FORGE: (_STONE, [(_HOUSE, (84, 84, 92)), (_box(10, 6, 13, 9), _EMBER)]),
    Block.EPIC_BEACON: (_STONE, [(_box(4, 6, 14, 9), _WHITE), (_disc(4, 7.5, 3.4), _GOLD)]),
}  # fmt: skip


@functools.cache
def blocks() -> np.ndarray:
    """(42, 16, 16, 3) uint8, by `Block`."""
    return np.stack([_block(block) for block in Block])


def _block(block: Block) -> np.ndarray:
    if block in _PLAIN:
        tile = _ground(_PLAIN[block], block, contrast=0 if block < Block.GRASS else 10)
        if block in (Block.WATER, Block.LAVA):
            waves = (_Y + (_X // 4 % 2) * 2) % 8 == 3
            light = tuple(min(255, c + 28) for c in _PLAIN[block])
            tile = _paint(tile, (waves, light))
        return tile
    if block in _ORE:
        return _paint(_ground(_STONE, 4), (_dots(block, 5, 1.7), _ORE[block]))
    colour, layers = _DRAWN[block]
    return _paint(_ground(colour, block), *layers)


# --- What stands or flies there: shape and picture ----------------------------------------------

Sprite = tuple[np.ndarray, np.ndarray]  # picture (16, 16, 3) uint8, where it covers (16, 16) bool

_KIND_COLOUR = {
    MobClass.PASSIVE: [(196, 150, 110), (92, 76, 110), (190, 176, 96)],
    MobClass.MELEE: [
        (92, 140, 84), (178, 120, 72), (96, 134, 64), (74, 156, 128),
        (170, 176, 190), (110, 146, 110), (226, 140, 150), (148, 190, 214),
    ],
    MobClass.RANGED: [
        (226, 224, 212), (196, 140, 88), (128, 96, 168), (160, 110, 70),
        (130, 140, 170), (60, 96, 136), (240, 128, 50), (140, 216, 240),
    ],
}  # fmt: skip
_SHOT_COLOUR = [
    (92, 64, 40), (200, 204, 214), (246, 130, 46), (140, 216, 246),
    (70, 50, 34), (120, 190, 84), (250, 90, 40), (110, 190, 250),
]  # fmt: skip
_ROLE_COLOUR = [(170, 170, 170), (86, 168, 96), (206, 84, 78), (88, 126, 208)]
_FIGURE = _disc(4, 7.5, 3) | _box(7, 4, 11, 11) | _box(12, 5, 14, 6) | _box(12, 9, 14, 10)
_EYES = _box(4, 6, 4, 6) | _box(4, 9, 4, 9)


def _sprite(*layers: tuple[Shape, Colour]) -> Sprite:
    covered = np.any([shape for shape, _ in layers], axis=0)
    return _paint(np.zeros((SIZE, SIZE, 3), np.uint8), *layers), covered


@functools.cache
def item(code: int) -> Sprite | None:
    """Picture of an `Item`, None for nothing."""
    rungs = _sprite((_box(1, 3, 14, 12), (52, 44, 40)), (_RUNGS, _WOOD))
    if code == Item.TORCH:
        return _sprite((_box(6, 7, 13, 8), (104, 70, 42)), (_disc(4, 7.5, 2.6), _GOLD))
    if code == Item.LADDER_DOWN:
        return rungs
    if code == Item.LADDER_UP:
        return _sprite((_box(1, 3, 14, 12), (222, 226, 232)), (_RUNGS, _WOOD))
    if code == Item.LADDER_DOWN_BLOCKED:
        return _sprite((_box(1, 3, 14, 12), (52, 44, 40)), (_RUNGS, _WOOD), (_CROSS, _RED))
    return None


@functools.cache
def mob(mob_class: int, kind: int, mark: int = 0) -> Sprite:
    """Picture of a creature; mark 1 or 2 is a small or a large crown: elites."""
    colours = _KIND_COLOUR[MobClass(mob_class)]
    colour = colours[min(kind, len(colours) - 1)]
    dark = tuple(c * 2 // 3 for c in colour)
    if mob_class == MobClass.PASSIVE:
        body = (((_Y - 9) / 4) ** 2 + ((_X - 7) / 6) ** 2 <= 1) | _disc(6, 12, 2.6)
        layers = [(body, colour), (_box(12, 3, 14, 4) | _box(12, 9, 14, 10), dark)]
        layers += [(_box(5, 12, 5, 12), _BLACK)]
    else:
        layers = [(_FIGURE, colour), (_box(10, 4, 11, 11), dark), (_EYES, _BLACK)]
        if mob_class == MobClass.RANGED:
            layers += [((np.abs(_disc(8, 12, 4).astype(int) - _disc(8, 11, 4)) > 0), (96, 64, 38))]
    if mark:
        layers += [(_box(0, 7 - 2 * mark, 1, 8 + 2 * mark), _GOLD if mark == 1 else _RED)]
    return _sprite(*layers)


@functools.cache
def player(role: int, number: int, direction: int, alive: bool, awake: bool) -> Sprite:
    """Picture of a player: coloured by role, dots count its number, a white edge faces ahead."""
    colour = _ROLE_COLOUR[role] if alive else (96, 96, 100)
    if not awake:
        colour = tuple(c * 3 // 5 for c in colour)
    layers = [(_FIGURE, colour), (_disc(4, 7.5, 3), (236, 200, 168))]
    layers += [(_EYES, _BLACK)] if alive and awake else [(_box(4, 5, 4, 10), _BLACK)]
    for dot in range(number + 1):
        column = 4 + 2 * (dot % 4)
        row = 8 + 2 * (dot // 4)
        layers += [(_box(row, column, row, column), _WHITE)]
    edge = [None, _box(5, 0, 10, 0), _box(5, 15, 10, 15), _box(0, 5, 0, 10), _box(15, 5, 15, 10)]
    if edge[direction] is not None and alive:
        layers += [(edge[direction], _WHITE)]
    return _sprite(*layers)


@functools.cache
def shot(kind: int, vertical: bool) -> Sprite:
    """Picture of a projectile."""
    body = _box(7, 3, 8, 12) if not vertical else _box(3, 7, 12, 8)
    if kind not in (0, 1, 4):
        body = body | _disc(7.5, 7.5, 3)
    return _sprite((body, _SHOT_COLOUR[kind % len(_SHOT_COLOUR)]))
