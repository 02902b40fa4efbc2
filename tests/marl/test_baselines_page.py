"""docs/baselines.md: its counts of parameters are those of the networks that runs build."""

import re
from pathlib import Path

import jax
import pytest
from test_runs_config import train_config

import alem_env
from marl.learners.registry import LEARNERS

PAGE = (Path(__file__).parents[2] / "docs" / "baselines.md").read_text()
# learner -> what the columns "as published" and "CPU-sized" begin with
COUNTS = {
    name: columns
    for name, *columns in re.findall(r"^\| `(\w+)` \|.*\| ([\d,]+)[^|]*\| ([\d,]+) \|$", PAGE, re.M)
}


def test_every_learner_has_its_counts():
    assert set(COUNTS) == set(LEARNERS)


@pytest.mark.parametrize("column, preset", [(0, "experiment=published_{}"), (1, "learner={}")])
@pytest.mark.parametrize("name", LEARNERS)
def test_parameters_are_as_many_as_the_page_says(name, column, preset):
    config = train_config(preset.format(name))
    env = alem_env.VectorEnv(alem_env.make(num_agents=3, num_comm_channels=4), config.num_envs)
    learner = LEARNERS[name].make(env, config.network, config.learner.options)
    params = jax.eval_shape(learner.policy.init_params, jax.random.key(0))
    assert f"{sum(leaf.size for leaf in jax.tree.leaves(params)):,}" == COUNTS[name][column]
