"""A learner and a world small enough to know by heart, for tests of everything around them."""

import jax
import jax.numpy as jnp

from alem_env import struct
from marl.types import Policy, is_stacked

# What a policy's card says before there are weights.
CARD = {
    "label": "toy",
    "env": {
        "difficulty": "hard", "rules_version": "0.2.1", "num_agents": 3, "num_comm_channels": 4,
        "num_actions": 60, "shared_reward": False,
    },
    "network": {
        "embedding_size": 8, "hidden_size": 8, "actor_size": 8, "critic_size": 4,
        "activation": "tanh",
    },
    "training": {"update": 0},
}  # fmt: skip


@struct.dataclass
class ToyState:
    params: dict
    opt_state: dict
    key: jax.Array
    update: jax.Array
    env_state: dict
    carry: tuple


class ToyLearner:
    """Adds noise from its key to its parameters; episodes end by the clock.

    Args:
        bad_update: update whose loss is not a number, counted from 1.
        size: numbers in its weights.
    """

    policy = None

    def __init__(self, bad_update: int | None = None, size: int = 3):
        self._bad_update, self._size = bad_update, size
        self.init = jax.jit(self._init)
        self.train_step = jax.jit(self._train_step, donate_argnums=0)

    def compile(self, state):
        if not is_stacked(state):
            return self.train_step.lower(state).compile()
        return jax.jit(jax.vmap(self._train_step), donate_argnums=0).lower(state).compile()

    def _init(self, key):
        return ToyState(
            params={"layer": {"kernel": jnp.zeros((self._size, 2)), "bias": jnp.ones(2)}},
            opt_state={"count": jnp.int32(0), "empty": jnp.zeros((0, 4))},
            key=jax.random.fold_in(key, 7),
            update=jnp.int32(0),
            env_state={"flags": jnp.zeros(5, bool), "small": jnp.arange(4, dtype=jnp.uint8)},
            carry=(jnp.zeros(2),),
        )

    def _train_step(self, state):
        key, draw = jax.random.split(state.key)
        noise = jax.random.normal(draw, (self._size, 2))
        update = state.update + 1
        kernel = state.params["layer"]["kernel"] * 0.9 + noise
        loss = jnp.mean(kernel)
        if self._bad_update is not None:
            loss = jnp.where(update == self._bad_update, jnp.nan, loss)
        state = state.replace(
            params={"layer": {"kernel": kernel, "bias": state.params["layer"]["bias"] + loss}},
            opt_state={**state.opt_state, "count": state.opt_state["count"] + 1},
            key=key,
            update=update,
            env_state=jax.tree.map(lambda x: x + jnp.ones_like(x), state.env_state)
            | {"flags": ~state.env_state["flags"]},
            carry=(state.carry[0] + noise[0],),
        )
        finite = jnp.isfinite(loss)
        state = state.replace(
            params=jax.tree.map(lambda x: jnp.where(jnp.isfinite(x), x, 0.0), state.params)
        )
        count = (update % 2).astype(jnp.float32)  # an episode ends in every other update
        return state, {
            "loss/total": loss,
            "finite": finite,
            "episodes": {
                "count": count,
                "length": 10.0 * count,
                "team_return": 6.0 * count,
                "base": 0.25 * count,
                "coord": 0.5 * count,
                "total": 0.375 * count,
                "achievements": count * jnp.eye(3, 93),
            },
        }


@struct.dataclass
class ToyObservation:
    clock: jax.Array  # (E, A) int32
    legal: jax.Array  # (E, A, 4) bool


class ToyWorld:
    """Two agents; world s lasts 5 + s % 7 steps; the last action is never legal; an agent is paid
    its action's number."""

    def reset_batch(self, keys, params):
        seeds = jax.random.key_data(keys)[..., 1].astype(jnp.int32)
        state = {"left": 5 + seeds % 7, "seed": seeds, "paid": jnp.zeros((len(seeds), 2))}
        return self._observe(state), state

    def step_batch(self, keys, state, actions, params):
        noise = jax.vmap(jax.random.uniform)(keys)
        state = {
            "left": state["left"] - 1,
            "seed": state["seed"],
            "paid": state["paid"] + actions + noise[:, None],
        }
        done = state["left"] <= 0
        reward = actions.astype(jnp.float32) * params
        return self._observe(state), state, reward, done, jnp.zeros_like(done), {}

    def _observe(self, state):
        clock = jnp.repeat(state["left"][:, None], 2, 1)
        legal = jnp.broadcast_to(jnp.arange(4) < 3, clock.shape + (4,))
        return ToyObservation(clock, legal)

    @staticmethod
    def outcome(state):
        worlds = state["left"].shape[0]
        achieved = jnp.zeros((worlds, 2, 93), bool).at[:, 0, 3].set(state["seed"] % 2 == 0)
        paid = state["paid"].sum(-1)
        scores = {"base": paid / 100, "coord": 0 * paid, "total": paid / 200, "extra": paid}
        return achieved, scores


def toy_policy() -> Policy:
    """Prefers action (steps seen) % 3; its recurrent state counts the steps."""

    def init_carry(shape):
        return jnp.zeros(shape, jnp.int32)

    def act(params, carry, observation, reset, key, greedy):
        carry = jnp.where(reset.reshape(reset.shape + (1,) * (carry.ndim - reset.ndim)), 0, carry)
        logits = params * jax.nn.one_hot(carry % 3, 4) + observation.clock[..., None] * 0.01
        logits = jnp.where(observation.legal, logits, -1e9)
        actions = logits.argmax(-1) if greedy else jax.random.categorical(key, logits)
        return carry + 1, actions, jnp.zeros(actions.shape), jnp.zeros(actions.shape)

    return Policy(init_params=None, init_carry=init_carry, act=act, unroll=None)
