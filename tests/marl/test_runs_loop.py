"""Runs survive: resumed equals uninterrupted, damage is stepped over, others' folders are safe."""

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from toys import ToyLearner, ToyWorld, toy_policy

from marl.environments.alem import SCORING
from marl.evaluation.protocol import Evaluator
from marl.host.folder import RunFolderError, locked, prepare, require_space
from marl.host.stopping import StopRequest
from marl.read_config import make_train_config
from marl.training.assembly import Assembly, End
from marl.training.books import NonFiniteError
from marl.training.checkpoint import CheckpointError, Checkpoints
from marl.training.loggers import read_records
from marl.training.loop import train

OPTIONS = {
    "name": "toy", "seed": 3, "num_seeds": 1, "num_envs": 2, "num_steps": 5,
    "total_steps": 60, "fit_minibatches": True,
    "env": {
        "difficulty": "hard", "num_agents": 3, "num_comm_channels": 4, "rules_version": "0.2.1",
        "shared_reward": False, "non_specialist_efficiency": None, "without": None,
    },
    "learner": {
        "name": "ippo", "lr": 1e-3, "anneal_lr": False, "gamma": 0.99, "gae_lambda": 0.8,
        "clip_eps": 0.2, "ent_coef": 0.01, "vf_coef": 0.5, "max_grad_norm": 1.0,
        "adam_eps": 1e-5, "num_minibatches": 1, "update_epochs": 1, "mask_dead_agents": True,
        "bootstrap_truncated": True, "advantage_norm": "minibatch", "value_norm": False,
        "huber_delta": None, "max_kl": None,
    },
    "network": {
        "embedding_size": 4, "hidden_size": 4, "actor_size": 4, "critic_size": 4,
        "activation": "relu", "embedding_gain": 1.0,
    },
    "logger": {
        "console": "none", "tensorboard": False, "wandb_mode": "disabled", "wandb_project": "t",
        "wandb_name": None,
    },
    "run": {
        "dir": None, "devices": None, "minutes": 1.0, "stop_after_updates": None,
        "checkpoint_every_updates": 50, "keep_checkpoints": 2, "log_every_updates": 1,
    },
    "evaluation": {
        "every_updates": 0, "development_worlds": 2, "development_max_steps": 20, "worlds": 0,
        "max_steps": 20,
    },
}  # fmt: skip


def config_for(
    updates=6, *, stop_after=None, checkpoint_every=50, evaluate_every=0, network=None, **learner
):
    options = json.loads(json.dumps(OPTIONS))
    options["total_steps"] = 10 * updates
    options["run"] |= {
        "stop_after_updates": stop_after,
        "checkpoint_every_updates": checkpoint_every,
    }
    options["evaluation"]["every_updates"] = evaluate_every
    options["learner"] |= learner
    options["network"] |= network or {}
    return make_train_config(options)[0]


def changed(config, **groups):
    """`config` with single options of its groups replaced."""
    return dataclasses.replace(
        config, **{g: dataclasses.replace(getattr(config, g), **o) for g, o in groups.items()}
    )


class ToyExporter:
    """Weights as numpy has them, and the facts."""

    def save(self, folder: Path, params, config, facts):
        folder.mkdir(exist_ok=True)
        np.save(folder / "kernel.npy", np.asarray(params["layer"]["kernel"]))
        (folder / "facts.json").write_text(json.dumps(facts))

    def update_of(self, folder: Path):
        path = folder / "facts.json"
        return json.loads(path.read_text())["update"] if path.exists() else None


def assembly(learner=None, evaluator=None):
    return Assembly(learner or ToyLearner(), ToyExporter(), evaluator, {"rules": "0.2.1"}, SCORING)


def run(folder, config, parts=None, stop=None):
    return train(config, parts or assembly(), prepare(folder), stop or StopRequest())[0]


def newest(folder, parts):
    """(update, state) of the newest checkpoint of a run of those parts."""
    template = jax.eval_shape(parts.learner.init, jax.random.key(0))
    checkpoints = Checkpoints(folder / "checkpoints", keep=2, versions=parts.versions)
    update, state, _ = checkpoints.restore_newest(template, dict)
    checkpoints.close()
    return update, state


def newest_state(folder, size=3):
    return newest(folder, assembly(ToyLearner(size=size)))


def assert_same_end(folder, other):
    """Newest checkpoints are equal bit for bit, keys included."""
    (update, state), (other_update, other_state) = newest_state(folder), newest_state(other)
    assert update == other_update
    assert_equal_states(state, other_state)


def assert_equal_states(state, other_state):
    def compare(a, b):
        assert a.dtype == b.dtype
        if jnp.issubdtype(a.dtype, jax.dtypes.prng_key):
            a, b = jax.random.key_data(a), jax.random.key_data(b)
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))

    jax.tree.map(compare, state, other_state)


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    outcome = run(folder, config_for())
    return folder, outcome


def test_a_run_leaves_what_it_promises(whole_run):
    folder, outcome = whole_run
    assert outcome.end is End.FINISHED and outcome.facts["update"] == 6
    for name in ("config.yaml", "versions.json", "metrics.jsonl", "curve.png", "policy"):
        assert (folder / name).exists(), name
    records = read_records(folder)
    assert [r["update"] for r in records] == [1, 2, 3, 4, 5, 6]
    assert [r["env_steps"] for r in records] == [10, 20, 30, 40, 50, 60]
    assert json.loads((folder / "policy" / "facts.json").read_text())["env_steps"] == 60


def test_each_finished_episode_is_counted_once(whole_run):
    records = read_records(whole_run[0])
    assert sum(r["episodes/count"] for r in records) == 3
    assert records[0]["episodes/team_return"] == 6.0 and records[0]["episodes/coord"] == 50.0
    assert "episodes/team_return" not in records[1]
    rates = {k: v for k, v in records[0].items() if k.startswith("achievement/")}
    assert list(rates.values()) == [pytest.approx(1 / 3)] * 3


def test_resumed_equals_uninterrupted_bit_for_bit(whole_run, tmp_path):
    assert run(tmp_path, config_for(stop_after=2)).end is End.SLICE
    assert newest_state(tmp_path)[0] == 2
    assert run(tmp_path, config_for(stop_after=3)).end is End.SLICE
    assert run(tmp_path, config_for()).end is End.FINISHED
    assert_same_end(tmp_path, whole_run[0])
    wall = {"seconds", "steps_per_second"}
    strip = lambda rs: [{k: v for k, v in r.items() if k not in wall} for r in rs]  # noqa: E731
    assert strip(read_records(tmp_path)) == strip(read_records(whole_run[0]))


def test_a_finished_run_stays_as_it_is(whole_run):
    folder, _ = whole_run
    before = (folder / "metrics.jsonl").read_text()
    assert run(folder, config_for()).end is End.FINISHED
    assert (folder / "metrics.jsonl").read_text() == before


def test_a_complete_run_says_so_and_how_to_go_on(tmp_path, capsys):
    run(tmp_path, config_for(2, stop_after=1))
    run(tmp_path, config_for(2))
    assert "resuming at update 1 (10 steps)" in capsys.readouterr().out
    run(tmp_path, config_for(2))
    out = capsys.readouterr().out
    assert "complete at update 2 (20 steps); total_steps=20 are done: raise it" in out
    assert "give another run.dir" in out and "resuming" not in out
    for _ in range(2):
        run(tmp_path / "annealed", config_for(2, anneal_lr=True))
    out = capsys.readouterr().out
    assert "with learner.anneal_lr=true a longer run is another run" in out and "raise" not in out


def test_a_stop_while_the_first_worlds_are_compiled_leaves_nothing(tmp_path):
    class Learner(ToyLearner):
        def compile(self, state):
            signal.raise_signal(signal.SIGTERM)

    with pytest.raises(KeyboardInterrupt), StopRequest() as stop:
        run(tmp_path, config_for(), assembly(Learner()), stop)
    assert not list((tmp_path / "checkpoints").iterdir())
    assert run(tmp_path, config_for()).end is End.FINISHED


def test_a_longer_run_goes_on_where_the_rate_is_constant(tmp_path):
    run(tmp_path, config_for(2))
    assert run(tmp_path, config_for(3)).facts["update"] == 3
    with pytest.raises(RunFolderError, match="learner.lr=0.001, not 0.5"):
        run(tmp_path, config_for(3, lr=0.5))
    annealed = tmp_path / "annealed"
    run(annealed, config_for(2, anneal_lr=True))
    with pytest.raises(RunFolderError, match="total_steps=20, not 30"):
        run(annealed, config_for(3, anneal_lr=True))


def test_evaluation_leaves_training_untouched_and_keeps_the_best(whole_run, tmp_path):
    class Falling(Evaluator):
        """Scores fall, so the first policy stays the best."""

        total = 1.0

        def play(self, params, seeds, **options):
            results = super().play(jnp.float32(1.0), seeds, **options)
            self.total /= 2
            results.scores["total"][:] = self.total
            return results

    evaluator = Falling(ToyWorld(), jnp.float32(1.0), toy_policy(), ToyWorld.outcome, width=2)
    outcome = run(tmp_path, config_for(evaluate_every=1), assembly(evaluator=evaluator))
    assert_same_end(tmp_path, whole_run[0])
    assert (outcome.facts["best_update"], outcome.facts["best_score"]) == (1, 50.0)
    best = json.loads((tmp_path / "policy_best" / "facts.json").read_text())
    assert best["update"] == 1
    scores = [r["evaluation/total"] for r in read_records(tmp_path) if r["kind"] == "evaluation"]
    assert scores == [100 * 0.5**n for n in range(1, 7)]


def test_newest_checkpoints_are_kept_and_damage_is_stepped_over(tmp_path, caplog):
    run(tmp_path, config_for(5, checkpoint_every=1))
    saved = tmp_path / "checkpoints"
    assert sorted(p.name for p in saved.iterdir()) == ["4", "5"]
    largest = max(
        (p for p in (saved / "5").rglob("*") if p.is_file()), key=lambda p: p.stat().st_size
    )
    largest.write_bytes(largest.read_bytes()[: largest.stat().st_size // 2])
    assert newest_state(tmp_path)[0] == 4
    assert "damaged" in caplog.text and "trying the one before" in caplog.text
    assert run(tmp_path, config_for(5, checkpoint_every=1)).facts["update"] == 5
    assert newest_state(tmp_path)[0] == 5
    (saved / "5" / "manifest.json").unlink()
    assert newest_state(tmp_path)[0] == 4
    shutil.rmtree(saved / "4")
    with pytest.raises(CheckpointError, match="every checkpoint .* is damaged"):
        run(tmp_path, config_for(5, checkpoint_every=1))


def test_a_checkpoint_of_another_shape_is_refused_by_the_leaf(tmp_path):
    run(tmp_path, config_for(2))
    with pytest.raises(CheckpointError, match=r"params.layer.kernel is float32\(3, 2\).*\(4, 2\)"):
        run(tmp_path, config_for(3), assembly(ToyLearner(size=4)))


def test_a_checkpoint_of_other_rules_is_refused(tmp_path):
    run(tmp_path, config_for(2))
    other = dataclasses.replace(assembly(), versions={"rules": "0.1.0"})
    with pytest.raises(CheckpointError, match=r"rules 0.2.1, this program has 0.1.0"):
        run(tmp_path, config_for(3), other)


def test_non_finite_numbers_stop_the_run_and_lose_nothing(tmp_path):
    run(tmp_path, config_for(2))
    with pytest.raises(NonFiniteError, match=r"update 5 .*loss/total.*learner.lr"):
        run(tmp_path, config_for(6), assembly(ToyLearner(bad_update=5)))
    assert newest_state(tmp_path)[0] == 2
    assert np.isfinite(np.load(tmp_path / "policy" / "kernel.npy")).all()


def test_two_runs_in_one_folder_are_refused(tmp_path):
    with locked(tmp_path):
        with pytest.raises(RunFolderError, match=f"in use by process {os.getpid()}"):
            with locked(tmp_path):
                pass
    with locked(tmp_path):  # free again
        pass


def test_folders_that_cannot_be_used_are_refused_before_work(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFolderError, match=r"run.dir=.*file/x cannot be written"):
        prepare(tmp_path / "file" / "x")
    with pytest.raises(RunFolderError, match="MB free"):
        require_space(tmp_path, 10**18)


def test_a_failed_save_is_reported_and_keeps_what_was_saved(tmp_path):
    checkpoints = Checkpoints(tmp_path / "c", keep=2, versions={})
    state = {"x": jnp.arange(3.0)}
    checkpoints.save(1, state, {})
    checkpoints.wait()
    # A full disk shows up as an error while files are written; a file in the way does the same.
    (tmp_path / "c" / ".partial-2").write_text("")
    checkpoints.save(2, state, {})
    with pytest.raises(CheckpointError, match=r"update 2 could not be saved.*kept: \[1\]"):
        checkpoints.close()
    assert checkpoints.updates() == [1]


def test_odd_folder_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = Path("a folder") / "lr=1 x"
    run(folder, config_for(2, stop_after=1))
    assert run(Path(".") / folder, config_for(2)).end is End.FINISHED
    assert (tmp_path / folder / "checkpoints" / "2").is_dir()


def start_toy(folder, updates):
    command = [
        sys.executable,
        str(Path(__file__).with_name("run_toy.py")),
        str(folder),
        str(updates),
    ]
    # As in a terminal, also where the tests themselves run under nohup.
    previous = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    signal.signal(signal.SIGHUP, previous)
    assert process.stdout.readline() == "ready\n"
    return process


def wait_for_update(folder, update):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        records = read_records(folder)
        if records and records[-1]["update"] >= update:
            return
        time.sleep(0.02)
    raise AssertionError("no progress")


def test_a_stop_while_compiling_comes_before_the_first_update(tmp_path):
    parts, stop = assembly(), StopRequest()

    class Learner(ToyLearner):
        def compile(self, state):
            stop.signal = signal.SIGTERM
            return super().compile(state)

    parts = dataclasses.replace(parts, learner=Learner())
    outcome = run(tmp_path, config_for(), parts, stop)
    assert outcome.end is End.SIGNAL and outcome.facts["update"] == 0
    assert outcome.exit_code == 128 + signal.SIGTERM
    assert run(tmp_path, config_for()).end is End.FINISHED  # and goes on from there


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_save_and_say_so(tmp_path, number):
    process = start_toy(tmp_path, 1_000_000)
    wait_for_update(tmp_path, 2)
    process.send_signal(number)
    try:
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 128 + number
    assert output.splitlines()[-1].startswith("signal ")
    saved = int(output.split()[-1])
    assert (tmp_path / "checkpoints" / str(saved) / "manifest.json").exists()
    assert read_records(tmp_path)[-1]["update"] == saved


@pytest.mark.slow
def test_killed_while_saving_ends_as_if_it_had_not_been(tmp_path):
    """Killed at moments of no choice until it comes to its end."""
    rng = np.random.default_rng(0)
    updates, reached = 60, 0
    for _ in range(3):
        process = start_toy(tmp_path / "killed", updates)
        wait_for_update(tmp_path / "killed", min(updates - 10, reached + 8))
        time.sleep(float(rng.uniform(0, 0.05)))
        process.kill()
        process.wait()
        last = read_records(tmp_path / "killed")[-1]["update"]
        saved = max(int(p.name) for p in (tmp_path / "killed" / "checkpoints").glob("[0-9]*"))
        assert saved >= last - 2  # one save is under way, one may be waiting for it
        reached = saved
    for name in ("killed", "whole"):
        assert start_toy(tmp_path / name, updates).wait(120) == 0
    states = [newest_state(tmp_path / name, size=20_000) for name in ("killed", "whole")]
    assert [update for update, _ in states] == [updates, updates]
    assert_equal_states(*(state for _, state in states))
    records = [read_records(tmp_path / name) for name in ("killed", "whole")]
    assert [r["loss/total"] for r in records[0]] == [r["loss/total"] for r in records[1]]
    kernel = states[0][1].params["layer"]["kernel"]
    np.testing.assert_array_equal(np.load(tmp_path / "killed" / "policy" / "kernel.npy"), kernel)
