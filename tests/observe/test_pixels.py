"""Pictures: every block has a drawing of its own, and things appear where they are."""

import numpy as np
import pytest
from worlds import MIDDLE, edit, plain_state, with_mob

from alem_env.core.enums import Block, Item
from alem_env.core.params import StaticParams
from alem_env.observe import tiles
from alem_env.observe.pixels import render

STATIC = StaticParams()


def cell(picture, row, column):
    size = tiles.SIZE
    return picture[row * size : (row + 1) * size, column * size : (column + 1) * size]


def test_blocks_can_be_told_apart():
    drawn = tiles.blocks()
    assert drawn.shape == (len(Block), 16, 16, 3) and drawn.dtype == np.uint8
    visible = drawn[Block.GRASS :].reshape(len(Block) - Block.GRASS, -1)
    assert len(np.unique(visible, axis=0)) == len(visible)


def test_all_sprites_exist():
    for code in list(Item)[1:]:
        assert tiles.item(int(code))[1].any()
    assert tiles.item(0) is None
    pictures = [tiles.mob(c, k)[0].tobytes() for c in (1, 2) for k in range(8)]
    assert len(set(pictures)) == len(pictures)


def test_a_whole_floor_and_what_is_on_it():
    state = plain_state(STATIC)
    before, after = render(state), render(with_mob(state, "melee", 0, (30, 30)))
    assert before.shape == (48 * 16, 48 * 16, 3) and before.dtype == np.uint8
    changed = np.argwhere((before != after).any(-1)) // tiles.SIZE
    assert set(map(tuple, changed)) == {(30, 30)}


def test_a_view_is_cut_out_of_the_floor():
    state = plain_state(STATIC)
    view = render(state, agent=1)
    assert view.shape == (9 * 16, 11 * 16, 3)
    whole = render(state)
    np.testing.assert_array_equal(cell(view, 4, 5), cell(whole, MIDDLE, MIDDLE + 1))
    corner = edit(state, players__position=[[0, 0], [0, 1], [0, 2]])
    assert not cell(render(corner, agent=0), 0, 0).any()  # beyond the map
    assert render(corner, window=(20, 30)).shape == (320, 480, 3)


@pytest.mark.parametrize(
    "wrong",
    [
        dict(agent=3), dict(agent=-1), dict(agent="a"), dict(agent=0.5), dict(window=(49, 10)),
        dict(window=3), dict(window=(1.5, 2)), dict(window=(3, 3, 3)), dict(window="33"),
    ],
)  # fmt: skip
def test_what_cannot_be_shown_is_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        render(plain_state(STATIC), **wrong)
