"""The recurrent Q-network of the published PQN-VDN, and how it acts."""

import dataclasses
import functools

import flax.linen as nn
import jax
import jax.numpy as jnp

from marl.networks.embedding import Embedding
from marl.networks.factory import first_params, unrolling
from marl.networks.forward import with_agent_id, with_agents
from marl.networks.recurrent import LSTM
from marl.networks.sizes import RECURRENT_Q, QNetworkConfig
from marl.ops import epsilon_greedy, masked_categorical
from marl.ops.q_lambda import greedy_value
from marl.types import Policy, Sparse, Task


class RecurrentQ(nn.Module):
    """Embedding, LayerNorm, relu, LSTM, and on its hidden state the worth of each action."""

    feature_size: int
    dense_columns: tuple[int, ...]
    num_actions: int
    embedding_size: int
    hidden_size: int

    @nn.compact
    def __call__(
        self, carry: tuple[jax.Array, jax.Array], features: Sparse | jax.Array, reset: jax.Array
    ) -> tuple[tuple[jax.Array, jax.Array], jax.Array]:
        """Args:
            carry: cell and hidden state, (..., H) each.
            features: leaves (T, ..., n).
            reset: (T, ...) bool.

        Returns:
            (carry, Q values (T, ..., num_actions) of all actions, also illegal ones).
        """
        x = Embedding(
            self.feature_size,
            self.embedding_size,
            self.dense_columns,
            gain=1.0,
            initialiser=_lecun_normal,
            name="embedding",
        )(features)
        x = nn.relu(nn.LayerNorm(name="norm")(x))
        carry, x = LSTM(self.hidden_size, name="core")(carry, x, reset)
        return carry, nn.Dense(self.num_actions, name="q_values")(x)


def _lecun_normal(gain: float):
    return nn.initializers.variance_scaling(gain**2, "fan_in", "truncated_normal")


def make_q_policy(
    config: QNetworkConfig, task: Task, epsilon: float, blank_first: bool = False
) -> Policy:
    """How a Q-network acts in this task, one network that tells the agents apart by their number.

    The last axis before an observation's own axes must be the agents'. `act` takes the best legal
    action, or, where not greedy, a random legal one with probability `epsilon`, which callers may
    replace by a keyword of that name. `unroll` returns Q values in the place of logits, and as
    value the largest legal one.

    Args:
        config: sizes.
        task: what to act in.
        epsilon: exploration of sampled actions.
        blank_first: the first observation of each episode is all zeros, as the published trainer
            (but not its evaluation) has it.
    """
    network = RecurrentQ(
        feature_size=task.feature_size + task.num_agents,
        dense_columns=task.dense_columns,
        num_actions=task.num_actions,
        **dataclasses.asdict(config),
    )

    def init_carry(batch_shape):
        zeros = jnp.zeros(tuple(batch_shape) + (config.hidden_size,), jnp.float32)
        return zeros, zeros

    @unrolling
    def unroll(params, carry, observation, reset):
        features = with_agent_id(task.features(observation), task.feature_size)
        if blank_first:
            features = _blank(features, reset)
        carry, q_values = network.apply({"params": params}, carry, features, reset)
        return carry, q_values, greedy_value(q_values, observation.legal)

    def act(params, carry, observation, reset, key, greedy=False, epsilon=epsilon):
        legal = observation.legal
        reset = jnp.broadcast_to(with_agents(reset, legal), legal.shape[:-1])
        one_step = jax.tree.map(lambda leaf: leaf[None], observation)
        carry, q_values, value = unroll(params, carry, one_step, reset[None])
        q_values = q_values[0]
        if greedy:
            actions = masked_categorical.mode(q_values, legal)
        else:
            actions = epsilon_greedy.sample(key, q_values, legal, epsilon)
        log_prob = epsilon_greedy.log_prob(q_values, legal, actions, epsilon)
        return carry, actions, log_prob, value[0]

    init_params = functools.partial(first_params, network, init_carry, task, (1,))
    recipe = {"kind": RECURRENT_Q, **dataclasses.asdict(config), "epsilon": epsilon}
    return Policy(init_params, init_carry, act, unroll, recipe)


def _blank(features: Sparse | jax.Array, where: jax.Array) -> Sparse | jax.Array:
    """Features of which nothing is left where the flag (...) is set."""
    if isinstance(features, Sparse):
        weights, dense = _blank(features.weights, where), _blank(features.dense, where)
        return Sparse(features.rows, weights, dense)
    return jnp.where(where[..., None], 0.0, features)
