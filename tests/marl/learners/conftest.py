"""Learners are compiled with few of the optimisations, which would take half of the time.

Probes, runs and the world are compiled as users have them.
"""

import jax
import pytest


@pytest.fixture(autouse=True, scope="module")
def compile_fast():
    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", before)
