"""What the tests of world generation share."""

import json
from functools import cache
from pathlib import Path

import jax
import numpy as np

from alem_env.core import rng
from alem_env.core.params import StaticParams, difficulty
from alem_env.reference import to_reference
from alem_env.worldgen.world import generate_world

DIGESTS = Path(__file__).with_name("digests.json")
PROTOCOL_SEEDS = range(9999, 10019)
DIFFICULTIES = ("easy", "medium", "hard")
STATIC = StaticParams(num_agents=3, num_comm_channels=4)


@cache
def generator(static: StaticParams = STATIC):
    """Compiled `generate_world` for a batch of keys (E, 2), all of one difficulty."""

    def generate(keys, params):
        return jax.vmap(lambda key: generate_world(key, params, static))(keys)

    return jax.jit(generate)


def keys_of(track: str, seeds=PROTOCOL_SEEDS) -> np.ndarray:
    """Keys (E, 2) with which a track resets the worlds of its seeds."""
    keys = [rng.words(jax.random.key(seed)) for seed in seeds]
    if track == "llm":
        keys = [rng.split(key)[1] for key in keys]
    return np.stack(keys)


def generate(track: str, level: str, static: StaticParams = STATIC, seeds=PROTOCOL_SEEDS):
    """Worlds of a track in the benchmark's fields, a dict for each seed."""
    worlds = generator(static)(keys_of(track, seeds), difficulty(level))
    worlds = jax.tree.map(np.asarray, worlds)
    return [
        to_reference(jax.tree.map(lambda leaf, i=i: leaf[i], worlds), static)
        for i in range(len(seeds))
    ]


def pinned() -> dict[str, list[str]]:
    """Digests of the benchmark's own worlds: "rules/track/difficulty" -> one for each seed."""
    return json.loads(DIGESTS.read_text())
