"""ALEM: the world that options describe, and what is read from its final states."""

import dataclasses
from collections.abc import Callable

import jax

import alem_env
from alem_env import Achievement, Action, StaticParams, score
from marl.env_config import EnvConfig
from marl.environments.forbidding import Forbidding
from marl.types import PyTree, Scoring

SCORING = Scoring(
    shares={name: name.capitalize() for name in score.SHARES},
    best="total",
    achievements=tuple(achievement.name.lower() for achievement in Achievement),
)


def make_environment(config: EnvConfig) -> alem_env.Environment | Forbidding:
    """The environment of these options."""
    env = alem_env.make(
        num_agents=config.num_agents,
        num_comm_channels=config.num_comm_channels,
        rules_version=config.rules_version,
        preset=config.program,
    )
    return Forbidding(env, trade_actions(env.static)) if config.without == "trade" else env


def make_vector(
    env: alem_env.Environment | Forbidding, num_envs: int
) -> alem_env.VectorEnv | Forbidding:
    """Many of what `make_environment` made."""
    if isinstance(env, Forbidding):
        return dataclasses.replace(env, inner=alem_env.VectorEnv(env.inner, num_envs))
    return alem_env.VectorEnv(env, num_envs)


def trade_actions(static: StaticParams) -> tuple[int, ...]:
    """Codes of requests and gifts."""
    requests = range(Action.REQUEST_FOOD, Action.REQUEST_SAPPHIRE + 1)
    gifts = range(Action.GIVE, Action.GIVE + static.num_give_actions)
    return *requests, *gifts


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
    whole_game = dataclasses.replace(config.for_evaluation(), without=None)
    params, own = config.params(), whole_game.params()
    return {
        "difficulty": config.label,
        "rules_version": config.rules_version,
        "num_agents": config.num_agents,
        "num_comm_channels": config.num_comm_channels,
        "num_actions": env.static.num_actions,
        "shared_reward": config.shared_reward,
        "non_specialist_efficiency": round(float(params.non_specialist_efficiency), 4),
        "own_efficiency": bool(params.non_specialist_efficiency == own.non_specialist_efficiency),
        "without": config.without,
    }
