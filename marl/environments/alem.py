"""ALEM: the world that options describe, and what is read from its final states."""

from collections.abc import Callable

import jax

import alem_env
from alem_env import Achievement, score
from marl.env_config import EnvConfig
from marl.types import PyTree, Scoring

SCORING = Scoring(
    shares={name: name.capitalize() for name in score.SHARES},
    best="total",
    achievements=tuple(achievement.name.lower() for achievement in Achievement),
)


def make_environment(config: EnvConfig) -> alem_env.Environment:
    """The environment of these options."""
    return alem_env.make(
        num_agents=config.num_agents,
        num_comm_channels=config.num_comm_channels,
        rules_version=config.rules_version,
        preset=config.program,
    )


def outcome_of(env: alem_env.Environment) -> Callable[[PyTree], tuple[jax.Array, dict]]:
    """(final states (W, ...)) -> achievements (W, A, 93), and published metrics, name -> (W,), or
    (W, A) where each agent has its own."""

    def outcome(states):
        def one(state):
            return {
                **score.score(state, env.static),
                **score.team_score(state.achievements),
            }

        return states.achievements, jax.vmap(one)(states)

    return outcome


def describe(config: EnvConfig, env: alem_env.Environment) -> dict:
    """Everything that makes results comparable.

    Returns:
        The options of `EnvConfig`, `num_actions`, and whether the efficiency is the one that the
        difficulty itself has; plain values, for cards and reports.
    """
    params, own = config.params(), config.for_evaluation().params()
    return {
        "difficulty": config.label,
        "rules_version": config.rules_version,
        "num_agents": config.num_agents,
        "num_comm_channels": config.num_comm_channels,
        "num_actions": env.static.num_actions,
        "shared_reward": config.shared_reward,
        "non_specialist_efficiency": round(float(params.non_specialist_efficiency), 4),
        "own_efficiency": bool(params.non_specialist_efficiency == own.non_specialist_efficiency),
    }
