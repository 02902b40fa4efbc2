"""States of recordings, with the legal actions and observations that the benchmark gave them."""

import functools
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from alem_env import recording
from alem_env.core.params import EnvParams, StaticParams
from alem_env.core.state import State
from alem_env.reference import from_reference

GOLDEN = Path(__file__).parent / "golden"


class Recorded(NamedTuple):
    static: StaticParams
    params: EnvParams
    before: State  # (T, ...) states that steps start from
    masks: np.ndarray  # (T, A, num_actions) bool, of `before`
    after: State  # (N, ...) states after every tenth step
    observations: np.ndarray  # (N, A, obs_dim) float32, of `after`
    final: State  # state after the last step
    score: dict[str, np.ndarray]  # of `final`


@functools.cache
def read(name: str) -> Recorded:
    """The recording of that name."""
    episode = recording.load(GOLDEN / f"{name}.npz")
    flat, before, after, observations = episode.init, [], [], []
    for step in range(episode.num_steps):
        flat = recording.patch(flat, episode.edits.at(step))
        before.append(flat)
        flat = recording.patch(flat, episode.changes.at(step))
        seen = episode.observations.at(step)
        if seen:
            after.append(flat)
            empty = {"obs": np.zeros(episode.observation_shape, np.float32)}
            observations.append(recording.patch(empty, seen)["obs"])
    return Recorded(
        static=episode.static,
        params=episode.params,
        before=_stack(before, episode.static),
        masks=episode.masks,
        after=_stack(after, episode.static),
        observations=np.stack(observations),
        final=from_reference(flat, episode.static),
        score=episode.score,
    )


def _stack(flats: list[dict], static: StaticParams) -> State:
    states = [jax.tree.map(np.asarray, from_reference(flat, static)) for flat in flats]
    return jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves)), *states)
