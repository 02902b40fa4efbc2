"""The options of environments, shared by the commands that train and those that play."""

import dataclasses
from typing import ClassVar

from alem_env import DIFFICULTY_ALPHA, EnvParams, StaticParams, difficulty
from marl.options import ConfigError, in_range, one_of

ALEM = "alem"
# What ALEM can be played without, besides messages: an environment without channels has none.
LEFT_OUT = ("trade", "roles")


@dataclasses.dataclass(frozen=True)
class EnvOptions:
    """What the options of all environments have in common.

    Subclasses are frozen dataclasses of plain values, `num_agents` among them, that raise
    ConfigError for what cannot work.

    Attributes:
        name: of the environment, as `marl.environments.registry` knows it.
    """

    name: ClassVar[str]

    @property
    def label(self) -> str:
        """What is played, as it appears in names of folders and files."""
        return self.name

    @property
    def title(self) -> str:
        """What is played, for people."""
        return self.name

    @property
    def versions(self) -> dict[str, str]:
        """What a checkpoint must agree with for its run to go on."""
        return {"environment": self.name}

    def for_evaluation(self) -> "EnvOptions":
        """The same environment without what only shapes training."""
        return self

    def params(self) -> object:
        """Traced numbers that the environment is handed at each call."""
        return None

    def as_dict(self) -> dict:
        """Plain values that `marl.read_config` would accept again."""
        return {"name": self.name, **dataclasses.asdict(self)}


@dataclasses.dataclass(frozen=True)
class EnvConfig(EnvOptions):
    """The world of ALEM. Meanings are in conf/env/alem.yaml.

    `difficulty` is kept in one form: the name of its alpha, if it has one, or the number.
    """

    name: ClassVar[str] = ALEM

    difficulty: str | float
    num_agents: int
    num_comm_channels: int
    rules_version: str
    shared_reward: bool
    non_specialist_efficiency: float | None
    without: str | None = None

    def __post_init__(self):
        if self.without is not None:
            one_of("env.without", self.without, LEFT_OUT)
        in_range("env.num_agents", self.num_agents, 1, 8)
        in_range("env.num_comm_channels", self.num_comm_channels, 0, 32)
        if self.non_specialist_efficiency is not None:
            in_range("env.non_specialist_efficiency", self.non_specialist_efficiency, 0.0, 1.0)
            if self.without == "roles":
                raise ConfigError(
                    f"env.non_specialist_efficiency={self.non_specialist_efficiency:g} is about "
                    "roles, and env.without=roles leaves none; leave one of them out"
                )
        self.params()  # refuses an unknown difficulty
        self._refuse_unknown_rules()
        object.__setattr__(self, "difficulty", _canonical(self.difficulty))

    def _refuse_unknown_rules(self) -> None:
        try:
            StaticParams(rules_version=self.rules_version)
        except ValueError as error:
            raise ConfigError(f"env.{error}") from error

    @property
    def program(self) -> str | None:
        """`preset` of `alem_env.make`: the game without coordination is a program of its own."""
        return "none" if self.difficulty == "none" else None

    @property
    def label(self) -> str:
        """The difficulty as it appears in file names and tables."""
        return str(self.difficulty)

    @property
    def title(self) -> str:
        return f"ALEM {self.label}"

    @property
    def versions(self) -> dict[str, str]:
        return {"rules": self.rules_version}

    def as_dict(self) -> dict:
        """Without a name: ALEM is what is meant where none is given, as in older runs and cards."""
        return dataclasses.asdict(self)

    def for_evaluation(self) -> "EnvConfig":
        """The same world without what only shapes training: every policy is judged by the
        difficulty's own efficiency, and by what each agent earns itself. What is left out of the
        game stays out."""
        return dataclasses.replace(self, shared_reward=False, non_specialist_efficiency=None)

    def params(self) -> EnvParams:
        """The traced parameters of this world."""
        overrides = {"shared_reward": self.shared_reward}
        if self.non_specialist_efficiency is not None:
            overrides["non_specialist_efficiency"] = self.non_specialist_efficiency
        if self.without == "roles":
            overrides["non_specialist_efficiency"] = 1.0
        try:
            return difficulty(self.difficulty, **overrides)
        except ValueError as error:
            raise ConfigError(f"env.{error}") from error


def _canonical(level: str | float) -> str | float:
    """hard, Hard and 0.9 are one difficulty, and have one name."""
    text = str(level).lower()
    if text == "none" or text in DIFFICULTY_ALPHA:
        return text
    return {alpha: name for name, alpha in DIFFICULTY_ALPHA.items()}.get(float(text), float(text))
