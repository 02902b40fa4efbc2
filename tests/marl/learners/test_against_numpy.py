"""A whole update equals a slow one in plain numpy, gradients by finite differences."""

import jax
import numpy as np
import pytest
from kinds import make_small

from marl import probes
from marl.learners.ppo_config import PPOConfig

OPTIONS = dict(
    num_envs=2, num_steps=6, num_minibatches=1, update_epochs=2, total_updates=4, lr=0.05,
    adam_eps=1e-3, max_grad_norm=0.05, clip_eps=0.02, gamma=0.9, gae_lambda=0.7,
)  # fmt: skip
CONFIG = PPOConfig(**OPTIONS)


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _states(p, vector, reset, hidden, offset=0.0):
    """One agent's sequence (T, F), a step at a time: hidden states (T, H)."""
    size, states = hidden.size, []
    for x, r in zip(vector, reset, strict=True):
        h = np.zeros(size) if r else hidden
        x = np.tanh(x @ p["embedding/kernel"] + p["embedding/bias"] + offset)
        i = x @ p["core/input_kernel"] + p["core/input_bias"]
        g = h @ p["core/hidden_kernel"]
        reset_gate = _sigmoid(i[:size] + g[:size])
        keep = _sigmoid(i[size : 2 * size] + g[size : 2 * size])
        new = np.tanh(i[2 * size :] + reset_gate * (g[2 * size :] + p["core/hidden_bias"]))
        hidden = (1 - keep) * new + keep * h
        states.append(hidden)
    return np.array(states)


def _head(p, states, hidden, output):
    x = np.tanh(states @ p[f"{hidden}/kernel"] + p[f"{hidden}/bias"])
    return x @ p[f"{output}/kernel"] + p[f"{output}/bias"]


def _actor_critic(p, t, carry, e, a):
    states = _states(p, t["vector"][:, e, a], t["reset"][:, e], carry[e, a])
    return (
        _head(p, states, "actor/hidden", "actor/logits"),
        _head(p, states, "critic/hidden", "critic/value")[:, 0],
    )


def _actor_critic_of_its_own(p, t, carry, e, a):
    return _actor_critic({k: v[a] for k, v in p.items()}, t, carry, e, a)


def _actor_and_central_critic(p, t, carry, e, a):
    actor, critic = (
        {k.removeprefix(f"{part}/"): v for k, v in p.items() if k.startswith(f"{part}/")}
        for part in ("actor", "critic")
    )
    reset = t["reset"][:, e]
    states = _states(actor, t["vector"][:, e, a], reset, carry["actor"][e, a])
    logits = _head(actor, states, "actor/hidden", "actor/logits")
    everything = np.concatenate([t["vector"][:, e, k] for k in range(2)], axis=-1)
    states = _states(critic, everything, reset, carry["critic"][e, a], critic["identity"][a])
    return logits, _head(critic, states, "critic/hidden", "critic/value")[:, 0]


# For each learner: logits (T, n) and values (T,) of an agent; whose gradients are clipped together,
# by the name and the place of a number; whether agents have losses of their own.
LEARNERS = {
    "ippo": (_actor_critic, lambda name, place: "all", False),
    "ippo_unshared": (_actor_critic_of_its_own, lambda name, place: place[0], True),
    "mappo": (_actor_and_central_critic, lambda name, place: name.split("/")[0], False),
}


def _advantages(t, last_value):
    advantage, trace = np.zeros_like(t["reward"]), np.zeros_like(last_value)
    for k in reversed(range(len(advantage))):
        after = t["value"][k + 1] if k + 1 < len(advantage) else last_value
        goes_on = 1.0 - t["terminated"][k][:, None]
        delta = t["reward"][k] + CONFIG.gamma * after * goes_on - t["value"][k]
        trace = delta + CONFIG.gamma * CONFIG.gae_lambda * goes_on * trace
        advantage[k] = trace
    return advantage


def _loss(p, forward, agents, t, carry, advantage):
    """The loss of these agents' rows."""
    eps = CONFIG.clip_eps
    kept = advantage[:, :, agents][t["active"][:, :, agents]]
    policy, entropy, value_loss = [], [], []
    for e, a in ((e, a) for e in range(CONFIG.num_envs) for a in agents):
        logits, values = forward(p, t, carry, e, a)
        for k in range(len(values)):
            old, target = t["value"][k, e, a], advantage[k, e, a] + t["value"][k, e, a]
            held = np.clip(values[k], old - eps, old + eps)
            value_loss.append(max((values[k] - target) ** 2, (held - target) ** 2) / 2)
            if not t["active"][k, e, a]:
                continue
            z = logits[k][t["legal"][k, e, a]]
            log_p = z - np.log(np.sum(np.exp(z)))
            # legal actions are the first ones here, so that indices agree
            ratio = np.exp(log_p[t["action"][k, e, a]] - t["log_prob"][k, e, a])
            scaled = (advantage[k, e, a] - kept.mean()) / (kept.std() + 1e-8)
            policy.append(-min(ratio * scaled, np.clip(ratio, 1 - eps, 1 + eps) * scaled))
            entropy.append(-np.sum(np.exp(log_p) * log_p))
    return (
        np.mean(policy) + CONFIG.vf_coef * np.mean(value_loss) - CONFIG.ent_coef * np.mean(entropy)
    )


def _gradient(p, total):
    step, gradient = 1e-6, {}
    for name, values in p.items():
        gradient[name] = np.zeros_like(values)
        for place in np.ndindex(values.shape):
            sides = []
            for sign in (1, -1):
                moved = values.copy()
                moved[place] += sign * step
                sides.append(total(p | {name: moved}))
            gradient[name][place] = (sides[0] - sides[1]) / (2 * step)
    return gradient


def _clipped(gradient, group_of):
    squares = {}
    for name, values in gradient.items():
        for place in np.ndindex(values.shape):
            group = group_of(name, place)
            squares[group] = squares.get(group, 0.0) + values[place] ** 2
    norms = {group: np.sqrt(square) for group, square in squares.items()}
    assert min(norms.values()) > CONFIG.max_grad_norm, "clipping would go untested"
    clipped = {name: values.copy() for name, values in gradient.items()}
    for name, values in clipped.items():
        for place in np.ndindex(values.shape):
            values[place] *= CONFIG.max_grad_norm / norms[group_of(name, place)]
    return clipped, np.sqrt(sum(squares.values()))


def _flat(params):
    leaves = jax.tree_util.tree_leaves_with_path(params)
    return {"/".join(k.key for k in path): np.asarray(x, np.float64) for path, x in leaves}


@pytest.mark.parametrize("name", LEARNERS)
def test_update_equals_plain_numpy(name):
    forward, group_of, have_own_losses = LEARNERS[name]
    learner = make_small(name, probes.Mortal(2), (3, 3, 3, 2, "tanh"), **OPTIONS)
    state, _ = learner.collect(learner.init(jax.random.key(0)))
    state, batch = learner.collect(state)
    new_state, metrics = learner.update(state, batch)

    p = _flat(state.params)
    t = {k: np.asarray(v) for k, v in vars(batch.transition).items() if k != "observation"}
    t["vector"] = np.asarray(batch.transition.observation.vector)
    t["legal"] = np.asarray(batch.transition.observation.legal)
    assert not t["active"].all() and t["terminated"].any()
    advantage = _advantages(t, np.asarray(batch.last_value)).astype(np.float64)
    carry = jax.tree.map(lambda x: np.asarray(x, np.float64), batch.carry)
    teams = [[0], [1]] if have_own_losses else [[0, 1]]

    def total(p):
        return sum(_loss(p, forward, agents, t, carry, advantage) for agents in teams)

    first = {k: np.zeros_like(v) for k, v in p.items()}
    second = {k: np.zeros_like(v) for k, v in p.items()}
    losses, norms = [], []
    for epoch in range(1, CONFIG.update_epochs + 1):
        losses.append(total(p) / len(teams))
        gradient, norm = _clipped(_gradient(p, total), group_of)
        norms.append(norm)
        for k, g in gradient.items():
            first[k] = 0.9 * first[k] + 0.1 * g
            second[k] = 0.999 * second[k] + 0.001 * g**2
            step = first[k] / (1 - 0.9**epoch)
            scale = np.sqrt(second[k] / (1 - 0.999**epoch)) + CONFIG.adam_eps
            p[k] = p[k] - CONFIG.lr * step / scale
    np.testing.assert_allclose(metrics["loss/total"], np.mean(losses), atol=1e-5)
    np.testing.assert_allclose(metrics["ppo/grad_norm"], np.mean(norms), rtol=1e-3)
    for leaf, values in _flat(new_state.params).items():
        np.testing.assert_allclose(values, p[leaf], atol=2e-4, err_msg=leaf)
