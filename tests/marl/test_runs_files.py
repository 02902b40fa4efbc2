"""The files of a run are damaged, moved or deleted, or the disk is full."""

import dataclasses
import errno
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import jax.numpy as jnp
import pytest
from test_runs_loop import assembly, changed, config_for, newest_state, run
from test_runs_recovery import Falling
from toys import ToyLearner

from marl.host.folder import Place, RunFolderError, locked, prepare
from marl.training.checkpoint import CheckpointError, Checkpoints
from marl.training.counters import Counters
from marl.training.loggers import JsonLines, LoggerError, read_records

TOY = str(Path(__file__).with_name("run_toy.py"))


def test_a_full_disk_is_told_once_and_soon(tmp_path):
    run(tmp_path, config_for(2, checkpoint_every=1), assembly(ToyLearner(size=20_000)))
    command = [sys.executable, TOY, str(tmp_path), "100000", "100000"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 4
    assert "Traceback" not in done.stderr
    (message,) = [line for line in done.stderr.splitlines() if "could not be saved" in line]
    assert "Free some space" in message and str(tmp_path / "checkpoints") in message
    assert re.search(r"MB free, 1\.2 MB needed\); saved before and kept: \[1, 2\]", message)
    failed = int(re.search(r"error: update (\d+) could not be saved", message)[1])
    assert failed == 3
    update, _ = newest_state(tmp_path, size=20_000)
    assert update == 2


def test_a_nearly_full_disk_is_refused_before_orbax_writes(tmp_path, monkeypatch):
    """There is room for the arrays, and none for what orbax writes beside them."""
    reserved = []

    def reserve(descriptor, start, length):
        reserved.append(length)
        if length > 250_000:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def write(*_, **__):
        raise AssertionError("orbax was asked")

    monkeypatch.setattr(os, "posix_fallocate", reserve)
    monkeypatch.setattr("orbax.checkpoint.PyTreeCheckpointer", write)
    checkpoints = Checkpoints(tmp_path, keep=2, versions={})
    checkpoints.save(1, {"x": jnp.ones(50_000)}, {})
    with pytest.raises(CheckpointError, match=r"No space left on device\)$"):
        checkpoints.close()
    assert len(reserved) == 1 and not list(tmp_path.iterdir())


def test_a_failed_save_is_known_as_soon_as_it_has_failed(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep=2, versions={})
    (tmp_path / ".partial-1").write_text("")  # in the way
    checkpoints.save(1, {"x": jnp.ones(2)}, {})
    with pytest.raises(CheckpointError, match="update 1 could not be saved"):
        for _ in range(500):
            checkpoints.check()
            time.sleep(0.01)
    checkpoints.close()


def test_records_that_cannot_be_written_name_the_file(tmp_path):
    (tmp_path / "metrics.jsonl").symlink_to("/dev/full")
    logger = JsonLines.__new__(JsonLines)
    logger._path, logger._place = tmp_path / "metrics.jsonl", Place(tmp_path)
    logger._file = open(logger._path, "a")
    with pytest.raises(LoggerError, match=r"metrics.jsonl cannot be written \(No space"):
        logger.log({"kind": "training", "update": 1})
    logger.close()


class Disturbed(ToyLearner):
    """Somebody does something in the middle of a run.

    Args:
        act: is called ahead of update 4.
    """

    def __init__(self, act):
        super().__init__()
        self._act = act

    def compile(self, state):
        step, updates = super().compile(state), []

        def disturbed(state):
            updates.append(1)
            if len(updates) == 4:
                self._act()
            return step(state)

        return disturbed


@pytest.mark.parametrize("in_its_place", [False, True])
@pytest.mark.parametrize("evaluate_every", [0, 1])
def test_a_folder_that_was_moved_ends_the_run_and_goes_on_where_it_is(
    tmp_path, in_its_place, evaluate_every
):
    here, there = tmp_path / "here", tmp_path / "there"

    def move():
        while not (here / "checkpoints" / "2").exists():  # saved in the background
            time.sleep(0.01)
        here.rename(there)
        if in_its_place:
            here.mkdir()

    config = config_for(6, checkpoint_every=2, evaluate_every=evaluate_every)
    with pytest.raises(RunFolderError, match=f"run.dir={here} is no longer .*Move it back, or"):
        run(here, config, assembly(Disturbed(move), evaluator=Falling()))
    assert not here.exists() or not list(here.iterdir())
    assert newest_state(there)[0] == 2
    run(there, config, assembly(evaluator=Falling()))
    trained = [r["update"] for r in read_records(there) if r["kind"] == "training"]
    assert trained == [1, 2, 3, 4, 5, 6]


def test_records_whose_file_was_deleted_are_written_again(tmp_path, caplog):
    path = tmp_path / "metrics.jsonl"
    run(tmp_path, config_for(6, stop_after=2))
    run(tmp_path, config_for(6), assembly(Disturbed(path.unlink)))
    assert [r["update"] for r in read_records(tmp_path)] == [1, 2, 3, 4, 5, 6]
    assert "was deleted or replaced while the run wrote to it" in caplog.text


def test_records_whose_file_was_replaced_are_written_again(tmp_path, caplog):
    path = tmp_path / "metrics.jsonl"

    def replace():
        (tmp_path / "new").write_text("mine")
        (tmp_path / "new").rename(path)

    run(tmp_path, config_for(6), assembly(Disturbed(replace)))
    assert [r["update"] for r in read_records(tmp_path)] == [1, 2, 3, 4, 5, 6]
    assert "now metrics.jsonl.other" in caplog.text
    assert (tmp_path / "metrics.jsonl.other").read_text() == "mine"


def test_the_last_record_is_not_lost_with_its_file(tmp_path):
    logger = JsonLines(tmp_path)
    logger.log({"kind": "training", "update": 1})
    (tmp_path / "metrics.jsonl").unlink()
    logger.close()
    assert [r["update"] for r in read_records(tmp_path)] == [1]


def test_a_folder_that_vanishes_while_it_is_saved_to_is_told(tmp_path):
    checkpoints = Checkpoints(tmp_path / "run" / "checkpoints", keep=2, versions={})
    shutil.rmtree(tmp_path / "run")
    checkpoints.save(1, {"x": jnp.ones(2)}, {})
    with pytest.raises(RunFolderError, match="is no longer the folder that this run writes to"):
        checkpoints.close()
    assert not (tmp_path / "run").exists()


def test_a_full_disk_at_the_start_is_told_with_the_remedy(tmp_path, monkeypatch):
    full = lambda **_: open("/dev/full", "wb")  # noqa: E731
    monkeypatch.setattr("tempfile.TemporaryFile", full)
    with pytest.raises(RunFolderError, match=r"No space left on device\); free some space there"):
        prepare(tmp_path)


def test_a_folder_that_cannot_be_written_is_left_as_it_was(tmp_path):
    program = (
        "import resource, sys; from pathlib import Path; from marl.host.folder import prepare;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)); prepare(Path(sys.argv[1]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True
    )
    assert "cannot be written (File too large); choose another" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["metrics.jsonl", "run.lock", "config.yaml", "versions.json"])
def test_a_folder_where_a_file_should_be_is_named(tmp_path, name):
    (tmp_path / name).mkdir()
    with pytest.raises(RunFolderError, match=f"{name} is a folder.*move it away, or choose"):
        prepare(tmp_path)


def test_a_lock_that_cannot_be_made_is_told(tmp_path):
    with pytest.raises(RunFolderError, match="run.lock cannot be written .*choose another run.dir"):
        with locked(tmp_path / "nowhere"):
            pass


def test_a_record_of_no_update_is_damage(tmp_path, caplog):
    (tmp_path / "metrics.jsonl").write_text('{"kind": "training", "update": -5}\n')
    assert read_records(tmp_path) == [] and "lines [1] cannot be read" in caplog.text


def damage_extra(folder, change):
    manifest = json.loads((folder / "manifest.json").read_text())
    change(manifest["extra"])
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    "change, word",
    [
        (lambda extra: extra.update(surprise=1), "surprise"),
        (lambda extra: extra.pop("update"), "update"),
        (lambda extra: extra.update(seconds="long"), "seconds"),
    ],
)
def test_damaged_counters_are_stepped_over(tmp_path, caplog, change, word):
    config = config_for(3, checkpoint_every=1)
    run(tmp_path, config)
    damage_extra(tmp_path / "checkpoints" / "3", change)
    assert run(tmp_path, config).facts["update"] == 3
    assert f"counters are not this program's: {word}" in caplog.text
    for name in ("2", "3"):
        damage_extra(tmp_path / "checkpoints" / name, change)
    with pytest.raises(CheckpointError, match="every checkpoint"):
        run(tmp_path, config)


def test_arrays_that_cannot_be_restored_are_stepped_over(tmp_path, caplog):
    config = config_for(3, checkpoint_every=1)
    run(tmp_path, config)
    newest = tmp_path / "checkpoints" / "3"
    manifest = json.loads((newest / "manifest.json").read_text())
    for name in list(manifest["files"]):  # their digests no longer promise anything
        if name.endswith(("_METADATA", "manifest.ocdbt")):
            del manifest["files"][name]
            (newest / name).write_bytes(b"x")
    (newest / "manifest.json").write_text(json.dumps(manifest))
    assert run(tmp_path, config).facts["update"] == 3
    assert "arrays cannot be read" in caplog.text


def test_counters_that_are_no_numbers_are_damage():
    values = Counters("a", update=3).as_json()
    for wrong in ({"seconds": float("nan")}, {"update": -3}, {"best_score": float("inf")}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Counters.from_json(values | wrong)


def test_a_run_that_lost_its_checkpoints_is_not_started_over(tmp_path):
    config = config_for(6, checkpoint_every=2)
    run(tmp_path, config)
    before = (tmp_path / "metrics.jsonl").read_bytes()
    shutil.rmtree(tmp_path / "checkpoints")
    for other in (config, dataclasses.replace(config, seed=9)):
        with pytest.raises(RunFolderError, match="holds a run of 6 updates, and no checkpoint"):
            run(tmp_path, other)
    assert (tmp_path / "metrics.jsonl").read_bytes() == before


def test_a_run_that_failed_before_its_first_checkpoint_starts_over(tmp_path):
    (tmp_path / "metrics.jsonl").write_text('{"kind": "training", "update": 1, "env_steps": 10}\n')
    run(tmp_path, config_for(3, checkpoint_every=2))
    assert [r["update"] for r in read_records(tmp_path)] == [1, 2, 3]


def test_records_are_kept_once_and_lost_ones_are_told(tmp_path, capsys):
    run(tmp_path, changed(config_for(6, stop_after=3), logger={"console": "lines"}))
    path = tmp_path / "metrics.jsonl"
    path.write_text(path.read_text() * 2)
    run(tmp_path, changed(config_for(6, stop_after=1), logger={"console": "lines"}))
    assert [r["update"] for r in read_records(tmp_path)] == [1, 2, 3, 4]
    assert "lacks" not in capsys.readouterr().out
    path.write_text(path.read_text().splitlines(keepends=True)[0])
    run(tmp_path, changed(config_for(6), logger={"console": "lines"}))
    assert "metrics.jsonl lacks the updates 2 to 4" in capsys.readouterr().out
    assert [r["update"] for r in read_records(tmp_path)] == [1, 5, 6]


def test_deeply_nested_files_are_damage(tmp_path):
    """JSON of many brackets is a RecursionError, not a ValueError."""
    deep = "[" * 100_000
    config = config_for(6, stop_after=3, checkpoint_every=1)
    run(tmp_path, config)
    with open(tmp_path / "metrics.jsonl", "a") as file:
        file.write(deep + "\n")
    (tmp_path / "versions.json").write_text(deep)
    (tmp_path / "checkpoints" / "3" / "manifest.json").write_text(deep)
    run(tmp_path, config_for(6))
    assert newest_state(tmp_path)[0] == 6
