"""Policies from the recipe on their card (`marl.types.Policy.recipe`)."""

from collections.abc import Callable, Mapping

from marl.networks import centralised, hypernetwork, q_network, unshared
from marl.networks.centralised import CentralisedConfig, make_centralised_policy
from marl.networks.factory import NetworkConfig, make_policy
from marl.networks.hypernetwork import HyperConfig, make_hyper_policy
from marl.networks.q_network import QNetworkConfig, make_q_policy
from marl.networks.unshared import make_unshared_policy
from marl.types import Policy, Task


def _of_sizes(config: type, make: Callable[..., Policy]) -> Callable[..., Policy]:
    return lambda task, **sizes: make(config(**sizes), task)


def _recurrent_q(task: Task, *, epsilon: float, **sizes) -> Policy:
    return make_q_policy(QNetworkConfig(**sizes), task, epsilon)


# By the recipe's "kind"; a recipe without one is of the actor-critic.
MAKERS: dict[str, Callable[..., Policy]] = {
    "actor_critic": _of_sizes(NetworkConfig, make_policy),
    unshared.KIND: _of_sizes(NetworkConfig, make_unshared_policy),
    centralised.KIND: _of_sizes(CentralisedConfig, make_centralised_policy),
    hypernetwork.KIND: _of_sizes(HyperConfig, make_hyper_policy),
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
