"""T steps of E environments by one team, recurrent-safe."""

import jax
import jax.numpy as jnp
from jax import lax

from marl.types import Batch, Policy, PyTree, Task, TrainState, Transition


def collect(
    task: Task,
    policy: Policy,
    num_steps: int,
    bootstrap_truncated: bool,
    state: TrainState,
    env_params: PyTree,
) -> tuple[TrainState, Batch]:
    """Acts for `num_steps` steps with `state.params`.

    Returns:
        (the state to go on from, what happened). Parameters, optimiser and `update` stay.
    """
    key, key_steps = jax.random.split(state.key)
    start = (state.env_state, state.observation, state.reset, state.carry)

    def step(current, key_step):
        following, transition, episodes = _step(
            task, policy, bootstrap_truncated, state.params, env_params, current, key_step
        )
        return following, (transition, episodes)

    end, (transition, episodes) = lax.scan(step, start, jax.random.split(key_steps, num_steps))
    env_state, observation, reset, carry = end
    batch = Batch(
        transition=transition,
        carry=state.carry,
        last_value=_value(policy, state.params, carry, observation, reset),
        episodes=jax.tree.map(lambda sums: jnp.sum(sums, axis=0), episodes),
    )
    state = state.replace(
        key=key, env_state=env_state, observation=observation, reset=reset, carry=carry
    )
    return state, batch


def _step(task, policy, bootstrap_truncated, params, env_params, current, key):
    env_state, observation, reset, carry = current
    key_act, key_env = jax.random.split(key)
    active = task.active(env_state) & jnp.any(observation.legal, axis=-1)
    carry, action, log_prob, value = policy.act(params, carry, observation, reset, key_act)
    following, env_state, reward, terminated, truncated, info = task.step(
        key_env, env_state, action, env_params
    )
    final_value = jnp.zeros_like(value)
    if bootstrap_truncated:
        # The network looks at final observations only when a time limit was met somewhere.
        final_value = lax.cond(
            jnp.any(truncated),
            lambda: _value(
                policy, params, carry, field(info, "final_observation"), jnp.zeros_like(reset)
            ),
            lambda: jnp.zeros_like(value),
        )
        final_value = jnp.where(truncated[:, None], final_value, 0.0)
    transition = Transition(
        observation=observation,
        reset=reset,
        active=active,
        action=action,
        log_prob=log_prob,
        value=value,
        reward=reward,
        terminated=terminated,
        truncated=truncated,
        final_value=final_value,
    )
    episodes = _episode_sums(field(info, "finished"), field(info, "episode"))
    return (env_state, following, terminated | truncated, carry), transition, episodes


def _value(policy, params, carry, observation, reset):
    """Value (E, A) of an observation, without moving on."""
    one_step = jax.tree.map(lambda leaf: leaf[None], observation)
    reset = jnp.broadcast_to(reset[:, None], observation.legal.shape[:-1])
    return policy.unroll(params, carry, one_step, reset[None])[2][0]


def _episode_sums(finished, episode) -> dict:
    """Sums over the episodes that ended in this step, and how many they were."""

    def total(leaf):
        mask = finished.reshape(finished.shape + (1,) * (leaf.ndim - 1))
        return jnp.sum(jnp.where(mask, leaf, 0).astype(jnp.float32), axis=0)

    return {"count": jnp.sum(finished).astype(jnp.float32), **jax.tree.map(total, dict(episode))}


def field(info, name: str):
    """An entry of a mapping, or an attribute of an object."""
    return info[name] if isinstance(info, dict) else getattr(info, name)
