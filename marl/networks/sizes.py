"""Sizes of the networks, as checked dataclasses. A policy's card holds them as its recipe."""

import dataclasses

from marl.networks.forward import ACTIVATIONS
from marl.options import whole_in_range

# Units of a layer at most: eight times the published ones. The orthogonal start of twice as many
# takes a quarter of an hour.
MAX_SIZE = 2**12


@dataclasses.dataclass(frozen=True)
class NetworkConfig:
    """Sizes of the recurrent actor-critic. Defaults are the published IPPO network.

    Attributes:
        embedding_size: units of the first layer.
        embedding_gain: scale of its weights at the start. The published vector is nearly empty
            (about 150 of 9,730 numbers are not 0), so that the published gain leaves its units
            near 0.17 and what is in view hardly moves the actor at first.
        hidden_size: units of the recurrent core.
        actor_size, critic_size: units of the heads' hidden layers.
        activation: "tanh" or "relu".
    """

    embedding_size: int = 128
    hidden_size: int = 512
    actor_size: int = 512
    critic_size: int = 128
    activation: str = "tanh"
    embedding_gain: float = 2.0**0.5

    def __post_init__(self):
        for field in ("embedding_size", "hidden_size", "actor_size", "critic_size"):
            whole_in_range(f"network.{field}", getattr(self, field), 1, MAX_SIZE)
        if not self.embedding_gain > 0.0:
            raise ValueError(f"network.embedding_gain={self.embedding_gain!r} must be above 0")
        if self.activation not in ACTIVATIONS:
            raise ValueError(
                f"network.activation={self.activation!r} is unknown; "
                f"choose one of {', '.join(ACTIVATIONS)}"
            )


CRITIC_INPUTS = ("team", "agent_id", "rolled")


@dataclasses.dataclass(frozen=True)
class CentralisedConfig(NetworkConfig):
    """Sizes of an actor, and of a critic that sees what all agents see. The first layer and the
    core are of the same sizes in both. Defaults are published, but for `critic_input`.

    Attributes:
        critic_input: "team": all observations, agent by agent, the same for every agent, so that
            the team has one value, and with rewards of its own for each agent the critic can learn
            their mean at best; as published. "agent_id": the same, and whose value is asked for.
            "rolled": all observations, from the agent's own onwards.
    """

    critic_size: int = 512
    critic_input: str = "agent_id"

    def __post_init__(self):
        super().__post_init__()
        if self.critic_input not in CRITIC_INPUTS:
            raise ValueError(
                f"network.critic_input={self.critic_input!r} is unknown; "
                f"choose one of {', '.join(CRITIC_INPUTS)}"
            )


@dataclasses.dataclass(frozen=True)
class HyperConfig(NetworkConfig):
    """Sizes of the network with generated heads. Defaults are the published ones.

    Attributes:
        activation: of the network; generators use relu.
        identity_size: numbers that describe an agent.
        generator_size: units of the hidden layer between them and a layer's weights.
    """

    activation: str = "relu"
    identity_size: int = 64
    generator_size: int = 64

    def __post_init__(self):
        super().__post_init__()
        for field in ("identity_size", "generator_size"):
            whole_in_range(f"network.{field}", getattr(self, field), 1, MAX_SIZE)


@dataclasses.dataclass(frozen=True)
class QNetworkConfig:
    """Sizes of the recurrent Q-network. Defaults are the published ones.

    Attributes:
        embedding_size: units of the first layer, which is normalised (LayerNorm) and rectified.
        hidden_size: units of the recurrent core (LSTM).
    """

    embedding_size: int = 1024
    hidden_size: int = 1024

    def __post_init__(self):
        for field in ("embedding_size", "hidden_size"):
            whole_in_range(f"network.{field}", getattr(self, field), 1, MAX_SIZE)


# By the "kind" of a policy's recipe; one without is of the actor-critic.
ACTOR_CRITIC, UNSHARED = "actor_critic", "unshared_actor_critic"
CENTRALISED, HYPER, RECURRENT_Q = "centralised_critic", "hypernetwork", "recurrent_q"
