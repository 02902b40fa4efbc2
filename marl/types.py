"""Interfaces and records shared by all learners.

Axes, always in this order: T steps, E environments, A agents, then the rest. Two flags that are
easily confused have two names: `reset` belongs to an observation and says that the recurrent state
which sees it starts afresh; `terminated` and `truncated` belong to an action and cut its return.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax

from alem_env import struct

PyTree = Any
# Finite scalars by name (a run ends at the first that is not finite), plus "episodes": sums over
# the episodes that finished (see `Batch.episodes`). "finite", a bool, may say that an update was
# not sound. `marl.learners.on_policy.update` lists those of PPO's learners.
Metrics = dict[str, Any]


class HasLegal(Protocol):
    """An observation: any pytree with leading axes (E, A) that knows which actions are legal."""

    legal: jax.Array  # (E, A, num_actions) bool, True = allowed


class BatchEnv(Protocol):
    """Environments side by side, one for each key, that do not start anew by themselves: what
    evaluations play. `alem_env.Environment` is of this kind.

    Others than ALEM observe `VectorObservation`s of `feature_size` numbers, and may have
    `active_agents(state)` (E, A) bool; without it every agent is always active.
    """

    num_agents: int
    num_actions: int

    def reset_batch(self, keys: jax.Array, params: PyTree) -> tuple[HasLegal, PyTree]:
        """Keys (E,); returns (observation, state)."""
        ...

    def step_batch(
        self, keys: jax.Array, state: PyTree, actions: jax.Array, params: PyTree
    ) -> tuple:
        """Actions (E, A) int32; returns (observation, state, reward (E, A) float32,
        terminated (E,) bool, truncated (E,) bool, info). Ended environments may go on anyhow."""
        ...


class VectorEnv(Protocol):
    """E environments that reset themselves. `alem_env.VectorEnv` and the probes are of this kind,
    and `marl.environments.auto_reset.AutoReset` makes one of a `BatchEnv`.

    On several devices, the arrays of observation and state whose first axis is `num_envs` long are
    divided among them (`marl.sharding`). So what worlds have in common must not be of that length
    by chance.

    `info` (a mapping or an object with these attributes) holds
        final_observation: what `step` would have observed without the reset, like `observation`;
        finished: (E,) bool, episodes that ended in this step;
        episode: dict of (E, ...) arrays describing the episodes that ended (garbage elsewhere).
    """

    num_envs: int
    num_agents: int
    num_actions: int

    def reset(self, key: jax.Array, params: PyTree) -> tuple[HasLegal, PyTree]:
        """Returns (observation, state)."""
        ...

    def step(self, key: jax.Array, state: PyTree, actions: jax.Array, params: PyTree) -> tuple:
        """Actions (E, A) int32; returns (observation, state, reward (E, A) float32,
        terminated (E,) bool, truncated (E,) bool, info)."""
        ...


class Task(NamedTuple):
    """What a learner needs of an environment, as functions. `marl.tasks.make_task` makes it.

    Attributes:
        num_envs, num_agents, num_actions: sizes.
        feature_size: length of the observation vector that `features` stands for.
        dense_columns: places of `Sparse.dense` in that vector; empty for plain vectors.
        features: observation -> `Sparse` or a float vector (..., feature_size).
        active: (environment state) -> (E, A) bool, agents that are alive, hence act and learn.
        reset, step: as in `VectorEnv`.
    """

    num_envs: int
    num_agents: int
    num_actions: int
    feature_size: int
    dense_columns: tuple[int, ...]
    features: Callable[[HasLegal], Any]
    active: Callable[[PyTree], jax.Array]
    reset: Callable[..., tuple]
    step: Callable[..., tuple]


@dataclasses.dataclass(frozen=True)
class Scoring:
    """What the episodes of an environment are judged by.

    Attributes:
        shares: score -> its heading. Scores that are shares of what can be had: fractions in
            programs, percent wherever a user reads them. Empty: the team's return is all there is.
        best: what chooses the best policy, and is compared with random play: one of `shares`, or
            "team_return".
        achievements: their names, in the order of the statistic "achievements" (..., n).
    """

    shares: Mapping[str, str] = dataclasses.field(default_factory=dict)
    best: str = "team_return"
    achievements: tuple[str, ...] = ()

    def shown(self, name: str, value: float) -> float:
        """A statistic in the unit that records, tables and plots have."""
        return 100.0 * value if name in self.shares else value


@struct.dataclass
class Sparse:
    """A long, nearly empty vector: x[rows[k]] += weights[k], and x[dense_columns] += dense, with
    `Task.dense_columns`. Rows are for one-hot fields; columns that are rarely 0 are dense."""

    rows: jax.Array  # (..., K) int32; surplus entries have weight 0
    weights: jax.Array  # (..., K) float32
    dense: jax.Array  # (..., D) float32


@struct.dataclass
class VectorObservation:
    """A plain observation: numbers and the legal actions."""

    vector: jax.Array  # (E, A, F) float32
    legal: jax.Array  # (E, A, num_actions) bool


@struct.dataclass
class Transition:
    """A rollout, time-major: what was seen, done and got at each of T steps."""

    observation: Any  # leaves (T, E, A, ...), compact
    reset: jax.Array  # (T, E) bool, the episode began with this observation
    active: jax.Array  # (T, E, A) bool, agents that could act
    action: jax.Array  # (T, E, A) int32
    log_prob: jax.Array  # (T, E, A) float32
    value: jax.Array  # (T, E, A) float32
    reward: jax.Array  # (T, E, A) float32
    terminated: jax.Array  # (T, E) bool, the action ended the episode
    truncated: jax.Array  # (T, E) bool, the action met the time limit
    final_value: jax.Array  # (T, E, A) float32, value of what followed where truncated, else 0


@struct.dataclass
class Batch:
    """What one update learns from."""

    transition: Transition  # (T, E, A, ...)
    carry: PyTree  # (E, A, ...), recurrent state before the first step
    last_value: jax.Array  # (E, A) float32, value of the observation after the last step
    episodes: dict  # sums over finished episodes: "count" and every key of info's `episode`


@struct.dataclass
class TrainState:
    """A whole run between two updates. All leaves are arrays; `key` is a typed key."""

    params: PyTree
    opt_state: PyTree
    key: jax.Array  # () typed PRNG key
    update: jax.Array  # () int32, updates done
    env_state: PyTree
    observation: Any  # leaves (E, A, ...)
    reset: jax.Array  # (E,) bool, belongs to `observation`
    carry: PyTree  # (E, A, ...)
    value_norm: PyTree = None  # `marl.ops.value_norm.ValueNorm`, or None: values are not scaled


def is_stacked(state: TrainState) -> bool:
    """Whether a state is of several seeds, stacked along a first axis (S, ...)."""
    return state.update.ndim == 1


class Policy(NamedTuple):
    """How a team acts. Parameters are an argument, so that they can come from anywhere.

    Attributes:
        init_params: key -> parameters.
        init_carry: (batch_shape, agents included) -> recurrent state of zeros.
        act: (params, carry, observation, reset, key, greedy=False) ->
            (carry, actions int32, log_prob, value), the last three of shape (E, A).
            `reset` is (E,) or (E, A) bool; `greedy` is a Python bool, `key` is unused then.
        unroll: (params, carry (..., H), observation (T, ...), reset (T, ...)) ->
            (carry, logits (T, ..., num_actions) not masked, value (T, ...)). The last of the
            leading axes is the agents', which only policies that treat all agents alike may do
            without.
        recipe: plain values from which `marl.networks.recipes.follow` makes the policy again, for
            its card; None for policies that are not exported.
    """

    init_params: Callable[[jax.Array], PyTree]
    init_carry: Callable[[tuple[int, ...]], PyTree]
    act: Callable[..., tuple[PyTree, jax.Array, jax.Array, jax.Array]]
    unroll: Callable[..., tuple[PyTree, jax.Array, jax.Array]]
    recipe: Mapping | None = None


@runtime_checkable
class LearnerOptions(Protocol):
    """What a run asks of a learner's options, the class in its entry of `marl.learners.registry`.

    It is a frozen dataclass. The three sizes below are fields that the run fills in; all others are
    the keys of conf/learner/NAME.yaml. Its `__post_init__` raises ValueErrors "FIELD=... must ...".
    With a field `num_minibatches`, which a run may lower to a number that divides, it also says by
    a class variable `splits_agents` whether sequences of single agents are divided, or of teams.

    More is asked by the functions that it is handed to: `marl.learners.on_policy.init` reads
    `value_norm`, and with that `separate_agents`; `on_policy.collect` reads `bootstrap_truncated`.
    """

    num_envs: int
    num_steps: int
    total_updates: int  # very many where time decides

    @property
    def needs_length(self) -> tuple[str, str] | None:
        """The option, "KEY=VALUE", for which the run's length must be known, and what to give
        instead; None: a longer run begins like a shorter one, and may go on from it."""
        ...

    def sequences_per_minibatch(self, num_agents: int) -> int:
        """Sequences that a gradient step sees, which devices must be able to share evenly.

        Raises:
            ValueError: the minibatches of a rollout do not come out even.
        """
        ...


class Learner(Protocol):
    """One way to learn. All functions are pure and jitted.

    `collect` and `update` are its two halves, for whoever wants to look between them; they donate
    nothing. `train_step` is both and donates its state: do not use it again. So does what `compile`
    returns: `train_step`, compiled for states like the one given, which may be of several seeds
    (`is_stacked`; their metrics are stacked as well) and lie on several devices
    (`marl.sharding.place`). What it returns may have `programs`, names -> `jax.stages.Compiled`, of
    which the memory is told; and `collect` and `update`, which `scripts/benchmark_train.py` times.
    """

    policy: Policy

    def init(self, key: jax.Array) -> TrainState: ...

    def collect(self, state: TrainState) -> tuple[TrainState, Any]:
        """A rollout: (the state after it, what `update` learns from)."""
        ...

    def update(self, state: TrainState, batch: Any) -> tuple[TrainState, Metrics]: ...

    def train_step(self, state: TrainState) -> tuple[TrainState, Metrics]: ...

    def compile(self, state: TrainState) -> Callable[[TrainState], tuple[TrainState, Metrics]]: ...
