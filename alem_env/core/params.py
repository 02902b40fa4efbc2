"""Parameters of a world: what shapes and compiled programs depend on, and what may be traced."""

import dataclasses
import math

import jax
import numpy as np

from alem_env.core import struct
from alem_env.core.enums import Action
from alem_env.core.values import INT32_MAX, real_number, switch, whole_number

RULES_VERSIONS = ("0.2.1", "0.1.0")
DIFFICULTY_ALPHA = {"easy": 0.30, "medium": 0.60, "hard": 0.90}

MAX_AGENTS = 8
# Coordination values are packed into six bits on stored floors (see `core.storage`).
MAX_HANDOVER_WINDOW = 48


_FLOAT32_MAX = float(np.finfo(np.float32).max)

_SIZES = {
    "num_agents": (1, MAX_AGENTS), "num_comm_channels": (0, 32),
    "melee_mobs_per_agent": (1, 64), "passive_mobs_per_agent": (1, 64),
    "ranged_mobs_per_agent": (1, 64), "mob_projectiles_per_agent": (1, 64),
    "player_projectiles_per_agent": (1, 64), "plants_per_agent": (1, 64),
    "max_pending_handovers": (1, 64), "max_construction_sites": (1, 64),
}  # fmt: skip
STATIC_SWITCHES = (
    "soft_specialization", "coordination_enabled", "construction_enabled", "randomize_alpha",
    "scale_base_difficulty",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class StaticParams:
    """What shapes depend on, and switches that remove whole rules or change the random stream.

    Hashable: pass it as a static argument. Two different values are two compiled programs.

    Attributes:
        num_agents: players in the team, 1 to 8; roles repeat warrior, forager, miner.
        num_comm_channels: message actions, 0 to 32.
        rules_version: "0.2.1", or "0.1.0" for the rules of the published scores.
        soft_specialization: everyone may try a role's actions, with less success.
        coordination_enabled: blocks that need several agents, or one after the other.
        construction_enabled: construction sites.
        randomize_alpha: world generation draws alpha, between `EnvParams.alpha_min` and
            `alpha_max`, and makes the world of it. As in the benchmark, steps do not know of it:
            they go by `params` as they are. `VectorEnv.alpha_range` reaches both.
        scale_base_difficulty: an alpha that is drawn (`randomize_alpha`, `VectorEnv.alpha_range`)
            also sets starting supplies and, where steps know of it, mob health. Nothing where none
            is drawn; `difficulty(scale_base=True)` is for parameters that are given.
    """

    num_agents: int = 3
    num_comm_channels: int = 0  # as the benchmark's; `alem_env.make` has the 4 of published scores
    rules_version: str = "0.2.1"
    soft_specialization: bool = True
    coordination_enabled: bool = True
    construction_enabled: bool = True
    randomize_alpha: bool = False
    scale_base_difficulty: bool = False

    # slots a player
    melee_mobs_per_agent: int = 3
    passive_mobs_per_agent: int = 3
    ranged_mobs_per_agent: int = 2
    mob_projectiles_per_agent: int = 3
    player_projectiles_per_agent: int = 3
    plants_per_agent: int = 10
    # slots a team
    max_pending_handovers: int = 8
    max_construction_sites: int = 12

    def __post_init__(self):
        for name, (low, high) in _SIZES.items():
            size = whole_number(name, getattr(self, name), low, high)
            object.__setattr__(self, name, size)
        for name in STATIC_SWITCHES:
            object.__setattr__(self, name, switch(name, getattr(self, name)))
        if not isinstance(self.rules_version, str) or self.rules_version not in RULES_VERSIONS:
            raise ValueError(
                f"rules_version={self.rules_version!r} is unknown; "
                f"choose one of {', '.join(RULES_VERSIONS)}"
            )

    @property
    def max_melee_mobs(self) -> int:
        return self.melee_mobs_per_agent * self.num_agents

    @property
    def max_passive_mobs(self) -> int:
        return self.passive_mobs_per_agent * self.num_agents

    @property
    def max_ranged_mobs(self) -> int:
        return self.ranged_mobs_per_agent * self.num_agents

    @property
    def max_mob_projectiles(self) -> int:
        return self.mob_projectiles_per_agent * self.num_agents

    @property
    def max_player_projectiles(self) -> int:
        return self.player_projectiles_per_agent * self.num_agents

    @property
    def max_plants(self) -> int:
        return self.plants_per_agent * self.num_agents

    @property
    def num_give_actions(self) -> int:
        return self.num_agents - 1

    @property
    def first_message_action(self) -> int:
        """Action that sends on channel 0.

        With one agent it is 54, where GIVE would be, and the last code is no action, as published.
        """
        return len(Action) + self.num_agents - 2

    @property
    def num_actions(self) -> int:
        return len(Action) + max(0, self.num_agents - 2) + self.num_comm_channels


@struct.dataclass
class EnvParams:
    """Numbers that may be traced, swept, or differ from world to world. Scalars.

    Make one with `difficulty`; `replace` changes single values. `EnvParams()` is no difficulty:
    what alpha sets (`p_max_agents`, handover windows, `soft_solo_fail_prob`,
    `non_specialist_efficiency`) has values there that belong to no alpha.
    """

    max_timesteps: int = 100_000
    day_length: int = 300
    # cells from the nearest player: rows and columns together, at which a mob vanishes; in a
    # straight line, within which mobs appear
    mob_despawn_distance: int = 14
    max_attribute: int = 5
    god_mode: bool = False
    shared_reward: bool = False
    friendly_fire: bool = True

    specialist_efficiency: float = 1.0
    non_specialist_efficiency: float = 0.2

    coordination_probability: float = 0.25  # share of minable blocks that need coordination
    handover_ratio: float = 0.25  # of those, share that is handed over
    soft_coordination_ratio: float = 0.5  # of the synchronous rest, share that is soft
    p_max_agents: float = 0.5  # chance that an event needs the whole team rather than two
    handover_window_min: int = 10  # steps
    handover_window_max: int = 20
    soft_solo_fail_prob: float = 0.0

    elite_mob_probability: float = 0.15
    large_passive_probability: float = 0.20
    hard_mob_probability: float = 0.5

    num_construction_sites: int = 8  # on the overworld
    num_mining_construction_sites: int = 4  # on floors 2 and 5
    soft_construction_ratio: float = 0.5

    crafting_coordination_enabled: bool = True
    diamond_crafting_agents_required: int = 2

    mob_health_multiplier: float = 1.0
    starting_resource_multiplier: float = 1.0

    alpha_min: float = 0.2  # range that `StaticParams.randomize_alpha` draws from
    alpha_max: float = 0.85


# Values of the preset "none", the game without any coordination (a program of its own:
# StaticParams.coordination_enabled and construction_enabled are off).
NO_COORDINATION = dict(
    coordination_probability=0.0,
    handover_ratio=0.0,
    hard_mob_probability=0.0,
    p_max_agents=0.0,
    soft_solo_fail_prob=0.0,
    elite_mob_probability=0.0,
    large_passive_probability=0.0,
    num_construction_sites=0,
    num_mining_construction_sites=0,
    crafting_coordination_enabled=False,
)


def difficulty(level: str | float, *, scale_base: bool = False, **overrides) -> EnvParams:
    """Parameters of a difficulty.

    A single scalar alpha sets how hard coordination is to carry out; how much of it there is stays
    the same (alem-env 0.2.1, `alem_state.py`). The arithmetic is in Python floats, as published:
    float32 gives other handover windows at some alphas.

    Args:
        level: "easy", "medium", "hard" (alpha 0.3, 0.6, 0.9), any alpha in [0, 1], or "none".
        scale_base: also scale mob health and starting supplies; nothing at "none", as at alpha 0.
            `StaticParams.scale_base_difficulty` is not asked: it is for worlds that draw alpha.
        **overrides: fields of `EnvParams`, set last.

    Returns:
        EnvParams with numpy scalars of fixed dtype, so that all difficulties share one program.

    Raises:
        ValueError: unknown level, alpha outside [0, 1], or an override that is no field, of another
            kind, or out of range.
    """
    scales = switch("scale_base", scale_base)
    if isinstance(level, str) and level.lower() == "none":
        values = dict(NO_COORDINATION)
    else:
        alpha = _alpha_of(level)
        values = _values_of_alpha(alpha)
        if scales:
            values["mob_health_multiplier"] = round(1.0 + alpha / 3.0, 4)
            values["starting_resource_multiplier"] = round(1.0 - alpha / 3.0, 4)
    return make_params(**{**values, **overrides})


def make_params(**values) -> EnvParams:
    """EnvParams from Python values, each checked and given its field's dtype.

    Raises:
        ValueError: a name that is no field, or a value of another kind or out of range.
    """
    fields = {f.name: f for f in dataclasses.fields(EnvParams)}
    unknown = sorted(set(values) - set(fields))
    if unknown:
        raise ValueError(
            f"unknown environment parameter {', '.join(unknown)}; known are {', '.join(fields)}"
        )
    full = {n: values.get(n, f.default) for n, f in fields.items()}
    params = EnvParams(**{n: as_field(n, full[n], f.default) for n, f in fields.items()})
    refuse_crossed(params)
    return params


def refuse_crossed(params: EnvParams) -> None:
    """Raises ValueError if a lower end is above its upper one, as far as both are numpy's."""
    for low, high in (("handover_window_min", "handover_window_max"), ("alpha_min", "alpha_max")):
        least, most = getattr(params, low), getattr(params, high)
        is_known = not isinstance(least, jax.Array) and not isinstance(most, jax.Array)
        if is_known and np.any(least > most):
            raise ValueError(f"{low}={least!s} is above {high}={most!s}; swap or change them")


def params_from_alpha(alpha: jax.Array, scale_base: bool) -> dict[str, jax.Array]:
    """Traced form of the same formulas, in float32, as world generation under `randomize_alpha`."""
    import jax.numpy as jnp

    values = dict(
        p_max_agents=alpha,
        handover_window_min=jnp.maximum(3, jnp.ceil(12 * (1.0 - alpha)).astype(jnp.int32)),
        handover_window_max=jnp.maximum(6, jnp.ceil(24 * (1.0 - alpha)).astype(jnp.int32)),
        soft_solo_fail_prob=alpha,
        non_specialist_efficiency=1.0 - alpha,
    )
    if scale_base:
        values["mob_health_multiplier"] = 1.0 + alpha * (1.0 / 3.0)
        values["starting_resource_multiplier"] = 1.0 - alpha * (1.0 / 3.0)
    return values


def _alpha_of(level: str | float) -> float:
    name = str(level).lower()
    if name in DIFFICULTY_ALPHA:
        return DIFFICULTY_ALPHA[name]
    try:
        alpha = float(name)
    except ValueError:
        alpha = math.nan
    if not 0.0 <= alpha <= 1.0:
        raise ValueError(
            f"difficulty={level!r} is unknown; choose none, easy, medium, hard, "
            "or a number in [0, 1]"
        )
    return alpha


def _values_of_alpha(alpha: float) -> dict:
    return dict(
        p_max_agents=round(alpha, 4),
        handover_window_min=max(3, math.ceil(12 * (1 - alpha))),
        handover_window_max=max(6, math.ceil(24 * (1 - alpha))),
        soft_solo_fail_prob=round(alpha, 4),
        non_specialist_efficiency=round(1.0 - alpha, 4),
    )


_RANGES = {
    **dict.fromkeys((
        "specialist_efficiency", "non_specialist_efficiency", "coordination_probability",
        "handover_ratio", "soft_coordination_ratio", "p_max_agents", "soft_solo_fail_prob",
        "elite_mob_probability", "large_passive_probability", "hard_mob_probability",
        "soft_construction_ratio", "alpha_min", "alpha_max",
    ), (0.0, 1.0)),
    **dict.fromkeys(("mob_health_multiplier", "starting_resource_multiplier"), (0.0, _FLOAT32_MAX)),
    **dict.fromkeys((
        "max_timesteps", "day_length", "max_attribute",
        "diamond_crafting_agents_required",
    ), (1, INT32_MAX)),
    "mob_despawn_distance": (1, math.isqrt(INT32_MAX)),  # its square is taken
    "num_construction_sites": (0, INT32_MAX), "num_mining_construction_sites": (0, INT32_MAX),
    "handover_window_min": (1, MAX_HANDOVER_WINDOW),
    "handover_window_max": (1, MAX_HANDOVER_WINDOW),
}  # fmt: skip


def as_field(name: str, value: object, default: bool | int | float) -> np.generic:
    """The value as a scalar of its field's dtype, which is that of the default."""
    if isinstance(default, bool):
        return np.bool_(switch(name, value))
    low, high = _RANGES[name]
    if isinstance(default, int):
        return np.int32(whole_number(name, value, low, high))
    return np.float32(real_number(name, value, low, high))
