"""The queue: order, resuming, failures, signals; with a stub in place of the training program."""

import json
import os
import re
import signal
import sys
import threading
import time
from pathlib import Path

import pytest
import run_queue
import yaml
from queue_jobs import State, read_queue
from queue_status import summary, survey

from marl.host.folder import locked

STUB = Path(__file__).with_name("stub_train.py")
RESULTS = Path(__file__).parents[2] / "conf" / "queues" / "results.yaml"
# All that a policy's card must have.
CARD = {
    "format": 1, "label": "x", "network": {}, "parameters": {},
    "env": {
        "difficulty": "hard", "rules_version": "0.2.1", "num_agents": 3, "num_comm_channels": 4,
        "num_actions": 60, "shared_reward": False,
    },
}  # fmt: skip
TABLE = {
    "common": ["num_envs=2", "num_steps=5", "total_steps=30", "evaluation.worlds=1"],
    "matrix": {"seed": [0, 1], "learner": ["ippo", "mappo"]},
    "name": "{learner}_seed{seed}",
}


class Calls:
    """Calls the queue on jobs that the stub trains; a job's plan can be changed between calls."""

    def __init__(self, folder: Path):
        self.plans, self.out = folder / "plans", folder / "my 'own' runs\\x"
        self.plans.mkdir()
        self.file = folder / "queue.yaml"
        self.file.write_text(yaml.safe_dump(TABLE, sort_keys=False))
        _, self.jobs = read_queue(self.file, str(self.out), [])
        for job in self.jobs:
            plan = {
                "updates": 3, "size": 10, "seconds": 0.0, "code": 0,
                "asked": {"worlds": 1, "max_steps": job.config.evaluation.max_steps},
            }  # fmt: skip
            self.change(job.name, **plan)
            config = yaml.safe_dump(job.config.as_dict())
            (self.plans / f"{job.name}.yaml").write_text(config)

    def change(self, name: str, **plan) -> None:
        path = self.plans / f"{name}.json"
        before = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps(before | plan))

    def __call__(self, *options: str) -> int:
        command = (sys.executable, str(STUB), str(self.plans))
        return run_queue.main([str(self.file), f"out={self.out}", *options], command)

    def log(self, name: str) -> list[str]:
        path = self.out / name / "train.log"
        return path.read_text().splitlines() if path.exists() else []

    def signal_when(self, names: list[str], *numbers: int) -> threading.Thread:
        """Signals this process once each of the jobs has done an update."""

        def wait():
            end = time.monotonic() + 60
            files = [self.out / name / "metrics.jsonl" for name in names]
            while not all(file.exists() for file in files) and time.monotonic() < end:
                time.sleep(0.01)
            for number in numbers:
                os.kill(os.getpid(), number)
                time.sleep(0.3)

        thread = threading.Thread(target=wait)
        thread.start()
        return thread


@pytest.fixture
def queue(tmp_path):
    return Calls(tmp_path)


def test_the_queue_of_the_results_page(tmp_path):
    out, jobs = read_queue(RESULTS, None, [])
    assert out == Path.cwd() / "runs" / "results"
    learners = ["ippo", "ippo_unshared", "mappo", "hypermarl", "pqn_vdn"]
    assert [job.name for job in jobs] == [f"{x}_seed{s}" for s in (0, 1, 2) for x in learners]
    for job in jobs:
        config = job.config
        assert (config.total_steps, config.name) == (3_000_000, "cpu")
        assert (config.env.difficulty, config.env.num_comm_channels) == ("hard", 4)
        assert job.name == f"{config.learner.name}_seed{config.seed}"


def test_jobs_run_in_order_and_finished_ones_are_skipped(queue, capsys):
    assert queue() == 0
    said = [line.split()[0] for line in capsys.readouterr().err.splitlines() if " starts " in line]
    assert said == ["ippo_seed0", "mappo_seed0", "ippo_seed1", "mappo_seed1"]
    assert queue() == 0
    assert "4 jobs, 4 finished before" in capsys.readouterr().err
    assert all(queue.log(job.name) == ["from 0"] for job in queue.jobs)


def test_a_finished_run_of_other_options_is_not_skipped(queue):
    assert queue() == 0
    for extra, finished in {"logger=wandb": 4, "total_steps=40": 0, "learner.lr=1": 0}.items():
        _, jobs = read_queue(queue.file, str(queue.out), [extra])
        assert sum(job.is_finished() for job in jobs) == finished, extra


def test_a_run_of_several_seeds_is_finished_when_all_are(queue):
    _, (job, *_) = read_queue(queue.file, str(queue.out), ["num_seeds=2", "seed=7"])
    for (config, folder), steps in zip(job.parts, (30, 20), strict=True):
        assert not job.is_finished()
        folder.mkdir(parents=True)
        (folder / "config.yaml").write_text(yaml.safe_dump(config.as_dict()))
        asked = {"worlds": 1, "max_steps": config.evaluation.max_steps, "update": 3}
        (folder / "evaluation.json").write_text(json.dumps({"asked": asked}))
        record = {"env_steps": steps, "seconds": 1.0}
        (folder / "metrics.jsonl").write_text(json.dumps(record))
    assert job.is_finished() and job.progress() == (20, 1.0)
    assert [folder.name for _, folder in job.parts] == ["seed7", "seed8"]
    with locked(job.folder / "seed8"):
        assert job.is_running()
    assert not job.is_running()
    _, (other, *_) = read_queue(queue.file, str(queue.out), ["num_seeds=3", "seed=7"])
    assert not other.is_finished()


def test_a_run_that_is_not_evaluated_is_finished_with_its_newest_policy(queue):
    _, (job, *_) = read_queue(queue.file, str(queue.out), ["evaluation.worlds=0"])
    card = job.folder / "policy" / "card.json"
    card.parent.mkdir(parents=True)
    (job.folder / "config.yaml").write_text(yaml.safe_dump(job.config.as_dict()))
    for update in (2, 3):
        card.write_text(json.dumps(CARD | {"training": {"update": update}}))
        assert job.is_finished() == (update == 3)


def test_a_failing_job_is_reported_and_the_others_go_on(queue, capsys):
    queue.change("mappo_seed0", code=3)
    assert queue() == 3
    said = capsys.readouterr().err
    assert "error: mappo_seed0 failed with exit status 3: error: mappo_seed0 cannot work" in said
    assert "num_envs=2" in said and "learner=mappo" in said
    assert "3 of 4 done, 1 failed" in said

    assert queue("--status") == 0
    table = capsys.readouterr().out.splitlines()
    row = next(line for line in table if line.startswith("mappo_seed0"))
    assert "failed" in row and "0 of 30" in row and "exit status 3" in row
    assert "30 of 30" in table[1] and "finished" in table[1]

    queue.change("mappo_seed0", code=0)
    assert queue() == 0
    assert queue("--status") == 0 and "failed" not in capsys.readouterr().out


def test_an_end_without_the_evaluation_is_a_failure(queue):
    queue.change("ippo_seed1", updates=2)
    assert queue() == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_a_signal_lets_the_jobs_save_and_the_next_call_resumes(queue, number, capsys):
    both = [job.name for job in queue.jobs[:2]]
    for name in both:
        queue.change(name, seconds=0.05, updates=1_000)
    thread = queue.signal_when(both, number)
    assert queue("parallel=2") == 128 + number
    thread.join()
    said = capsys.readouterr().err
    assert "ippo_seed0 stopped" in said and "mappo_seed0 stopped" in said
    states = survey(queue.jobs, {})
    assert list(states.values()) == [State.INTERRUPTED] * 2 + [State.WAITING] * 2

    done = int((queue.out / "ippo_seed0" / "saved").read_text())
    for job in queue.jobs[:2]:
        (queue.out / job.name / "saved").write_text("2")  # of the three asked for
        queue.change(job.name, seconds=0.0, updates=3)
    assert queue() == 0 and done > 0
    assert "ippo_seed0 resumes" in capsys.readouterr().err
    assert queue.log("ippo_seed0") == ["from 0", "from 2"]
    assert queue.log("ippo_seed1") == ["from 0"]


def test_a_second_interrupt_stops_at_once(queue):
    queue.change("ippo_seed0", seconds=0.05, updates=10_000)
    queue.change("mappo_seed0", seconds=600.0)  # deaf to the first
    thread = queue.signal_when(["ippo_seed0"], signal.SIGINT, signal.SIGINT)
    assert queue("parallel=2") == 130
    thread.join()
    assert not any(job.is_running() for job in queue.jobs)
    assert not (queue.out / "mappo_seed0" / "saved").exists()


def test_a_job_that_another_process_has_is_left_out(queue, capsys):
    folder = queue.out / "ippo_seed0"
    folder.mkdir(parents=True)
    with locked(folder):
        assert queue() == 1
    assert "ippo_seed0 is left out" in capsys.readouterr().err
    assert "3 of 4 done" in summary(survey(queue.jobs, {}))


def test_two_queues_in_one_folder_are_refused(queue, capsys):
    queue.out.mkdir()
    with locked(queue.out):
        assert queue() == 4
    assert "out=" in capsys.readouterr().err


def test_time_left_goes_by_the_rates_that_are_known(queue):
    done = {"ippo_seed0": (30, 60.0), "mappo_seed0": (10, 40.0)}
    for name, (steps, seconds) in done.items():
        (queue.out / name).mkdir(parents=True)
        line = json.dumps({"env_steps": steps, "seconds": seconds})
        (queue.out / name / "metrics.jsonl").write_text(f'{line}\n{{"env_st')  # one cut short
    states = survey(queue.jobs, {})
    states[queue.jobs[0]] = State.FINISHED
    states[queue.jobs[1]] = State.RUNNING
    # 20 steps at 4 s and two runs of 30 steps at the mean, 3 s
    assert summary(states) == "1 of 4 done | mappo_seed0 33 % | about 4:20 left"


@pytest.mark.parametrize(
    "change, words",
    [
        ({"common": ["num_envs=2"]}, "give total_steps=N"),
        ({"common": "num_envs=2"}, "common must be a list of OPTION=VALUE"),
        ({"name": "{learner}"}, "two jobs are called ippo"),
        ({"name": "{learner}/{seed}"}, "must be a name for a folder"),
        ({"name": None}, "a matrix needs a name"),
        ({"matrix": {"seed": 0}}, "each with a list of values"),
        ({"seeds": [0]}, "unknown 'seeds'"),
        ({"jobs": {"a": ["total_steps=30", "learner.lrr=1"]}}, "job a .*learner.lrr"),
        ({"jobs": {"a": ["total_steps=30", "learner.lr=-1"]}}, "job a .*learner.lr"),
        ({"jobs": {"a": ["run.dir=x"]}}, "job a gives run.dir"),
        ({"matrix": {}}, "has no jobs"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_starts(tmp_path, capsys, change, words):
    file = tmp_path / "queue.yaml"
    file.write_text(yaml.safe_dump(TABLE | change, sort_keys=False))
    assert run_queue.main([str(file), f"out={tmp_path / 'out'}"]) == 2
    assert re.search(words, capsys.readouterr().err)
    assert not (tmp_path / "out").exists()
