"""An environment from which actions are taken away."""

import dataclasses
from typing import Any

import jax
import numpy as np


@dataclasses.dataclass(frozen=True)
class Forbidding:
    """An environment in which some actions are never legal; all else is the inner one's.

    Whoever chooses among legal actions can no longer take them. They must not be all that is legal:
    of ALEM's, waiting always stays.

    Attributes:
        inner: a `marl.types.BatchEnv` or `marl.types.VectorEnv`, or one of ALEM's worlds alone.
        actions: which are forbidden.
    """

    inner: Any
    actions: tuple[int, ...]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def reset(self, key: jax.Array, params: Any) -> tuple:
        return self._hidden(self.inner.reset(key, params))

    def step(self, key: jax.Array, state: Any, actions: jax.Array, params: Any) -> tuple:
        return self._hidden(self.inner.step(key, state, actions, params))

    def reset_batch(self, keys: jax.Array, params: Any) -> tuple:
        return self._hidden(self.inner.reset_batch(keys, params))

    def step_batch(self, keys: jax.Array, state: Any, actions: jax.Array, params: Any) -> tuple:
        return self._hidden(self.inner.step_batch(keys, state, actions, params))

    def _hidden(self, results: tuple) -> tuple:
        """What the inner environment returned, without the actions in what is observed."""
        observation, *others = results
        if isinstance(others[-1], dict) and "final_observation" in others[-1]:
            final = self._forbid(others[-1]["final_observation"])
            others[-1] = others[-1] | {"final_observation": final}
        return self._forbid(observation), *others

    def _forbid(self, observation: Any) -> Any:
        allowed = ~np.isin(np.arange(self.num_actions), self.actions)
        return observation.replace(legal=observation.legal & allowed)
