"""Simple spread, as JaxMARL has it (arXiv 2311.10090): agents cover landmarks and stay apart.

It is one of the particle environments of Lowe et al. (arXiv 1706.02275).
"""

import contextlib
import dataclasses
import importlib.metadata
import sys
from importlib.util import find_spec
from typing import ClassVar

from marl.env_config import EnvOptions
from marl.environments.jaxmarl_games import JaxMARLGames
from marl.options import ConfigError, in_range


@dataclasses.dataclass(frozen=True)
class Spread(EnvOptions):
    """Meanings are in conf/env/spread.yaml."""

    name: ClassVar[str] = "spread"

    num_agents: int
    num_landmarks: int
    local_ratio: float
    time_limit: int

    def __post_init__(self):
        in_range("env.num_agents", self.num_agents, 1, 64)
        in_range("env.num_landmarks", self.num_landmarks, 1, 64)
        in_range("env.local_ratio", self.local_ratio, 0.0, 1.0)
        in_range("env.time_limit", self.time_limit, 1, 100_000)
        if find_spec("jaxmarl") is None:
            raise ConfigError(
                "env=spread needs a package that is not installed: pip install -e '.[jaxmarl]', "
                "or give env=alem"
            )

    @property
    def title(self) -> str:
        return f"simple spread, {self.num_agents} agents, {self.num_landmarks} landmarks"

    @property
    def versions(self) -> dict[str, str]:
        return super().versions | {"jaxmarl": importlib.metadata.version("jaxmarl")}


def make(options: Spread) -> JaxMARLGames:
    """The environment of these options."""
    # Importing JaxMARL 0.2 sets both to what they were when Python began: a run would lose its own.
    with contextlib.redirect_stdout(sys.stdout), contextlib.redirect_stderr(sys.stderr):
        import jaxmarl

    env = jaxmarl.make(
        "MPE_simple_spread_v3",
        num_agents=options.num_agents,
        num_landmarks=options.num_landmarks,
        local_ratio=options.local_ratio,
        max_steps=options.time_limit,
    )
    return JaxMARLGames(env, options.time_limit)
