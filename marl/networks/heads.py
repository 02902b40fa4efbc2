"""What reads the recurrent core: action preferences, and values."""

import flax.linen as nn
import jax

from marl.networks.forward import ACTIVATIONS
from marl.networks.layers import dense


class ActorHead(nn.Module):
    """One hidden layer, then a preference (logit) for each action."""

    hidden_size: int
    num_actions: int
    activation: str

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """(..., H) to logits (..., num_actions), all nearly equal before training."""
        x = ACTIVATIONS[self.activation](dense(self.hidden_size, gain=2.0, name="hidden")(x))
        return dense(self.num_actions, gain=0.01, name="logits")(x)


class CriticHead(nn.Module):
    """One hidden layer, then the expected return."""

    hidden_size: int
    activation: str

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """(..., H) to values (...)."""
        x = ACTIVATIONS[self.activation](dense(self.hidden_size, gain=2.0, name="hidden")(x))
        return dense(1, gain=1.0, name="value")(x)[..., 0]
