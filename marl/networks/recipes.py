"""Policies from the recipe on their card (`marl.types.Policy.recipe`)."""

from collections.abc import Callable, Mapping

from marl.networks import sizes
from marl.networks.centralised import make_centralised_policy
from marl.networks.factory import make_policy
from marl.networks.hypernetwork import make_hyper_policy
from marl.networks.q_network import make_q_policy
from marl.networks.sizes import CentralisedConfig, HyperConfig, NetworkConfig, QNetworkConfig
from marl.networks.unshared import make_unshared_policy
from marl.types import Policy, Task


def _of_sizes(config: type, make: Callable[..., Policy]) -> Callable[..., Policy]:
    return lambda task, **sizes: make(config(**sizes), task)


def _recurrent_q(task: Task, *, epsilon: float, **sizes) -> Policy:
    return make_q_policy(QNetworkConfig(**sizes), task, epsilon)


# By the recipe's "kind"; a recipe without one is of the actor-critic.
MAKERS: dict[str, Callable[..., Policy]] = {
    sizes.ACTOR_CRITIC: _of_sizes(NetworkConfig, make_policy),
    sizes.UNSHARED: _of_sizes(NetworkConfig, make_unshared_policy),
    sizes.CENTRALISED: _of_sizes(CentralisedConfig, make_centralised_policy),
    sizes.HYPER: _of_sizes(HyperConfig, make_hyper_policy),
    sizes.RECURRENT_Q: _recurrent_q,
}


def follow(recipe: Mapping, task: Task) -> Policy:
    """The policy of that recipe, in that task.

    Raises:
        ValueError, TypeError: the recipe is of an unknown kind, or lacks or has too many entries.
    """
    entries = dict(recipe)
    kind = entries.pop("kind", sizes.ACTOR_CRITIC)
    if kind not in MAKERS:
        raise ValueError(f"network.kind={kind!r} is unknown; known are {', '.join(MAKERS)}")
    return MAKERS[kind](task, **entries)
