"""Runs the toy learner as a program, for tests that kill it. Arguments: folder, updates, slow."""

import sys
from pathlib import Path

from test_runs_loop import assembly, config_for
from toys import ToyLearner

from marl.host.folder import locked, prepare
from marl.host.stopping import StopRequest
from marl.training.loop import train

if __name__ == "__main__":
    folder, updates = prepare(Path(sys.argv[1])), int(sys.argv[2])
    config = config_for(updates, checkpoint_every=1)
    with locked(folder), StopRequest() as stop:
        print("ready", flush=True)
        outcome = train(config, assembly(ToyLearner(size=20_000)), folder, stop)
    print(outcome.end.value, outcome.facts["update"], flush=True)
    sys.exit(outcome.exit_code)
