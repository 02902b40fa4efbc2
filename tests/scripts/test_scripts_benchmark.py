"""`scripts/benchmark.py`: what it refuses, and that its figures are of the world's own phases."""

import ast
import json
import sys
from pathlib import Path

import benchmark
import benchmark_train
import jax
import jax.numpy as jnp
import pytest
from commands import call, lines

import alem_env
from alem_env.core.batch import single_world
from marl.learners.registry import LEARNERS

STEP = Path(alem_env.__file__).with_name("step.py")


@pytest.mark.parametrize(
    "options",
    [
        ("env", "--num-envs", "0"),
        ("env", "--num-envs", "64", "-1"),
        ("phases", "--steps", "1e3"),
        ("train", "--num-steps", "many"),
        ("train", "--repeats", "2.5"),
    ],
)
def test_bad_numbers_are_named_with_their_option(options, capsys):
    with pytest.raises(SystemExit) as leaving:
        benchmark.parse(list(options))
    assert leaving.value.code == 2
    message = capsys.readouterr().err.splitlines()[-1]
    assert f"{options[1]}: '{options[-1]}' must be a whole number from 1 to" in message


def test_a_file_that_cannot_be_written_is_refused_before_the_work(tmp_path, capsys):
    (tmp_path / "file").touch()
    for place in (tmp_path, tmp_path / "nowhere" / "x.json", tmp_path / "file" / "x.json"):
        with pytest.raises(SystemExit) as leaving:
            benchmark.parse(["env", "--json", str(place)])
        assert leaving.value.code == 2
        assert f"--json: '{place}'" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    assert benchmark.parse(["env", "--json", str(tmp_path / "x.json")]).json.name == "x.json"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    "options, words",
    [
        (["--learner", "dqn"], "invalid choice: 'dqn'"),
        (["--preset", "tiny"], "invalid choice: 'tiny'"),
        (["--reference", "python"], "--reference and --baselines go together"),
        (["--baselines", "{good}"], "--reference and --baselines go together"),
        (["--reference", "python", "--baselines", "{bad}"], "holds no ippo_rnn.py and config/"),
    ],
)
def test_what_cannot_be_measured_of_training_is_refused(options, words, tmp_path, capsys):
    (tmp_path / "good" / "config").mkdir(parents=True)
    (tmp_path / "good" / "ippo_rnn.py").touch()
    places = {"good": tmp_path / "good", "bad": tmp_path}
    with pytest.raises(SystemExit) as leaving:
        benchmark.parse(["train", *(option.format(**places) for option in options)])
    assert leaving.value.code == 2 and words in capsys.readouterr().err


def test_every_learner_is_measured_as_scripts_train_would_run_it():
    asked = ["train", "--num-envs", "3", "6", "--preset", "published", "cpu", "--learner"]
    args = benchmark.parse([*asked, *LEARNERS, "--num-steps", "4"])
    measured = list(benchmark_train.cases(args))
    assert len(measured) == 2 * 2 * len(LEARNERS) and set(benchmark.LEARNERS) == set(LEARNERS)
    for num_envs, preset, learner in measured:
        config = benchmark_train.config_of(num_envs, args.num_steps, preset, learner, repeats=5)
        assert config.learner.name == learner and config.num_envs == num_envs
        assert config.num_updates == 6 and config.env.label == "hard"
        assert config.network.hidden_size == {
            "cpu": 128, "published": 1024 if learner == "pqn_vdn" else 512,
        }[preset]  # fmt: skip


def test_what_the_published_trainer_needs_is_looked_for():
    assert benchmark_train.lacks_for_training(sys.executable) == "alem"


def test_one_size_is_flat_and_several_are_listed():
    def measured(*sizes):
        args = benchmark.parse(["env", "--num-envs", *sizes])
        return benchmark.by_size(args, lambda n: {"num_envs": n, "ratio_step": float(n)})

    assert measured("8")["ratio_step"] == 8.0
    several = measured("8", "16")
    assert [size["ratio_step"] for size in several["sizes"]] == [8.0, 16.0]


def test_several_sizes_are_columns(capsys):
    sizes = [{"num_envs": n, "phases_us": {"mobs": 0.5 * n}} for n in (64, 1024)]
    benchmark.show({"what": "phases", "sizes": sizes})
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["num_envs", "64", "1024"] in shown and ["mobs", "32", "512"] in shown


def test_phases_are_those_of_the_step():
    """By the names by which the step calls them, in its order."""
    from benchmark_phases import PHASES

    calls = [
        f"{node.func.value.id}.{node.func.attr}"
        for node in sorted(
            (n for n in ast.walk(ast.parse(STEP.read_text())) if isinstance(n, ast.Call)),
            key=lambda n: n.lineno,
        )
        if isinstance(node.func, ast.Attribute) and node.func.attr[0].islower()
    ]
    assert len(calls) > 20 and calls == list(PHASES)


def test_every_phase_can_be_called():
    """Traced only; the slow test below times them."""
    from benchmark_phases import AFTER, PHASES, Moment, chance, outcome

    env, params = alem_env.make(), alem_env.difficulty("hard")

    def call_all(key, state):
        luck = chance.draw(key, env.static)
        actions = jnp.zeros(env.num_agents, jnp.int32)
        health = outcome.HealthLog(*(state.players.health,) * 3)
        moment = Moment(key, luck, state, actions, state, health)
        return {name: phase(moment, params, env.static) for name, phase in table.items()}

    table = PHASES | AFTER
    _, state = jax.eval_shape(env.reset, jax.random.key(0), params)
    made = jax.eval_shape(single_world(call_all), jax.ShapeDtypeStruct((2,), "uint32"), state)
    assert made.keys() == table.keys()


@pytest.mark.slow
def test_figures_of_a_tiny_call(tmp_path):
    tiny = ("--num-envs", "2", "--repeats", "1", "--json", str(tmp_path / "x.json"))

    def figures(what, *options):
        done = call("benchmark.py", what, *tiny, *options, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "compiling" in done.stderr and "compiling" not in done.stdout
        return json.loads((tmp_path / "x.json").read_text())

    world = figures("env", "--steps", "3")
    assert world["step_per_s"] == pytest.approx(1e6 / world["step_us"])
    assert world["step_with_resets_us"] > 0 and world["state_bytes"] > 1000
    phases = figures("phases", "--steps", "3")
    assert phases["phases_us"]["mobs.move_mobs"] > 0
    learning = figures("train", "--num-steps", "2", "--preset", "cpu", "--learner", "pqn_vdn")
    took = learning["rollout_s"] + learning["learning_s"] + learning["host_s"]
    assert learning["steps_per_s"] == pytest.approx(4 / took)


def test_a_reference_that_is_none_is_refused_in_one_line(tmp_path):
    for python, words in ((str(tmp_path / "none"), "no such program"), ("false", "failed")):
        done = call("benchmark.py", "env", "--reference", python, cwd=tmp_path)
        assert done.returncode == 2 and done.stdout == ""
        (message,) = lines(done.stderr)
        assert f"--reference {python}" in message and words in message
