"""Requests and gifts."""

import jax.numpy as jnp
import numpy as np
import pytest
from worlds import edit, plain_state, run_rule

from alem_env.core.enums import Achievement, Action
from alem_env.core.params import StaticParams
from alem_env.rules import trading

STATIC = StaticParams(num_agents=3)
give = run_rule(trading.give)
request = run_rule(trading.request)
TO_FIRST_OTHER, TO_SECOND_OTHER = Action.GIVE, Action.GIVE + 1


def actions(*codes):
    return jnp.array(codes, jnp.int32)


def wants(state, agent, good, **edits):
    asking = np.arange(3) == agent
    return edit(
        state,
        players__request_type=np.where(asking, int(good), 0),
        players__request_duration=np.where(asking, 3, 0),
        **edits,
    )


@pytest.fixture(scope="module")
def plain():
    return plain_state(STATIC)


@pytest.mark.parametrize("name", ["wood", "stone", "iron", "coal", "diamond", "ruby", "sapphire"])
def test_one_unit_of_what_was_asked_for_changes_hands(plain, name):
    good = Action[f"REQUEST_{name.upper()}"]
    names = ("wood", "stone", "iron", "coal", "diamond", "ruby", "sapphire")
    state = wants(plain, 2, good, **{f"inventory__{n}": [5, 4, 3] for n in names})
    after = give(state, actions(TO_SECOND_OTHER, TO_FIRST_OTHER, 0))  # 1 gives to 0: not asked
    for other in names:
        want = [4, 4, 4] if other == name else [5, 4, 3]
        assert getattr(after.inventory, other).tolist() == want
    counters = after.counters
    assert counters.trades.tolist() == [1, 0, 0]
    assert counters.requests_received.tolist() == [0, 0, 1]
    assert counters.give_attempts.tolist() == [1, 1, 0]
    assert counters.food_trades.tolist() == [0, 0, 0]


def test_the_giver_is_skipped_when_counting_others(plain):
    for receiver, codes in (
        (0, (0, TO_FIRST_OTHER, TO_FIRST_OTHER)),
        (1, (TO_FIRST_OTHER, 0, TO_SECOND_OTHER)),
        (2, (TO_SECOND_OTHER, TO_SECOND_OTHER, 0)),
    ):
        state = wants(plain, receiver, Action.REQUEST_WOOD, inventory__wood=5)
        after = give(state, actions(*codes))
        want = [4, 4, 4]
        want[receiver] = 7
        assert after.inventory.wood.tolist() == want


@pytest.mark.parametrize(
    "edits",
    [
        dict(inventory__wood=[0, 0, 0]),
        dict(inventory__wood=[5, 0, 99]),
        dict(inventory__wood=[5, 0, 0], players__request_duration=0),
        dict(inventory__wood=[5, 0, 0], players__alive=[True, True, False]),
        dict(inventory__wood=[5, 0, 0], players__request_type=int(Action.REQUEST_STONE)),
    ],
)
def test_no_gift(plain, edits):
    state = edit(wants(plain, 2, Action.REQUEST_WOOD), **edits)
    after = give(state, actions(TO_SECOND_OTHER, 0, 0))
    assert after.inventory.wood.tolist() == state.inventory.wood.tolist()
    assert int(after.counters.trades.sum()) == 0
    assert after.counters.give_attempts.tolist() == [1, 0, 0]


def test_food_and_drink_reset_their_counters(plain):
    needy = dict(players__food=[5, 9, 2], players__drink=[5, 9, 2],
                 players__hunger=7.0, players__thirst=8.0)  # fmt: skip
    after = give(wants(plain, 2, Action.REQUEST_FOOD, **needy), actions(TO_SECOND_OTHER, 0, 0))
    assert after.players.food.tolist() == [4, 9, 3]
    assert after.players.hunger.tolist() == [7.0, 7.0, 0.0]
    assert after.players.thirst.tolist() == [8.0] * 3
    assert after.achievements[:, Achievement.COLLECT_FOOD].tolist() == [False, False, True]
    assert after.counters.food_trades.tolist() == [1, 0, 0]
    after = give(wants(plain, 2, Action.REQUEST_DRINK, **needy), actions(TO_SECOND_OTHER, 0, 0))
    assert after.players.drink.tolist() == [4, 9, 3]
    assert after.players.thirst.tolist() == [8.0, 8.0, 0.0]
    assert after.counters.drink_trades.tolist() == [1, 0, 0]


def test_two_givers_may_overfill(plain):
    state = wants(plain, 1, Action.REQUEST_WOOD, inventory__wood=[5, 98, 5])
    after = give(state, actions(TO_FIRST_OTHER, 0, TO_SECOND_OTHER))
    assert after.inventory.wood.tolist() == [4, 100, 4]
    assert after.counters.requests_received.tolist() == [0, 2, 0]


def test_requests_last_and_are_replaced(plain):
    state = request(plain, actions(Action.REQUEST_IRON, 0, Action.REQUEST_FOOD))
    assert state.players.request_duration.tolist() == [10, 0, 10]
    assert state.players.request_type.tolist() == [Action.REQUEST_IRON, 0, Action.REQUEST_FOOD]
    for _ in range(9):
        state = request(state, actions(0, 0, 0))
    assert state.players.request_duration.tolist() == [1, 0, 1]
    assert state.counters.requests_expired.tolist() == [0, 0, 0]
    state = request(state, actions(0, 0, Action.REQUEST_RUBY))
    assert state.players.request_duration.tolist() == [0, 0, 10]
    assert state.players.request_type.tolist() == [Action.REQUEST_IRON, 0, Action.REQUEST_RUBY]
    assert state.counters.requests_expired.tolist() == [1, 0, 0]
    assert state.counters.requests.tolist() == [1, 0, 2]


def test_neighbouring_actions_are_no_requests(plain):
    after = request(plain, actions(Action.ENCHANT_BOW, Action.BUILD_SHELTER, 0))
    assert not after.players.request_duration.any() and not after.counters.requests.any()
