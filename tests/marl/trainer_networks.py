"""The networks of the benchmark's trainers in plain numpy, in any size, under the names that those
programs save them by."""

import numpy as np
import orbax.checkpoint as ocp

# Small ones, no two alike.
SMALL = dict(embedding=5, hidden=6, actor=7, critic=4, identity=3, generator=8)
PUBLISHED = dict(embedding=128, hidden=512, actor=512, critic=128, identity=64, generator=64)
_GRU, _LSTM = "GRUCell_1", "OptimizedLSTMCell_0"


def random_leaf(seed=0):
    generator = np.random.default_rng(seed)

    def leaf(*shape):
        # wide vectors would saturate what follows
        scale = 0.7 / np.sqrt(shape[0]) if len(shape) > 1 else 0.5
        return (scale * generator.normal(size=shape)).astype(np.float32)

    return leaf


def zero_leaf(*shape):
    """Takes no memory."""
    return np.broadcast_to(np.float32(0), shape)


def tree_of(learner, leaf, sizes, *, features, agents, actions):
    """The tree of a checkpoint, as it is restored."""
    return _TREES[learner](leaf, sizes, features, agents, actions)


def _dense(leaf, inputs, outputs):
    return {"kernel": leaf(inputs, outputs), "bias": leaf(outputs)}


def _gru(leaf, inputs, size):
    cell = {f"i{gate}": _dense(leaf, inputs, size) for gate in "rzn"}
    cell |= {f"h{gate}": {"kernel": leaf(size, size)} for gate in "rz"}
    return {_GRU: cell | {"hn": _dense(leaf, size, size)}}


def _recurrent(leaf, sizes, features, heads):
    layers = [_dense(leaf, features, sizes["embedding"])]
    for outputs, last in heads:
        layers += [_dense(leaf, sizes["hidden"], outputs), _dense(leaf, outputs, last)]
    tree = {f"Dense_{i}": layer for i, layer in enumerate(layers)}
    return tree | {"ScannedRNN_0": _gru(leaf, sizes["embedding"], sizes["hidden"])}


def _train_state(params):
    """With something of an optimiser beside it."""
    moments = {"count": np.int32(3), "mu": params}
    return {"params": params, "opt_state": [None, [moments, None]], "step": np.int32(3)}


def _ippo(leaf, sizes, features, agents, actions):
    heads = ((sizes["actor"], actions), (sizes["critic"], 1))
    return _train_state({"params": _recurrent(leaf, sizes, features, heads)})


def _ippo_unshared(leaf, sizes, features, agents, actions):
    def stacked(*shape):
        return (
            np.stack([leaf(*shape) for _ in range(agents)])
            if leaf is not zero_leaf
            else leaf(agents, *shape)
        )

    return _ippo(stacked, sizes, features, agents, actions)


def _generators(leaf, sizes, layers):
    tree = []
    for inputs, outputs in layers:
        for size in (inputs * outputs, outputs):
            tree += [
                _dense(leaf, sizes["identity"], sizes["generator"]),
                _dense(leaf, sizes["generator"], size),
            ]
    return {f"Dense_{i}": layer for i, layer in enumerate(tree)}


def _hypermarl(leaf, sizes, features, agents, actions):
    hidden, actor, critic = sizes["hidden"], sizes["actor"], sizes["critic"]
    params = _recurrent(leaf, sizes, features, ())
    params["agent_embeddings"] = leaf(agents, sizes["identity"])
    params["actor_hypernet"] = _generators(leaf, sizes, [(hidden, actor), (actor, actions)])
    params["critic_hypernet"] = _generators(leaf, sizes, [(hidden, critic), (critic, 1)])
    return _train_state({"params": params})


def _mappo(leaf, sizes, features, agents, actions):
    actor = _recurrent(leaf, sizes, features, [(sizes["actor"], actions)])
    critic = _recurrent(leaf, sizes, agents * features, [(sizes["critic"], 1)])
    return {
        "actor": _train_state({"params": actor}), "critic": _train_state({"params": critic})
    }  # fmt: skip


def _pqn_vdn(leaf, sizes, features, agents, actions):
    seen, first, hidden = features + agents, sizes["embedding"], sizes["hidden"]
    cell = {f"i{gate}": {"kernel": leaf(first, hidden)} for gate in "ifgo"}
    cell |= {f"h{gate}": _dense(leaf, hidden, hidden) for gate in "ifgo"}
    params = {
        "BatchNorm_0": {
            "scale": np.broadcast_to(np.float32(1), seen), "bias": zero_leaf(seen),
        },
        "Dense_0": _dense(leaf, seen, first),
        "LayerNorm_0": {"scale": leaf(first), "bias": leaf(first)},
        "ScannedRNN_0": {_LSTM: cell},
        "Dense_1": _dense(leaf, hidden, actions),
    }  # fmt: skip
    statistics = {"BatchNorm_0": {"mean": leaf(seen), "var": leaf(seen)}}
    return _train_state(params) | {"batch_stats": statistics, "timesteps": np.int32(9)}


_TREES = {
    "ippo": _ippo,
    "ippo_unshared": _ippo_unshared,
    "hypermarl": _hypermarl,
    "mappo": _mappo,
    "pqn_vdn": _pqn_vdn,
}


def save(folder, tree):
    """As the trainers do."""
    with ocp.PyTreeCheckpointer() as writer:
        writer.save(folder.absolute() / "checkpoint", tree)
    return folder


def forward(learner, tree, vectors, reset):
    """Logits, or Q values, and values, or None, of plain numpy.

    Args:
        tree: of `tree_of`.
        vectors: (T, A, F), of one world.
        reset: (T,) bool.
    """
    return _FORWARDS[learner](tree, vectors, reset)


def _apply(layer, x):
    return x @ layer["kernel"] + layer["bias"]


def _sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def _relu(x):
    return np.maximum(x, 0.0)


def _scan_gru(params, vectors, reset, activation):
    """Hidden states (T, A, H)."""
    cell = params["ScannedRNN_0"][_GRU]
    h = np.zeros((vectors.shape[1], cell["hr"]["kernel"].shape[0]))
    states = []
    for x, starts in zip(activation(_apply(params["Dense_0"], vectors)), reset, strict=True):
        h = h * (not starts)
        r = _sigmoid(_apply(cell["ir"], x) + h @ cell["hr"]["kernel"])
        z = _sigmoid(_apply(cell["iz"], x) + h @ cell["hz"]["kernel"])
        n = np.tanh(_apply(cell["in"], x) + r * _apply(cell["hn"], h))
        h = (1.0 - z) * n + z * h
        states.append(h)
    return np.stack(states)


def _head(params, first, h, activation):
    hidden = activation(_apply(params[f"Dense_{first}"], h))
    return _apply(params[f"Dense_{first + 1}"], hidden)


def _forward_ippo(tree, vectors, reset):
    params = tree["params"]["params"]
    h = _scan_gru(params, vectors, reset, np.tanh)
    return _head(params, 1, h, np.tanh), _head(params, 3, h, np.tanh)[..., 0]


def _sliced(tree, place):
    if isinstance(tree, dict):
        return {name: _sliced(branch, place) for name, branch in tree.items()}
    return tree[place]


def _forward_unshared(tree, vectors, reset):
    of_each = [
        _forward_ippo({"params": _sliced(tree["params"], a)}, vectors[:, a : a + 1], reset)
        for a in range(vectors.shape[1])
    ]
    return tuple(np.concatenate(parts, axis=1) for parts in zip(*of_each, strict=True))


def _forward_hypermarl(tree, vectors, reset):
    params = tree["params"]["params"]
    h = _scan_gru(params, vectors, reset, _relu)

    def head(name):
        outputs = []
        for agent, identity in enumerate(params["agent_embeddings"]):
            x = h[:, agent]
            for layer in (0, 1):
                made = [_head(params[name], 4 * layer + i, identity, _relu) for i in (0, 2)]
                x = x @ made[0].reshape(x.shape[-1], -1) + made[1]
                x = _relu(x) if layer == 0 else x
            outputs.append(x)
        return np.stack(outputs, axis=1)

    return head("actor_hypernet"), head("critic_hypernet")[..., 0]


def _forward_mappo(tree, vectors, reset):
    steps, agents, _ = vectors.shape
    actor, critic = (tree[name]["params"]["params"] for name in ("actor", "critic"))
    logits = _head(actor, 1, _scan_gru(actor, vectors, reset, np.tanh), np.tanh)
    everything = np.repeat(vectors.reshape(steps, 1, -1), agents, axis=1)
    values = _head(critic, 1, _scan_gru(critic, everything, reset, np.tanh), np.tanh)
    return logits, values[..., 0]


def _forward_pqn_vdn(tree, vectors, reset):
    params = tree["params"]
    cell, agents = params["ScannedRNN_0"][_LSTM], vectors.shape[1]
    ids = np.broadcast_to(np.eye(agents), (*vectors.shape[:2], agents))
    x = _apply(params["Dense_0"], np.concatenate([vectors, ids], axis=-1))
    x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-6)
    x = _relu(x * params["LayerNorm_0"]["scale"] + params["LayerNorm_0"]["bias"])
    c = h = np.zeros((agents, cell["hi"]["bias"].shape[0]))
    states = []
    for x_t, starts in zip(x, reset, strict=True):
        c, h = c * (not starts), h * (not starts)
        i, f, g, o = (x_t @ cell[f"i{n}"]["kernel"] + _apply(cell[f"h{n}"], h) for n in "ifgo")
        c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
        h = _sigmoid(o) * np.tanh(c)
        states.append(h)
    return _apply(params["Dense_1"], np.stack(states)), None


_FORWARDS = {
    "ippo": _forward_ippo,
    "ippo_unshared": _forward_unshared,
    "hypermarl": _forward_hypermarl,
    "mappo": _forward_mappo,
    "pqn_vdn": _forward_pqn_vdn,
}
