"""A whole update equals a slow one in plain numpy, gradients by finite differences."""

import jax
import numpy as np

from marl import probes
from marl.learners import ippo
from marl.learners.ppo_config import PPOConfig
from marl.networks.factory import NetworkConfig

CONFIG = PPOConfig(
    num_envs=2, num_steps=6, num_minibatches=1, update_epochs=2, total_updates=4, lr=0.05,
    adam_eps=1e-3, max_grad_norm=0.05, clip_eps=0.02, gamma=0.9, gae_lambda=0.7,
)  # fmt: skip


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _forward(p, vector, reset, hidden):
    """One agent's sequence (T, F), a step at a time: logits (T, n), values (T,)."""
    size = hidden.size
    logits, values = [], []
    for x, r in zip(vector, reset, strict=True):
        h = np.zeros(size) if r else hidden
        x = np.tanh(x @ p["embedding/kernel"] + p["embedding/bias"])
        i = x @ p["core/input_kernel"] + p["core/input_bias"]
        g = h @ p["core/hidden_kernel"]
        reset_gate = _sigmoid(i[:size] + g[:size])
        keep = _sigmoid(i[size : 2 * size] + g[size : 2 * size])
        new = np.tanh(i[2 * size :] + reset_gate * (g[2 * size :] + p["core/hidden_bias"]))
        hidden = (1 - keep) * new + keep * h
        a = np.tanh(hidden @ p["actor/hidden/kernel"] + p["actor/hidden/bias"])
        logits.append(a @ p["actor/logits/kernel"] + p["actor/logits/bias"])
        c = np.tanh(hidden @ p["critic/hidden/kernel"] + p["critic/hidden/bias"])
        values.append((c @ p["critic/value/kernel"] + p["critic/value/bias"])[0])
    return np.array(logits), np.array(values)


def _advantages(t, last_value):
    advantage, trace = np.zeros_like(t["reward"]), np.zeros_like(last_value)
    for k in reversed(range(len(advantage))):
        after = t["value"][k + 1] if k + 1 < len(advantage) else last_value
        goes_on = 1.0 - t["terminated"][k][:, None]
        delta = t["reward"][k] + CONFIG.gamma * after * goes_on - t["value"][k]
        trace = delta + CONFIG.gamma * CONFIG.gae_lambda * goes_on * trace
        advantage[k] = trace
    return advantage


def _loss(p, t, carry, advantage):
    eps = CONFIG.clip_eps
    kept = advantage[t["active"]]
    policy, entropy, value_loss = [], [], []
    for e, a in np.ndindex(carry.shape[:2]):
        logits, values = _forward(p, t["vector"][:, e, a], t["reset"][:, e], carry[e, a])
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


def _gradient(p, *args):
    step, gradient = 1e-6, {}
    for name, values in p.items():
        gradient[name] = np.zeros_like(values)
        for place in np.ndindex(values.shape):
            sides = []
            for sign in (1, -1):
                moved = values.copy()
                moved[place] += sign * step
                sides.append(_loss(p | {name: moved}, *args))
            gradient[name][place] = (sides[0] - sides[1]) / (2 * step)
    return gradient


def _flat(params):
    leaves = jax.tree_util.tree_leaves_with_path(params)
    return {"/".join(k.key for k in path): np.asarray(x, np.float64) for path, x in leaves}


def test_update_equals_plain_numpy():
    learner = ippo.make(probes.Mortal(2), NetworkConfig(3, 3, 3, 2, "tanh"), CONFIG)
    state, _ = learner.collect(learner.init(jax.random.key(0)))
    state, batch = learner.collect(state)
    new_state, metrics = learner.update(state, batch)

    p = _flat(state.params)
    t = {k: np.asarray(v) for k, v in vars(batch.transition).items() if k != "observation"}
    t["vector"] = np.asarray(batch.transition.observation.vector)
    t["legal"] = np.asarray(batch.transition.observation.legal)
    assert not t["active"].all() and t["terminated"].any()
    advantage = _advantages(t, np.asarray(batch.last_value)).astype(np.float64)
    args = (t, np.asarray(batch.carry, np.float64), advantage)
    first = {k: np.zeros_like(v) for k, v in p.items()}
    second = {k: np.zeros_like(v) for k, v in p.items()}
    losses, norms = [], []
    for epoch in range(1, CONFIG.update_epochs + 1):
        losses.append(_loss(p, *args))
        gradient = _gradient(p, *args)
        norms.append(np.sqrt(sum(np.sum(g**2) for g in gradient.values())))
        assert norms[-1] > CONFIG.max_grad_norm, "clipping would go untested"
        for k, g in gradient.items():
            g = g * CONFIG.max_grad_norm / norms[-1]
            first[k] = 0.9 * first[k] + 0.1 * g
            second[k] = 0.999 * second[k] + 0.001 * g**2
            step = first[k] / (1 - 0.9**epoch)
            scale = np.sqrt(second[k] / (1 - 0.999**epoch)) + CONFIG.adam_eps
            p[k] = p[k] - CONFIG.lr * step / scale
    np.testing.assert_allclose(metrics["loss/total"], np.mean(losses), atol=1e-5)
    np.testing.assert_allclose(metrics["ppo/grad_norm"], np.mean(norms), rtol=1e-3)
    for name, values in _flat(new_state.params).items():
        np.testing.assert_allclose(values, p[name], atol=2e-4, err_msg=name)
