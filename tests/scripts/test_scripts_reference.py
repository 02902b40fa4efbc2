"""Commands that meet the reference, alem-env, in an environment that does not have it."""

import importlib.util
import re
import signal
import subprocess
import sys
import time
from argparse import ArgumentTypeError

import pytest
import replaying
from command_line import difficulty_level, folder_to_make
from commands import SCRIPTS, call, lines, start
from reference import KINDS

from alem_env import difficulty, recording

GOLDEN = SCRIPTS.parent / "tests" / "golden"
WITHOUT_HYDRA = (
    "benchmark.py", "benchmark_reference.py", "digest_reference.py", "import_checkpoint.py",
    "record_networks.py", "record_reference.py", "verify_against_reference.py", "verify_import.py",
    "verify_recording.py", "verify_worlds.py",
)  # fmt: skip
without_reference = pytest.mark.skipif(
    importlib.util.find_spec("alem") is not None, reason="alem-env is installed here"
)


@pytest.mark.parametrize("script", WITHOUT_HYDRA)
def test_help_needs_nothing(script, tmp_path):
    without_packages = [sys.executable, "-S", str(SCRIPTS / script), "--help"]
    done = subprocess.run(without_packages, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.startswith(f"usage: {script}")


@without_reference
@pytest.mark.parametrize(
    "script, options",
    [("record_reference.py", ("--out", "x.npz")), ("benchmark_reference.py", ())],
)
def test_what_to_install_is_said_in_one_line(script, options, tmp_path):
    done = call(script, *options, cwd=tmp_path)
    assert done.returncode == 1 and done.stdout == ""
    (message,) = lines(done.stderr)
    assert script in message and "pip install alem-env==0.2.1" in message
    assert not list(tmp_path.iterdir())


def test_kinds_that_are_recorded_are_those_that_can_be_read():
    assert KINDS == recording.KINDS


@pytest.fixture
def fake(tmp_path):
    """A stand-in for the reference's interpreter: a version, and what it does with a script."""

    def make(version, then="exit 3"):
        path = tmp_path / "python"
        path.write_text(f'#!/bin/sh\nif [ "$1" = -c ]; then echo {version}; exit; fi\n{then}\n')
        path.chmod(0o755)
        return str(path)

    return make


@pytest.mark.parametrize(
    "version, words",
    [
        ("none", ["has no alem-env", "pip install alem-env==0.2.1"]),
        ("0.3.0", ["'0.3.0'", "0.2.1 and 0.1.0", "pip install alem-env==0.2.1"]),
        ("0.2.1", ["failed with status 3"]),
    ],
)
def test_a_reference_that_does_not_do_is_told_in_one_line(version, words, fake, tmp_path):
    done = call(
        "verify_against_reference.py", "--reference", fake(version), "--seeds", "1", cwd=tmp_path
    )
    assert done.returncode == 2
    message = lines(done.stderr)[-1]
    assert "--reference" in message and all(word in message for word in words), message
    assert "Traceback" not in done.stderr


_LONG = 10**22
_VERIFY = ("verify_against_reference.py", "--reference", "none", "--seeds", "1")
_WORLDS = ("verify_worlds.py", "--reference", "none")
_RECORD = ("record_reference.py", "--out", "x.npz")


@pytest.mark.parametrize(
    "command, named",
    [
        ((*_VERIFY, "--channels", "99"), "--channels: '99' must be a whole number from 0 to 32"),
        ((*_VERIFY, "--set", "foo"), "--set: 'foo' must be FIELD=JSON"),
        ((*_VERIFY, "--set", "p_max_agents=NaN"), "--set: 'p_max_agents=NaN' must be FIELD=JSON"),
        ((*_VERIFY, "--set", "p_max_agents=1e999"), "must be FIELD=JSON"),
        ((*_VERIFY, "--set", 'p_max_agents="x"'), "must be FIELD=JSON"),
        ((*_VERIFY, "--seeds", f"{_LONG}"), "--seeds: .* from 0 to 4294967295"),
        ((*_VERIFY, "--keep", "/proc/foo"), "--keep: '/proc/foo': nothing can be written"),
        ((*_VERIFY, "--keep", "/proc"), "--keep: '/proc': is no empty folder"),
        ((*_VERIFY, "--difficulty", "1.5"), "--difficulty: '1.5' is unknown; choose none, easy"),
        ((*_WORLDS, "--first-seed", f"{_LONG}"), "--first-seed: .* from 0 to 4294967295"),
        ((*_WORLDS, "--first-seed", "4294967295", "--worlds", "2"), "only 1 seeds are left"),
        (
            ("verify_import.py", "--reference", "none", "--baselines", "none"),
            "--baselines: 'none' holds no ippo_rnn.py and config/",
        ),
        (("record_reference.py", "--out", "/proc/x.npz"), "--out /proc/x.npz: nothing can be"),
        ((*_RECORD, "--difficulty", "nonsense"), "--difficulty: 'nonsense' is unknown"),
        ((*_RECORD, "--set", "foo=1="), "--set: 'foo=1=' must be FIELD=JSON"),
        ((*_RECORD, "--players", "9"), "--players: '9' must be a whole number from 1 to 8"),
    ],
)
def test_options_are_refused_before_anything_starts(command, named, tmp_path):
    done = call(*command, cwd=tmp_path)
    assert done.returncode == 2 and done.stdout == ""
    assert re.search(named, lines(done.stderr)[-1]), done.stderr
    assert not list(tmp_path.iterdir())


def test_folders_to_keep_may_lie_deep(tmp_path):
    assert folder_to_make(str(tmp_path / "a" / "b")) == tmp_path / "a" / "b"
    assert folder_to_make(str(tmp_path)) == tmp_path
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("text", ["none", "Hard", "0.25", "1", "nan", "1.01", "-0", "", "brutal"])
def test_levels_are_those_of_the_world(text):
    """The reference's interpreter cannot ask `alem_env`: the commands have names of their own."""

    def is_known(read):
        try:
            return bool(read(text)) or True
        except (ValueError, ArgumentTypeError):
            return False

    assert is_known(difficulty_level) == is_known(difficulty)


def test_a_reference_that_records_nothing_is_told(fake, tmp_path):
    options = ("--reference", fake("0.2.1", "exit 0"), "--seeds", "1", "1", "--difficulty", "hard")
    done = call("verify_against_reference.py", *options, "hard", cwd=tmp_path)
    assert done.returncode == 2
    assert "made 0 recordings of fuzz hard, and 1 are needed" in lines(done.stderr)[-1]
    done = call("verify_worlds.py", *options[:2], "--worlds", "2", cwd=tmp_path)
    assert done.returncode == 2
    assert "told of 0 worlds, and 2 are needed" in lines(done.stderr)[-1]


def test_memory_that_runs_out_is_one_line():
    work = "from command_line import run\ndef main(): raise MemoryError('so much')\nrun(main)"
    done = subprocess.run([sys.executable, "-c", work], cwd=SCRIPTS, capture_output=True, text=True)
    (message,) = lines(done.stderr)
    assert done.returncode == 2 and "lower the number of worlds or steps (so much)" in message


def test_the_error_is_told_and_not_the_footer_below_it(fake, tmp_path):
    said = "echo 'jax.errors.KeyReuseError: twice' >&2; echo '--------' >&2; echo 'Set X.' >&2"
    done = call(
        "verify_against_reference.py", "--reference", fake("0.2.1", f"{said}; exit 1"), "--seeds",
        "1", cwd=tmp_path,
    )  # fmt: skip
    assert lines(done.stderr)[-1].endswith("status 1: jax.errors.KeyReuseError: twice")


def test_ctrl_c_is_one_line_and_leaves_no_files(fake, tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    python = fake("0.2.1", then=f"touch {tmp_path}/recording; exec sleep 600")
    process = start(
        "verify_against_reference.py", "--reference", python, "--seeds", "1",
        cwd=tmp_path, TMPDIR=str(temporary),
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while not (tmp_path / "recording").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert list(temporary.iterdir())
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert lines(err)[-1] == "stopped by Ctrl-C" and "Traceback" not in err
    assert not list(temporary.iterdir())


@pytest.mark.parametrize("error", ["KeyboardInterrupt", "RecursionError", "SystemExit(130)"])
def test_whatever_ctrl_c_turns_into_is_a_stop(error):
    work = f"""
import signal, sys
from command_line import note, run
def main():
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        {"note('said by main')" if "Exit" in error else "pass"}
        raise {error}
run(main)
"""
    done = subprocess.run([sys.executable, "-c", work], cwd=SCRIPTS, capture_output=True, text=True)
    assert done.returncode == 130
    assert len(lines(done.stderr)) == 1


def test_ctrl_c_is_not_lost_where_nothing_can_be_raised():
    work = """
import signal, time
from command_line import run
class Swallows:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)
def main():
    Swallows()
    time.sleep(60)
run(main)
"""
    done = subprocess.run(
        [sys.executable, "-c", work], cwd=SCRIPTS, capture_output=True, text=True, timeout=50
    )
    assert done.returncode == 130 and lines(done.stderr) == ["stopped by Ctrl-C"]


def test_errors_without_ctrl_c_are_raised():
    work = "from command_line import run; run(lambda: 1 // 0)"
    done = subprocess.run([sys.executable, "-c", work], cwd=SCRIPTS, capture_output=True, text=True)
    assert done.returncode == 1 and "ZeroDivisionError" in done.stderr


def test_a_long_list_says_what_compiles_and_when_it_ends(capsys, monkeypatch):
    monkeypatch.setattr(replaying.time, "monotonic", iter(range(1000)).__next__)
    play = recording.load(GOLDEN / "play_hard_7012.npz")  # 60 steps
    progress = replaying.Progress(3)
    progress.status.pause = 0
    for name in ("a", "b"):
        progress.start(name)
        progress.load(play)
        progress.step(1)
        progress.step(2)
    captured = capsys.readouterr()
    assert captured.out == ""
    said = lines(captured.err)
    assert [line for line in said if "compiling" in line] == [said[0]]
    assert said[0].startswith("[1/3] a: compiling")
    # 58 steps here and 60 of the file to come
    last = said[-1]
    assert last.startswith("[2/3] b: step 2 of 60, about ")
    seconds_a_step = progress.seconds / progress.steps
    minutes, seconds = last.split()[-2].split(":")
    assert int(minutes) * 60 + int(seconds) == int(118 * seconds_a_step)


def test_results_and_progress_of_a_replay_are_kept_apart(tmp_path):
    broken = tmp_path / "broken.npz"
    broken.write_bytes(b"")
    done = call("verify_recording.py", str(broken), str(tmp_path / "none.npz"), cwd=tmp_path)
    assert done.returncode == 1 and done.stderr == ""
    assert [line.split()[0] for line in lines(done.stdout)] == ["ERROR", "ERROR", "2"]


@pytest.mark.slow
def test_a_whole_replay(tmp_path):
    file = str(GOLDEN / "play_hard_7012.npz")
    done = call("verify_recording.py", file, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert lines(done.stdout) == [f"{file}: 60 of 60 steps compared, ok"]
    assert "compiling" in done.stderr
