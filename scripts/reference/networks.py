"""What the benchmark's own networks make of given observations, with random parameters that its own
code saves. For `record_networks.py`."""

import importlib
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import optax
from alem.alem_coop.alem_state import StaticEnvParams
from alem.alem_env import make_alem_env_from_name
from flax.training.train_state import TrainState


class Recorder:
    """Makes networks of the sizes in the trainers' own configuration, one learner after another.

    Args:
        baselines: folder of the trainers.
        observations: (T, E, A, F) float32.
        reset: (T, E) bool, episodes begin with these observations.
        channels: message channels of the world that is observed.
    """

    def __init__(self, baselines, observations, reset, channels):
        sys.path.insert(0, str(baselines))
        self.baselines, self.channels = Path(baselines), channels
        self.observations, self.reset = jnp.asarray(observations), jnp.asarray(reset)
        self.steps, self.worlds, self.agents, _ = observations.shape
        self.env = make_alem_env_from_name(
            "Alem-Coop-Symbolic", static_env_params=StaticEnvParams(num_comm_channels=channels)
        )
        self.actions = self.env.action_space(self.env.agents[0]).n

    def record(self, learner, folder):
        """Leaves checkpoint/, config.json and outputs.npz in a folder.

        Outputs are log-probabilities or Q values of all actions (T, E, A, n), and values (T, E, A)
        where there is a critic.
        """
        from omegaconf import OmegaConf

        trainer, file, make = _LEARNERS[learner]
        module = importlib.import_module(trainer)
        options = OmegaConf.to_container(OmegaConf.load(self.baselines / "config" / file))
        options["NUM_COMM_CHANNELS"] = self.channels
        state, outputs = make(self, module, options)
        folder.mkdir(parents=True)
        _save(jax.tree.map(jnp.asarray, state), folder)
        (folder / "config.json").write_text(json.dumps({"config": options}))
        np.savez(folder / "outputs.npz", **{n: np.asarray(v) for n, v in outputs.items()})

    def actors(self, of_world):
        """(T, E, ...) or (T, E, A, ...) as the trainers have it: (T, A * E, ...), agents first."""
        array = jnp.asarray(of_world)
        if array.ndim == 2:
            array = jnp.repeat(array[:, :, None], self.agents, 2)
        return jnp.swapaxes(array, 1, 2).reshape(self.steps, -1, *array.shape[3:])

    def worlds_of(self, actors):
        """Back to (T, E, A, ...)."""
        array = actors.reshape(self.steps, self.agents, self.worlds, *actors.shape[2:])
        return jnp.swapaxes(array, 1, 2)

    def each_world(self, function):
        """A function of {agent: (F,)} over all steps and worlds."""
        agents = self.env.agents

        def of_one(observation):
            return function({agent: observation[i] for i, agent in enumerate(agents)})

        return jax.vmap(jax.vmap(of_one))(self.observations)

    def act(self, module, network, params, seen, options):
        """Outputs of a network for all actors."""
        hidden = module.ScannedRNN.initialize_carry(
            self.agents * self.worlds, options["GRU_HIDDEN_DIM"]
        )
        _, *outputs = network.apply(params, hidden, (seen, self.actors(self.reset)))
        return [self.worlds_of(getattr(out, "logits", out)) for out in outputs]


def _first(module, network, length, options, key=0):
    """Parameters as the trainers make them, then shaken."""
    hidden = module.ScannedRNN.initialize_carry(1, options["GRU_HIDDEN_DIM"])
    inputs = jnp.zeros((1, 1, length)), jnp.zeros((1, 1))
    return _shaken(network.init(jax.random.PRNGKey(key), hidden, inputs))


def _ippo(recorder, module, options):
    network = module.ActorCriticRNN(recorder.actions, config=options)
    seen = recorder.actors(recorder.observations)
    params = _first(module, network, seen.shape[-1], options)
    logits, values = recorder.act(module, network, params, seen, options)
    return _train_state(network, params), dict(log_probs=logits, values=values)


def _ippo_unshared(recorder, module, options):
    network = module.ActorCriticRNN(recorder.actions, config=options)
    length = recorder.observations.shape[-1]
    each = [_first(module, network, length, options, key) for key in range(recorder.agents)]
    params = jax.tree.map(lambda *leaves: jnp.stack(leaves), *each)
    hidden = module.ScannedRNN.initialize_carry(recorder.worlds, options["GRU_HIDDEN_DIM"])

    def of_agent(params, seen):
        _, pi, value = network.apply(params, hidden, (seen, recorder.reset))
        return pi.logits, value

    logits, values = jax.vmap(of_agent, (0, 2), 2)(params, recorder.observations)
    return _train_state(network, params), dict(log_probs=logits, values=values)


def _hypermarl(recorder, module, options):
    wrapped = importlib.import_module("utils").AppendAgentIDWrapper(recorder.env)
    seen = recorder.each_world(lambda obs: jnp.stack(list(wrapped._append_ids(dict(obs)).values())))
    seen = recorder.actors(seen)
    network = module.ActorCriticRNN(
        recorder.actions, config=options, num_agents=recorder.agents,
        observation_dim=seen.shape[-1],
    )  # fmt: skip
    params = _first(module, network, seen.shape[-1], options)
    logits, values = recorder.act(module, network, params, seen, options)
    return _train_state(network, params), dict(log_probs=logits, values=values)


def _mappo(recorder, module, options):
    actor, critic = module.ActorRNN(recorder.actions, config=options), module.CriticRNN(options)
    seen = recorder.actors(recorder.observations)
    world = module.WorldStateWrapper(recorder.env)
    seen_by_critic = recorder.actors(recorder.each_world(world.world_state))
    actor_params = _first(module, actor, seen.shape[-1], options)
    critic_params = _first(module, critic, seen_by_critic.shape[-1], options)
    (logits,) = recorder.act(module, actor, actor_params, seen, options)
    (values,) = recorder.act(module, critic, critic_params, seen_by_critic, options)
    state = dict(
        actor=_train_state(actor, actor_params), critic=_train_state(critic, critic_params)
    )
    return state, dict(log_probs=logits, values=values)


def _pqn_vdn(recorder, module, options):
    size = options["HIDDEN_SIZE"]
    network = module.QNetwork(
        recorder.actions, hidden_size=size, num_layers=options["NUM_LAYERS"],
        norm_type=options["NORM_TYPE"], norm_input=options["NORM_INPUT"],
    )  # fmt: skip
    manager = module.CTRolloutManager(module.LogWrapper(recorder.env), batch_size=1)
    prepare = jax.vmap(manager._preprocess_obs)  # over agents
    ids = jnp.eye(recorder.agents)
    seen = jax.vmap(jax.vmap(lambda obs: prepare(obs, ids)))(recorder.observations)
    start = module.ScannedRNN.initialize_carry(size, 1)
    variables = network.init(
        jax.random.PRNGKey(0), start, jnp.zeros((1, 1, seen.shape[-1])), jnp.zeros((1, 1))
    )
    # What is computed of observations and thrown away: its scale gets no gradient, but its
    # statistics change.
    unused = variables["params"]["BatchNorm_0"]
    params = _shaken(variables["params"]) | {"BatchNorm_0": unused}
    statistics = jax.tree.map(lambda leaf: leaf + 0.5, variables["batch_stats"])
    variables = {"params": params, "batch_stats": statistics}
    hidden = module.ScannedRNN.initialize_carry(size, recorder.agents, recorder.worlds)
    _, q_values = jax.vmap(network.apply, in_axes=(None, 0, 2, None), out_axes=(0, 2))(
        variables, hidden, seen, recorder.reset
    )
    state = module.CustomTrainState.create(
        apply_fn=network.apply, params=params, tx=_optimiser(), batch_stats=statistics
    )
    return state, dict(q_values=q_values)


# Learner -> (its trainer, options of that, what is recorded).
_LEARNERS = {
    "ippo": ("ippo_rnn", "ippo_rnn.yaml", _ippo),
    "ippo_unshared": ("ippo_rnn_nops", "ippo_rnn_nops.yaml", _ippo_unshared),
    "hypermarl": ("ippo_hypermarl_rnn", "hypermarl_rnn.yaml", _hypermarl),
    "mappo": ("mappo_rnn", "mappo_rnn.yaml", _mappo),
    "pqn_vdn": ("pqn_vdn_rnn", "pqn_vdn_rnn.yaml", _pqn_vdn),
}


def _shaken(params):
    """Biases that are 0 and last layers that are nearly so would hide where they went."""
    leaves, tree = jax.tree.flatten(params)
    keys = jax.random.split(jax.random.PRNGKey(1), len(leaves))
    return tree.unflatten(
        leaf + 0.2 * jax.random.normal(key, leaf.shape) / np.sqrt(leaf.shape[0])
        for key, leaf in zip(keys, leaves, strict=True)
    )


def _optimiser():
    return optax.chain(optax.clip_by_global_norm(1.0), optax.adam(2e-4, eps=1e-5))


def _train_state(network, params):
    return TrainState.create(apply_fn=network.apply, params=params, tx=_optimiser())


def _save(state, folder):
    """By the trainers' own function; what it sends to wandb goes nowhere."""
    utils = importlib.import_module("utils")
    utils.wandb = SimpleNamespace(
        run=SimpleNamespace(dir=str(folder.absolute()), name="recorded"),
        Artifact=lambda **_: SimpleNamespace(add_dir=lambda _: None),
        log_artifact=lambda _: None,
    )
    utils.save_checkpoint(state, {})
