"""Stop requests while the main thread is deaf, as it is in the compiler."""

import signal
import subprocess
import sys
import time

import pytest

from marl.host.exits import guarded
from marl.host.stopping import StopRequest

# One call into C that frees other threads and hears of no signal: 10^7 rounds take seconds.
PROGRAM = """
import hashlib, sys
from marl.host.exits import guarded
from marl.host.stopping import StopRequest

def work():
    with StopRequest() as stop:
        stop.nothing_to_save = sys.argv[1] == "nothing"
        print("ready", flush=True)
        hashlib.pbkdf2_hmac("sha256", b"", b"", int(sys.argv[2]))
        print("heard", stop.signal.name, flush=True)
    return stop.exit_code

sys.exit(guarded(work, {}, memory_advice=""))
"""
FOR_EVER = str(2 * 10**9)


@pytest.fixture
def start():
    started = []

    def start(*arguments):
        pipe = subprocess.PIPE
        command = [sys.executable, "-c", PROGRAM, *arguments]
        process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)
        started.append(process)
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.2)  # into C
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


def said(process):
    """The next words on standard error."""
    assert process.stderr.readline() == "\n"
    return process.stderr.readline()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_with_nothing_to_save_the_first_signal_ends_the_process(start, number):
    process = start("nothing", FOR_EVER)
    process.send_signal(number)
    assert said(process) == f"{number.name}: stopping at once; there is nothing to save\n"
    assert process.wait(30) == 128 + number


def test_a_stop_is_answered_at_once_and_happens_when_the_work_is_done(start):
    process = start("something", str(10**7))
    process.send_signal(signal.SIGTERM)
    assert "SIGTERM: stopping as soon as the work at hand is done" in said(process)
    assert process.poll() is None, "the work took too little time to tell"
    assert process.stdout.readline() == "heard SIGTERM\n"
    assert process.wait(30) == 128 + signal.SIGTERM


def test_a_second_ctrl_c_ends_deaf_work(start):
    process = start("something", FOR_EVER)
    process.send_signal(signal.SIGTERM)
    assert "Ctrl-C again stops at once" in said(process)
    process.send_signal(signal.SIGTERM)  # sent to the process and to its group: one request
    time.sleep(0.3)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert "SIGINT: stopping at once" in said(process)
    assert process.wait(30) == 128 + signal.SIGTERM


def test_a_stop_that_is_dropped_ends_the_process():
    work = """
import signal, time
from marl.host.stopping import StopRequest
class Drops:
    def __del__(self):
        signal.raise_signal(signal.SIGTERM)
with StopRequest():
    Drops()
    time.sleep(60)
"""
    done = subprocess.run([sys.executable, "-c", work], capture_output=True, text=True, timeout=50)
    assert done.returncode == 128 + signal.SIGTERM
    assert done.stderr.strip() == "SIGTERM: stopping at once; there is nothing to save"


def test_whatever_a_stop_turns_into_is_a_stop():
    with pytest.raises(KeyboardInterrupt), StopRequest():
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise ImportError from None


def test_a_stop_is_told_in_one_line(capfd):
    def work():
        with StopRequest():
            signal.raise_signal(signal.SIGINT)

    assert guarded(work, {}, memory_advice="") == 128 + signal.SIGINT
    assert capfd.readouterr().err == "\nSIGINT: stopping at once; there is nothing to save\n"


def test_work_that_hears_ends_in_order():
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt) as ending:
        with StopRequest():
            signal.raise_signal(signal.SIGTERM)
    assert ending.value.exit_code == 128 + signal.SIGTERM
    with StopRequest() as stop:
        stop.nothing_to_save = False
        signal.raise_signal(signal.SIGTERM)
        assert stop() and stop.exit_code == 128 + signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is before
