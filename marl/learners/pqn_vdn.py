"""PQN-VDN: Q-learning on many worlds at once, the team's Q being the sum of its agents'.

PQN (arXiv 2407.04811) has no replay buffer and no target network: a rollout is learnt from a few
times and thrown away, targets are made with the parameters of the moment, and LayerNorm keeps that
stable. VDN (arXiv 1706.05296) learns one return of the team, the sum of the agents' rewards.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import lax

from marl import rollout
from marl.learners import on_policy
from marl.learners.on_policy import OnPolicyLearner
from marl.learners.pqn_config import PQNConfig
from marl.networks.q_network import make_q_policy
from marl.networks.sizes import QNetworkConfig
from marl.ops.q_lambda import chosen_value, q_lambda
from marl.ops.statistics import explained_variance, global_norm
from marl.sharding import take
from marl.tasks import make_task
from marl.types import Metrics, Policy, PyTree, Task, TrainState


class TeamBatch(NamedTuple):
    """What one update learns from: T steps, and the observation that each of T + 1 was or led to.

    With `learn_last_step` off, T is one less than the steps that were played.
    """

    observation: PyTree  # leaves (T + 1, E, A, ...)
    reset: jax.Array  # (T + 1, E, A) bool
    active: jax.Array  # (T + 1, E, A) bool, agents that could act
    action: jax.Array  # (T, E, A) int32
    reward: jax.Array  # (T, E), the team's
    terminated: jax.Array  # (T, E) bool
    truncated: jax.Array  # (T, E) bool
    final_value: jax.Array  # (T, E), the team's; by the parameters that played
    carry: PyTree  # (E, A, ...), recurrent state before the first step
    episodes: dict  # as `marl.types.Batch.episodes`


def make(
    env, network: QNetworkConfig, config: PQNConfig, env_params: PyTree = None
) -> OnPolicyLearner:
    """A learner for a vector environment.

    Args:
        env: `alem_env.VectorEnv`, a probe, or anything of the kind `marl.types.VectorEnv`.
        network: sizes of the network.
        config: hyper-parameters.
        env_params: traced numbers handed to the environment at each call.

    Returns:
        As `marl.learners.ippo.make` does; batches are `TeamBatch`es. Sampled actions of its policy
        explore as at the end of training.
    """
    task = make_task(env)
    policy = make_q_policy(
        network, task, config.epsilon_final, blank_first=config.blank_first_observation
    )
    return on_policy.make_learner(
        task,
        policy,
        config,
        env_params,
        init=functools.partial(on_policy.init, make_optimiser=optimiser),
        collect=collect,
        update=update,
    )


def optimiser(config: PQNConfig) -> optax.GradientTransformation:
    """Clipped RAdam without a step size: `update` multiplies by the annealed one."""
    return optax.chain(optax.clip_by_global_norm(config.max_grad_norm), optax.scale_by_radam())


def epsilon(config: PQNConfig, update: jax.Array) -> jax.Array:
    """Probability of a random action in the rollout before that update."""
    progress = jnp.minimum(1.0, update / config.exploring_updates)
    return config.epsilon_start + progress * (config.epsilon_final - config.epsilon_start)


def collect(
    task: Task, policy: Policy, config: PQNConfig, state: TrainState, env_params: PyTree
) -> tuple[TrainState, TeamBatch]:
    """A rollout of the team as it explores now, in one world after another."""
    exploring = policy._replace(
        act=functools.partial(policy.act, epsilon=epsilon(config, state.update))
    )
    state, batch = rollout.collect(
        task, exploring, config.num_steps, config.bootstrap_truncated, state, env_params
    )
    played = batch.transition
    last_active = task.active(state.env_state) & jnp.any(state.observation.legal, axis=-1)

    def append(leaves, last):
        return jnp.concatenate([leaves, last[None]])

    reset = append(played.reset, state.reset)
    active = append(played.active, last_active)
    # Without bootstrapping, a time limit is an end like any other.
    ends = played.terminated if config.bootstrap_truncated else played.terminated | played.truncated
    counted = jnp.where(_counts(config, played.active), played.final_value, 0.0)
    whole = TeamBatch(
        observation=jax.tree.map(append, played.observation, state.observation),
        reset=jnp.broadcast_to(reset[..., None], active.shape),
        active=active,
        action=played.action,
        reward=jnp.sum(played.reward, axis=-1),
        terminated=ends,
        truncated=played.truncated,
        final_value=jnp.sum(counted, axis=-1),
        carry=batch.carry,
        episodes=batch.episodes,
    )
    return state, whole if config.learn_last_step else without_last_step(whole)


def without_last_step(batch: TeamBatch) -> TeamBatch:
    """The same, one step shorter."""
    shorter = jax.tree.map(lambda leaf: leaf[:-1], batch._replace(carry=(), episodes=()))
    return shorter._replace(carry=batch.carry, episodes=batch.episodes)


def _counts(config: PQNConfig, active: jax.Array) -> jax.Array:
    """Agents whose worth is part of the team's, bool, as `active`."""
    return active if config.mask_dead_agents else jnp.ones_like(active)


def update(
    policy: Policy, config: PQNConfig, state: TrainState, batch: TeamBatch
) -> tuple[TrainState, Metrics]:
    """Improves the team on a rollout.

    Args:
        policy: how parameters act.
        config: hyper-parameters.
        state: as `collect` left it.
        batch: what `collect` returned with it.

    Returns:
        The state after the update, and metrics, float32 scalars unless stated:
            loss/total: half the squared error of the team's Q, mean over the update's minibatches;
            value/mean: of the team's greedy choice; value/explained_variance: of targets by the
            team's Q; pqn/chosen_q pqn/grad_norm: likewise means over minibatches;
            pqn/lr pqn/epsilon (of the rollout) reward/mean (an agent, a step) active_fraction;
            finite: bool; False: something on the way was not finite, nothing was learnt, and
            parameters and optimiser are those of before;
            episodes: sums over the episodes that ended in the rollout.
    """
    key, key_order = jax.random.split(state.key)
    order = on_policy.minibatch_order(config, key_order, batch.reward.shape[1])
    lr = on_policy.learning_rate(config, state.update)
    step = functools.partial(_minibatch_step, policy, config, lr, batch)
    (params, opt_state), steps = lax.scan(step, (state.params, state.opt_state), order)

    finite = jnp.all(jnp.isfinite(steps["loss/total"]) & jnp.isfinite(steps["pqn/grad_norm"]))
    keep = functools.partial(jax.tree.map, functools.partial(jnp.where, finite))
    metrics = {name: jnp.mean(values) for name, values in steps.items()}
    metrics |= {
        "pqn/lr": lr,
        "pqn/epsilon": epsilon(config, state.update),
        "reward/mean": jnp.mean(batch.reward) / batch.action.shape[-1],
        "active_fraction": jnp.mean(batch.active[:-1].astype(jnp.float32)),
        "finite": finite,
        "episodes": batch.episodes,
    }
    state = state.replace(
        params=keep(params, state.params),
        opt_state=keep(opt_state, state.opt_state),
        key=key,
        update=state.update + 1,
    )
    return state, metrics


def _minibatch_step(policy, config, lr, batch, learner, chosen):
    """One gradient step on the chosen worlds."""
    params, opt_state = learner
    part = choose_worlds(batch, chosen)
    gradient_of = jax.grad(functools.partial(loss, policy, config), has_aux=True)
    gradient, metrics = gradient_of(params, part)
    direction, opt_state = optimiser(config).update(gradient, opt_state, params)
    params = jax.tree.map(lambda p, d: p - lr * d, params, direction)
    return (params, opt_state), metrics | {"pqn/grad_norm": global_norm(gradient)}


def choose_worlds(batch: TeamBatch, chosen: jax.Array) -> TeamBatch:
    """The batch of those worlds (n,) alone; `episodes` stay as they are."""
    part = take(batch._replace(carry=(), episodes=()), chosen, axis=1)
    carry = take(batch.carry, chosen, axis=0)
    return part._replace(carry=carry, episodes=batch.episodes)


def loss(
    policy: Policy, config: PQNConfig, params: PyTree, batch: TeamBatch
) -> tuple[jax.Array, Metrics]:
    """Half the mean squared error between the team's Q and its targets.

    Args:
        policy: how parameters act.
        config: hyper-parameters.
        params: to take the gradient of; targets are made with them, too, as constants.
        batch: the minibatch.

    Returns:
        The loss, and what it is made of: float32 scalars by the names that `update` lists.
    """
    _, q_values, value = policy.unroll(params, batch.carry, batch.observation, batch.reset)
    counts = _counts(config, batch.active)
    chosen = chosen_value(q_values[:-1], batch.action)
    team_q = jnp.sum(jnp.where(counts[:-1], chosen, 0.0), axis=-1)
    team_value = lax.stop_gradient(jnp.sum(jnp.where(counts, value, 0.0), axis=-1))
    target = q_lambda(
        batch.reward,
        team_value,
        batch.terminated,
        batch.truncated,
        batch.final_value,
        config.gamma,
        config.q_lambda,
    )
    total = 0.5 * jnp.mean(jnp.square(team_q - target))
    return total, {
        "loss/total": total,
        "value/mean": jnp.mean(team_value),
        "value/explained_variance": explained_variance(team_q, target),
        "pqn/chosen_q": jnp.mean(team_q),
    }
