"""Pictures of a world. A leaf: numpy on one state, for people; nothing that trains imports it."""

import numpy as np

from alem_env.core.state import State
from alem_env.core.tables import LIGHT_INDEX, MAP_SIZE, VIEW_SIZE
from alem_env.core.values import whole_number
from alem_env.observe import tiles

_MARGIN = max(VIEW_SIZE)  # so that any view can be cut out
_DARKEST = 0.12


def render(state: State, agent: int | None = None, window: tuple[int, int] | None = None):
    """A picture of the team's floor, 16 pixels a cell.

    Args:
        state: one world.
        agent: show the 9 x 11 cells that this agent sees.
        window: without `agent`: rows and columns around the middle of the team; the whole floor if
            left out.

    Returns:
        (height, width, 3) uint8.

    Raises:
        ValueError: there is no such agent, or the window is no pair of whole numbers or larger
            than the floor.
    """
    if agent is not None:
        agent = whole_number("agent", agent, 0, state.players.alive.shape[0] - 1)
    if window is not None:
        window = _as_window(window)
    picture = _floor(state)
    if agent is not None:
        picture = np.pad(picture, [(_MARGIN * tiles.SIZE,) * 2] * 2 + [(0, 0)])
        corner = np.asarray(state.players.position)[agent] + _MARGIN - np.array(VIEW_SIZE) // 2
        return _cut(picture, corner, VIEW_SIZE)
    if window is None:
        return picture
    middle = np.asarray(state.players.position).mean(0).round().astype(int)
    corner = np.clip(middle - np.array(window) // 2, 0, np.array(MAP_SIZE) - window)
    return _cut(picture, corner, window)


def _as_window(window: object) -> tuple[int, int]:
    try:
        rows, columns = window
        sizes = (("rows", rows, MAP_SIZE[0]), ("columns", columns, MAP_SIZE[1]))
        rows, columns = (whole_number(name, size, 1, most) for name, size, most in sizes)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"window={window!r} must be two whole numbers, rows and columns, from (1, 1) to "
            f"{MAP_SIZE}"
        ) from error
    return rows, columns


def _floor(state: State) -> np.ndarray:
    floor = state.floor
    cells = tiles.blocks()[np.asarray(floor.block)]  # (48, 48, 16, 16, 3)
    for row, column in np.argwhere(np.asarray(floor.item) > 0):
        _put(cells, (row, column), tiles.item(int(floor.item[row, column])))
    mobs = floor.mobs
    for k in np.flatnonzero(mobs.alive):
        mob = (mobs.mob_class[k], mobs.kind[k], mobs.coordination[k])
        _put(cells, np.asarray(mobs.position[k]), tiles.mob(*map(int, mob)))
    players = state.players
    for k in range(players.alive.shape[0]):
        awake = not (players.sleeping[k] or players.resting[k])
        sprite = tiles.player(
            int(players.specialization[k]), k, int(players.direction[k]),
            bool(players.alive[k]), bool(awake),
        )  # fmt: skip
        _put(cells, np.asarray(players.position[k]), sprite)
    for shots in (floor.mob_projectiles, floor.player_projectiles):
        for k in np.flatnonzero(shots.active):
            sprite = tiles.shot(int(shots.kind[k]), bool(shots.direction[k][0] != 0))
            _put(cells, np.asarray(shots.position[k]), sprite)
    cells = (cells * _brightness(state)[..., None, None, None]).astype(np.uint8)
    rows, columns = MAP_SIZE
    return cells.swapaxes(1, 2).reshape(rows * tiles.SIZE, columns * tiles.SIZE, 3)


def _brightness(state: State) -> np.ndarray:
    """(48, 48) in [0, 1]: torch light on dark floors, dusk on the overworld."""
    index = int(state.floor_index)
    if LIGHT_INDEX[index] >= 0:
        light = np.asarray(state.light)[LIGHT_INDEX[index]]
    else:
        light = np.full(MAP_SIZE, 0.4 + 0.6 * float(state.light_level) if index == 0 else 1.0)
    return np.clip(light, _DARKEST, 1.0)


def _put(cells: np.ndarray, position, sprite: tiles.Sprite | None) -> None:
    inside = (np.asarray(position) >= 0).all() and (np.asarray(position) < MAP_SIZE).all()
    if sprite is None or not inside:
        return
    picture, covered = sprite
    cells[tuple(position)][covered] = picture[covered]


def _cut(picture: np.ndarray, corner: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    (top, left), (rows, columns) = corner * tiles.SIZE, np.array(size) * tiles.SIZE
    return picture[top : top + rows, left : left + columns]
