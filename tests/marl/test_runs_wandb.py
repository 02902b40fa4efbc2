"""Weights & Biases gets each record once, and cannot end a run."""

import collections
import dataclasses
import struct
import sys
import types

import pytest
from test_runs_loop import assembly, config_for, run
from test_runs_recovery import Falling

from marl.training.command import _CODES
from marl.training.loggers import JsonLines, LoggerError, Several, read_records


class FakeRun:
    """Takes what wandb takes."""

    def __init__(self, log):
        self._log = log

    def define_metric(self, *_, **__): ...

    def log(self, record, step, commit):
        self._log.append((step, record["update"]))

    def finish(self): ...


@pytest.fixture
def sent(monkeypatch):
    """(step, update) of each record that arrived at a wandb that has no network."""
    log = []
    module = types.SimpleNamespace(init=lambda **_: FakeRun(log))
    monkeypatch.setitem(sys.modules, "wandb", module)
    return log


def config_with_wandb(**options):
    config = config_for(5, evaluate_every=2, checkpoint_every=2, **options)
    logger = dataclasses.replace(config.logger, wandb_mode="offline")
    return dataclasses.replace(config, logger=logger)


def test_records_made_again_after_a_kill_are_sent_once(tmp_path, sent, monkeypatch):
    class Dying(Falling):
        def play(self, *args, **options):
            if self.total == 0.5:  # in the second evaluation: update 4, saved was 2
                raise KeyboardInterrupt
            return super().play(*args, **options)

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, config_with_wandb(), assembly(evaluator=Dying()))
    assert [step for step, _ in sent] == [2, 4, 5, 6, 8]
    run(tmp_path, config_with_wandb(), assembly(evaluator=Falling()))
    assert [step for step, _ in sent] == [2, 4, 5, 6, 8, 9, 10, 11]
    assert [update for _, update in sent] == [r["update"] for r in read_records(tmp_path)]


def test_a_failing_wandb_is_given_up(tmp_path, sent, monkeypatch, caplog):
    def fail(*_, **__):
        raise OSError("no service")

    monkeypatch.setattr(FakeRun, "log", fail)
    assert run(tmp_path, config_with_wandb()).facts["update"] == 5
    assert caplog.text.count("no service") == 1 and "logger.wandb_mode" in caplog.text
    assert len(read_records(tmp_path)) == 5


def test_a_wandb_that_cannot_start_is_named(tmp_path, sent, monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(LoggerError, match="logger.wandb_mode=offline cannot start"):
        run(tmp_path, config_with_wandb())
    assert _CODES[LoggerError] == 4


def test_all_loggers_are_closed(tmp_path):
    class Failing:
        def close(self):
            raise OSError("first")

    lines = JsonLines(tmp_path)
    with pytest.raises(OSError, match="first"):
        Several([Failing(), lines]).close()
    assert lines._file.closed


def offline_records(path):
    """Records of a .wandb file, which is a LevelDB log: blocks of 32 KiB; 7 bytes ahead of each
    piece hold checksum, length and kind (whole, first, middle, last)."""
    data, place, parts = path.read_bytes(), 7, []  # wandb's own header takes 7 bytes
    while place + 7 < len(data):
        if 32_768 - place % 32_768 < 7:
            place += 32_768 - place % 32_768
        _, length, kind = struct.unpack("<IHB", data[place : place + 7])
        parts.append(data[place + 7 : place + 7 + length])
        place += 7 + length
        if kind in (1, 4):
            yield b"".join(parts)
            parts = []


@pytest.mark.slow
def test_three_offline_jobs_leave_every_record_once(tmp_path):
    from wandb.proto import wandb_internal_pb2

    for stop_after in (2, 2, None):
        config = config_with_wandb(stop_after=stop_after)
        run(tmp_path, config, assembly(evaluator=Falling()))
    counts, files = collections.Counter(), sorted(tmp_path.glob("wandb/offline-run-*/*.wandb"))
    for file in files:
        for data in offline_records(file):
            record = wandb_internal_pb2.Record()
            record.ParseFromString(data)
            counts.update(i.key or "/".join(i.nested_key) for i in record.history.item)
    assert len(files) == 3
    assert counts["loss/total"] == 5 and counts["evaluation/total"] == 2
