"""How exported policies act: from the recipe on their card and their weights, by jax alone.

The same functions as those of `marl.networks.recipes`, without what only learning needs: critics,
and how parameters start.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from marl.networks import forward, sizes
from marl.ops import epsilon_greedy, masked_categorical
from marl.types import PyTree, Task

_LAYER_NORM_EPSILON = 1e-6


class ExportedTeam(NamedTuple):
    """As `marl.types.Policy`, but for learning.

    Attributes:
        init_carry: (batch_shape, agents included) -> recurrent state of zeros.
        preferences: (params, carry (..., A, H), features (T, ..., A, n), reset (T, ..., A)) ->
            (carry, logits, or Q values, (T, ..., A, num_actions) not masked).
        act: (params, carry, observation, reset, key, greedy=False) -> (carry, actions (E, A)
            int32), as `Policy.act`.
    """

    init_carry: Callable[[tuple[int, ...]], PyTree]
    preferences: Callable[..., tuple[PyTree, jax.Array]]
    act: Callable[..., tuple[PyTree, jax.Array]]


def _perceive(params, carry, features, reset, recipe, columns):
    """Embedding and GRU: (carry, hidden states (T, ..., H))."""
    x = forward.embed(params["embedding"], features, columns)
    return forward.gru(params["core"], carry, forward.ACTIVATIONS[recipe.activation](x), reset)


def _actor(params, carry, features, reset, recipe, columns):
    carry, x = _perceive(params, carry, features, reset, recipe, columns)
    head = params["actor"]
    x = forward.ACTIVATIONS[recipe.activation](forward.dense(head["hidden"], x))
    return carry, forward.dense(head["logits"], x)


def _unshared_actors(params, carry, features, reset, recipe, columns):
    axis = reset.ndim - 1  # the agents', with time; the carry has no time

    def one(*args):
        return _actor(*args, recipe, columns)

    agents = jax.vmap(one, in_axes=(0, axis - 1, axis, axis), out_axes=(axis - 1, axis))
    return agents(params, carry, features, reset)


def _actor_of_centralised(params, *args):
    return _actor(params["actor"], *args)


def _generated_actors(params, carry, features, reset, recipe, columns):
    carry, x = _perceive(params, carry, features, reset, recipe, columns)

    def layer(name, x):
        kernel, bias = forward.generate(params[name], params["identities"])
        return forward.by_agent(kernel.reshape(*bias.shape[:1], x.shape[-1], -1), bias, x)

    x = forward.ACTIVATIONS[recipe.activation](layer("actor_hidden", x))
    return carry, layer("actor_logits", x)


def _q_values(params, carry, features, reset, recipe, columns):
    size = params["embedding"]["kernel"].shape[0] - reset.shape[-1]
    features = forward.with_agent_id(features, size)
    x = forward.embed(params["embedding"], features, columns)
    x = jax.nn.relu(_layer_norm(params["norm"], x))
    carry, x = forward.lstm(params["core"], carry, x, reset)
    return carry, forward.dense(params["q_values"], x)


def _layer_norm(params: Mapping, x: jax.Array) -> jax.Array:
    """As flax's LayerNorm: the variance from the mean of squares."""
    mean = jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean(lax.square(x), axis=-1, keepdims=True) - lax.square(mean)
    scale = lax.rsqrt(jnp.maximum(0.0, variance) + _LAYER_NORM_EPSILON) * params["scale"]
    return (x - mean) * scale + params["bias"]


class _Kind(NamedTuple):
    sizes: type
    preferences: Callable
    states: int = 1  # of the recurrent core


_KINDS = {
    sizes.ACTOR_CRITIC: _Kind(sizes.NetworkConfig, _actor),
    sizes.UNSHARED: _Kind(sizes.NetworkConfig, _unshared_actors),
    sizes.CENTRALISED: _Kind(sizes.CentralisedConfig, _actor_of_centralised),
    sizes.HYPER: _Kind(sizes.HyperConfig, _generated_actors),
    sizes.RECURRENT_Q: _Kind(sizes.QNetworkConfig, _q_values, states=2),
}


def exported_team(recipe: Mapping, task: Task) -> ExportedTeam:
    """The team of that recipe, in that task.

    Raises:
        ValueError, TypeError: the recipe is of an unknown kind, or lacks or has too many entries.
    """
    entries = dict(recipe)
    name = entries.pop("kind", sizes.ACTOR_CRITIC)
    if name not in _KINDS:
        raise ValueError(f"network.kind={name!r} is unknown; known are {', '.join(_KINDS)}")
    kind = _KINDS[name]
    epsilon = entries.pop("epsilon") if name == sizes.RECURRENT_Q else None
    network = kind.sizes(**entries)

    def init_carry(batch_shape):
        zeros = jnp.zeros((*batch_shape, network.hidden_size), jnp.float32)
        return zeros if kind.states == 1 else (zeros,) * kind.states

    def preferences(params, carry, features, reset):
        return kind.preferences(params, carry, features, reset, network, task.dense_columns)

    def act(params, carry, observation, reset, key, greedy=False):
        legal = observation.legal
        reset = jnp.broadcast_to(forward.with_agents(reset, legal), legal.shape[:-1])
        features = jax.tree.map(lambda leaf: leaf[None], task.features(observation))
        carry, found = preferences(params, carry, features, reset[None])
        if greedy:
            return carry, masked_categorical.mode(found[0], legal)
        if epsilon is None:
            return carry, masked_categorical.sample(key, found[0], legal)
        return carry, epsilon_greedy.sample(key, found[0], legal, epsilon)

    return ExportedTeam(init_carry, preferences, act)


def require_weights_fit(team: ExportedTeam, params: PyTree, task: Task) -> None:
    """Refuses weights that the team cannot act with. Nothing is computed.

    Raises:
        ValueError: naming what is missing, or of another shape.
    """
    agents = task.num_agents
    carry = jax.eval_shape(lambda: team.init_carry((agents,)))
    features = jax.ShapeDtypeStruct((1, agents, task.feature_size), jnp.float32)
    reset = jax.ShapeDtypeStruct((1, agents), bool)
    try:
        after, found = jax.eval_shape(team.preferences, params, carry, features, reset)
    except KeyError as error:
        raise ValueError(f"parameter {error.args[0]} is missing") from error
    except (TypeError, ValueError) as error:
        raise ValueError(f"their shapes do not fit together: {_first_line(error)}") from error
    if found.shape != (1, agents, task.num_actions):
        raise ValueError(f"they prefer among {found.shape[-1]} actions, not {task.num_actions}")
    if jax.tree.map(jnp.shape, after) != jax.tree.map(jnp.shape, carry):
        raise ValueError("their recurrent state is of another size")


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
