"""Policies from the recipe on their card (`marl.types.Policy.recipe`)."""

from collections.abc import Callable, Mapping

from marl.networks import q_network
from marl.networks.factory import NetworkConfig, make_policy
from marl.networks.q_network import QNetworkConfig, make_q_policy
from marl.types import Policy, Task


def _actor_critic(task: Task, **sizes) -> Policy:
    return make_policy(NetworkConfig(**sizes), task)


def _recurrent_q(task: Task, *, epsilon: float, **sizes) -> Policy:
    return make_q_policy(QNetworkConfig(**sizes), task, epsilon)


# By the recipe's "kind"; a recipe without one is of the actor-critic.
MAKERS: dict[str, Callable[..., Policy]] = {
    "actor_critic": _actor_critic,
    q_network.KIND: _recurrent_q,
}


def follow(recipe: Mapping, task: Task) -> Policy:
    """The policy of that recipe, in that task.

    Raises:
        ValueError, TypeError: the recipe is of an unknown kind, or lacks or has too many entries.
    """
    entries = dict(recipe)
    kind = entries.pop("kind", "actor_critic")
    if kind not in MAKERS:
        raise ValueError(f"network.kind={kind!r} is unknown; known are {', '.join(MAKERS)}")
    return MAKERS[kind](task, **entries)
