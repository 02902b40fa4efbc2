"""ALEM: a long-horizon survival world for teams, transition for transition the benchmark.

env = alem_env.make(num_agents=3, num_comm_channels=4)
obs, state = env.reset(jax.random.key(0), alem_env.difficulty("hard"))
"""

from alem_env import score
from alem_env.core import rng, struct
from alem_env.core.compiled import COMPILER_OPTIONS, compiled
from alem_env.core.enums import Achievement, Action, Block, Item, Specialization
from alem_env.core.params import DIFFICULTY_ALPHA, EnvParams, StaticParams, difficulty
from alem_env.core.state import State
from alem_env.env import Environment, make
from alem_env.observe import dense
from alem_env.observe.compact import Observation, without_messages
from alem_env.vector import VectorEnv, VectorState

__all__ = [
    "COMPILER_OPTIONS",
    "DIFFICULTY_ALPHA",
    "Achievement",
    "Action",
    "Block",
    "EnvParams",
    "Environment",
    "Item",
    "Observation",
    "Specialization",
    "State",
    "StaticParams",
    "VectorEnv",
    "VectorState",
    "compiled",
    "dense",
    "difficulty",
    "make",
    "rng",
    "score",
    "struct",
    "without_messages",
]
