"""The real learner in the real loop, on a probe: resumed equals uninterrupted, annealing on."""

import jax
import numpy as np
import pytest
from test_runs_loop import config_for

from marl.host.folder import prepare
from marl.host.stopping import StopRequest
from marl.learners import registry
from marl.probes import DelayedReward
from marl.training.assembly import Assembly
from marl.training.checkpoint import Checkpoints
from marl.training.command import BundleExporter
from marl.training.loop import train


def make(config):
    learner = registry.get("ippo")(
        DelayedReward(config.num_envs), config.network, config.learner.options
    )

    return Assembly(learner, BundleExporter({}), None, {})


def end_of(folder, config):
    template = jax.eval_shape(make(config).learner.init, jax.random.key(0))
    checkpoints = Checkpoints(folder / "checkpoints", keep=2, versions={})
    update, state, _ = checkpoints.restore_newest(template, dict)
    checkpoints.close()
    return update, jax.tree.leaves(state.replace(key=jax.random.key_data(state.key)))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    config = config_for(4, anneal_lr=True)
    train(config, make(config), prepare(folder), StopRequest())
    return end_of(folder, config)


def test_resumed_equals_uninterrupted(whole, tmp_path):
    for stop_after in (1, 2, None):
        config = config_for(4, anneal_lr=True, stop_after=stop_after)
        train(config, make(config), prepare(tmp_path), StopRequest())
    update, leaves = end_of(tmp_path, config)
    assert update == whole[0] == 4
    for ours, theirs in zip(leaves, whole[1], strict=True):
        np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))
