"""Messages."""

import jax.numpy as jnp
import pytest
from worlds import edit, plain_state, run_rule

from alem_env.core.params import StaticParams
from alem_env.rules import comms


@pytest.mark.parametrize("agents, first", [(1, 54), (2, 55), (3, 56), (4, 57)])
def test_channels_follow_the_gifts(agents, first):
    static = StaticParams(num_agents=agents, num_comm_channels=4)
    communicate = run_rule(lambda s, a, static=static: comms.communicate(s, a, static))
    state = edit(plain_state(static), players__message=2)
    for action, message in ((first - 1, -1), (first, 0), (first + 3, 3), (first + 4, -1)):
        after = communicate(state, jnp.full(agents, action, jnp.int32))
        assert after.players.message.tolist() == [message] * agents
        assert after.counters.messages.tolist() == [int(message >= 0)] * agents


def test_without_channels_nobody_speaks():
    static = StaticParams(num_agents=3)
    communicate = run_rule(lambda s, a: comms.communicate(s, a, static))
    after = communicate(plain_state(static), jnp.full(3, static.first_message_action, jnp.int32))
    assert after.players.message.tolist() == [-1, -1, -1]
    assert not after.counters.messages.any()
