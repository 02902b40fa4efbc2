"""From a configuration to a policy: the network that all agents share, and how policies act."""

import dataclasses
import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp

from marl.networks.actor_critic import RecurrentActorCritic
from marl.networks.layers import ACTIVATIONS
from marl.ops import masked_categorical
from marl.options import whole_in_range
from marl.sharding import by_worlds
from marl.types import Policy, PyTree, Sparse, Task

# Units of a layer at most: eight times the published ones. The orthogonal start of twice as many
# takes a quarter of an hour.
MAX_SIZE = 2**12


@dataclasses.dataclass(frozen=True)
class NetworkConfig:
    """Sizes of the recurrent actor-critic. Defaults are the published IPPO network.

    Attributes:
        embedding_size: units of the first layer.
        embedding_gain: scale of its weights at the start. The published vector is nearly empty
            (about 150 of 9,730 numbers are not 0), so that the published gain leaves its units
            near 0.17 and what is in view hardly moves the actor at first.
        hidden_size: units of the recurrent core.
        actor_size, critic_size: units of the heads' hidden layers.
        activation: "tanh" or "relu".
    """

    embedding_size: int = 128
    hidden_size: int = 512
    actor_size: int = 512
    critic_size: int = 128
    activation: str = "tanh"
    embedding_gain: float = 2.0**0.5

    def __post_init__(self):
        for field in ("embedding_size", "hidden_size", "actor_size", "critic_size"):
            whole_in_range(f"network.{field}", getattr(self, field), 1, MAX_SIZE)
        if not self.embedding_gain > 0.0:
            raise ValueError(f"network.embedding_gain={self.embedding_gain!r} must be above 0")
        if self.activation not in ACTIVATIONS:
            raise ValueError(
                f"network.activation={self.activation!r} is unknown; "
                f"choose one of {', '.join(ACTIVATIONS)}"
            )


PUBLISHED = NetworkConfig()
CPU = NetworkConfig(
    embedding_size=64,
    hidden_size=128,
    actor_size=128,
    critic_size=64,
    activation="relu",
    embedding_gain=8.5,
)


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


def with_agents(reset: jax.Array, legal: jax.Array) -> jax.Array:
    """A flag an environment (E,), or an agent (E, A), with as many axes as the agents have."""
    return reset if reset.ndim == legal.ndim - 1 else reset[..., None]
