"""Runs the toy learner as a program, for tests that kill it, or take its files and pipes away.

Arguments: folder, updates, and optionally how many bytes a file may have, as on a full disk.
"""

import resource
import sys
from pathlib import Path

from test_runs_loop import assembly, changed, config_for
from toys import ToyLearner

from marl.host.exits import FILES_FAILED, guarded
from marl.host.folder import locked, prepare
from marl.host.stopping import StopRequest
from marl.training.checkpoint import CheckpointError
from marl.training.loop import train


def work() -> int:
    folder, updates = prepare(Path(sys.argv[1])), int(sys.argv[2])
    if len(sys.argv) > 3:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]),) * 2)
    config = changed(config_for(updates, checkpoint_every=1), logger={"console": "lines"})
    with locked(folder), StopRequest() as stop:
        print("ready", flush=True)
        [outcome] = train(config, assembly(ToyLearner(size=20_000)), folder, stop)
    print(outcome.end.value, outcome.facts["update"], flush=True)
    return outcome.exit_code


if __name__ == "__main__":
    codes = {CheckpointError: FILES_FAILED}
    sys.exit(guarded(work, codes, memory_advice="no memory"))
