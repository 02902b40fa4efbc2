"""Recurrent actors and critics: of the published IPPO in one, of the published MAPPO apart."""

import flax.linen as nn
import jax

from marl.networks.embedding import Embedding
from marl.networks.forward import ACTIVATIONS
from marl.networks.heads import ActorHead, CriticHead
from marl.networks.layers import orthogonal
from marl.networks.recurrent import GRU
from marl.types import Sparse


def perceive(
    module: nn.Module,
    carry: jax.Array,
    features: Sparse | jax.Array,
    reset: jax.Array,
    offset: jax.Array | None = None,
) -> tuple[jax.Array, jax.Array]:
    """What recurrent networks begin with: the layers "embedding" and "core" of a compact module,
    whose fields say their sizes.

    Args:
        module: the network.
        carry: (..., H).
        features: leaves (T, ..., n).
        reset: (T, ...) bool.
        offset: added to what the embedding says, which it broadcasts with.

    Returns:
        (carry, hidden states (T, ..., H)).
    """
    x = Embedding(
        module.feature_size,
        module.embedding_size,
        module.dense_columns,
        module.embedding_gain,
        name="embedding",
    )(features)
    if offset is not None:
        x = x + offset
    return GRU(module.hidden_size, name="core")(carry, ACTIVATIONS[module.activation](x), reset)


class RecurrentActorCritic(nn.Module):
    """Embedding, GRU, and on its hidden state an actor and a critic."""

    feature_size: int
    dense_columns: tuple[int, ...]
    num_actions: int
    embedding_size: int
    embedding_gain: float
    hidden_size: int
    actor_size: int
    critic_size: int
    activation: str

    @nn.compact
    def __call__(
        self, carry: jax.Array, features: Sparse | jax.Array, reset: jax.Array
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Args:
            carry: (..., H).
            features: leaves (T, ..., n).
            reset: (T, ...) bool.

        Returns:
            (carry, logits (T, ..., num_actions) not yet masked, values (T, ...)).
        """
        carry, x = perceive(self, carry, features, reset)
        logits = ActorHead(self.actor_size, self.num_actions, self.activation, name="actor")(x)
        value = CriticHead(self.critic_size, self.activation, name="critic")(x)
        return carry, logits, value


class RecurrentActor(nn.Module):
    """Embedding, GRU, and on its hidden state an actor."""

    feature_size: int
    dense_columns: tuple[int, ...]
    num_actions: int
    embedding_size: int
    embedding_gain: float
    hidden_size: int
    actor_size: int
    activation: str

    @nn.compact
    def __call__(self, carry, features, reset) -> tuple[jax.Array, jax.Array]:
        """As `RecurrentActorCritic`, without values."""
        carry, x = perceive(self, carry, features, reset)
        head = ActorHead(self.actor_size, self.num_actions, self.activation, name="actor")
        return carry, head(x)


class RecurrentCritic(nn.Module):
    """Embedding, GRU, and on its hidden state a critic.

    `num_identities` above 0: the input is followed by that many columns in which each agent has a
    1 of its own, whose rows of the first layer are the parameter "identity".
    """

    feature_size: int
    dense_columns: tuple[int, ...]
    embedding_size: int
    embedding_gain: float
    hidden_size: int
    critic_size: int
    activation: str
    num_identities: int = 0

    @nn.compact
    def __call__(self, carry, features, reset) -> tuple[jax.Array, jax.Array]:
        """As `RecurrentActorCritic`, without logits. With identities, the last axis of `carry` and
        `reset` before the hidden one is the agents', and features may have a 1 there."""
        identity = None
        if self.num_identities:
            identity = self.param(
                "identity",
                orthogonal(self.embedding_gain),
                (self.num_identities, self.embedding_size),
            )
        carry, x = perceive(self, carry, features, reset, identity)
        return carry, CriticHead(self.critic_size, self.activation, name="critic")(x)
