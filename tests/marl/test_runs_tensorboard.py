"""TensorBoard's files hold each number of metrics.jsonl once, whatever happened to the run."""

import collections
import struct
import time

import pytest
from test_runs_config import train_config
from test_runs_loop import assembly, changed, config_for, run
from test_runs_recovery import Falling

from marl.config import ConfigError
from marl.training import tensorboard
from marl.training.loggers import LoggerError, read_records

event_pb2 = pytest.importorskip("tensorboardX.proto.event_pb2")


def config_with_tensorboard(updates=5, **options):
    config = config_for(updates, evaluate_every=2, checkpoint_every=2, **options)
    return changed(config, logger={"tensorboard": True})


def events(folder):
    """All events: a file is records of length (8 bytes), its checksum (4), data, its checksum."""
    found = []
    for path in sorted((folder / "tensorboard").iterdir()):
        data, place = path.read_bytes(), 0
        while place < len(data):
            (length,) = struct.unpack_from("<Q", data, place)
            event = event_pb2.Event()
            event.ParseFromString(data[place + 12 : place + 12 + length])
            found.append(event)
            place += 16 + length
    return found


def scalars(folder):
    """(name, step) -> value; fails if there are two."""
    found = [(value.tag, event.step, value.simple_value)
             for event in events(folder) for value in event.summary.value]  # fmt: skip
    doubled = [k for k, n in collections.Counter(f[:2] for f in found).items() if n > 1]
    assert not doubled
    return {(name, step): value for name, step, value in found}


def expected(folder):
    numbers = {}
    for record in read_records(folder):
        for name, value in record.items():
            if record["kind"] == "evaluation" and not name.startswith("evaluation/"):
                continue
            if name not in ("kind", "env_steps") and value is not None:
                numbers[name, record["env_steps"]] = pytest.approx(value, rel=1e-6)
    return numbers


def test_the_scalars_are_those_of_the_records(tmp_path):
    run(tmp_path, config_with_tensorboard(), assembly(evaluator=Falling()))
    found = scalars(tmp_path)
    assert found == expected(tmp_path)
    assert [step for name, step in found if name == "loss/total"] == [10, 20, 30, 40, 50]
    assert [step for name, step in found if name == "evaluation/total"] == [20, 40, 50]
    # "relative" time is that of training
    walls = [event.wall_time for event in events(tmp_path) if event.summary.value]
    seconds = [record["seconds"] for record in read_records(tmp_path)]
    assert walls[-1] - walls[0] == pytest.approx(seconds[-1] - seconds[0], abs=1e-3)


def test_slices_and_kills_lose_and_double_nothing(tmp_path):
    class Dying(Falling):
        def play(self, *args, **options):
            if self.total == 0.5:  # in the second evaluation: update 4, saved was 2
                raise KeyboardInterrupt
            return super().play(*args, **options)

    run(tmp_path, config_with_tensorboard(stop_after=1), assembly(evaluator=Falling()))
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, config_with_tensorboard(), assembly(evaluator=Dying()))
    (file,) = (tmp_path / "tensorboard").iterdir()
    file.write_bytes(file.read_bytes()[:-5])  # cut short
    run(tmp_path, config_with_tensorboard(), assembly(evaluator=Falling()))
    assert scalars(tmp_path) == expected(tmp_path)
    assert len(expected(tmp_path)) > 25


def test_a_file_that_is_made_again_begins_the_same(tmp_path):
    """A TensorBoard that is open goes on at the byte where it was."""
    run(tmp_path, config_with_tensorboard(3))
    before = (tmp_path / tensorboard.FILE).read_bytes()
    time.sleep(0.01)
    run(tmp_path, config_with_tensorboard(5))
    after = (tmp_path / tensorboard.FILE).read_bytes()
    assert after.startswith(before) and len(after) > len(before)
    (tmp_path / tensorboard.FILE).write_bytes(b"nothing of ours")
    run(tmp_path, config_with_tensorboard(5))
    assert scalars(tmp_path) == expected(tmp_path)


def test_asked_for_late_it_shows_the_whole_run(tmp_path):
    run(tmp_path, config_for(3))
    assert not (tmp_path / "tensorboard").exists()
    run(tmp_path, config_with_tensorboard(5), assembly(evaluator=Falling()))
    found = scalars(tmp_path)
    assert found == expected(tmp_path)
    assert [step for name, step in found if name == "loss/total"] == [10, 20, 30, 40, 50]


def test_numbers_that_are_not_finite_are_left_out(tmp_path):
    board = tensorboard.TensorBoard(tmp_path, [])
    numbers = {"a": float("nan"), "b": None, "c": 2.0}
    board.log({"kind": "training", "env_steps": 5, "seconds": 1.0} | numbers)
    board.close()
    assert scalars(tmp_path) == {("seconds", 5): 1.0, ("c", 5): 2.0}


def test_a_file_that_cannot_be_written_does_not_end_the_run(tmp_path, monkeypatch, caplog):
    def full(self, record):
        raise OSError("disk full")

    monkeypatch.setattr(tensorboard.TensorBoard, "_add", full)
    assert run(tmp_path, config_with_tensorboard(), assembly(evaluator=Falling())).facts["update"]
    assert caplog.text.count("disk full") == 1
    assert len(read_records(tmp_path)) == 8  # of five updates and three evaluations


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "tensorboard").write_text("in the way")
    with pytest.raises(LoggerError, match="logger.tensorboard=true cannot write"):
        run(tmp_path, config_with_tensorboard())


def test_the_option_needs_its_package(monkeypatch):
    assert train_config("logger=tensorboard").logger.tensorboard is True
    assert train_config().logger.tensorboard is False
    both = train_config("logger=wandb", "logger.tensorboard=true").logger
    assert both.tensorboard and both.wandb_mode == "offline"
    monkeypatch.setattr("marl.config.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install -e '\.\[tensorboard\]'"):
        train_config("logger=tensorboard")
