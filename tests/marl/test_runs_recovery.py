"""Runs that were cut short, and what the next call makes of them."""

import dataclasses
import json
import logging
import os
import shutil
import signal
import time
import warnings

import jax.numpy as jnp
import numpy as np
import pytest
from test_runs_loop import (
    ToyExporter,
    assembly,
    assert_same_end,
    changed,
    config_for,
    newest_state,
    run,
)
from toys import ToyLearner, ToyWorld, toy_policy

from marl.environments.alem import SCORING
from marl.evaluation.protocol import Evaluator, Interrupted
from marl.host import files, folder
from marl.host.progress import Lines
from marl.host.stopping import StopRequest
from marl.training import books, loop, plots
from marl.training.assembly import End
from marl.training.books import NonFiniteError
from marl.training.checkpoint import Checkpoints
from marl.training.loggers import JsonLines, keep_saved, read_records


def policy_of(path):
    facts = json.loads((path / "policy" / "facts.json").read_text())
    return facts["update"], np.load(path / "policy" / "kernel.npy")


class Killed(ToyExporter):
    """The process dies when the policy of update 6 should be written."""

    def save(self, path, params, config, facts):
        if facts["update"] == 6:
            raise KeyboardInterrupt
        super().save(path, params, config, facts)


def test_killed_between_checkpoint_and_policy(tmp_path):
    config = config_for(6, checkpoint_every=2)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, config, dataclasses.replace(assembly(), exporter=Killed()))
    assert (newest_state(tmp_path)[0], policy_of(tmp_path)[0]) == (6, 4)
    run(tmp_path, config)
    update, kernel = policy_of(tmp_path)
    assert update == 6
    np.testing.assert_array_equal(kernel, newest_state(tmp_path)[1].params["layer"]["kernel"])


def test_a_finished_run_replaces_a_lost_policy(tmp_path):
    run(tmp_path, config_for(2))
    shutil.rmtree(tmp_path / "policy")
    run(tmp_path, config_for(2))
    assert policy_of(tmp_path)[0] == 2


def test_a_checkpoint_of_another_name_is_stepped_over(tmp_path, caplog):
    config = config_for(6, checkpoint_every=2, stop_after=5)
    run(tmp_path, config)
    checkpoints = tmp_path / "checkpoints"
    (checkpoints / "5").rename(checkpoints / "60")
    assert run(tmp_path, config_for(6)).facts["update"] == 6
    assert "it is of update 5, and was renamed" in caplog.text
    assert newest_state(tmp_path)[0] == 6


def test_a_run_that_got_further_than_is_asked_for_stays_as_it_is(tmp_path):
    run(tmp_path, config_for(6))
    before = (tmp_path / "config.yaml").read_text()
    with pytest.raises(
        folder.RunFolderError, match="60 steps, more than total_steps=30: raise it beyond"
    ):
        run(tmp_path, config_for(3))
    assert (tmp_path / "config.yaml").read_text() == before


def test_the_newest_checkpoint_survives_being_saved_again(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep=1, versions={})
    for extra in ({"n": 1}, {"n": 2}):
        checkpoints.save(3, {"x": jnp.ones(2)}, extra)
    checkpoints.close()
    assert [p.name for p in tmp_path.iterdir()] == ["3"]
    os.rename(tmp_path / "3", tmp_path / ".replaced-3")  # killed between the two renames
    checkpoints = Checkpoints(tmp_path, keep=1, versions={})
    assert checkpoints.restore_newest({"x": jnp.ones(2)}, dict)[2] == {"n": 2}
    checkpoints.close()


def test_folders_reach_the_disk_before_they_are_renamed(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(files, "_sync", lambda path: synced.append((path, final.exists())))
    partial, final = tmp_path / "partial", tmp_path / "final"
    (partial / "inner").mkdir(parents=True)
    (partial / "inner" / "file").write_text("x")
    files.rename_durably(partial, final)
    before = {path for path, renamed in synced if not renamed}
    assert before == {partial, partial / "inner", partial / "inner" / "file"}
    assert synced[-1] == (tmp_path, True)


class Slow(ToyLearner):
    """Updates take 20 ms."""

    def compile(self, state):
        step = super().compile(state)

        def slow_step(state):
            time.sleep(0.02)
            return step(state)

        return slow_step


def test_a_run_limited_by_time_ends_also_in_slices_of_one_update(tmp_path):
    config = dataclasses.replace(config_for(stop_after=1), total_steps=None)
    config = changed(config, run={"minutes": 0.05 / 60})
    ends = []
    while End.FINISHED not in ends and len(ends) < 5:
        outcome = run(tmp_path, config, assembly(Slow()))
        ends.append(outcome.end)
    assert ends[-1] is End.FINISHED and ends[0] is End.SLICE
    assert outcome.facts["seconds"] >= 0.05
    assert len(read_records(tmp_path)) == outcome.facts["update"]


class Falling(Evaluator):
    """Scores fall from evaluation to evaluation; the second one meets a stop request."""

    def __init__(self, stop=None):
        super().__init__(ToyWorld(), jnp.float32(1.0), toy_policy(), ToyWorld.outcome, width=2)
        self.total, self.stop = 1.0, stop

    def play(self, params, seeds, **options):
        if self.total == 0.5 and self.stop is not None:
            self.stop.signal = signal.SIGTERM
            raise Interrupted
        results = super().play(jnp.float32(1.0), seeds, **options)
        self.total /= 2
        results.scores["total"][:] = self.total
        return results


def evaluations(path):
    return [(r["update"], r["evaluation/total"]) for r in read_records(path)
            if r["kind"] == "evaluation"]  # fmt: skip


def test_an_evaluation_that_was_stopped_is_made_by_the_next_call(tmp_path):
    config, stop = config_for(3, evaluate_every=1), StopRequest()
    evaluator = Falling(stop)
    assert run(tmp_path, config, assembly(evaluator=evaluator), stop).end is End.SIGNAL
    assert evaluations(tmp_path) == [(1, 50.0)]
    evaluator.stop = None
    run(tmp_path, config, assembly(evaluator=evaluator))
    assert evaluations(tmp_path) == [(1, 50.0), (2, 25.0), (3, 12.5)]
    run(tmp_path, config, assembly(evaluator=evaluator))  # and not once more
    assert evaluations(tmp_path) == [(1, 50.0), (2, 25.0), (3, 12.5)]


def test_scores_of_other_evaluations_do_not_compare(tmp_path):
    evaluator = Falling()
    config = config_for(6, evaluate_every=1, stop_after=2)
    facts = run(tmp_path, config, assembly(evaluator=evaluator)).facts
    assert (facts["best_update"], facts["best_score"]) == (1, 50.0)
    config = changed(config, evaluation={"development_max_steps": 7})
    facts = run(tmp_path, config, assembly(evaluator=evaluator)).facts
    assert (facts["best_update"], facts["best_score"]) == (3, 12.5)


def test_no_episode_is_lost_between_records(tmp_path):
    for stop_after in (3, None):
        config = changed(config_for(6, stop_after=stop_after), run={"log_every_updates": 4})
        run(tmp_path, config)
    records = read_records(tmp_path)
    assert [r["update"] for r in records] == [4, 6]
    assert [r["episodes/count"] for r in records] == [2, 1]
    run(tmp_path, config)
    assert read_records(tmp_path) == records


def test_an_attempt_that_saved_nothing_binds_nobody(tmp_path):
    class OutOfMemory(ToyLearner):
        def compile(self, state):
            raise MemoryError

    with pytest.raises(MemoryError):
        run(tmp_path, config_for(2), assembly(OutOfMemory()))
    assert run(tmp_path, config_for(2, lr=0.5)).end is End.FINISHED


def test_other_versions_are_noted_and_said(tmp_path, monkeypatch, capsys):
    run(tmp_path, config_for(3, stop_after=1))
    run(tmp_path, config_for(3, stop_after=1))
    assert len(json.loads((tmp_path / "versions.json").read_text())) == 1
    now = folder.package_versions()
    monkeypatch.setattr(folder, "package_versions", lambda: {**now, "jaxlib": "9.9"})
    run(tmp_path, config_for(3))
    noted = json.loads((tmp_path / "versions.json").read_text())
    assert [(n["from_update"], n["versions"]["jaxlib"]) for n in noted] == [
        (0, now["jaxlib"]), (2, "9.9"),
    ]  # fmt: skip
    assert f"jaxlib {now['jaxlib']} and goes on with 9.9" in capsys.readouterr().out


def test_only_a_last_line_may_be_cut(tmp_path, caplog):
    path = tmp_path / "metrics.jsonl"
    line = '{"kind": "training", "update": %d}\n'
    path.write_text(line % 1 + '{"upd\n' + line % 2 + line % 3 + '{"update"')
    with caplog.at_level(logging.WARNING):
        kept = keep_saved(tmp_path, lambda record: record["update"] <= 2)
    assert [record["update"] for record in kept] == [1, 2]
    logger = JsonLines(tmp_path)
    logger.log({"kind": "training", "update": 3})
    logger.close()
    assert "lines [2]" in caplog.text
    assert path.read_text() == line % 1 + '{"upd\n' + line % 2 + line % 3


def test_an_update_that_is_not_finite_is_on_record(tmp_path):
    config = config_for(6, checkpoint_every=2)
    with pytest.raises(
        NonFiniteError, match="last checkpoint is of update 2.*policy before update 4"
    ):
        run(tmp_path, config, assembly(ToyLearner(bad_update=4)))
    last = read_records(tmp_path)[-1]
    assert last["update"] == 4 and last["loss/total"] is None
    assert policy_of(tmp_path)[0] == 3
    run(tmp_path, config, assembly())
    assert policy_of(tmp_path)[0] == 6


def test_the_legend_lies_beside_the_curves():
    record = {"kind": "training", "episodes/count": 1.0, "episodes/team_return": 1.0}
    scores = {f"episodes/{name}": 9.0 for name in ("base", "coord", "total")}
    records = [record | scores | {"update": n, "env_steps": 10 * n} for n in (1, 2, 3)]
    figure = plots.draw(records, "a run", SCORING.shares)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of a layout that cannot be
        figure.draw_without_rendering()
    left, right = (axes.get_window_extent() for axes in figure.axes)
    (legend,) = (legend.get_window_extent() for legend in figure.legends)
    assert not legend.overlaps(right)
    assert figure.bbox.x1 >= legend.x1 and figure.bbox.y1 >= legend.y1
    assert min(left.width, right.width) > 0.4 * figure.bbox.width


def test_a_stop_does_not_wait_for_many_curves(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(loop, "SECONDS_OF_PLOTS_AFTER_A_STOP", -1.0)
    monkeypatch.setattr(books, "plot_curve", lambda folder, *_: drawn.append(folder.name))
    config, stop = dataclasses.replace(config_for(6), num_seeds=2), StopRequest()

    class Stopped(ToyLearner):
        def compile(self, state):
            step = super().compile(state)
            return lambda state: (setattr(stop, "signal", signal.SIGTERM), step(state))[1]

    parts = assembly(Stopped())
    assert run(tmp_path, config, parts, stop).end is End.SIGNAL and drawn == []
    assert run(tmp_path, config).end is End.FINISHED and drawn == ["seed3", "seed4"]


def test_how_many_seeds_are_saved_is_told(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(loop, "make_display", lambda kind, label: Lines(label, seconds=0.0))
    run(tmp_path, dataclasses.replace(config_for(1), num_seeds=3))
    told = capsys.readouterr().out.splitlines()
    for done in ("saved", "drew the curves of"):
        assert [f"train 100% {done} {n} of 3 seeds" in told for n in (1, 2)] == [True, True]


def test_a_curve_that_cannot_be_drawn_ends_nothing(tmp_path, monkeypatch, capsys):
    def fail(*_):
        raise RuntimeError("no fonts")

    monkeypatch.setattr(books, "plot_curve", fail)
    assert run(tmp_path, config_for(2)).end is End.FINISHED
    assert "no fonts" in capsys.readouterr().out


def test_stopping_and_evaluating_changes_nothing(tmp_path):
    run(tmp_path / "whole", config_for(4))
    for stop_after in (1, 2, None):
        config = config_for(4, stop_after=stop_after, evaluate_every=2)
        run(tmp_path / "parts", config, assembly(evaluator=Falling()))
    assert_same_end(tmp_path / "parts", tmp_path / "whole")
