"""Gradients scaled down where their norm is too large: which of them are measured together."""

from collections.abc import Callable

import jax
import optax


def _alone(max_norm: float) -> Callable:
    """Clips one tree by its own norm."""
    clip = optax.clip_by_global_norm(max_norm)
    return lambda tree: clip.update(tree, optax.EmptyState())[0]


def by_agent(max_norm: float) -> optax.GradientTransformation:
    """Each agent's gradients by their own norm; leaves (A, ...)."""
    return optax.stateless(lambda gradients, _: jax.vmap(_alone(max_norm))(gradients))


def by_network(max_norm: float) -> optax.GradientTransformation:
    """Each entry of the outermost mapping by its own norm, such as the actor and the critic."""
    clip = _alone(max_norm)
    return optax.stateless(lambda gradients, _: {n: clip(g) for n, g in gradients.items()})


CLIPS: dict[str, Callable[[float], optax.GradientTransformation]] = {
    "all": optax.clip_by_global_norm,
    "agents": by_agent,
    "networks": by_network,
}
