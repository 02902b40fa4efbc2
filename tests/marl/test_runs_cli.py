"""The two commands as a user calls them."""

import dataclasses
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image

from marl.env_config import EnvConfig

SCRIPTS = Path(__file__).parents[2] / "scripts"
TINY = (
    "num_envs=2", "num_steps=4", "total_steps=32", "network.embedding_size=8",
    "network.hidden_size=8", "network.actor_size=8", "network.critic_size=8",
    "evaluation.every_updates=2", "evaluation.development_worlds=1",
    "evaluation.development_max_steps=5", "evaluation.worlds=2", "evaluation.max_steps=6",
)  # fmt: skip


def call(script, *options, cwd, env=None):
    return subprocess.run(
        [sys.executable, str(SCRIPTS / script), *options],
        cwd=cwd, capture_output=True, text=True, timeout=900, env=env,
    )  # fmt: skip


def test_help_teaches(tmp_path):
    text = call("train.py", "--help", cwd=tmp_path).stdout
    for part in ("experiment=published_ippo", "Examples", "learner=hypermarl|ippo|", "Exit status"):
        assert part in text
    assert len(explained(text)) > 40
    assert explained(text)["learner.lr=0.0005"] == "step size of Adam at the start"
    of_another = explained(call("train.py", "learner=pqn_vdn", "--help", cwd=tmp_path).stdout)
    assert of_another["learner.lr=0.0005"] == "step size of RAdam at the start"
    assert not list(tmp_path.iterdir())


def test_evaluating_and_drawing_explain_each_option_and_name_the_world_alike(tmp_path):
    texts = [call(f"{name}.py", "--help", cwd=tmp_path).stdout for name in ("evaluate", "render")]
    playing, drawing = map(explained, texts)
    assert {"policy=...", "max_steps=10000"} < set(playing)
    assert {"policy=random", "out=world.gif"} < set(drawing)
    world = {name: words for name, words in playing.items() if name.startswith("env.")}
    assert len(world) == 5 and world.items() <= drawing.items()
    training = {field.name for field in dataclasses.fields(EnvConfig)}
    assert {name.split(".")[1].split("=")[0] for name in world} < training


def explained(text):
    """NAME=VALUE -> its explanation, of a whole --help."""
    lines = [line for line in text.split("OPTION=VALUE):")[1].splitlines() if "=" in line]
    found = [re.fullmatch(r"  ([\w.]+=\S+) +(\S.*)", line) for line in lines]
    assert lines and all(found), text
    return {match[1]: match[2] for match in found}


def test_a_reader_of_the_help_may_leave(tmp_path):
    command = f"{sys.executable} {SCRIPTS / 'train.py'} --help | head -1"
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.startswith("Trains a team") and done.stderr == ""


@pytest.mark.parametrize(
    "script, option, words",
    [
        ("train.py", "num_envs=0", ["num_envs=0"]),
        ("train.py", "env.difficulty=harder", ["env.difficulty='harder'"]),
        ("train.py", "learner.lrr=1", ["learner.lrr", "did you mean learner.lr=1?"]),
        ("train.py", "lr=1e-3", ["did you mean learner.lr=1e-3?"]),
        ("train.py", "+lr=1e-3", ["unknown option lr=0.001; did you mean learner.lr?"]),
        ("train.py", "learner=ipo", ["learner=ipo is unknown", "mappo, pqn_vdn\n"]),
        ("train.py", "hydra.run.dir=/proc/x", ["/proc/x cannot be made", "hydra.run.dir"]),
        ("train.py", "seed=0,1", ["seed=0,1"]),
        ("evaluate.py", "episodes=1", ["policy=... is needed", "random"]),
        ("evaluate.py", "policy=nowhere", ["policy=nowhere", "card.json"]),
        ("render.py", "agent=3", ["agent=3", "between 0 and 2"]),
        ("render.py", "env.num_agents=2 agent=2", ["agent=2", "between 0 and 1"]),
        ("render.py", "difficulty=easy", ["did you mean env.difficulty=easy?"]),
        ("evaluate.py", "episode=1", ["no option episode; did you mean episodes=1?"]),
        ("evaluate.py", "env=1", ["env is no option"]),
        ("evaluate.py", "learner.lr=1", ["no option learner.lr"]),
        ("train.py", "learner.q_lambda=1", ["belongs to learner=pqn_vdn"]),
        ("train.py", "learner", ["learner cannot be read", "EQUAL"]),
        ("train.py", "zzz=1", ["no option zzz", "--help"]),
        ("train.py", "-m learner=ippo,foo", ["learner=foo", "hypermarl, ippo"]),
        ("train.py", "experiment=null", ["experiment=null", "published_ippo", "~experiment"]),
        ("train.py", "env=1", ["env=1", "choose one of alem"]),
        ("train.py", "learner.lr=1e300", ["learner.lr=1e+300", "must be a number"]),
        ("evaluate.py", "policy=${nope}", ["nope"]),
    ],
)
def test_bad_options_are_named_and_nothing_is_written(tmp_path, script, option, words):
    result = call(script, *option.split(), cwd=tmp_path)
    assert result.returncode == 2, result.stderr
    assert all(word in result.stderr for word in words), result.stderr
    assert result.stderr.startswith("error: ") and result.stdout == ""
    assert result.stderr.count("\n") == (4 if option == "seed=0,1" else 1)  # how to sweep
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "command, name, value",
    [
        (["train.py"], "JAX_PLATFORMS", "nonsense"),
        (["train.py"], "JAX_PLATFORMS", "cuda"),
        (["train.py"], "JAX_ENABLE_X64", "1"),
        (["evaluate.py", "policy=random"], "JAX_PLATFORMS", "cuda"),
        (["evaluate.py", "policy=random"], "JAX_ENABLE_X64", "1"),
        (["render.py"], "JAX_PLATFORMS", "cuda"),
    ],
)
def test_what_jax_cannot_start_with_is_named_and_nothing_is_written(tmp_path, command, name, value):
    result = call(*command, cwd=tmp_path, env=os.environ | {name: value})
    assert result.returncode == 2
    assert f"{name}={value}" in result.stderr and "Traceback" not in result.stderr
    assert not list(tmp_path.iterdir())


def test_a_failing_job_does_not_end_a_sweep(tmp_path):
    result = call("train.py", "-m", "num_envs=0,-1", cwd=tmp_path)
    assert result.returncode == 2
    assert "num_envs=0 " in result.stderr and "num_envs=-1 " in result.stderr


@pytest.mark.slow
def test_train_resume_and_evaluate(tmp_path):
    folder = "my runs/x"
    first = call("train.py", *TINY, f"run.dir={folder}", "run.stop_after_updates=2", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    assert "stopped at update 2" in first.stdout
    second = call("train.py", *TINY, f"run.dir={folder}", cwd=tmp_path)
    assert second.returncode == 0, second.stderr
    assert "resuming at update 2" in second.stdout and "REDUCED protocol" in second.stdout
    run = tmp_path / folder
    for name in (
        "config.yaml", "versions.json", "metrics.jsonl", "evaluation.json",
        "evaluation.txt", "policy/card.json", "policy/weights.safetensors", "checkpoints/4",
    ):  # fmt: skip
        assert (run / name).exists(), name
    report = json.loads((run / "evaluation.json").read_text())
    assert {"greedy", "sampled", "random"} <= set(report["results"])
    assert [w["seed"] for w in report["results"]["greedy"]["worlds"]] == [9999, 10_000]

    other = call("train.py", *TINY, f"run.dir={folder}", "learner.lr=0.1", cwd=tmp_path)
    assert other.returncode == 4 and "learner.lr" in other.stderr

    options = ("episodes=2", "max_steps=6", "out=new/results.json")
    again = call("evaluate.py", f"policy={folder}/policy", *options, cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    results = json.loads((tmp_path / "new" / "results.json").read_text())["results"]
    for name in ("greedy", "sampled", "random"):
        assert results[name]["worlds"] == report["results"][name]["worlds"]
    wrong = call("evaluate.py", f"policy={folder}/policy", "env.difficulty=easy", cwd=tmp_path)
    assert wrong.returncode == 2 and "transfer=true" in wrong.stderr


@pytest.mark.slow
def test_a_parallel_sweep_trains_and_reports(tmp_path):
    pytest.importorskip("hydra_plugins.hydra_joblib_launcher")
    launcher = ("hydra/launcher=joblib", "hydra.launcher.n_jobs=2")
    done = call("train.py", "-m", *launcher, *TINY, "learner=ippo,mappo", "seed=0,-1", cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    for learner in ("ippo", "mappo"):
        (run,) = (tmp_path / "runs").glob(f"cpu_{learner}_hard_seed0_*")
        assert json.loads((run / "evaluation.json").read_text())["asked"]["update"] == 4
        assert f"learner={learner} seed=-1 failed with exit status 2" in done.stderr
    assert "2 of 4 jobs failed" in done.stderr


@pytest.mark.slow
def test_a_queue_of_real_runs_is_stopped_and_goes_on(tmp_path):
    common = [*TINY, "total_steps=4000", "evaluation.every_updates=0"]
    jobs = {"a": ["seed=1"], "b": ["seed=2", "num_seeds=2", "total_steps=32"]}
    table = {"common": common, "jobs": jobs}
    (tmp_path / "queue.yaml").write_text(json.dumps(table))  # which is YAML too
    command = [sys.executable, str(SCRIPTS / "run_queue.py"), "queue.yaml", "out=runs"]
    first = subprocess.Popen(command, cwd=tmp_path)
    while not (tmp_path / "runs" / "a" / "metrics.jsonl").exists():
        assert first.poll() is None
        time.sleep(0.1)
    first.terminate()
    assert first.wait(300) == 143
    second = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=900)
    assert second.returncode == 0 and "2 of 2 done" in second.stderr, second.stderr
    assert "resuming at update" in (tmp_path / "runs" / "a" / "train.log").read_text()


@pytest.mark.slow
def test_pictures_need_no_display(tmp_path):
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    done = call(
        "render.py", "env.difficulty=none", "out=new/film.gif", "max_steps=2", "agent=2",
        cwd=tmp_path, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with Image.open(tmp_path / "new" / "film.gif") as film:
        assert film.n_frames in (2, 3)  # equal pictures are joined
