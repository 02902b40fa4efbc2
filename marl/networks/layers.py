"""Small parts that several networks share."""

from collections.abc import Callable

import flax.linen as nn

ACTIVATIONS: dict[str, Callable] = {"tanh": nn.tanh, "relu": nn.relu}


def activation(name: str) -> Callable:
    """The activation function of that name."""
    return ACTIVATIONS[name]


def dense(size: int, gain: float, name: str) -> nn.Dense:
    """A layer with orthogonal weights, scaled by `gain`, and biases of zero."""
    return nn.Dense(size, kernel_init=nn.initializers.orthogonal(gain), name=name)
