"""Masked distributions equal distrax's categorical over the legal actions, gradients included."""

import distrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from marl.ops import masked_categorical as mc

ROWS, ACTIONS = 12, 9


@pytest.fixture(scope="module")
def rows():
    """Logits of two distributions, legal actions (at least one a row), and a legal action each."""
    rng = np.random.default_rng(0)
    p, q = rng.normal(0, 3, (2, ROWS, ACTIONS)).astype(np.float32)
    legal = rng.random((ROWS, ACTIONS)) < 0.5
    legal[np.arange(ROWS), rng.integers(ACTIONS, size=ROWS)] = True
    action = np.array([rng.choice(np.flatnonzero(row)) for row in legal])
    return jnp.asarray(p), jnp.asarray(q), jnp.asarray(legal), jnp.asarray(action)


def oracle(logits, legal):
    # Legal actions only, so that distrax has no infinities to take gradients through.
    return distrax.Categorical(logits=logits[np.flatnonzero(legal)])


def place(legal, action):
    return int(np.flatnonzero(legal).tolist().index(int(action)))


def test_values(rows):
    p, q, legal, action = rows
    ours = [
        mc.log_prob(p, legal, action), mc.entropy(p, legal), mc.kl_divergence(p, q, legal),
        mc.mode(p, legal),
    ]  # fmt: skip
    for row, (log_prob, entropy, kl, mode) in enumerate(zip(*ours, strict=True)):
        theirs, other = oracle(p[row], legal[row]), oracle(q[row], legal[row])
        expected = theirs.log_prob(place(legal[row], action[row]))
        np.testing.assert_allclose(log_prob, expected, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(entropy, theirs.entropy(), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(kl, theirs.kl_divergence(other), rtol=1e-4, atol=1e-5)
        assert place(legal[row], mode) == theirs.mode()


def test_gradients(rows):
    p, _, legal, action = rows
    ours = jax.grad(lambda z: (mc.log_prob(z, legal, action) + mc.entropy(z, legal)).sum())(p)
    for row in range(3):
        kept, chosen = np.flatnonzero(legal[row]), place(legal[row], action[row])

        def both(z, chosen=chosen):
            theirs = distrax.Categorical(logits=z)
            return theirs.log_prob(chosen) + theirs.entropy()

        np.testing.assert_allclose(ours[row][kept], jax.grad(both)(p[row][kept]), atol=1e-5)
        assert (np.delete(ours[row], kept) == 0).all()
