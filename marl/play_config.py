"""Options of the commands that play a policy: `scripts/evaluate.py` and `scripts/render.py`."""

import dataclasses
from collections.abc import Mapping

from marl.env_config import EnvConfig
from marl.evaluation.tracks import TRACKS
from marl.options import ConfigError, build, in_range, one_of, plain


@dataclasses.dataclass(frozen=True)
class AskedWorld:
    """What is asked of the world that a policy plays in; None: as the policy was made for. Meanings
    are in conf/world/as_trained.yaml."""

    difficulty: str | float | None
    num_agents: int | None
    num_comm_channels: int | None
    rules_version: str | None
    non_specialist_efficiency: float | None

    def applied_to(self, made_for: EnvConfig) -> EnvConfig:
        """The world to play in; see `EnvConfig.for_evaluation`. Raises ConfigError."""
        asked = {name: value for name, value in vars(self).items() if value is not None}
        return dataclasses.replace(made_for.for_evaluation(), **asked)


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
    track: str
    mute: bool
    out: str | None
    env: AskedWorld

    def __post_init__(self):
        one_of("track", self.track, tuple(TRACKS))
        in_range("episodes", self.episodes, 1, 100_000)
        in_range("first_seed", self.first_seed, 0, 2**31 - 1 - self.episodes)
        in_range("max_steps", self.max_steps, 1, 100_000)
        if self.out is not None and not self.out.strip():
            raise ConfigError("out is empty; give a file, or null for one named after the protocol")


@dataclasses.dataclass(frozen=True)
class RenderConfig:
    """Everything `scripts/render.py` knows. Meanings are in conf/render.yaml."""

    policy: str
    seed: int
    max_steps: int
    out: str
    agent: int | None
    rows: int
    columns: int
    whole: bool
    env: AskedWorld

    def __post_init__(self):
        in_range("seed", self.seed, 0, 2**31 - 1)
        in_range("max_steps", self.max_steps, 0, 100_000)
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
    return build(EvaluateConfig, values, "")


def make_render_config(values: Mapping) -> RenderConfig:
    """Checks the options of `scripts/render.py`. Raises ConfigError as `make_train_config`."""
    return build(RenderConfig, plain(values), "")
