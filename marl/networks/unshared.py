"""Policies whose agents share no parameters: one network each, of one kind."""

import jax

from marl.networks.factory import acting, make_policy, unrolling
from marl.networks.sizes import UNSHARED, NetworkConfig
from marl.types import Policy, Task


def make_unshared_policy(config: NetworkConfig, task: Task) -> Policy:
    """How teams act of which each agent has a network of its own.

    Parameters are those of `make_policy`, one agent after another along a first axis (A, ...).
    """
    each = make_policy(config, task)

    def init_params(key):
        return jax.vmap(each.init_params)(jax.random.split(key, task.num_agents))

    @unrolling
    def unroll(params, carry, observation, reset):
        axis = reset.ndim - 1  # the agents', with time; the carry has no time
        agents = jax.vmap(
            each.unroll, in_axes=(0, axis - 1, axis, axis), out_axes=(axis - 1, axis, axis)
        )
        return agents(params, carry, observation, reset)

    recipe = {"kind": UNSHARED, **each.recipe}
    return Policy(init_params, each.init_carry, acting(unroll), unroll, recipe)
