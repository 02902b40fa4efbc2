"""Metrics of an episode; no rule reads them.

Counts are kept in two arrays, one of the team and one of the agents, so that a rule which counts
several things writes once. They are read by name: `counters.trades`.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from alem_env.core import struct
from alem_env.core.values import check_bits

AGENT_COUNTS = (  # trading and talking
    "trades", "food_trades", "drink_trades", "give_attempts",
    "requests", "requests_expired", "requests_received", "messages",
)  # fmt: skip
TEAM_COUNTS = (
    # exposure
    "revives", "alive_agent_steps", "actionable_agent_steps",
    # handovers, mining and construction together
    "handover_successes", "handover_setups", "handover_expiries",
    # mining
    "sync_of_two_agents", "sync_of_more_agents", "mine_sync_soft", "mine_sync_hard",
    "mine_handover", "mine_handover_expiries", "sync_attempts", "sync_successes",
    "soft_sync_events", "soft_sync_bonus_events", "solo_soft_attempts", "solo_soft_successes",
    # construction
    "construction_attempts", "construction_successes", "construction_handovers",
    "construction_handover_setups", "construction_handover_expiries", "construction_unfunded",
    "shelters_built", "forges_built", "beacons_built",
    # combat and crafting
    "elite_attempts", "elite_successes", "elite_melee_kills", "elite_ranged_kills",
    "large_passive_kills", "craft_attempts", "craft_successes", "diamond_pickaxes",
    "diamond_swords", "diamond_armours",
)  # fmt: skip


@struct.dataclass
class Counters:
    """A agents. Counts of agents are (A,), those of the team ()."""

    agents: jax.Array  # (A, 8) int32, columns AGENT_COUNTS
    team: jax.Array  # (37,) int32, TEAM_COUNTS
    friendly_fire_damage: jax.Array  # (A,) float32
    necessities_fraction: jax.Array  # (A,) float32, share of steps with food, drink and energy

    def __getattr__(self, name: str) -> jax.Array:
        """A count by its name."""
        if name in TEAM_COUNTS:
            return self.team[..., TEAM_COUNTS.index(name)]
        if name in AGENT_COUNTS:
            return self.agents[..., AGENT_COUNTS.index(name)]
        raise AttributeError(f"no counter is called {name!r}")

    def add(self, **amounts: jax.Array) -> "Counters":
        """Counts of the team raised by `amounts` ()."""
        return self.replace(team=_raise(self.team, TEAM_COUNTS, amounts))

    def add_each(self, **amounts: jax.Array) -> "Counters":
        """Counts of the agents raised by `amounts` (A,)."""
        return self.replace(agents=_raise(self.agents, AGENT_COUNTS, amounts))

    def add_events(self, **events: jax.Array) -> "Counters":
        """Counts of the team raised by one for each of `events` (A,), at most 31, that holds for
        anyone. One pass over the agents: their events are the bits of one number.
        """
        check_bits("the number of events counted together", len(events), 5)
        bits = sum(event.astype(jnp.int32) << bit for bit, event in enumerate(events.values()))
        bits = lax.reduce(bits, np.int32(0), lax.bitwise_or, (bits.ndim - 1,))
        bit_of = np.full(len(TEAM_COUNTS), 31, np.int32)  # a bit that is never set
        bit_of[[TEAM_COUNTS.index(name) for name in events]] = np.arange(len(events))
        return self.replace(team=self.team + ((bits >> bit_of) & 1))


def no_counts(agents: int) -> Counters:
    """Counters at the start of an episode."""
    return Counters(
        agents=jnp.zeros((agents, len(AGENT_COUNTS)), jnp.int32),
        team=jnp.zeros(len(TEAM_COUNTS), jnp.int32),
        friendly_fire_damage=jnp.zeros(agents, jnp.float32),
        necessities_fraction=jnp.ones(agents, jnp.float32),
    )


def _raise(counts: jax.Array, names: tuple[str, ...], amounts: dict[str, jax.Array]) -> jax.Array:
    for name, amount in amounts.items():
        is_named = np.array([other == name for other in names])
        counts = counts + jnp.where(is_named, jnp.asarray(amount)[..., None], 0)
    return counts
