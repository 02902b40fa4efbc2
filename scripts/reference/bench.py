"""Speed and memory of the reference, for `benchmark_reference.py`."""

import time

import jax
import jax.numpy as jnp
from alem.alem_coop.action_masking import compute_action_mask
from alem.alem_coop.alem_state import (
    EnvParams,
    StaticEnvParams,
    get_coordination_params,
)
from alem.alem_coop.envs.alem_symbolic_env import AlemCoopSymbolicEnv


class Bench:
    """One batch of worlds that plays random legal actions, with or without automatic resets."""

    def __init__(self, num_envs, difficulty, channels, steps, resets):
        overrides = dict(get_coordination_params(difficulty))
        overrides.update(soft_specialization=True, shared_reward=False)
        self.params = EnvParams(**overrides)
        self.static = StaticEnvParams(player_count=3, num_comm_channels=channels)
        self.env = AlemCoopSymbolicEnv(
            env_params=self.params, static_env_params=self.static, compute_full_info=False
        )
        self.num_envs, self.steps = num_envs, steps
        one_step = self.env.step if resets else self.env.step_env
        self.one_step = one_step
        keys = jax.random.split(jax.random.PRNGKey(0), num_envs)
        reset = jax.jit(jax.vmap(self.env.reset))
        obs, self.state = jax.block_until_ready(reset(keys))
        self.key = jax.random.PRNGKey(1)
        self.state_bytes = sum(x.nbytes for x in jax.tree.leaves(self.state)) // num_envs
        self.obs_bytes = sum(x.nbytes for x in jax.tree.leaves(obs)) // num_envs // 3
        started = time.perf_counter()
        self.run = jax.jit(self._run, donate_argnums=0).lower(self.state, self.key).compile()
        self.compile_s = time.perf_counter() - started
        self.measure()  # warm up

    def _run(self, state, key):
        def body(carry, _):
            state, key = carry
            key, act_key, step_key = jax.random.split(key, 3)
            mask = jax.vmap(lambda s: compute_action_mask(s, self.params, self.static))(state)
            actions = jax.random.categorical(act_key, jnp.where(mask, 0.0, -1e9))
            actions = {f"agent_{i}": actions[:, i] for i in range(3)}
            keys = jax.random.split(step_key, self.num_envs)
            obs, state, reward, _, _ = jax.vmap(self.one_step)(keys, state, actions)
            seen = sum(o.sum() for o in obs.values()) + sum(r.sum() for r in reward.values())
            return (state, key), seen

        (state, key), seen = jax.lax.scan(body, (state, key), None, length=self.steps)
        return state, key, seen.sum()

    def measure(self):
        started = time.perf_counter()
        self.state, self.key, _ = jax.block_until_ready(self.run(self.state, self.key))
        return time.perf_counter() - started
