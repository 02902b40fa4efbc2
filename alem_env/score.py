"""From the counters of an episode to the published metrics.

A team has what any of its agents has: scores are weighted unions, not sums. A single agent cannot
coordinate, so coordination leaves its denominators and most of its metrics.
"""

import jax
import jax.numpy as jnp
import numpy as np

from alem_env.coordination_metrics import coordination_metrics, rate
from alem_env.core.enums import Achievement, DeathCause, Specialization
from alem_env.core.params import StaticParams
from alem_env.core.state import State
from alem_env.core.storage import unpack_floor
from alem_env.core.tables import ACHIEVEMENT_WEIGHT, COORDINATION_ACHIEVEMENTS, OVERWORLD_KILLS

_INVENTORY = (
    "wood", "stone", "coal", "iron", "diamond", "sapling", "pickaxe", "sword", "bow", "arrows",
    "armour", "torches", "ruby", "sapphire",
)  # fmt: skip
SHARES = ("base", "coord", "total")  # of the weights, what `team_score` is asked for most
_ATTRIBUTES = ("xp", "dexterity", "strength", "intelligence")


def _members(achievements) -> np.ndarray:
    mask = np.zeros(len(Achievement), bool)
    mask[list(achievements)] = True
    return mask


_COORD = _members(COORDINATION_ACHIEVEMENTS)
_SOFT = _members(a for a in Achievement if a.name.startswith("COORD") and a.name.endswith("SOFT"))
_HANDOVER = _members([Achievement.HANDOVER_COMPLETE, Achievement.COORD_MINE_HANDOVER])
_CONSTRUCTION = _members(a for a in Achievement if a.name.startswith("COORD_BUILD"))
# Kinds of coordination; what is none of the other three needs several agents at the same time.
KINDS = {
    "soft": _SOFT,
    "sync_hard": _COORD & ~_SOFT & ~_HANDOVER & ~_CONSTRUCTION,
    "handover": _HANDOVER,
    "construction": _CONSTRUCTION,
}

# Achievements that belong to one role; all others are shared. Rows by Specialization.
_OF_ROLE = np.stack(
    [
        np.ones(len(Achievement), bool),
        _members([
            Achievement.COLLECT_SAPLING, Achievement.COLLECT_DRINK, Achievement.COLLECT_FOOD,
            Achievement.EAT_COW, Achievement.EAT_BAT, Achievement.EAT_SNAIL,
        ]),
        _members([
            Achievement.MAKE_STONE_SWORD, Achievement.MAKE_IRON_SWORD,
            Achievement.MAKE_DIAMOND_SWORD, Achievement.MAKE_ARROW, Achievement.FIND_BOW,
            Achievement.ENCHANT_SWORD,
        ]),
        _members([
            Achievement.MAKE_WOOD_PICKAXE, Achievement.MAKE_STONE_PICKAXE,
            Achievement.MAKE_IRON_PICKAXE, Achievement.MAKE_DIAMOND_PICKAXE,
            Achievement.MAKE_TORCH, Achievement.PLACE_STONE,
        ]),
    ]
)  # fmt: skip
_OF_ROLE[Specialization.UNASSIGNED] = ~_OF_ROLE[1:].any(0)
_ROLE_NAMES = ("shared", "forager", "warrior", "miner")  # by Specialization


def team_score(achievements: jax.Array) -> dict[str, jax.Array]:
    """Scores of teams, cheap enough for every step of training.

    Args:
        achievements: (..., A, 93) bool.

    Returns:
        Fractions (...,) float32 of the weights the team has: `base` (without coordination),
        `coord`, `total`, and `coord_<kind>` for each of `KINDS`; `count_<same names>`, the same
        without weights. For one agent `total` equals `base`.
    """
    if achievements.shape[-1] != len(Achievement):
        raise ValueError(f"achievements end in {achievements.shape[-1]}, not {len(Achievement)}")
    single = achievements.shape[-2] == 1
    groups = {"base": ~_COORD, "coord": _COORD, "total": ~_COORD if single else _COORD | ~_COORD}
    groups |= {f"coord_{kind}": mask for kind, mask in KINDS.items()}
    has = achievements.any(-2).astype(jnp.float32)
    names = [*groups, *(f"count_{name}" for name in groups)]
    masks = np.stack(list(groups.values())).astype(np.float32)
    weights = np.concatenate([masks * ACHIEVEMENT_WEIGHT, masks])
    fractions = (has @ weights.T.astype(np.float32)) / weights.sum(-1).astype(np.float32)
    return {name: fractions[..., k] for k, name in enumerate(names)}


def score(state: State, static: StaticParams) -> dict[str, jax.Array]:
    """The published metrics of one world, as if its episode ended now.

    Returns:
        Scalars by published name, "Team/reward_pct_of_max" and so on; "Achievements/<name>" is an
        array (A,), 100 for an agent that has it. Percentages are fractions in [0, 1].
    """
    team = static.num_agents > 1
    metrics = _achievement_metrics(state.achievements)
    if team:
        metrics |= _role_metrics(state)
        metrics |= _cooperation_metrics(state, static)
        metrics |= coordination_metrics(state)
    metrics["Coordination/sampled_alpha"] = state.sampled_alpha
    return metrics | _progress_metrics(state) | _body_metrics(state)


def _achievement_metrics(achievements: jax.Array) -> dict:
    """Weighted and counted shares of achievements, of each agent and of the team."""
    agents = achievements.shape[0]
    eligible = ~_COORD if agents == 1 else np.ones_like(_COORD)
    metrics = {}
    for achievement in Achievement:
        held = achievements[:, achievement].astype(jnp.float32) * 100.0
        metrics[f"Achievements/{achievement.name.lower()}"] = held
    counted = {"": eligible, "normal_": ~_COORD}
    if agents > 1:
        counted |= {"coordination_": _COORD}
        counted |= {f"{kind}_coordination_": mask for kind, mask in KINDS.items()}
    weighted = {"": eligible, "normal_": ~_COORD}
    weighted |= {"coord_": _COORD} if agents > 1 else {}
    of_kind = {f"{k}_coord_": m for k, m in KINDS.items()} if agents > 1 else {}

    who = {f"Agent{i}": achievements[i] for i in range(agents)} | {"Team": achievements.any(0)}
    for name, has in who.items():
        for prefix, mask in (weighted | (of_kind if name == "Team" else {})).items():
            weights = (ACHIEVEMENT_WEIGHT * mask).astype(np.float32)
            metrics[f"{name}/{prefix}reward_pct_of_max"] = (has * weights).sum() / weights.sum()
        for prefix, mask in counted.items():
            count = (has & mask).sum()
            metrics[f"{name}/{prefix or 'total_'}achievements"] = count
            metrics[f"{name}/{prefix}achievement_pct"] = count / np.float32(mask.sum())
        for role, mask in zip(_ROLE_NAMES, _OF_ROLE, strict=True):
            metrics[f"{name}/{role}_achievements"] = (has & mask).sum()
    for prefix, mask in weighted.items():
        metrics[f"Team/max_achievable_{prefix}reward"] = jnp.float32(
            (ACHIEVEMENT_WEIGHT * mask).sum()
        )
    return metrics


def _role_metrics(state: State) -> dict:
    """Whether agents do what their role is for, or what another role is for."""
    role = state.players.specialization
    own = jnp.asarray(_OF_ROLE)[role]
    is_other = np.arange(1, len(_OF_ROLE))[None] != role[:, None]  # (A, 3)
    others = (is_other[..., None] & _OF_ROLE[1:]).any(1)
    aligned = (state.achievements & own).sum(-1)
    crossed = (state.achievements & others).sum(-1)
    metrics = _each_agent("aligned_achievements", aligned)
    metrics |= _each_agent("cross_role_achievements", crossed)
    aligned, crossed = (x.sum().astype(jnp.float32) for x in (aligned, crossed))
    return metrics | {
        "Team/total_aligned_achievements": aligned,
        "Team/total_cross_role_achievements": crossed,
        "Team/specialization_ratio": rate(aligned, aligned + crossed),
    }


def _cooperation_metrics(state: State, static: StaticParams) -> dict:
    c = state.counters
    per_agent = {
        "trade_count": c.trades,
        "food_trade_count": c.food_trades,
        "drink_trade_count": c.drink_trades,
        "resource_trade_count": c.trades - c.food_trades - c.drink_trades,
        "give_attempt_count": c.give_attempts,
        "request_count": c.requests,
        "request_expiry_count": c.requests_expired,
        "request_received_count": c.requests_received,
        "ff_damage_dealt": c.friendly_fire_damage,
    }
    metrics = {}
    for name, count in per_agent.items():
        metrics |= _each_agent(name, count)
        metrics[f"Cooperation/{name}"] = count.sum()
    metrics |= _each_agent("give_success_rate", rate(c.trades, c.give_attempts))

    def per_100_steps(count):
        return rate(100.0 * count, c.actionable_agent_steps)

    metrics |= {
        "Cooperation/give_success_rate": rate(c.trades.sum(), c.give_attempts.sum()),
        "Cooperation/request_open_count": (state.players.request_duration > 0).sum(),
        "Cooperation/revives": c.revives,
        "Cooperation/alive_agent_steps": c.alive_agent_steps,
        "Cooperation/actionable_agent_steps": c.actionable_agent_steps,
    }
    suffix = "per_100_actionable_agent_steps"
    for name, count in dict(
        trades=c.trades.sum(), give_attempts=c.give_attempts.sum(), requests=c.requests.sum(),
        revives=c.revives,
    ).items():  # fmt: skip
        metrics[f"Cooperation/{name}_{suffix}"] = per_100_steps(count)
    if static.num_comm_channels > 0:
        metrics |= _each_agent("comm_count", c.messages)
        metrics["Communication/total_comm_count"] = c.messages.sum()
        metrics[f"Communication/comms_{suffix}"] = per_100_steps(c.messages.sum())
    return metrics


def _progress_metrics(state: State) -> dict:
    on_floor = state.floor.monsters_killed
    current = on_floor - OVERWORLD_KILLS * (state.floor_index == 0)
    elsewhere = unpack_floor(state.stored, state.floor).monsters_killed.sum()
    total = on_floor + elsewhere - OVERWORLD_KILLS
    return {
        "Progression/total_monsters_killed": total,
        "Progression/current_level_monsters_killed": current,
        "Progression/player_level": state.floor_index,
        "Progression/max_level_reached": state.deepest_floor,
    }


def _body_metrics(state: State) -> dict:
    """Attributes, inventory and causes of death."""
    players = state.players
    agents = players.alive.shape[0]
    counts = {name: getattr(players, name) for name in _ATTRIBUTES}
    for name in _INVENTORY:
        count = getattr(state.inventory, name)
        counts[f"inventory_{name}"] = count.reshape(agents, -1).sum(-1)
    metrics = {}
    for name, count in counts.items():
        metrics |= _each_agent(name, count)
        metrics[f"Team/mean_{name}"] = count.mean(dtype=jnp.float32)
    metrics |= _each_agent("death_cause", players.death_cause)
    metrics |= _each_agent("level_at_death", players.floor_at_death)
    for cause in list(DeathCause)[1:]:
        died = players.death_cause == cause
        name = cause.name.lower()
        metrics |= _each_agent(f"died_from_{name}", died.astype(jnp.float32))
        metrics[f"Deaths/{name}_count"] = died.sum()
    metrics["Deaths/total_deaths"] = (players.death_cause > DeathCause.ALIVE).sum()
    return metrics


def _each_agent(name: str, values: jax.Array) -> dict:
    return {f"Agent{i}/{name}": values[i] for i in range(values.shape[0])}
