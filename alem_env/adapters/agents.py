"""What the adapters share: agents by name instead of by number."""

from collections.abc import Mapping, Sequence
from typing import Any

from alem_env.core.params import EnvParams
from alem_env.core.params_check import check_params
from alem_env.env import Environment


def agent_names(env: Environment, params: EnvParams) -> list[str]:
    """The names "agent_0", "agent_1", ... of an environment's agents.

    Raises:
        ValueError: `env` is no environment, or `params` are not for it.
    """
    if not isinstance(env, Environment):
        raise ValueError(f"env={env!r} is no environment; make one with alem_env.make()")
    check_params(params, env.static)
    return names_of(env.num_agents)


def names_of(num_agents: int) -> list[str]:
    return [f"agent_{k}" for k in range(num_agents)]


def by_agent(rows: Sequence) -> dict[str, Any]:
    """Rows (A, ...) as {name: (...)}."""
    return {name: rows[k] for k, name in enumerate(names_of(len(rows)))}


def in_order(agents: Sequence[str], actions: Mapping[str, Any]) -> list:
    """The actions of all agents, in the agents' order.

    Raises:
        ValueError: `actions` is no mapping, or an agent is missing or unknown.
    """
    if not isinstance(actions, Mapping):
        raise ValueError(f"actions={actions!r} must be a dict with an action for each of {agents}")
    wrong = {"no action for": set(agents) - set(actions), "unknown": set(actions) - set(agents)}
    for what, names in wrong.items():
        if names:
            raise ValueError(
                f"actions: {what} {', '.join(map(str, sorted(names, key=str)))}; needed is one for "
                f"each of {', '.join(agents)} (for a dead agent any: it does nothing)"
            )
    return [actions[name] for name in agents]
