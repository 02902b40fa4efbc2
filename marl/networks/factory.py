"""From a configuration to a network. The only place that knows layer classes by name."""

import dataclasses

from marl.types import Policy, Task

ACTIVATIONS = ("tanh", "relu")


@dataclasses.dataclass(frozen=True)
class NetworkConfig:
    """Sizes of the recurrent actor-critic. Defaults are the published IPPO network.

    Attributes:
        embedding_size: units of the first layer.
        hidden_size: units of the recurrent core.
        actor_size, critic_size: units of the heads' hidden layers.
        activation: "tanh" or "relu".
    """

    embedding_size: int = 128
    hidden_size: int = 512
    actor_size: int = 512
    critic_size: int = 128
    activation: str = "tanh"

    def __post_init__(self):
        for field in ("embedding_size", "hidden_size", "actor_size", "critic_size"):
            size = getattr(self, field)
            if isinstance(size, bool) or not isinstance(size, int) or size < 1:
                raise ValueError(f"network.{field}={size!r} must be a whole number of at least 1")
        if self.activation not in ACTIVATIONS:
            raise ValueError(
                f"network.activation={self.activation!r} is unknown; "
                f"choose one of {', '.join(ACTIVATIONS)}"
            )


PUBLISHED = NetworkConfig()
CPU = NetworkConfig(
    embedding_size=64, hidden_size=128, actor_size=128, critic_size=64, activation="relu"
)


def make_policy(config: NetworkConfig, task: Task) -> Policy:
    """How a network of this configuration acts in this task."""
    raise NotImplementedError
