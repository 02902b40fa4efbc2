"""Sweeps with each launcher, on a stub: failures, exit codes, signals, requeueing."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from marl import option_help
from marl.host import sweep

ROOT = Path(__file__).parents[2]
STUB = Path(__file__).parent / "sweeping" / "stub.py"
SEARCH = f"hydra.searchpath=[file://{ROOT / 'conf'}]"
PATHS = [str(ROOT), str(ROOT / "scripts"), str(ROOT / "tests" / "marl")]
LOCAL = {
    "basic": [],
    "joblib": ["hydra/launcher=joblib", "hydra.launcher.n_jobs=2"],
}
SUBMITIT = ["hydra/launcher=submitit_local", "hydra.launcher.timeout_min=2"]


def start(folder, *options, program=STUB, **environment):
    return subprocess.Popen(
        [sys.executable, str(program), "-m", SEARCH, *options],
        cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(PATHS), **environment},
        start_new_session=True,
    )  # fmt: skip


def finish(process):
    out, err = process.communicate(timeout=120)
    return process.returncode, out + err


def call(folder, *options, **more):
    return finish(start(folder, *options, **more))


def done(folder):
    return sorted(path.stem for path in (folder / "out").glob("*.done"))


def begun(folder, name, seconds=60):
    """The process that a job began in, once it did."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        path = folder / "out" / f"{name}.log"
        words = path.read_text() if path.exists() else ""
        if words.endswith("\n"):
            return int(words.split()[-1])
        time.sleep(0.02)
    raise TimeoutError(name)


def need(launcher):
    for package in {"joblib": ["joblib"], "submitit": ["submitit"]}.get(launcher, []):
        pytest.importorskip(f"hydra_plugins.hydra_{package}_launcher")


@pytest.fixture(params=LOCAL)
def local(request):
    need(request.param)
    return LOCAL[request.param]


def test_every_job_runs(tmp_path, local):
    code, said = call(tmp_path, *local, "n=0,1", "code=0", "out=here")
    assert code == 0, said
    assert sorted(p.name for p in (tmp_path / "here").glob("*.done")) == ["0.done", "1.done"]


def test_failing_jobs_are_reported_by_their_options_and_the_others_finish(tmp_path, local):
    code, said = call(tmp_path, *local, "n='${code}'", "code=3,0,-1,4")
    assert code == 4, said
    assert done(tmp_path) == ["0", "3", "4"]
    for value, exit_code in ((3, 3), (-1, 1), (4, 4)):
        assert re.search(rf"error: job .*code={value} failed with exit status {exit_code}", said)
    assert "ArithmeticError: unforeseen" in said
    assert "3 of 4 jobs failed" in said and "code=0 failed" not in said


def test_jobs_run_side_by_side_with_joblib(tmp_path):
    need("joblib")
    process = start(tmp_path, *LOCAL["joblib"], "n=0,1", "steps=40")
    assert len({begun(tmp_path, n) for n in (0, 1)} | {process.pid}) == 3
    assert finish(process)[0] == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1, signal.SIGINT])
def test_a_signal_saves_what_runs_and_starts_nothing_more(tmp_path, local, number):
    process = start(tmp_path, *local, "n=0,1,2,3", "steps=1000")
    begun(tmp_path, 0)
    at_work = 1
    if local:
        begun(tmp_path, 1)
        at_work = 2
    process.send_signal(number)
    code, said = finish(process)
    assert code == 128 + number, said
    saved = sorted(path.name for path in (tmp_path / "out").glob("*.saved"))
    assert saved == ["0.saved", "1.saved"][:at_work]
    assert len(list((tmp_path / "out").glob("*.log"))) == at_work
    assert "the same command goes on" in said and "Traceback" not in said


def test_ctrl_c_reaches_the_whole_group_once(tmp_path, local):
    process = start(tmp_path, *local, "n=0,1,2", "steps=1000")
    at_work = {name: begun(tmp_path, name) for name in ((0, 1) if local else (0,))}
    for pid in at_work.values():
        os.kill(pid, signal.SIGSTOP)
    os.killpg(process.pid, signal.SIGINT)
    time.sleep(0.5)  # for what is passed on, so that children meet both at once
    for pid in at_work.values():
        os.kill(pid, signal.SIGCONT)
    code, said = finish(process)
    assert code == 130, said
    for name in at_work:
        assert (tmp_path / "out" / f"{name}.saved").exists(), said


def test_a_process_without_a_job_takes_none_with_it_when_it_is_stopped(tmp_path):
    need("joblib")
    process = start(tmp_path, *LOCAL["joblib"], "n='${steps}'", "steps=1,1000")
    begun(tmp_path, 1000)
    while not (tmp_path / "out" / "1.done").exists():
        time.sleep(0.02)
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGTERM)
    code, said = finish(process)
    assert code == 143 and "1 of 2 jobs were stopped" in said, said


def test_a_process_that_hears_nothing_takes_none_with_it(tmp_path):
    need("joblib")
    process = start(tmp_path, *LOCAL["joblib"], "n='${code}'", "code=0,-3", "steps=1000")
    begun(tmp_path, 0)
    begun(tmp_path, -3)
    time.sleep(0.2)  # into the work
    process.terminate()
    code, said = finish(process)
    assert code == 143 and "2 of 2 jobs were stopped" in said, said


def test_a_second_ctrl_c_ends_all_at_once(tmp_path):
    need("joblib")
    process = start(tmp_path, *LOCAL["joblib"], "n='${code}'", "code=-3,0", "steps=1000")
    begun(tmp_path, 0)
    deaf = begun(tmp_path, -3)
    os.killpg(process.pid, signal.SIGINT)
    while not (tmp_path / "out" / "0.saved").exists():
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    code, said = finish(process)
    assert code == 130 and "stopped at once" in said, said
    with pytest.raises(ProcessLookupError):
        os.kill(deaf, 0)


def test_a_stopped_sweep_goes_on(tmp_path, local):
    process = start(tmp_path, *local, "n=0,1", "steps=60")
    begun(tmp_path, 0)
    if local:
        begun(tmp_path, 1)
    time.sleep(0.2)
    process.terminate()
    finish(process)
    assert call(tmp_path, *local, "n=0,1", "steps=60")[0] == 0
    assert "from 0" not in (tmp_path / "out" / "0.log").read_text().splitlines()[1]
    assert done(tmp_path) == ["0", "1"]


def test_training_goes_on_in_a_sweep(tmp_path, local):
    """The loop of scripts/train.py with a toy learner, in one process or several."""
    toy = {"program": STUB.with_name("toy.py")}
    code, said = call(tmp_path, *local, "n=0,1", "steps=2", **toy)
    assert code == 0, said
    code, said = call(tmp_path, *local, "n=0,1", "steps=3", **toy)
    assert code == 0 and "resuming at update 2" in said, said
    for name in ("0", "1"):
        lines = (tmp_path / "out" / name / "metrics.jsonl").read_text().splitlines()
        assert [json.loads(line)["update"] for line in lines] == [1, 2, 3]
    code, said = call(tmp_path, *local, "n=1,2", "steps=3", "code=1", **toy)  # another learner's
    assert code == 4, said
    assert "n=1 code=1 failed" in said.replace("steps=3 ", "") and "1 of 2 jobs failed" in said


def test_a_process_that_is_killed_is_a_failure(tmp_path):
    need("joblib")
    code, said = call(tmp_path, *LOCAL["joblib"], "n=0,1", "code=-2")
    assert code == 1 and "could not see all jobs to their end" in said, said


def test_a_missing_launcher_is_named(tmp_path, monkeypatch):
    target = "hydra.launcher._target_=hydra_plugins.nowhere.Launcher"
    code, said = call(tmp_path, "hydra/launcher=slurm", target, "n=0,1")
    assert code == 2, said
    assert "hydra/launcher=slurm needs more packages: pip install -e '.[sweep]'" in said
    # What Hydra itself refuses, since it does not know the name:
    monkeypatch.setattr(option_help, "find_spec", lambda name: None)
    options = option_help.Options(ROOT / "conf", "train")
    assert ".[sweep]" in options.corrections(["hydra/launcher=joblib"])[0]
    monkeypatch.undo()
    need("joblib")
    assert not options.corrections(["hydra/launcher=joblib"])


@pytest.mark.parametrize("option", ["m=1", "hydra/launcher=nowhere"])
def test_options_that_hydra_refuses_exit_as_before(tmp_path, option):
    assert call(tmp_path, "n=0,1", option)[0] == 2


# submitit, as on SLURM: its local executor starts and requeues jobs by the same code


def test_jobs_of_submitit_are_reported(tmp_path):
    need("submitit")
    code, said = call(tmp_path, *SUBMITIT, "n='${code}'", "code=0,3,-1")
    assert code == 3, said
    assert re.search(r"error: job .*code=3 failed with exit status 3", said)
    assert done(tmp_path) == ["0", "3"]


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGUSR2])
def test_a_job_of_submitit_saves_and_is_queued_again(tmp_path, number):
    need("submitit")
    process = start(tmp_path, *SUBMITIT, "n=0,1", "steps=80")
    os.kill(begun(tmp_path, 0), number)
    code, said = finish(process)
    assert code == 0, said
    first, second = (tmp_path / "out" / "0.log").read_text().splitlines()
    assert first.startswith("from 0 ")
    assert int(second.split()[1]) == int((tmp_path / "out" / "0.saved").read_text()) > 0
    assert len((tmp_path / "out" / "1.log").read_text().splitlines()) == 1
    assert done(tmp_path) == ["0", "1"]


def test_a_job_of_submitit_that_hears_nothing_is_queued_again(tmp_path):
    need("submitit")
    process = start(tmp_path, *SUBMITIT, "n=0", "code=-3")
    pid = begun(tmp_path, 0)
    time.sleep(0.2)  # into the work
    os.kill(pid, signal.SIGUSR2)
    code, said = finish(process)
    assert code == 0, said
    assert len((tmp_path / "out" / "0.log").read_text().splitlines()) == 2


def test_a_job_of_submitit_that_is_cancelled_saves_and_is_not_queued_again(tmp_path):
    need("submitit")
    process = start(tmp_path, *SUBMITIT, "n=0,1", "steps=60")
    os.kill(begun(tmp_path, 0), signal.SIGTERM)
    code, said = finish(process)
    assert code == 128 + signal.SIGTERM and "1 of 2 jobs were stopped" in said, said
    assert (tmp_path / "out" / "0.saved").exists() and done(tmp_path) == ["1"]


def test_what_sbatch_is_told(tmp_path):
    """The array script of conf/hydra/launcher/slurm.yaml, caught by commands in SLURM's place."""
    need("submitit")
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, text in {"sbatch": 'cp "$1" caught.sh; exit 1', "srun": "exit 0"}.items():
        (commands / name).write_text(f"#!/bin/sh\n{text}\n")
        (commands / name).chmod(0o755)
    options = ("hydra/launcher=slurm", "hydra.launcher.partition=gpu", "n=0,1,2")
    code, said = finish(start(tmp_path, *options, PATH=f"{commands}:{os.environ['PATH']}"))
    assert code == 1 and "could not see all jobs to their end" in said, said
    script = (tmp_path / "caught.sh").read_text()
    for line in (
        "--array=0-2%3", "--signal=USR2@300", "--time=240", "--partition=gpu", "--mem=32GB",
        "--gpus-per-node=1", "--cpus-per-task=8", "--open-mode=append", "--job-name=alem",
    ):  # fmt: skip
        assert f"#SBATCH {line}\n" in script, line


def test_outside_a_sweep_nothing_is_shared():
    sweep.end(143)
    assert sweep.ended_with() == 0
    with sweep.held():
        assert sweep.ended_with() == 0
        sweep.end(143)
        assert sweep.ended_with() == 143
        with open(os.environ[sweep._STOP_FILE]) as being_read:  # while another job says so as well
            sweep.end(130)
            assert being_read.read() == "143" and sweep.ended_with() == 130
    assert sweep.ended_with() == 0
