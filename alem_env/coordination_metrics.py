"""From the counters of an episode to the published metrics of what was done together.

Of each kind of task: how often it was tried, how often it came off, and the share of that.
"""

import jax
import jax.numpy as jnp

from alem_env.core.state import State


def coordination_metrics(state: State) -> dict[str, jax.Array]:
    """Scalars by published name, "Coordination/sync_attempts" and so on."""
    c, pending = state.counters, state.handovers
    is_open = {
        "mining": (pending.active & (pending.building == 0)).sum(),
        "construction": (pending.active & (pending.building > 0)).sum(),
    }
    mining = dict(
        setups=c.handover_setups - c.construction_handover_setups,
        successes=c.handover_successes - c.construction_handovers,
        expiries=c.mine_handover_expiries,
    )
    building = dict(
        setups=c.construction_handover_setups,
        successes=c.construction_handovers,
        expiries=c.construction_handover_expiries,
    )
    # Handovers that are still open count neither as success nor as failure.
    resolved = c.handover_successes + c.handover_expiries
    other_attempts = c.sync_attempts + c.construction_attempts + c.elite_attempts + c.craft_attempts
    other_successes = (
        c.sync_successes + c.construction_successes + c.elite_successes + c.craft_successes
    )
    successes = other_successes + c.handover_successes
    metrics = {
        "handover_open": is_open["mining"] + is_open["construction"],
        "total_handover_resolved_attempts": resolved,
        "handover_success_rate": rate(c.handover_successes, resolved),
        "total_attempts": other_attempts + c.handover_setups,
        "total_successes": successes,
        "total_resolved_attempts": other_attempts + resolved,
        "coordination_success_rate": rate(successes, other_attempts + resolved),
    }
    for name in ("successes", "setups", "expiries"):
        count = getattr(c, f"handover_{name}")
        metrics |= {f"handover_{name}": count, f"total_handover_{name}": count}
    metrics |= _handover_metrics("mining_handover", mining, is_open["mining"])
    metrics |= _handover_metrics("construction_handover", building, is_open["construction"])
    metrics |= _mining_metrics(c) | _construction_metrics(c) | _fight_and_craft_metrics(c)
    metrics = {f"Coordination/{name}": value for name, value in metrics.items()}
    bonus_rate = rate(c.soft_sync_bonus_events, c.soft_sync_events)
    return metrics | {"Team/soft_coordination_bonus_rate": bonus_rate}


def _handover_metrics(name: str, counts: dict, is_open: jax.Array) -> dict:
    resolved = counts["successes"] + counts["expiries"]
    return {f"{name}_{k}": v for k, v in counts.items()} | {
        f"{name}_open": is_open,
        f"{name}_resolved_attempts": resolved,
        f"{name}_success_rate": rate(counts["successes"], resolved),
    }


def _mining_metrics(c) -> dict:
    return {
        "mine_sync_soft": c.mine_sync_soft,
        "mine_sync_hard": c.mine_sync_hard,
        "mine_handover": c.mine_handover,
        "total_sync": c.mine_sync_soft + c.mine_sync_hard,
        "sync_attempts": c.sync_attempts,
        "sync_successes": c.sync_successes,
        "coord_sync_success_rate": rate(c.sync_successes, c.sync_attempts),
        "solo_soft_attempts": c.solo_soft_attempts,
        "solo_soft_successes": c.solo_soft_successes,
        "solo_soft_success_rate": rate(c.solo_soft_successes, c.solo_soft_attempts),
        "sync_2_agent": c.sync_of_two_agents,
        "sync_3plus_agent": c.sync_of_more_agents,
    }


def _construction_metrics(c) -> dict:
    attempts = c.construction_attempts + c.construction_handover_setups
    successes = c.construction_successes + c.construction_handovers
    resolved = c.construction_attempts + c.construction_handovers + c.construction_handover_expiries
    return {
        "construction_sync_attempts": c.construction_attempts,
        "construction_sync_successes": c.construction_successes,
        "construction_sync_success_rate": rate(c.construction_successes, c.construction_attempts),
        "construction_handover": c.construction_handovers,
        "construction_handover_attempts": c.construction_handover_setups,
        "construction_attempts": attempts,
        "construction_total_attempts": attempts,
        "construction_successes": successes,
        "construction_total_successes": successes,
        "construction_total_resolved_attempts": resolved,
        "construction_success_rate": rate(successes, resolved),
        "construction_total_success_rate": rate(successes, resolved),
        "construction_build_at_site_unfunded": c.construction_unfunded,
        "build_shelter": c.shelters_built,
        "build_forge": c.forges_built,
        "build_beacon": c.beacons_built,
        "total_builds": c.shelters_built + c.forges_built + c.beacons_built,
    }


def _fight_and_craft_metrics(c) -> dict:
    return {
        "elite_attempts": c.elite_attempts,
        "elite_successes": c.elite_successes,
        "elite_coord_success_rate": rate(c.elite_successes, c.elite_attempts),
        "elite_melee_kills": c.elite_melee_kills,
        "elite_ranged_kills": c.elite_ranged_kills,
        "large_passive_kills": c.large_passive_kills,
        "total_elite_kills": c.elite_melee_kills + c.elite_ranged_kills + c.large_passive_kills,
        "craft_attempts": c.craft_attempts,
        "craft_successes": c.craft_successes,
        "craft_coord_success_rate": rate(c.craft_successes, c.craft_attempts),
        "diamond_pickaxe_crafted": c.diamond_pickaxes,
        "diamond_sword_crafted": c.diamond_swords,
        "diamond_armour_crafted": c.diamond_armours,
    }


def rate(part, whole) -> jax.Array:
    """part / whole () float32, and 0 where whole is 0."""
    part, whole = jnp.asarray(part, jnp.float32), jnp.asarray(whole, jnp.float32)
    return jnp.where(whole > 0, part / jnp.maximum(whole, 1.0), 0.0)
