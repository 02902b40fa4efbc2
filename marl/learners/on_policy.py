"""The skeleton of on-policy learners: collect, then improve, as pure functions over one state."""

import dataclasses
import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import lax

from alem_env import compiled
from marl import rollout
from marl.learners.compiled_step import CompiledStep, compile_step
from marl.learners.ppo_config import PPOConfig
from marl.learners.ppo_loss import Sequences, loss
from marl.ops import value_norm
from marl.ops.clipping import CLIPS
from marl.ops.gae import gae
from marl.ops.statistics import explained_variance, global_norm, masked_mean, standardise
from marl.sharding import take
from marl.types import Batch, LearnerOptions, Metrics, Policy, PyTree, Task, TrainState

_MEASURED = "measured"  # among a step's metrics: its minibatch was looked at


class Improving(NamedTuple):
    """What gradient steps change."""

    params: PyTree
    opt_state: PyTree
    value_norm: value_norm.ValueNorm | None


def optimiser(config: PPOConfig) -> optax.GradientTransformation:
    """Clipped Adam without a step size: `update` multiplies by the annealed one."""
    return optax.chain(
        CLIPS[config.clip_by](config.max_grad_norm), optax.scale_by_adam(eps=config.adam_eps)
    )


def learning_rate(config: PPOConfig, update: jax.Array) -> jax.Array:
    """lr * (1 - update / total_updates), whatever the number of epochs and minibatches."""
    lr = jnp.float32(config.lr)
    if not config.anneal_lr:
        return lr
    return lr * jnp.maximum(0.0, 1.0 - update / config.total_updates)


def init(
    task: Task,
    policy: Policy,
    config: PPOConfig,
    key: jax.Array,
    env_params: PyTree,
    make_optimiser: Callable = optimiser,
) -> TrainState:
    """A run before its first step. Parameters do not depend on the number of environments."""
    key_params, key_env, key = jax.random.split(key, 3)
    params = policy.init_params(key_params)
    observation, env_state = task.reset(key_env, env_params)
    norm = None
    if config.value_norm:
        norm = value_norm.start((task.num_agents,) if config.separate_agents else ())
    return TrainState(
        params=params,
        opt_state=make_optimiser(config).init(params),
        key=key,
        update=jnp.int32(0),
        env_state=env_state,
        observation=observation,
        reset=jnp.ones(task.num_envs, bool),
        carry=policy.init_carry((task.num_envs, task.num_agents)),
        value_norm=norm,
    )


def collect(
    task: Task, policy: Policy, config: PPOConfig, state: TrainState, env_params: PyTree
) -> tuple[TrainState, Batch]:
    """A rollout of the current team; see `rollout.collect`."""
    return rollout.collect(
        task, policy, config.num_steps, config.bootstrap_truncated, state, env_params
    )


def update(
    policy: Policy, config: PPOConfig, state: TrainState, batch: Batch
) -> tuple[TrainState, Metrics]:
    """Improves the team on a rollout.

    Args:
        policy: how parameters act.
        config: hyper-parameters.
        state: as `collect` left it.
        batch: (T, E, A, ...), what `collect` returned with it; see `marl.types.Batch`.

    Returns:
        The state after the update, and metrics, float32 scalars unless stated:
            loss/total loss/policy loss/value loss/entropy: means over the update's minibatches
            (and over agents that have losses of their own);
            ppo/approx_kl ppo/clip_fraction ppo/grad_norm: likewise;
            ppo/steps_taken: share of the gradient steps that `max_kl` left;
            ppo/lr value/mean value/explained_variance reward/mean (an agent, a step)
            active_fraction;
            finite: bool; False: something on the way was not finite, nothing was learnt, and
            parameters and optimiser are those of before;
            episodes: sums over the episodes that ended in the rollout, `Batch.episodes`.
    """
    sequences, carry = make_sequences(config, batch, state.value_norm)
    key, key_order = jax.random.split(state.key)
    order = minibatch_order(config, key_order, sequences.reset.shape[1])
    lr = learning_rate(config, state.update)
    before = Improving(state.params, state.opt_state, state.value_norm)
    step = functools.partial(_minibatch_step, policy, config, lr, sequences, carry)
    after, steps, taken = _improve(config, step, before, order)

    finite = jnp.all(jnp.isfinite(steps["loss/total"]) & jnp.isfinite(steps["ppo/grad_norm"]))
    after = jax.tree.map(functools.partial(jnp.where, finite), after, before)
    transition = batch.transition
    value = value_norm.denormalise(state.value_norm, transition.value)
    value = value.reshape(sequences.target.shape)
    metrics = _means(config, steps) | {
        "ppo/steps_taken": taken,
        "ppo/lr": lr,
        "value/mean": jnp.mean(value),
        "value/explained_variance": explained_variance(value, sequences.target),
        "reward/mean": jnp.mean(transition.reward),
        "active_fraction": jnp.mean(transition.active.astype(jnp.float32)),
        "finite": finite,
        "episodes": batch.episodes,
    }
    return state.replace(**after._asdict(), key=key, update=state.update + 1), metrics


def make_sequences(
    config: PPOConfig, batch: Batch, norm: value_norm.ValueNorm | None = None
) -> tuple[Sequences, PyTree]:
    """Advantages and targets, and everything laid out a sequence at a time.

    Args:
        config: hyper-parameters. `splits_agents` decides the layout.
        batch: transitions (T, E, A, ...), the recurrent state (E, A, ...) before them.
        norm: scale of the critic's values; None: they are in units of reward.

    Returns:
        `Sequences`, and the recurrent state they start with: of single agents (T, E * A, ...) and
        (E * A, ...), environment by environment; or of teams (T, E, A, ...) and (E, A, ...). What
        `minibatch_order` counts is the second axis.
    """
    t = batch.transition
    # Without bootstrapping, a time limit is an end like any other.
    terminated = t.terminated if config.bootstrap_truncated else t.terminated | t.truncated
    value = value_norm.denormalise(norm, t.value)
    advantage = gae(
        t.reward,
        value,
        value_norm.denormalise(norm, batch.last_value),
        terminated,
        t.truncated,
        value_norm.denormalise(norm, t.final_value),
        config.gamma,
        config.gae_lambda,
    )
    active = t.active if config.mask_dead_agents else jnp.ones_like(t.active)
    target = advantage + value
    if config.advantage_norm == "batch":
        whole = jax.vmap(standardise, 2, 2) if config.separate_agents else standardise
        advantage = whole(advantage, active)
    sequences = Sequences(
        observation=t.observation,
        reset=jnp.broadcast_to(t.reset[..., None], t.active.shape),
        active=active,
        action=t.action,
        log_prob=t.log_prob,
        value=t.value,
        advantage=advantage,
        target=target,
    )
    if not config.splits_agents:
        return sequences, batch.carry

    def merge(leaf, axis):
        """Environments and agents, at axis and axis + 1, become one axis."""
        shape = leaf.shape
        return leaf.reshape(shape[:axis] + (shape[axis] * shape[axis + 1],) + shape[axis + 2 :])

    sequences = jax.tree.map(functools.partial(merge, axis=1), sequences)
    return sequences, jax.tree.map(functools.partial(merge, axis=0), batch.carry)


def minibatch_order(config: PPOConfig, key: jax.Array, count: int) -> jax.Array:
    """Which of `count` sequences each gradient step sees: (update_epochs * num_minibatches,
    count / num_minibatches) int32, each once an epoch."""
    keys = jax.random.split(key, config.update_epochs)
    order = jax.vmap(lambda k: jax.random.permutation(k, count))(keys)
    return order.reshape(config.update_epochs * config.num_minibatches, -1)


def _improve(
    config: PPOConfig, step: Callable, start: Improving, order: jax.Array
) -> tuple[Improving, Metrics, jax.Array]:
    """All gradient steps of an update, or those before the KL passes `max_kl`.

    Returns:
        (the end, metrics of each step, the share of steps that changed anything). The step that
        passed the limit is measured and undone; those after it have metrics of 0.
    """
    if config.max_kl is None:
        return *lax.scan(step, start, order), jnp.float32(1.0)
    no_metrics = jax.tree.map(jnp.zeros_like, jax.eval_shape(step, start, order[0])[1])

    def guarded(current, chosen):
        improving, has_ended = current
        following, metrics = lax.cond(
            has_ended, lambda: (improving, no_metrics), lambda: step(improving, chosen)
        )
        ends = has_ended | (metrics["ppo/approx_kl"] > config.max_kl)
        kept = jax.tree.map(functools.partial(jnp.where, ends), improving, following)
        return (kept, ends), (metrics | {_MEASURED: ~has_ended}, ~ends)

    (end, _), (metrics, taken) = lax.scan(guarded, (start, jnp.bool_(False)), order)
    return end, metrics, jnp.mean(taken.astype(jnp.float32))


def _means(config: PPOConfig, steps: Metrics) -> Metrics:
    """Means over the gradient steps that were measured."""
    if config.max_kl is None:
        return {name: jnp.mean(values) for name, values in steps.items()}
    measured = steps[_MEASURED]
    return {n: masked_mean(values, measured) for n, values in steps.items() if n != _MEASURED}


def _minibatch_step(policy, config, lr, sequences, carry, improving, chosen):
    """One gradient step on the chosen sequences."""
    params, opt_state, norm = improving
    part, start = take(sequences, chosen, axis=1), take(carry, chosen, axis=0)
    if norm is not None:
        norm = value_norm.follow(norm, part.target)
    gradient_of = jax.grad(functools.partial(loss, policy, config), has_aux=True)
    gradient, metrics = gradient_of(params, part, start, norm)
    direction, opt_state = optimiser(config).update(gradient, opt_state, params)
    params = jax.tree.map(lambda p, d: p - lr * d, params, direction)
    improving = Improving(params, opt_state, norm)
    return improving, metrics | {"ppo/grad_norm": global_norm(gradient)}


@dataclasses.dataclass(frozen=True)
class OnPolicyLearner:
    """The functions above, bound to a task: a `marl.types.Learner`.

    To hand other environment parameters to each call, bind the functions of this module yourself.
    """

    task: Task
    policy: Policy
    config: LearnerOptions
    env_params: PyTree
    init: Callable[[jax.Array], TrainState]
    collect: Callable[[TrainState], tuple[TrainState, Batch]]
    update: Callable[[TrainState, Batch], tuple[TrainState, Metrics]]
    train_step: Callable[[TrainState], tuple[TrainState, Metrics]]
    compile: Callable[[TrainState], CompiledStep]


def make_learner(
    task: Task,
    policy: Policy,
    config: LearnerOptions,
    env_params: PyTree,
    *,
    init: Callable = init,
    collect: Callable = collect,
    update: Callable = update,
) -> OnPolicyLearner:
    """Binds functions to a task; compiles nothing yet.

    Args:
        task: what is learnt.
        policy: how parameters act.
        config: hyper-parameters; `PPOConfig`, or what the functions ask for.
        env_params: traced numbers handed to the environment at each call.
        init, collect, update: those of this module, or a learner's own of the same arguments, then
            with the options it likes.

    Raises:
        ValueError: `config.num_envs` is not the task's, or the minibatches of a rollout do not come
            out even (`config.sequences_per_minibatch`).
    """
    if config.num_envs != task.num_envs:
        raise ValueError(
            f"num_envs={config.num_envs} does not match the environment's {task.num_envs}"
        )
    config.sequences_per_minibatch(task.num_agents)
    bound_init = functools.partial(init, task, policy, config)
    bound_collect = functools.partial(collect, task, policy, config)
    bound_update = functools.partial(update, policy, config)

    # Environment parameters are traced: changing the difficulty compiles nothing anew. Playing and
    # learning are two programs, since what makes the world quick to compile makes learning slow.
    jit_init, jit_collect = compiled(bound_init), compiled(bound_collect)
    collect_on = compiled(bound_collect, donate_argnums=0)
    update_on = jax.jit(bound_update, donate_argnums=0)

    return OnPolicyLearner(
        task=task,
        policy=policy,
        config=config,
        env_params=env_params,
        init=lambda key: jit_init(key, env_params),
        collect=lambda state: jit_collect(state, env_params),
        update=jax.jit(bound_update),
        train_step=lambda state: update_on(*collect_on(state, env_params)),
        compile=functools.partial(compile_step, bound_collect, bound_update, env_params),
    )
