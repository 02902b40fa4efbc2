"""The network of the published HyperMARL (arXiv 2412.04233), and how it acts.

Agents share what perceives. The heads of each are generated from an embedding of it that is learnt,
so that alike agents can act alike, and others need not pull at the same weights.
"""

import dataclasses
import functools

import flax.linen as nn
import jax
import jax.numpy as jnp

from marl.networks.actor_critic import perceive
from marl.networks.factory import acting, first_params, unrolling
from marl.networks.forward import ACTIVATIONS, by_agent
from marl.networks.layers import dense, orthogonal
from marl.networks.sizes import HYPER, HyperConfig
from marl.types import Policy, Sparse, Task

_GAIN = 2.0**0.5  # of embeddings, of the generators' hidden layers, of generated hidden layers


def orthogonal_rows(gain: float, rows: int, columns: int):
    """Initialises a kernel (n, rows * columns) of which each row is a layer's orthogonal kernel."""
    one = orthogonal(gain)

    def initialise(key, shape, dtype=jnp.float32):
        keys = jax.random.split(key, shape[0])
        return jax.vmap(lambda k: one(k, (rows, columns), dtype))(keys).reshape(shape)

    return initialise


class GeneratedLayer(nn.Module):
    """A Dense layer for each agent, its weights and biases generated from what describes the agent:
    two networks of one hidden layer."""

    input_size: int
    output_size: int
    generator_size: int
    gain: float

    @nn.compact
    def generate(self, identities: jax.Array) -> tuple[jax.Array, jax.Array]:
        """(A, D) to kernels (A, input_size, output_size) and biases (A, output_size)."""

        def hidden(name):
            return nn.relu(dense(self.generator_size, _GAIN, name)(identities))

        shape = (self.input_size, self.output_size)
        kernel = nn.Dense(
            self.input_size * self.output_size,
            kernel_init=orthogonal_rows(self.gain, *shape),
            name="kernel",
        )(hidden("kernel_hidden"))
        zeros = nn.initializers.zeros
        bias = nn.Dense(self.output_size, kernel_init=zeros, name="bias")(hidden("bias_hidden"))
        return kernel.reshape((-1, *shape)), bias

    def __call__(self, x: jax.Array, identities: jax.Array) -> jax.Array:
        """(..., A, input_size) to (..., A, output_size), each agent by its own weights."""
        kernel, bias = self.generate(identities)
        return by_agent(kernel, bias, x)


class HyperActorCritic(nn.Module):
    """Embedding and GRU that all agents share; an actor and a critic generated for each."""

    num_agents: int
    feature_size: int
    dense_columns: tuple[int, ...]
    num_actions: int
    embedding_size: int
    embedding_gain: float
    hidden_size: int
    actor_size: int
    critic_size: int
    activation: str
    identity_size: int
    generator_size: int

    @nn.compact
    def __call__(
        self, carry: jax.Array, features: Sparse | jax.Array, reset: jax.Array
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        """As `RecurrentActorCritic`; the last axis of the batch is the agents'."""
        identities = self.param(
            "identities",
            orthogonal(_GAIN),
            (self.num_agents, self.identity_size),
        )
        carry, x = perceive(self, carry, features, reset)

        def layer(name, inputs, outputs, gain):
            generated = GeneratedLayer(inputs, outputs, self.generator_size, gain, name=name)
            return lambda h: generated(h, identities)

        act = ACTIVATIONS[self.activation]
        h = act(layer("actor_hidden", self.hidden_size, self.actor_size, _GAIN)(x))
        logits = layer("actor_logits", self.actor_size, self.num_actions, 0.01)(h)
        h = act(layer("critic_hidden", self.hidden_size, self.critic_size, _GAIN)(x))
        value = layer("critic_value", self.critic_size, 1, 1.0)(h)
        return carry, logits, value[..., 0]


def make_hyper_policy(config: HyperConfig, task: Task) -> Policy:
    """How a team with generated heads acts.

    The last axis before an observation's own axes must be the agents'.
    """
    network = HyperActorCritic(
        num_agents=task.num_agents,
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

    shape = (1, task.num_agents)
    init_params = functools.partial(first_params, network, init_carry, task, shape)
    recipe = {"kind": HYPER, **dataclasses.asdict(config)}
    return Policy(init_params, init_carry, acting(unroll), unroll, recipe)
