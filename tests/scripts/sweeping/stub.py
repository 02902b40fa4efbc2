"""In place of scripts/train.py, for tests of sweeps: counts steps, saves them when stopped."""

import hashlib
import os
import signal
import time
from pathlib import Path

from hydra_command import start

from marl.host.exits import guarded
from marl.host.stopping import StopRequest


def work(values) -> int:
    folder = Path(values.out)
    folder.mkdir(exist_ok=True)
    saved, log = folder / f"{values.n}.saved", folder / f"{values.n}.log"
    step = int(saved.read_text()) if saved.exists() else 0
    with StopRequest() as stop, open(log, "a") as file:
        print(f"from {step} in {os.getpid()}", file=file, flush=True)
        if values.code == -3:
            hashlib.pbkdf2_hmac("sha256", b"", b"", 10**7)
            return 0
        stop.nothing_to_save = False
        while step < values.steps:
            if stop():
                saved.write_text(str(step))
                return stop.exit_code
            time.sleep(0.05)
            step += 1
    if values.code == -1:
        raise ArithmeticError("unforeseen")
    if values.code == -2:
        os.kill(os.getpid(), signal.SIGKILL)
    (folder / f"{values.n}.done").touch()
    return values.code


def guarded_work(values) -> int:
    return guarded(lambda: work(values), {}, memory_advice="")


if __name__ == "__main__":
    start(guarded_work, "jobs", Path(__file__).parent)
