"""Counts are read by name and raised together."""

import jax.numpy as jnp
import pytest

from alem_env.core.counters import AGENT_COUNTS, TEAM_COUNTS, no_counts


def test_every_count_starts_at_zero_and_has_its_name():
    counters = no_counts(agents=2)
    assert all(getattr(counters, name).tolist() == [0, 0] for name in AGENT_COUNTS)
    assert all(getattr(counters, name) == 0 for name in TEAM_COUNTS)
    assert counters.necessities_fraction.tolist() == [1.0, 1.0]
    with pytest.raises(AttributeError, match="tradez"):
        counters.tradez  # noqa: B018


def test_counts_are_raised_by_name_and_others_stay():
    counters = no_counts(agents=2).add(revives=2, elite_attempts=3)
    counters = counters.add_each(trades=jnp.array([1, 0]), messages=jnp.array([True, True]))
    assert counters.revives == 2 and counters.elite_attempts == 3 and counters.team.sum() == 5
    assert counters.trades.tolist() == [1, 0] and counters.messages.tolist() == [1, 1]
    assert counters.agents.sum() == 3


def test_an_event_counts_once_however_many_agents_have_it():
    nobody, some, all_ = jnp.zeros(3, bool), jnp.array([True, False, True]), jnp.ones(3, bool)
    counters = no_counts(agents=3).add_events(sync_attempts=all_, forges_built=nobody)
    counters = counters.add_events(diamond_armours=some, sync_attempts=some)
    assert (counters.sync_attempts, counters.forges_built, counters.diamond_armours) == (2, 0, 1)
    assert counters.team.sum() == 3


def test_more_events_than_bits_are_refused():
    events = dict.fromkeys(TEAM_COUNTS[:32], jnp.ones(2, bool))
    with pytest.raises(ValueError, match="events counted together may be 32"):
        no_counts(agents=2).add_events(**events)
    del events[TEAM_COUNTS[31]]
    assert no_counts(agents=2).add_events(**events).team.sum() == 31
