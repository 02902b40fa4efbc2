"""From a configuration to a policy: the network that all agents share, and how policies act."""

import dataclasses
import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp

from marl.networks.actor_critic import RecurrentActorCritic
from marl.networks.forward import with_agents
from marl.networks.sizes import NetworkConfig
from marl.ops import masked_categorical
from marl.sharding import by_worlds
from marl.types import Policy, PyTree, Sparse, Task


def make_policy(config: NetworkConfig, task: Task) -> Policy:
    """How a network of this configuration acts in this task, one network for all agents."""
    network = RecurrentActorCritic(
        feature_size=task.feature_size,
        dense_columns=task.dense_columns,
        num_actions=task.num_actions,
        **dataclasses.asdict(config),
    )

    def init_carry(batch_shape):
        return jnp.zeros(tuple(batch_shape) + (config.hidden_size,), jnp.float32)

    @unrolling
    def unroll(params, carry, observation, reset):
        features = task.features(observation)
        return network.apply({"params": params}, carry, features, reset)

    init_params = functools.partial(first_params, network, init_carry, task, (1,))
    recipe = dataclasses.asdict(config)
    return Policy(init_params, init_carry, acting(unroll), unroll, recipe)


def first_params(network, init_carry, task: Task, batch_shape: tuple[int, ...], key) -> PyTree:
    """Parameters before training. What goes in matters by its shape alone, and the parameters do
    not depend on batch sizes."""
    if jax.config.jax_enable_x64:
        raise ValueError(
            "jax_enable_x64=True: networks compute in single precision and are made without "
            "it; unset JAX_ENABLE_X64"
        )
    shape = (1,) + batch_shape
    row, weight = jnp.zeros(shape + (1,), jnp.int32), jnp.zeros(shape + (1,))
    features = Sparse(row, weight, jnp.zeros(shape + (len(task.dense_columns),)))
    start = init_carry(batch_shape)
    return network.init(key, start, features, jnp.zeros(shape, bool))["params"]


# For the `unroll` of a policy: many devices unroll their own worlds. Left to the partitioner, the
# loops over rows in `embedding` would be computed by all for all, or sum gradients in every turn.
unrolling = functools.partial(by_worlds, in_axes=(None, 0, 1, 1), out_axes=(0, 1, 1))


def acting(unroll: Callable) -> Callable:
    """`Policy.act` of a policy with that `Policy.unroll`."""

    def act(params, carry, observation, reset, key, greedy=False):
        legal = observation.legal
        reset = jnp.broadcast_to(with_agents(reset, legal), legal.shape[:-1])
        one_step = jax.tree.map(lambda leaf: leaf[None], observation)
        carry, logits, value = unroll(params, carry, one_step, reset[None])
        logits = logits[0]
        if greedy:
            actions = masked_categorical.mode(logits, legal)
        else:
            actions = masked_categorical.sample(key, logits, legal)
        return carry, actions, masked_categorical.log_prob(logits, legal, actions), value[0]

    return act
