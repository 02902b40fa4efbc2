"""The compact observation, where recordings are thin: what slots erase, and the dark."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from recorded import read
from worlds import MIDDLE, edit, plain_state, with_mobs

from alem_env.core.enums import Block, MobClass, MobCoordination
from alem_env.core.params import StaticParams, difficulty
from alem_env.observe.compact import NOWHERE, VIEW_COLUMNS, VIEW_ROWS, observe, unpack

STATIC = StaticParams(num_comm_channels=4)
PARAMS = difficulty("hard")
LOOK = jax.jit(observe, static_argnums=2)


def view_of(state):
    """What agent 0 sees; it stands at (MIDDLE, MIDDLE), in the middle of its view."""
    return jax.tree.map(lambda x: np.asarray(x)[0], unpack(LOOK(state, PARAMS, STATIC)))


def place(row, column):
    """Position on the map of a cell of agent 0's view; any integers."""
    return [MIDDLE - VIEW_ROWS // 2 + row, MIDDLE - VIEW_COLUMNS // 2 + column]


def with_slots(group, present, places, kinds):
    """A plain world with the first slots of a group at these places."""
    state = plain_state(STATIC)
    if "projectiles" not in group:
        first = state.floor.mobs.of(MobClass[group.upper()]).start
        slots = slice(first, first + len(places))
        places = np.array([place(*p) for p in places])
        return with_mobs(state, slots, position=places, alive=present, kind=kinds)
    slots = getattr(state.floor, group).kind.shape[0]
    rest = slots - len(places)
    return edit(
        state,
        **{
            f"floor__{group}__position": np.array([place(*p) for p in places] + [[40, 40]] * rest),
            f"floor__{group}__active": np.array(present + [False] * rest),
            f"floor__{group}__kind": np.array(kinds + [7] * rest),
        },
    )


def shown(view, kind="mob"):
    """Cells and channels that are shown."""
    is_shown = getattr(view, f"{kind}_shown")
    cells = getattr(view, f"{kind}_cell")[is_shown]
    channels = getattr(view, f"{kind}_channel")[is_shown]
    return sorted(zip(cells.tolist(), channels.tolist(), strict=True))


CORNER = VIEW_ROWS * VIEW_COLUMNS - 1


def test_a_mob_in_view_is_shown():
    assert shown(view_of(with_slots("melee", [True], [(8, 10)], [3]))) == [(CORNER, 3)]
    assert shown(view_of(with_slots("ranged", [True], [(0, 0)], [3]))) == [(0, 2 * 8 + 3)]


@pytest.mark.parametrize(
    "blanker, erased",
    [
        ((8, 10), True),  # a dead slot on the same cell
        ((-1, -1), True),  # a slot out of view that wraps around to the cell
        ((8, -1), True),  # wraps in one direction
        ((-10, -1), False),  # so far away that its index does not wrap
        ((9, 10), False),  # beyond the edge writes nothing
        ((8, 9), False),  # another cell
    ],
)
def test_a_later_slot_erases_where_its_index_wraps_to(blanker, erased):
    view = view_of(with_slots("melee", [True, False], [(8, 10), blanker], [3, 3]))
    assert shown(view) == ([] if erased else [(CORNER, 3)])


def test_only_later_slots_of_the_same_kind_erase():
    earlier = with_slots("melee", [False, True], [(8, 10), (8, 10)], [3, 3])
    assert shown(view_of(earlier)) == [(CORNER, 3)]
    other_kind = with_slots("melee", [True, False], [(8, 10), (8, 10)], [3, 2])
    assert shown(view_of(other_kind)) == [(CORNER, 3)]


def test_marks_of_coordination_are_not_erased():
    state = with_slots("melee", [True, False], [(8, 10), (-1, -1)], [3, 3])
    view = view_of(with_mobs(state, slice(0, 1), coordination=MobCoordination.HARD))
    assert shown(view) == []
    assert view.mob_cell[0] == CORNER and view.mob_requires[0] and view.mob_hard[0]


def test_projectiles_of_one_kind_on_one_cell_are_one():
    view = view_of(with_slots("mob_projectiles", [True] * 3, [(2, 2), (2, 2), (2, 2)], [1, 1, 4]))
    cell = 2 * VIEW_COLUMNS + 2
    assert shown(view, "projectile") == [(cell, 24 + 1), (cell, 24 + 4)]


def test_of_two_handovers_on_a_cell_the_longer_one_is_shown():
    state = plain_state(STATIC)
    now = int(state.timestep)
    position = np.tile(place(3, 3), (8, 1))
    deadline = np.full(8, now + 40)
    deadline[:3] = [now + 4, now + 9, now]
    state = edit(
        state,
        handovers__active=np.arange(8) < 3,
        handovers__position=position,
        handovers__deadline=deadline,
    )
    view = view_of(state)
    assert view.handover_steps.tolist() == [0, 9, 0, 0, 0, 0, 0, 0]
    assert view.handover_cell.tolist() == [NOWHERE, 3 * VIEW_COLUMNS + 3] + [NOWHERE] * 6


def test_in_the_dark_nothing_is_seen_but_where_it_is_light():
    state = with_slots("melee", [True, True], [(8, 10), (1, 1)], [3, 3])
    light = np.zeros((4, 48, 48), np.float32)
    light[0][tuple(place(1, 1))] = 0.06  # floor 2 is the first dark one
    view = view_of(edit(state, floor_index=2, light=light))
    lit = VIEW_COLUMNS + 1
    assert shown(view) == [(lit, 3)]
    assert np.flatnonzero(view.lit).tolist() == [lit]
    assert view.block[lit] == Block.GRASS and view.block.sum() == Block.GRASS
    assert (view.mate_cell == NOWHERE).all() and not view.mate_alive_shown.any()


def test_beyond_the_map_it_is_dark():
    state = plain_state(STATIC, players__position=[[0, 0], [24, 24], [24, 25]])
    lit = view_of(state).lit.reshape(VIEW_ROWS, VIEW_COLUMNS)
    assert not lit[:4].any() and not lit[:, :5].any() and lit[4:, 5:].all()


def test_directions_to_teammates_out_of_view():
    away = [[MIDDLE, MIDDLE], [MIDDLE - 10, MIDDLE], [MIDDLE + 10, MIDDLE + 10]]
    view = view_of(plain_state(STATIC, players__position=away))
    assert view.mate_direction.tolist() == [0, 3 * 1 + 0, 3 * 2 + 2]


def test_an_observation_is_small():
    obs = jax.eval_shape(lambda: observe(plain_state(STATIC), PARAMS, STATIC))
    size = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(obs)) // STATIC.num_agents
    assert size <= 700


def test_batches_see_what_single_worlds_see():
    episode = read("fuzz_medium_0")
    look = jax.jit(jax.vmap(lambda state: observe(state, episode.params, episode.static)))
    batch = look(episode.after)
    single = LOOK(jax.tree.map(lambda x: x[7], episode.after), episode.params, episode.static)
    for name, leaf in vars(single).items():
        np.testing.assert_array_equal(jnp.asarray(getattr(batch, name))[7], leaf, err_msg=name)
