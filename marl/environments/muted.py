"""ALEM in which nobody hears a message."""

import dataclasses
from typing import Any

import jax

import alem_env


@dataclasses.dataclass(frozen=True)
class Muted:
    """The inner environment, but messages are blank wherever they are observed.

    Speaking stays possible, takes the step as always and is counted: what a team loses is what it
    hears. Teammates in sight and requests stay.

    Attributes:
        inner: a `marl.types.BatchEnv` of ALEM.
    """

    inner: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def reset_batch(self, keys: jax.Array, params: Any) -> tuple:
        return self._blanked(self.inner.reset_batch(keys, params))

    def step_batch(self, keys: jax.Array, state: Any, actions: jax.Array, params: Any) -> tuple:
        return self._blanked(self.inner.step_batch(keys, state, actions, params))

    def _blanked(self, results: tuple) -> tuple:
        observation, *others = results
        return alem_env.without_messages(observation), *others
