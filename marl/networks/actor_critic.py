"""The recurrent actor-critic of the published IPPO."""

import flax.linen as nn
import jax

from marl.networks.embedding import Embedding
from marl.networks.heads import ActorHead, CriticHead
from marl.networks.layers import activation
from marl.networks.recurrent import GRU
from marl.types import Sparse


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
        first = Embedding(
            self.feature_size,
            self.embedding_size,
            self.dense_columns,
            self.embedding_gain,
            name="embedding",
        )
        x = first(features)
        x = activation(self.activation)(x)
        carry, x = GRU(self.hidden_size, name="core")(carry, x, reset)
        logits = ActorHead(self.actor_size, self.num_actions, self.activation, name="actor")(x)
        value = CriticHead(self.critic_size, self.activation, name="critic")(x)
        return carry, logits, value
