"""A whole update of PQN-VDN equals a slow one in plain numpy, gradients by finite differences."""

import dataclasses

import jax
import numpy as np
import pytest

from marl import probes
from marl.learners import pqn_vdn
from marl.learners.pqn_config import PQNConfig
from marl.networks.sizes import QNetworkConfig

CONFIG = PQNConfig(
    num_envs=2, num_steps=6, num_minibatches=1, update_epochs=7, total_updates=4, lr=0.02,
    max_grad_norm=0.05, gamma=0.9, q_lambda=0.7, epsilon_start=0.5,
)  # fmt: skip
PUBLISHED = dataclasses.replace(
    CONFIG, mask_dead_agents=False, bootstrap_truncated=False, learn_last_step=False,
    blank_first_observation=True,
)  # fmt: skip


class _LimitedMortal(probes.Mortal):
    ends_by_time_limit = True


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _q_values(p, config, seen, reset, number, cell, hidden):
    """One agent's sequence (T + 1, F), a step at a time: (T + 1, n)."""
    q_values = []
    for x, r in zip(seen, reset, strict=True):
        x = np.append(x, np.eye(2)[number])
        if r:
            cell, hidden = np.zeros_like(cell), np.zeros_like(hidden)
            x = np.zeros_like(x) if config.blank_first_observation else x
        x = x @ p["embedding/kernel"] + p["embedding/bias"]
        x = (x - x.mean()) / np.sqrt(x.var() + 1e-6) * p["norm/scale"] + p["norm/bias"]
        gates = np.maximum(x, 0) @ p["core/input_kernel"] + p["core/bias"]
        i, f, g, o = np.split(gates + hidden @ p["core/hidden_kernel"], 4)
        cell = _sigmoid(f) * cell + _sigmoid(i) * np.tanh(g)
        hidden = _sigmoid(o) * np.tanh(cell)
        q_values.append(hidden @ p["q_values/kernel"] + p["q_values/bias"])
    return np.array(q_values)


def _teams(p, config, b):
    """The team's Q (T, E) and its greedy worth (T + 1, E)."""
    steps, worlds, agents = b["action"].shape
    team_q, worth = np.zeros((steps, worlds)), np.zeros((steps + 1, worlds))
    for e, a in np.ndindex(worlds, agents):
        sequence = (
            b["vector"][:, e, a],
            b["reset"][:, e, a],
            a,
            b["cell"][e, a],
            b["hidden"][e, a],
        )
        q_values = _q_values(p, config, *sequence)
        for t in range(steps + 1):
            if config.mask_dead_agents and not b["active"][t, e, a]:
                continue
            worth[t, e] += q_values[t][b["legal"][t, e, a]].max()
            if t < steps:
                team_q[t, e] += q_values[t, b["action"][t, e, a]]
    return team_q, worth


def _targets(config, b, worth):
    target = np.zeros_like(b["reward"], dtype=np.float64)
    following = worth[-1]
    for t in reversed(range(len(target))):
        after = (1 - config.q_lambda) * worth[t + 1] + config.q_lambda * following
        after = np.where(b["truncated"][t], b["final_value"][t], after)
        after = np.where(b["terminated"][t], 0.0, after)
        following = target[t] = b["reward"][t] + config.gamma * after
    return target


def _gradient(p, config, b, target):
    step, gradient = 1e-6, {}
    for name, values in p.items():
        gradient[name] = np.zeros_like(values)
        for place in np.ndindex(values.shape):
            sides = []
            for sign in (1, -1):
                moved = values.copy()
                moved[place] += sign * step
                team_q, _ = _teams(p | {name: moved}, config, b)
                sides.append(np.mean((team_q - target) ** 2) / 2)
            gradient[name][place] = (sides[0] - sides[1]) / (2 * step)
    return gradient


def _radam(first, second, count):
    """The direction of RAdam (arXiv 1908.03265, algorithm 2)."""
    longest = 2 / (1 - 0.999) - 1
    length = longest - 2 * count * 0.999**count / (1 - 0.999**count)
    first = first / (1 - 0.9**count)
    if length < 5:
        return first
    rectified = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
    return np.sqrt(rectified) * first / (np.sqrt(second / (1 - 0.999**count)) + 1e-8)


def _off_the_kinks(params):
    """Biases start at 0, and with a blanked observation ReLU's input then is exactly 0, where
    finite differences are no gradient."""
    leaves, structure = jax.tree.flatten(params)
    keys = jax.random.split(jax.random.key(1), len(leaves))
    moved = [x + 0.1 * jax.random.normal(k, x.shape) for x, k in zip(leaves, keys, strict=True)]
    return jax.tree.unflatten(structure, moved)


def _flat(params):
    leaves = jax.tree_util.tree_leaves_with_path(params)
    return {"/".join(k.key for k in path): np.asarray(x, np.float64) for path, x in leaves}


def _arrays(batch):
    names = ("reset", "active", "action", "reward", "terminated", "truncated", "final_value")
    b = {name: np.asarray(getattr(batch, name)) for name in names}
    b["vector"] = np.asarray(batch.observation.vector, np.float64)
    b["legal"] = np.asarray(batch.observation.legal)
    b["cell"], b["hidden"] = (np.asarray(x, np.float64) for x in batch.carry)
    return b


@pytest.mark.parametrize(
    "env, config",
    [(probes.Mortal(2), CONFIG), (_LimitedMortal(2), CONFIG), (_LimitedMortal(2), PUBLISHED)],
    ids=["ends", "time_limits", "published"],
)
def test_update_equals_plain_numpy(env, config):
    learner = pqn_vdn.make(env, QNetworkConfig(3, 3), config)
    state = learner.init(jax.random.key(0))
    state, _ = learner.collect(state.replace(params=_off_the_kinks(state.params)))
    state, batch = learner.collect(state)
    new_state, metrics = learner.update(state, batch)

    p, b = _flat(state.params), _arrays(batch)
    assert not b["active"].all() and (b["terminated"] | b["truncated"]).any()
    first = {k: np.zeros_like(v) for k, v in p.items()}
    second = {k: np.zeros_like(v) for k, v in p.items()}
    losses, norms = [], []
    for epoch in range(1, config.update_epochs + 1):
        team_q, worth = _teams(p, config, b)
        target = _targets(config, b, worth)
        losses.append(np.mean((team_q - target) ** 2) / 2)
        gradient = _gradient(p, config, b, target)
        norms.append(np.sqrt(sum(np.sum(g**2) for g in gradient.values())))
        assert norms[-1] > config.max_grad_norm, "clipping would go untested"
        for k, g in gradient.items():
            g = g * config.max_grad_norm / norms[-1]
            first[k] = 0.9 * first[k] + 0.1 * g
            second[k] = 0.999 * second[k] + 0.001 * g**2
            p[k] = p[k] - config.lr * _radam(first[k], second[k], epoch)
    np.testing.assert_allclose(metrics["loss/total"], np.mean(losses), rtol=1e-4)
    np.testing.assert_allclose(metrics["pqn/grad_norm"], np.mean(norms), rtol=1e-3)
    for name, values in _flat(new_state.params).items():
        np.testing.assert_allclose(values, p[name], atol=2e-4, err_msg=name)
