"""Options of the commands that play a policy: `scripts/evaluate.py` and `scripts/render.py`."""

import dataclasses
import typing
from collections.abc import Mapping

from marl.config import EnvConfig
from marl.options import (
    ConfigError,
    build,
    convert,
    in_range,
    plain,
    refuse_missing,
    refuse_unknown,
)

# What `scripts/evaluate.py` takes under "env."
_ASKED_OF_WORLDS = (
    "difficulty", "num_agents", "num_comm_channels", "rules_version", "non_specialist_efficiency",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class EvaluateConfig:
    """Everything `scripts/evaluate.py` knows. Meanings are in conf/evaluate.yaml."""

    policy: str
    episodes: int
    first_seed: int
    max_steps: int
    sampled: bool
    random: bool
    transfer: bool
    out: str | None
    difficulty: str | float | None
    num_agents: int | None
    num_comm_channels: int | None
    rules_version: str | None
    non_specialist_efficiency: float | None

    def __post_init__(self):
        in_range("episodes", self.episodes, 1, 100_000)
        in_range("first_seed", self.first_seed, 0, 2**31 - 1 - self.episodes)
        in_range("max_steps", self.max_steps, 1, 100_000)

    def env_config(self, made_for: EnvConfig) -> EnvConfig:
        """The world to evaluate in: what is not asked for is as the policy was made for, see
        `EnvConfig.for_evaluation`."""
        asked = {n: getattr(self, n) for n in _ASKED_OF_WORLDS if getattr(self, n) is not None}
        return dataclasses.replace(made_for.for_evaluation(), **asked)


@dataclasses.dataclass(frozen=True)
class RenderConfig:
    """Everything `scripts/render.py` knows. Meanings are in conf/render.yaml."""

    policy: str
    difficulty: str | float | None
    seed: int
    steps: int
    out: str
    agent: int | None
    rows: int
    columns: int
    whole: bool

    def __post_init__(self):
        in_range("seed", self.seed, 0, 2**31 - 1)
        in_range("steps", self.steps, 0, 100_000)
        in_range("agent", self.agent, 0, 7)
        in_range("rows", self.rows, 1, 48)
        in_range("columns", self.columns, 1, 48)
        if not self.out.endswith((".png", ".gif")):
            raise ConfigError(f"out={self.out!r} must end in .png (one picture) or .gif (a film)")


def make_evaluate_config(values: Mapping) -> EvaluateConfig:
    """Checks the options of an evaluation. Raises ConfigError as `make_train_config`."""
    # A mandatory value that was not given is not `in` Hydra's configuration.
    values = plain(values) if "policy" in values else {}
    if values.get("policy") in (None, ""):
        raise ConfigError("policy=... is needed: the folder `policy` of a run, or random")
    env = values.pop("env", None)
    if not isinstance(env, Mapping):
        raise ConfigError(f"env={env!r} must be a group of options: {', '.join(_ASKED_OF_WORLDS)}")
    refuse_unknown(env, _ASKED_OF_WORLDS, "env.")
    refuse_missing(env, _ASKED_OF_WORLDS, "env.")
    hints = typing.get_type_hints(EvaluateConfig)
    env = {n: convert(v, hints[n], f"env.{n}") for n, v in env.items()}
    return build(EvaluateConfig, {**values, **env}, "")


def make_render_config(values: Mapping) -> RenderConfig:
    """Checks the options of `scripts/render.py`. Raises ConfigError as `make_train_config`."""
    return build(RenderConfig, plain(values), "")
