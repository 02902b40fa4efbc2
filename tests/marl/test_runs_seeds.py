"""Several seeds in one process: each is a run of its own, and all are resumed together."""

import dataclasses
import json
import shutil

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_runs_loop import (
    assembly,
    assert_equal_states,
    assert_same_end,
    changed,
    config_for,
    newest,
    newest_state,
    run,
)
from test_runs_recovery import Falling
from toys import CARD, ToyLearner

from marl.host.folder import RunFolderError, locked, prepare
from marl.host.stopping import StopRequest
from marl.learners.registry import LEARNERS
from marl.probes import DelayedReward
from marl.training.assembly import Assembly
from marl.training.books import NonFiniteError
from marl.training.checkpoint import CheckpointError
from marl.training.command import BundleExporter
from marl.training.loggers import read_records
from marl.training.loop import train

SEEDS = (3, 4, 5)


def seeds_config(updates=6, count=3, **options):
    return dataclasses.replace(config_for(updates, **options), num_seeds=count)


def train_all(folder, config, parts=None):
    return train(config, parts or assembly(), prepare(folder), StopRequest())


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of a run of all seeds that nothing interrupted."""
    folder = tmp_path_factory.mktemp("whole")
    train_all(folder, seeds_config())
    return folder


def assert_same_run(folder, whole):
    """Every seed came to the same end, and has each record once."""
    for seed in SEEDS:
        assert_same_end(folder / f"seed{seed}", whole / f"seed{seed}")
        assert [r["update"] for r in read_records(folder / f"seed{seed}")] == [1, 2, 3, 4, 5, 6]


def test_each_seed_is_a_run_of_its_own(tmp_path):
    together = tmp_path / "together"
    outcomes = train_all(together, seeds_config())
    assert [o.config.seed for o in outcomes] == list(SEEDS)
    for outcome, seed in zip(outcomes, SEEDS, strict=True):
        assert outcome.folder == together / f"seed{seed}"
        alone = tmp_path / f"alone{seed}"
        run(alone, dataclasses.replace(config_for(6), seed=seed))
        assert_same_end(outcome.folder, alone)
        ours, theirs = read_records(outcome.folder), read_records(alone)
        assert [r["update"] for r in ours] == [1, 2, 3, 4, 5, 6]
        assert [r["loss/total"] for r in ours] == [r["loss/total"] for r in theirs]
        assert np.load(outcome.folder / "policy/kernel.npy").shape == (3, 2)
        facts = json.loads((outcome.folder / "policy/facts.json").read_text())
        assert facts["update"] == 6
        assert (outcome.folder / "curve.png").exists()
    assert (
        len({newest_state(o.folder)[1].params["layer"]["kernel"].tobytes() for o in outcomes}) == 3
    )


def test_what_is_so_for_all_seeds_is_told_once(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("marl.host.folder.note_versions", lambda *_: ["note: another jax"])
    told = changed(seeds_config(2, evaluate_every=2), logger={"console": "lines"})
    train_all(tmp_path, told, assembly(evaluator=Falling()))
    said = capsys.readouterr().out
    assert said.count("note: another jax") == 1 and said.count("evaluating on") == 1


def test_resumed_together_equals_uninterrupted(whole, tmp_path):
    for stop_after in (1, 3, None):
        train_all(tmp_path, seeds_config(stop_after=stop_after))
    assert_same_run(tmp_path, whole)


def test_goes_on_from_the_newest_whole_checkpoint_that_all_have(whole, tmp_path):
    train_all(tmp_path, seeds_config(checkpoint_every=1, stop_after=4))
    shutil.rmtree(tmp_path / "seed5/checkpoints/4")  # killed while it was saved
    damaged = next((tmp_path / "seed4/checkpoints/4/arrays").rglob("*/*"))
    damaged.write_bytes(b"damaged")
    train_all(tmp_path, seeds_config())
    assert_same_run(tmp_path, whole)


def test_a_first_save_cut_short_starts_afresh(whole, tmp_path):
    train_all(tmp_path, seeds_config(stop_after=2))
    shutil.rmtree(tmp_path / "seed5/checkpoints/2")
    train_all(tmp_path, seeds_config())
    assert_same_run(tmp_path, whole)


def test_one_seed_goes_on_alone(whole, tmp_path):
    train_all(tmp_path, seeds_config(stop_after=2))
    run(tmp_path / "seed4", dataclasses.replace(config_for(6), seed=4))
    assert_same_end(tmp_path / "seed4", whole / "seed4")
    # the others cannot follow, and nobody starts over in silence
    shutil.rmtree(tmp_path / "seed4/checkpoints/2")
    with pytest.raises(CheckpointError, match="no checkpoint of the same update"):
        train_all(tmp_path, seeds_config())


@pytest.mark.parametrize("count", [1, 2, 4])
def test_another_number_of_seeds_is_refused(tmp_path, count):
    train_all(tmp_path, seeds_config(stop_after=2))
    with pytest.raises(RunFolderError, match="num_seeds=3"):
        train_all(tmp_path, seeds_config(count=count))


def test_a_folder_of_one_seed_is_refused_to_several(tmp_path):
    run(tmp_path, config_for(6, stop_after=2))
    with pytest.raises(RunFolderError, match="num_seeds=1"):
        train_all(tmp_path, seeds_config())


def test_a_seed_s_folder_is_in_use_while_all_are_trained(tmp_path):
    class Intruded(ToyLearner):
        """Meanwhile, a run of one seed wants its folder."""

        def compile(self, state):
            with pytest.raises(RunFolderError, match="seed4 is in use"), locked(tmp_path / "seed4"):
                pass
            return super().compile(state)

    with locked(prepare(tmp_path / "seed4")):
        with pytest.raises(RunFolderError, match="seed4 is in use"):
            train_all(tmp_path, seeds_config())
    train_all(tmp_path, seeds_config(), dataclasses.replace(assembly(), learner=Intruded()))
    with locked(tmp_path / "seed4"):
        pass


def test_the_seed_that_leaves_the_finite_is_named(tmp_path):
    class OneBad(ToyLearner):
        """The seed whose key is of 4 meets a number that is not finite."""

        def compile(self, state):
            good = super().compile(state)
            count = 0

            def step(state):
                nonlocal count
                count += 1
                state, metrics = good(state)
                bad = jnp.array([False, count == 3, False])
                return state, metrics | {
                    "loss/total": jnp.where(bad, jnp.nan, metrics["loss/total"])
                }

            return step

    parts = dataclasses.replace(assembly(), learner=OneBad())
    with pytest.raises(NonFiniteError, match=r"update 3 is not finite \(loss/total, seed 4\)"):
        train_all(tmp_path, seeds_config(checkpoint_every=1), parts)
    assert newest_state(tmp_path / "seed3")[0] == newest_state(tmp_path / "seed5")[0] == 2


@pytest.mark.parametrize("name", ["ippo", "mappo"])
def test_learners_run_several_seeds(name, tmp_path):
    """Stacked, resumed, and the same as each by itself but for the order of sums."""
    network = {"critic_input": "agent_id"} if name == "mappo" else {}

    def config_of(stop_after=None):
        config = config_for(3, stop_after=stop_after, name=name, network=network, anneal_lr=True)
        return dataclasses.replace(config, num_seeds=2)

    def parts():
        config = config_of()
        learner = LEARNERS[name].make(
            DelayedReward(config.num_envs), config.network, config.learner.options
        )
        return Assembly(learner, BundleExporter(CARD), None, {})

    def end_of(folder):
        update, state = newest(folder, parts())
        assert update == 3
        return state

    whole, slices = tmp_path / "whole", tmp_path / "slices"
    train_all(whole, config_of(), parts())
    for stop_after in (1, None):
        train_all(slices, config_of(stop_after), parts())
    for seed in (3, 4):
        assert_equal_states(end_of(slices / f"seed{seed}"), end_of(whole / f"seed{seed}"))
    alone = tmp_path / "alone"
    train_all(alone, dataclasses.replace(config_of(), num_seeds=1, seed=4), parts())
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5),
        end_of(whole / "seed4").params,
        end_of(alone).params,
    )
