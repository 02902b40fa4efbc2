"""The actor and the centralised critic of the published MAPPO, and how they act."""

import dataclasses
import functools

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from marl.networks.actor_critic import RecurrentActor, RecurrentCritic
from marl.networks.factory import acting, first_params, unrolling
from marl.networks.sizes import CENTRALISED, CentralisedConfig
from marl.types import Policy, Sparse, Task


def join_team(features: Sparse | jax.Array, feature_size: int, order: np.ndarray):
    """Long vectors of all agents' features, one after another.

    Args:
        features: leaves (..., A, n).
        feature_size: length F of one agent's vector.
        order: (C, A) int, whose features follow one another in each of C long vectors.

    Returns:
        Features of length A * F, leaves (..., C, A * n).
    """

    def join(leaf):
        together = jnp.take(leaf, order, axis=-2)
        return together.reshape(together.shape[:-2] + (-1,))

    if not isinstance(features, Sparse):
        return join(features)
    # Rows are numbered within an agent's part of the long vector, whoever stands there.
    part = np.arange(order.shape[1])[:, None] * feature_size
    shape = features.rows.shape
    rows = jnp.take(features.rows, order, axis=-2) + part.astype(np.int32)
    rows = rows.reshape(shape[:-2] + (order.shape[0], -1))
    return Sparse(rows, join(features.weights), join(features.dense))


class ActorAndCritic(nn.Module):
    """Two networks that share nothing: an actor for every agent, and the team's critic."""

    actor: RecurrentActor
    critic: RecurrentCritic
    agent_size: int
    order: tuple[tuple[int, ...], ...]

    def __call__(self, carry, features, reset):
        """Args:
            carry: "actor" (..., A, H), "critic" (..., A, H), or (..., 1, H) where it is the same
                for all.
            features: leaves (T, ..., A, n).
            reset: (T, ..., A) bool.

        Returns:
            (carry, logits (T, ..., A, num_actions) not yet masked, values (T, ..., A)).
        """
        actor_carry, logits = self.actor(carry["actor"], features, reset)
        team = join_team(features, self.agent_size, np.array(self.order))
        critics = carry["critic"].shape[-2]
        critic_carry, value = self.critic(carry["critic"], team, reset[..., :critics])
        value = jnp.broadcast_to(value, reset.shape)
        return {"actor": actor_carry, "critic": critic_carry}, logits, value


def make_centralised_policy(config: CentralisedConfig, task: Task) -> Policy:
    """How a team acts whose critic sees everything. Parameters are {"actor": ..., "critic": ...}.

    The last axis before an observation's own axes must be the agents'.
    """
    agents, own = task.num_agents, config.critic_input
    order = np.arange(agents)[None]
    if own == "rolled":
        order = (order + np.arange(agents)[:, None]) % agents
    critics = 1 if own == "team" else agents
    sizes = dict(
        embedding_size=config.embedding_size,
        embedding_gain=config.embedding_gain,
        hidden_size=config.hidden_size,
        activation=config.activation,
    )
    columns = np.array(task.dense_columns, np.int64)
    long_columns = np.concatenate([columns + k * task.feature_size for k in range(agents)])
    network = ActorAndCritic(
        actor=RecurrentActor(
            feature_size=task.feature_size,
            dense_columns=task.dense_columns,
            num_actions=task.num_actions,
            actor_size=config.actor_size,
            **sizes,
        ),
        critic=RecurrentCritic(
            feature_size=agents * task.feature_size,
            dense_columns=tuple(long_columns.tolist()),
            critic_size=config.critic_size,
            num_identities=agents if own == "agent_id" else 0,
            **sizes,
        ),
        agent_size=task.feature_size,
        order=tuple(map(tuple, order.tolist())),
    )

    def init_carry(batch_shape):
        *worlds, size = *batch_shape[:-1], config.hidden_size
        return {
            "actor": jnp.zeros((*batch_shape, size), jnp.float32),
            "critic": jnp.zeros((*worlds, critics, size), jnp.float32),
        }

    @unrolling
    def unroll(params, carry, observation, reset):
        features = task.features(observation)
        return network.apply({"params": params}, carry, features, reset)

    init_params = functools.partial(first_params, network, init_carry, task, (1, agents))
    recipe = {"kind": CENTRALISED, **dataclasses.asdict(config)}
    return Policy(init_params, init_carry, acting(unroll), unroll, recipe)
