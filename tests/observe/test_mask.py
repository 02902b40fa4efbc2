"""Legal actions are those of the benchmark."""

import jax
import numpy as np
import pytest
from recorded import read
from worlds import edit, plain_state

from alem_env.core.enums import Action
from alem_env.core.params import StaticParams, difficulty
from alem_env.observe.mask import action_mask

STATIC = StaticParams(num_comm_channels=4)
MASK = jax.jit(action_mask, static_argnums=2)


# Replays compare masks too, of every step; these are switches and team sizes that quick ones lack.
@pytest.mark.parametrize("name", ["fuzz_hard_gates_40", "fuzz_1player_530", "fuzz_8players_540"])
def test_every_recorded_mask_is_equal(name):
    episode = read(name)
    mask = jax.jit(jax.vmap(lambda state: action_mask(state, episode.params, episode.static)))
    np.testing.assert_array_equal(mask(episode.before), episode.masks)


@pytest.mark.parametrize(
    "cannot",
    [dict(players__alive=False), dict(players__sleeping=True), dict(players__resting=True)],
)
def test_who_cannot_act_may_only_wait(cannot):
    mask = MASK(plain_state(STATIC, **cannot), difficulty("hard"), STATIC)
    expected = np.zeros((3, STATIC.num_actions), bool)
    expected[:, Action.NOOP] = True
    np.testing.assert_array_equal(mask, expected)


def test_give_is_legal_to_the_player_that_asks_for_what_one_has():
    state = plain_state(
        STATIC,
        inventory__wood=[0, 5, 0],
        players__request_type=[0, 0, Action.REQUEST_WOOD],
        players__request_duration=[0, 0, 3],
    )
    mask = np.asarray(MASK(state, difficulty("hard"), STATIC))
    give = mask[:, Action.GIVE : Action.GIVE + STATIC.num_give_actions]
    # player 1's others are 0 and 2, so 2 is its second slot
    np.testing.assert_array_equal(give, [[False, False], [False, True], [False, False]])
    full = edit(state, inventory__wood=[0, 5, 99])
    assert not MASK(full, difficulty("hard"), STATIC)[1, Action.GIVE + 1]


def test_roles_do_not_matter_where_everyone_may_try():
    rich = dict(inventory__stone=3)
    hard = StaticParams(num_comm_channels=4, soft_specialization=False)
    soft_mask = MASK(plain_state(STATIC, **rich), difficulty("hard"), STATIC)
    hard_mask = MASK(plain_state(hard, **rich), difficulty("hard"), hard)
    assert soft_mask[:, Action.PLACE_STONE].tolist() == [True, True, True]
    assert hard_mask[:, Action.PLACE_STONE].tolist() == [False, False, True]  # the miner
