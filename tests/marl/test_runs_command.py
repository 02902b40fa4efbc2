"""`scripts/train.py` from options to exit code, with a toy in place of ALEM and its learner."""

import json
import os
import signal
import sys

import jax.numpy as jnp
import numpy as np
import pytest
from test_runs_loop import OPTIONS
from toys import CARD, ToyLearner, ToyWorld, toy_policy

from marl.environments.alem import SCORING
from marl.evaluation.protocol import Evaluator
from marl.export import load_params, update_card
from marl.host.exits import Jobs
from marl.policy_card import read_card
from marl.training import command
from marl.training.assembly import Assembly
from marl.training.command import BundleExporter


class Judge(Evaluator):
    """Plays the toy policy whatever the parameters, and remembers which those were."""

    def __init__(self):
        super().__init__(ToyWorld(), jnp.float32(1.0), toy_policy(), ToyWorld.outcome, width=2)
        self.played, self.development = [], 0

    def play(self, params, seeds, **options):
        results = super().play(jnp.float32(1.0), seeds, **options)
        if seeds[0] == 9999:
            self.played.append(np.asarray(params["layer"]["kernel"]))
        else:  # development scores fall
            self.development += 1
            results.scores["total"][:] = 1.0 / self.development
        return results


@pytest.fixture
def judge():
    return Judge()


@pytest.fixture
def call(tmp_path, monkeypatch, judge):
    def call(learner=None, updates=5, **options):
        exporter = BundleExporter(CARD)
        parts = Assembly(learner or ToyLearner(), exporter, judge, {}, SCORING)
        monkeypatch.setattr(command, "assemble", lambda config: parts)
        values = json.loads(json.dumps(OPTIONS))
        values["total_steps"] = 10 * updates
        values["run"]["dir"] = str(tmp_path)
        values["evaluation"] |= {"worlds": 2, "every_updates": 2}
        for name, value in options.items():
            group, _, option = name.partition("_")
            values[group][option] = value
        return command.run(values)

    return call


def test_newest_and_best_are_evaluated_once(call, judge, tmp_path):
    assert call() == 0
    report = json.loads((tmp_path / "evaluation.json").read_text())
    best = "best on development worlds, greedy"
    assert list(report["results"]) == ["greedy", "sampled", best, "random"]

    greedy, sampled, best_kernel, _ = judge.played
    np.testing.assert_array_equal(greedy, load_params(tmp_path / "policy")["layer"]["kernel"])
    np.testing.assert_array_equal(greedy, sampled)
    np.testing.assert_array_equal(
        best_kernel, load_params(tmp_path / "policy_best")["layer"]["kernel"]
    )
    assert not np.array_equal(greedy, best_kernel)
    assert read_card(tmp_path / "policy_best")["training"]["update"] == 2
    assert call() == 0 and len(judge.played) == 4, "the report of the first call was not used"
    assert call(evaluation_worlds=1) == 0 and len(judge.played) == 8
    assert call(updates=7) == 0 and len(judge.played) == 12


def test_scores_stand_on_the_card_of_the_weights_they_were_made_with(call, judge, tmp_path):
    call()
    scores = read_card(tmp_path / "policy")["scores"]
    card = read_card(tmp_path / "policy")
    # As if the process had died after the checkpoint, with the policy of update 1 still there.
    update_card(tmp_path / "policy", training=card["training"] | {"update": 1}, scores=None)
    assert call() == 0
    card = read_card(tmp_path / "policy")
    assert card["training"]["update"] == 5 and card["scores"] == scores
    np.testing.assert_array_equal(
        load_params(tmp_path / "policy")["layer"]["kernel"], judge.played[0]
    )


def test_a_best_policy_of_an_unsaved_evaluation_is_not_shown(call, tmp_path):
    call()
    card = read_card(tmp_path / "policy_best")
    update_card(tmp_path / "policy_best", training=card["training"] | {"update": 1})
    assert call(evaluation_worlds=1) == 0
    report = json.loads((tmp_path / "evaluation.json").read_text())
    assert list(report["results"]) == ["greedy", "sampled", "random"]


def rows(tmp_path):
    return list(json.loads((tmp_path / "evaluation.json").read_text())["results"])


def test_the_best_of_one_is_not_shown_and_that_of_two_is(call, tmp_path):
    assert call(updates=1) == 0  # evaluated at its end only
    assert read_card(tmp_path / "policy_best")["training"]["update"] == 1
    assert rows(tmp_path) == ["greedy", "sampled", "random"]
    assert call(updates=3) == 0
    assert rows(tmp_path)[2].startswith("best")


def test_an_evaluation_in_place_of_another_is_told(call, tmp_path, capsys):
    assert call() == 0 and "is replaced" not in capsys.readouterr().out
    assert call(evaluation_worlds=1) == 0
    assert "note: evaluation.json of 2 worlds, at most" in capsys.readouterr().out
    assert call(updates=7, evaluation_worlds=2) == 0  # of other parameters
    assert "is replaced" not in capsys.readouterr().out


def test_the_same_parameters_are_not_shown_twice(call, tmp_path):
    class Still(ToyLearner):
        def _train_step(self, state):
            after, metrics = super()._train_step(state)
            return after.replace(params=state.params), metrics

    assert call(Still(), updates=5) == 0
    assert read_card(tmp_path / "policy_best")["training"]["update"] == 2
    assert rows(tmp_path) == ["greedy", "sampled", "random"]


@pytest.mark.parametrize("damage", ["list", "part"])
def test_a_damaged_report_is_made_again(call, judge, tmp_path, damage):
    call()
    path = tmp_path / "evaluation.json"
    report = json.loads(path.read_text())
    path.write_text(json.dumps([report] if damage == "list" else {"asked": report["asked"]}))
    assert call() == 0 and len(judge.played) == 8
    assert json.loads(path.read_text())["results"].keys() == report["results"].keys()


class Interrupting(ToyLearner):
    """Meets Ctrl-C in its second update, once or twice."""

    def __init__(self, times):
        super().__init__()
        self.times, self.updates = times, 0

    def compile(self, state):
        step = super().compile(state)

        def interrupted(state):
            self.updates += 1
            for _ in range(self.times if self.updates == 2 else 0):
                signal.raise_signal(signal.SIGINT)
            return step(state)

        return interrupted


class OutOfMemory(ToyLearner):
    def compile(self, state):
        raise MemoryError("17 GB")


@pytest.mark.parametrize(
    "learner, options, code, words",
    [
        (None, {"env_difficulty": "harder"}, 2, "env.difficulty='harder'"),
        (ToyLearner(bad_update=2), {}, 3, "update 2 is not finite"),
        (OutOfMemory(), {}, 4, "lower num_envs"),
        (None, {"run_dir": "/dev/null/x"}, 4, "run.dir=/dev/null/x"),
        (Interrupting(1), {}, 130, "SIGINT"),
        (Interrupting(2), {}, 130, "stopping at once; what was saved"),
    ],
)
def test_exit_codes(call, capfd, learner, options, code, words):
    assert call(learner, **options) == code
    assert words in capfd.readouterr().err


def test_a_best_policy_that_cannot_be_read_is_left_out_of_the_evaluation(call, tmp_path, capsys):
    call()
    (tmp_path / "policy_best" / "weights.safetensors").write_bytes(b"")
    assert call(evaluation_worlds=1) == 0
    assert "weights.safetensors cannot be read" in capsys.readouterr().out
    report = json.loads((tmp_path / "evaluation.json").read_text())
    assert set(report["results"]) == {"greedy", "sampled", "random"}


def test_a_damaged_newest_policy_is_written_again(call, tmp_path):
    call()
    weights = tmp_path / "policy" / "weights.safetensors"
    before = weights.read_bytes()
    weights.write_bytes(before[:100])
    call()
    assert weights.read_bytes() == before


def test_a_policy_that_cannot_be_written_is_a_file_that_failed(call, tmp_path, monkeypatch, capsys):
    from safetensors import SafetensorError

    def full(*_):
        raise SafetensorError("No space left on device")

    monkeypatch.setattr("marl.export.save_file", full)
    assert call() == 4
    message = capsys.readouterr().err
    assert f"policy={tmp_path / 'policy_best'}" in message and "free some space" in message
    assert not list(tmp_path.glob(".*partial"))


def test_a_link_in_place_of_a_policy_is_replaced(call, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine").touch()
    (tmp_path / "policy").symlink_to(elsewhere)
    assert call() == 0
    assert (tmp_path / "policy" / "card.json").exists() and not (tmp_path / "policy").is_symlink()
    assert [p.name for p in elsewhere.iterdir()] == ["mine"]


class RefusedError(Exception):
    pass


@pytest.fixture
def ends_here(monkeypatch):
    """The process ends as usual where it would be torn down."""
    monkeypatch.setattr(os, "_exit", sys.exit)


def exit_code_of(jobs, main):
    with pytest.raises(SystemExit) as leaving:
        jobs.exit_after(main, refused=(RefusedError,), reasons=lambda error: [f"no: {error}"])
    return leaving.value.code


def test_the_worst_job_of_a_sweep_decides_and_the_others_run():
    jobs, ran = Jobs(), []

    def main():
        for code in (0, 4, 3, 0):
            jobs.run(lambda value: ran.append(value) or value, code)

    assert exit_code_of(jobs, main) == 4 and ran == [0, 4, 3, 0]


def test_a_signal_ends_the_sweep(ends_here):
    jobs, ran = Jobs(), []

    def main():
        for code in (0, 130, 0):
            jobs.run(lambda value: ran.append(value) or value, code)

    assert exit_code_of(jobs, main) == 130 and ran == [0, 130]


def test_refused_options_are_told_and_faults_of_a_job_are_shown(capsys):
    def refuse():
        raise RefusedError("that")

    assert exit_code_of(Jobs(), refuse) == 2
    assert capsys.readouterr().err == "error: no: that\n"
    jobs = Jobs()
    assert exit_code_of(jobs, lambda: jobs.run(lambda value: refuse(), None)) == 1
    assert "Traceback" in (said := capsys.readouterr().err) and "RefusedError: that" in said


def test_ctrl_c_before_the_first_job_is_one_line(capsys, ends_here):
    def interrupted():
        raise KeyboardInterrupt

    assert exit_code_of(Jobs(), interrupted) == 130
    assert capsys.readouterr().err == "error: stopped\n"
