"""The world as a parallel environment of PettingZoo (Terry et al., 2021).

    env = AlemParallel(alem_env.make(), alem_env.difficulty("hard"), render_mode="rgb_array")
    observations, infos = env.reset(seed=9999)
    observations, rewards, terminations, truncations, infos = env.step(actions)

Needs the extra "pettingzoo".
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from alem_env.adapters.agents import agent_names, by_agent, in_order
from alem_env.core.compiled import compiled
from alem_env.core.params import EnvParams
from alem_env.core.values import INT32_MAX, whole_number
from alem_env.env import Environment
from alem_env.observe import dense
from alem_env.observe.compact import Observation
from alem_env.observe.pixels import render
from alem_env.score import SHARES, team_score

try:
    from gymnasium.spaces import Box, Dict, Discrete
    from pettingzoo import ParallelEnv
except ImportError as error:
    raise ImportError(
        f"alem_env.adapters.pettingzoo needs the extra 'pettingzoo' ({error}); in a clone of this "
        "project: pip install -e '.[pettingzoo]'"
    ) from error


class AlemParallel(ParallelEnv):
    """One world; it waits for `reset` when its episode has ended.

    Agents stay in `agents` until the episode ends, dead or not: a teammate can revive them. What a
    dead agent is told to do does nothing. Equal `env.static` share their compiled programs.

    Args:
        env: the environment.
        params: numbers of the game.
        render_mode: None or "rgb_array".

    Raises:
        ValueError: an argument is unknown or does not fit; the message names it.
    """

    metadata = {
        "name": "alem_v0",
        "render_modes": ["rgb_array"],
        "render_fps": 8,
        "is_parallelizable": True,
    }

    def __init__(self, env: Environment, params: EnvParams, render_mode: str | None = None):
        self.possible_agents = agent_names(env, params)
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"render_mode={render_mode!r} is unknown; choose None or 'rgb_array'")
        self.render_mode = render_mode
        self.agents: list[str] = []
        # one space an agent, not one for all: each is seeded by itself
        self.observation_spaces = {name: _observation_space(env) for name in self.possible_agents}
        self.action_spaces = {name: Discrete(env.num_actions) for name in self.possible_agents}
        self._env = dataclasses.replace(env, check_actions=True)
        self._params = params
        self._seeds = np.random.default_rng()
        self._key, self._state, self._steps = None, None, 0

    def observation_space(self, agent: str) -> Dict:
        """`observation`: the published vector (obs_dim,) float32. `action_mask`: (num_actions,)
        int8, 1 for what is legal; who cannot act may only wait."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Discrete:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: Mapping | None = None) -> tuple[dict, dict]:
        """A new episode.

        Args:
            seed: the world of `env.reset(jax.random.key(seed))`; its step t takes
                `fold_in(key(seed), t)`, as in the evaluation protocol. None: drawn from the last
                seed that was given, or from the system if none was.
            options: ignored.

        Returns:
            Observations, and infos: `alive`, bool.
        """
        if seed is not None:
            seed = whole_number("seed", seed, 0)
            self._seeds = np.random.default_rng(seed)
        else:
            seed = int(self._seeds.integers(INT32_MAX, endpoint=True))
        self._key = jax.random.key(seed, impl="threefry2x32")
        obs, self._state = self._env.reset(self._key, self._params)
        self._steps = 0
        self.agents = list(self.possible_agents)
        return self._observations(obs), self._infos()

    def step(self, actions: Mapping[str, int]) -> tuple[dict, dict, dict, dict, dict]:
        """One transition.

        Args:
            actions: by agent, for all of `agents`.

        Returns:
            Observations, rewards, terminations, truncations and infos by agent: `alive`, bool;
            when the episode has ended also the team's score `base`, `coord`, `total`, fractions.

        Raises:
            RuntimeError: no episode is running.
            ValueError: an agent's action is missing or does not exist.
        """
        if not self.agents:
            raise RuntimeError("no episode is running; call reset() before step()")
        key = jax.random.fold_in(self._key, self._steps)
        in_turn = in_order(self.agents, actions)
        obs, self._state, reward, *ends, _ = self._env.step(key, self._state, in_turn, self._params)
        self._steps += 1
        terminated, truncated = map(bool, ends)
        infos = self._infos()
        if terminated or truncated:
            self.agents = []
            score = team_score(self._state.achievements)
            for info in infos.values():
                info.update({name: float(score[name]) for name in SHARES})
        names = self.possible_agents
        return (
            self._observations(obs),
            by_agent(np.asarray(reward).tolist()),
            dict.fromkeys(names, terminated),
            dict.fromkeys(names, truncated),
            infos,
        )

    def render(self) -> np.ndarray | None:
        """The team's floor (768, 768, 3) uint8; nothing without a render mode.

        Raises:
            RuntimeError: there was no `reset` yet.
        """
        if self.render_mode is None:
            return None
        if self._state is None:
            raise RuntimeError("there is no world yet; call reset() before render()")
        return render(self._state)

    def _observations(self, obs: Observation) -> dict[str, dict[str, np.ndarray]]:
        # copies: arrays of jax cannot be written to
        vectors = np.array(_expand(obs, self._env.static))
        masks = np.asarray(obs.legal).astype(np.int8)
        return by_agent(
            [
                {"observation": vector, "action_mask": mask}
                for vector, mask in zip(vectors, masks, strict=True)
            ]
        )

    def _infos(self) -> dict[str, dict[str, Any]]:
        alive = np.asarray(self._state.players.alive).tolist()
        return by_agent([{"alive": is_alive} for is_alive in alive])


def _observation_space(env: Environment) -> Dict:
    return Dict(
        {
            "observation": Box(-np.inf, np.inf, (dense.obs_dim(env.static),), np.float32),
            "action_mask": Box(0, 1, (env.num_actions,), np.int8),
        }
    )


_expand = compiled(dense.expand, static_argnums=1)
