"""Trains the toy learner on options of jobs.yaml, as scripts/train.py trains on ALEM.

`n` names the folder, `steps` are updates; any `code` but 0 makes the learner another one.
"""

from pathlib import Path

from hydra_command import start

from marl.host.exits import FILES_FAILED, guarded


def work(values) -> int:
    from test_runs_loop import assembly, changed, config_for
    from toys import ToyLearner

    from marl.host.folder import locked, prepare
    from marl.host.stopping import StopRequest
    from marl.training.checkpoint import CheckpointError
    from marl.training.loop import train

    def run() -> int:
        folder = prepare(Path(values.out) / str(values.n))
        config = changed(config_for(values.steps), logger={"console": "lines"})
        with locked(folder), StopRequest() as stop:
            (outcome,) = train(config, assembly(ToyLearner(size=5 + values.code)), folder, stop)
        return outcome.exit_code

    codes = {CheckpointError: FILES_FAILED}
    return guarded(run, codes, memory_advice="no memory")


if __name__ == "__main__":
    start(work, "jobs", Path(__file__).parent)
