"""What surrounds a run fails or takes long: pipes, terminals, the programs that it calls."""

import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import jax.numpy as jnp
import pytest
from test_runs_loop import assembly, changed, config_for, newest_state, run
from test_runs_loop import wait_for_update as wait_for
from test_runs_recovery import Falling
from toys import ToyLearner

from marl.host.heartbeat import Heartbeat
from marl.host.output import Lasting
from marl.host.progress import Bar, Lines, Silent
from marl.training import loop
from marl.training.assembly import End
from marl.training.loggers import JsonLines, read_records

TOY = str(Path(__file__).with_name("run_toy.py"))


def test_a_reader_that_leaves_ends_nothing(tmp_path):
    """As `train.py | head -1` does."""
    process = subprocess.Popen(
        [sys.executable, TOY, str(tmp_path), "40"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline() == "ready\n"
    process.stdout.close()
    errors = process.stderr.read()
    assert not [word for word in ("Traceback", "Broken pipe", "ignored") if word in errors], errors
    assert process.wait(60) == 0
    assert newest_state(tmp_path, size=20_000)[0] == 40
    assert read_records(tmp_path)[-1]["update"] == 40


@pytest.mark.parametrize("make", [Lines, Bar, lambda label: Silent()])
def test_displays_go_on_without_a_reader(make, monkeypatch):
    with open("/dev/full", "w") as full:  # every write fails, as on a closed pipe
        monkeypatch.setattr(sys, "stdout", full)
        display = make("train")
        display.start(1.0, 0.0)
        display.say("a word")
        for done in (0.1, 0.2):
            display.update(done, "text")
        display.stop()
        monkeypatch.undo()
        assert Path(f"/proc/self/fd/{full.fileno()}").resolve() == Path("/dev/null")


def test_a_stream_that_lasts_is_otherwise_the_stream(capsys):
    print("seen", file=Lasting(sys.stdout))
    assert capsys.readouterr().out == "seen\n"
    assert Lasting(sys.stdout).isatty() is False


def test_a_terminal_that_closes_is_ignored_under_nohup(tmp_path):
    command = ["nohup", sys.executable, TOY, str(tmp_path), "1000000"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    wait_for(tmp_path, 2)
    process.send_signal(signal.SIGHUP)
    wait_for(tmp_path, read_records(tmp_path)[-1]["update"] + 5)
    assert process.poll() is None
    process.terminate()
    assert process.wait(60) == 128 + signal.SIGTERM


def test_an_evaluation_that_fails_loses_no_update(tmp_path, capsys):
    class Broken(Falling):
        def play(self, params, seeds, **options):
            if self.total == 0.5:
                raise RuntimeError("out of luck")
            return super().play(params, seeds, **options)

    config = config_for(6, evaluate_every=2)
    with pytest.raises(RuntimeError, match="out of luck"):
        run(tmp_path, config, assembly(evaluator=Broken()))
    assert newest_state(tmp_path)[0] == 4
    assert "update 4 was saved" in capsys.readouterr().out
    assert [r["update"] for r in read_records(tmp_path)] == [1, 2, 2, 3, 4]
    run(tmp_path, config, assembly(evaluator=Falling()))
    kinds = [(r["kind"], r["update"]) for r in read_records(tmp_path)]
    assert [u for kind, u in kinds if kind == "training"] == [1, 2, 3, 4, 5, 6]
    assert [u for kind, u in kinds if kind == "evaluation"] == [2, 4, 6]


def test_an_update_that_fails_half_way_saves_nothing_untrue(tmp_path):
    class Failing(ToyLearner):
        def compile(self, state):
            step = super().compile(state)

            def third_fails(state):
                after = step(state)  # which takes the memory of what it was given
                if int(after[0].update) == 3:
                    raise RuntimeError("half way")
                return after

            return third_fails

    config = config_for(6, checkpoint_every=1)
    with pytest.raises(RuntimeError, match="half way"):
        run(tmp_path, config, assembly(Failing()))
    update, state = newest_state(tmp_path)
    assert (update, int(state.update)) == (2, 2)
    assert run(tmp_path, config).end is End.FINISHED


def test_loggers_close_although_the_display_fails(tmp_path, monkeypatch):
    closed = []
    monkeypatch.setattr(JsonLines, "close", lambda self: closed.append(self))

    def fail(self):
        raise RuntimeError("no display")

    monkeypatch.setattr(Silent, "stop", fail)
    with pytest.raises(RuntimeError, match="no display"):
        run(tmp_path, config_for(2))
    assert closed and newest_state(tmp_path)[0] == 2
    assert not [t for t in threading.enumerate() if t.name == "heartbeat"]


class Slow(ToyLearner):
    """Compiling and the first update take as long as it takes to be told of them."""

    def __init__(self, seconds):
        super().__init__()
        self.seconds = seconds

    def compile(self, state):
        step, updates = super().compile(state), []
        time.sleep(self.seconds)

        def slow(state):
            time.sleep(0 if updates else self.seconds)
            updates.append(1)
            return step(state)

        return slow


def test_long_work_shows_signs_of_life(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(loop, "Heartbeat", lambda tell: Heartbeat(tell, patience=0.0, seconds=0.05))
    monkeypatch.setattr(loop, "make_display", lambda kind, label: Lines(label, seconds=0.0))
    run(tmp_path, config_for(2), assembly(Slow(0.3)))
    out = capsys.readouterr().out
    assert out.count("train   0% compiling, 0:00") > 1
    assert out.count("train   0% update 1 is taking 0:00 so far") > 1
    assert not [t for t in threading.enumerate() if t.name == "heartbeat"]


def test_a_complete_run_makes_no_worlds(tmp_path, monkeypatch):
    told = []

    class Telling(Heartbeat):
        def during(self, text):
            told.append(text)
            return super().during(text)

    monkeypatch.setattr(loop, "Heartbeat", Telling)
    run(tmp_path, config_for(2))
    assert "making the worlds, {}" in told
    told.clear()
    run(tmp_path, config_for(2))
    assert told == ["looking at what is there, {}"]


def test_nothing_is_told_of_work_that_is_over():
    told = []
    with Heartbeat(told.append, patience=0.0, seconds=0.001) as heartbeat:
        with pytest.raises(KeyError), heartbeat.during("failing, {}"):
            time.sleep(0.05)
            raise KeyError
        count = len(told)
        time.sleep(0.05)
    assert count == len(told) > 0


def test_lines_are_fewer_while_nothing_is_done(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    lines = Lines("train", seconds=10.0)
    lines.start(1.0, 0.0)
    for second in range(100):
        now[0] = float(second)
        lines.update(0.0, f"at {second}")
    assert [int(line.split()[-1]) for line in capsys.readouterr().out.splitlines()] == [
        0, 30, 60, 90,
    ]  # fmt: skip


def test_a_run_of_days_is_told_once(tmp_path, capsys):
    config = changed(config_for(100_000_000, stop_after=10), run={"log_every_updates": 5})

    class Late(ToyLearner):
        def compile(self, state):
            step = super().compile(state)
            return lambda state: (time.sleep(0.01), step(state))[1]

    run(tmp_path, config, assembly(Late()))
    told = re.findall(r"at ([\d,]+) steps/s, total_steps=1,000,000,000 takes ([\d.]+) days",
                      capsys.readouterr().out)  # fmt: skip
    assert len(told) == 1 and 10 < float(told[0][1]) < 100
    run(tmp_path / "short", config_for(20), assembly(Late()))
    assert "days" not in capsys.readouterr().out


def test_what_no_device_holds_is_refused_before_it_is_made(tmp_path):
    made = []

    class Huge(ToyLearner):
        def _init(self, key):
            state = super()._init(key)
            return state.replace(carry=(jnp.zeros((10**7, 10**6)),))

        def compile(self, state):
            made.append(state)

    with pytest.raises(MemoryError, match="at least 40,000.0 GB"):
        run(tmp_path, config_for(2), assembly(Huge()))
    assert not made
