"""What `scripts/benchmark.py train` says of a run."""

import dataclasses
import time

import pytest
from test_runs_loop import config_for
from toys import CARD

from marl.learners import ippo
from marl.probes import DelayedReward
from marl.training.assembly import Assembly
from marl.training.books import Books
from marl.training.command import BundleExporter
from marl.training.timing import time_updates


def test_rollout_learning_and_host_are_told_apart(tmp_path, monkeypatch):
    """On a probe: each is made slow by a known time in turn."""
    config = config_for(4)
    learner = ippo.make(DelayedReward(config.num_envs), config.network, config.learner.options)

    def compile_slow(state):
        step = learner.compile(state)
        return step._replace(
            collecting=lambda *given: (time.sleep(0.1), step.collecting(*given))[1],
            learning=lambda *given: (time.sleep(0.2), step.learning(*given))[1],
        )

    record = Books.record
    monkeypatch.setattr(Books, "record", lambda *both: (time.sleep(0.3), record(*both))[1])
    turns = []

    def turn():
        time.sleep(0.4)
        turns.append(1)

    slow = dataclasses.replace(learner, compile=compile_slow)
    parts = Assembly(slow, BundleExporter(CARD), None, {})
    figures = time_updates(config, parts, tmp_path / "run", between=turn)
    parts = [figures[name] for name in ("rollout_s", "learning_s", "host_s")]
    for took, slept in zip(parts, (0.1, 0.2, 0.3), strict=True):
        assert slept <= took < slept + 0.3, figures
    assert figures["steps_per_s"] == pytest.approx(10 / sum(parts))
    assert figures["compile_s"] > 0 and len(turns) == 4
