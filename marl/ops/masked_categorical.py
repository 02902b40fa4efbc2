"""Categorical distributions over legal actions. Everything stays finite, gradients included.

Rows in which nothing is legal take action 0 (no-op), with log-probability and entropy 0.
Shapes: logits (..., N) float, legal (..., N) bool, actions (...) int.
"""

import jax
import jax.numpy as jnp

NOOP = 0
# Far below any logit, far above the smallest float32: exp gives exactly 0, sums stay finite.
ILLEGAL_LOGIT = -1e9


def mask_logits(logits: jax.Array, legal: jax.Array) -> jax.Array:
    """Logits with illegal actions at a large negative number; where none is legal, only the
    no-op keeps its logit."""
    if logits.shape != legal.shape:  # broadcast they would do, and mean something else
        raise ValueError(f"logits {logits.shape} and legal {legal.shape} must be of one shape")
    is_noop = jnp.arange(logits.shape[-1]) == NOOP
    usable = legal | (~jnp.any(legal, axis=-1, keepdims=True) & is_noop)
    return jnp.where(usable, logits, ILLEGAL_LOGIT)


def log_probs(logits: jax.Array, legal: jax.Array) -> jax.Array:
    """Log-probabilities of all actions (..., N); about -1e9 for illegal ones."""
    return jax.nn.log_softmax(mask_logits(logits, legal), axis=-1)


def log_prob(logits: jax.Array, legal: jax.Array, actions: jax.Array) -> jax.Array:
    """Log-probability (...) of the given actions."""
    chosen = actions[..., None] == jnp.arange(logits.shape[-1])
    return jnp.sum(jnp.where(chosen, log_probs(logits, legal), 0.0), axis=-1)


def entropy(logits: jax.Array, legal: jax.Array) -> jax.Array:
    """Entropy (...) in nats."""
    log_p = log_probs(logits, legal)
    return -jnp.sum(jnp.exp(log_p) * log_p, axis=-1)


def kl_divergence(p_logits: jax.Array, q_logits: jax.Array, legal: jax.Array) -> jax.Array:
    """Exact KL(p || q), (...), of two distributions over the same legal actions."""
    log_p, log_q = log_probs(p_logits, legal), log_probs(q_logits, legal)
    return jnp.sum(jnp.exp(log_p) * (log_p - log_q), axis=-1)


def sample(key: jax.Array, logits: jax.Array, legal: jax.Array) -> jax.Array:
    """Random legal actions (...) int32."""
    return jax.random.categorical(key, mask_logits(logits, legal), axis=-1).astype(jnp.int32)


def mode(logits: jax.Array, legal: jax.Array) -> jax.Array:
    """The likeliest legal actions (...) int32; the first of equals."""
    return jnp.argmax(mask_logits(logits, legal), axis=-1).astype(jnp.int32)
