"""Blocks that several agents must mine in the same step.

`Floor.requirement` is k > 0 where k agents are needed together; `Floor.soft` says that fewer may
try. Acting together multiplies what the block yields. A agents.
"""

import jax
import jax.numpy as jnp
import numpy as np

from alem_env.core import struct
from alem_env.core.counters import Counters
from alem_env.core.enums import Achievement
from alem_env.core.params import MAX_AGENTS

_YIELD = np.cumsum(np.arange(MAX_AGENTS + 1, dtype=np.int32), dtype=np.int32)  # by agents


@struct.dataclass
class Sync:
    """Outcome of acting on cells that may ask for company. All (A,); bool unless stated."""

    succeeds: jax.Array  # acts, and is not held back by a requirement
    attempt: jax.Array  # acts on a cell with a requirement
    success: jax.Array  # an attempt that succeeds
    soft: jax.Array  # a success on a soft cell
    enough: jax.Array  # an attempt with the agents it needs
    alone: jax.Array  # an attempt on a soft cell with fewer than it needs
    agents: jax.Array  # int32, agents acting on the same cell
    yields: jax.Array  # int32, by how much the block's yield is multiplied


def together(
    roll: jax.Array,
    acting: jax.Array,
    requirement: jax.Array,
    soft: jax.Array,
    same_cell: jax.Array,
    fail_chance: jax.Array,
) -> Sync:
    """Checks the requirements for the whole team at once.

    A hard cell needs its k agents; a soft one yields to fewer with a chance, but k agents together
    always succeed. k agents that succeed where company counts get k (k + 1) / 2 times the yield.

    Args:
        roll: (A,) float32 in [0, 1), luck on soft cells.
        acting: (A,) bool.
        requirement: (A,) int32, of the cell each agent faces.
        soft: (A,) bool.
        same_cell: (A, A) bool, which agents face the same cell.
        fail_chance: () float32, of too few agents on a soft cell.
    """
    required = requirement > 0
    agents = (same_cell & acting[None, :]).sum(axis=1, dtype=jnp.int32)
    enough = agents >= requirement
    lucky = soft & (roll >= fail_chance)
    succeeds = acting & (~required | enough | lucky)
    success = succeeds & required
    attempt = acting & required
    return Sync(
        succeeds=succeeds,
        attempt=attempt,
        success=success,
        soft=success & soft,
        enough=attempt & enough,
        alone=attempt & soft & ~enough,
        agents=agents,
        yields=jnp.asarray(_YIELD)[jnp.where(success & enough, agents, 1)],
    )


def no_coordination(acting: jax.Array, requirement: jax.Array, soft: jax.Array) -> Sync:
    """The outcome where coordination is switched off: everyone who acts succeeds.

    Generated worlds have no requirements then; where there are some, they are counted as attempts,
    as published.
    """
    nobody = jnp.zeros_like(acting)
    attempt = acting & (requirement > 0)
    return Sync(
        succeeds=acting,
        attempt=attempt,
        success=nobody,
        soft=nobody,
        enough=nobody,
        alone=attempt & soft,
        agents=jnp.zeros(acting.shape, jnp.int32),
        yields=jnp.ones(acting.shape, jnp.int32),
    )


def achievements(sync: Sync, requirement: jax.Array) -> dict[Achievement, jax.Array]:
    """Conditions (A,) of the achievements for acting together."""
    two = sync.success & (requirement == 2)
    more = sync.success & (requirement >= 3)
    return {
        Achievement.COORD_2_AGENTS_SOFT: two & sync.soft & (sync.agents >= 2),
        Achievement.COORD_2_AGENTS_HARD: two & ~sync.soft,
        Achievement.COORD_3_AGENTS_SOFT: more & sync.soft & (sync.agents >= 3),
        Achievement.COORD_3_AGENTS_HARD: more & ~sync.soft,
    }


def count(counters: Counters, sync: Sync, requirement: jax.Array) -> Counters:
    """Counters of acting together; each counts at most one event a step."""
    events = {
        "sync_of_two_agents": sync.success & (requirement == 2),
        "sync_of_more_agents": sync.success & (requirement >= 3),
        "sync_attempts": sync.attempt,
        "sync_successes": sync.enough,
        "soft_sync_events": sync.soft,
        "soft_sync_bonus_events": sync.soft & sync.enough,
        "solo_soft_attempts": sync.alone,
        "solo_soft_successes": sync.alone & sync.succeeds,
    }
    return counters.add_events(**events)
