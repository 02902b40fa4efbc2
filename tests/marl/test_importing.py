"""Checkpoints of the benchmark's trainers as policies of ours."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import import_checkpoint as script
import jax
import numpy as np
import pytest
from trainer_networks import PUBLISHED, SMALL, forward, random_leaf, save, tree_of, zero_leaf

from alem_env import StaticParams, dense
from alem_env.core.params import RULES_VERSIONS
from marl.export import load_policy
from marl.importing import convert, stored
from marl.importing.command import Options, import_checkpoint, run
from marl.importing.layouts import LAYOUTS
from marl.learners.registry import LEARNERS
from marl.networks import recipes
from marl.tasks import task_for_static
from marl.types import VectorObservation

# A world unlike the released checkpoints', since all sizes are those of the arrays.
WORLD = StaticParams(num_agents=2, num_comm_channels=1)
SHAPES = dict(features=dense.obs_dim(WORLD), agents=2, actions=WORLD.num_actions)
TOLD = dict(difficulty="hard", steps=10**9, seed=3)


@pytest.fixture(scope="module")
def trees():
    return {name: tree_of(name, random_leaf(), SMALL, **SHAPES) for name in LAYOUTS}


@pytest.fixture(scope="module")
def checkpoints(trees, tmp_path_factory):
    """Learner -> folder of its run."""
    folder = tmp_path_factory.mktemp("checkpoints")
    return {name: save(folder / name, tree) for name, tree in trees.items()}


@pytest.fixture(scope="module")
def cards(checkpoints, tmp_path_factory):
    """Learner -> (folder of its policy, what the import returned)."""
    folder = tmp_path_factory.mktemp("policies")
    return {
        name: (folder / name, import_checkpoint(Options(there, folder / name, name, **TOLD)))
        for name, there in checkpoints.items()
    }


@pytest.mark.parametrize("learner", LAYOUTS)
def test_an_imported_network_computes_what_the_trainers_does(learner, trees, cards):
    generator = np.random.default_rng(1)
    vectors = generator.normal(size=(4, 3, 2, SHAPES["features"])).astype(np.float32)
    reset = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0], [1, 0, 0]], bool)
    wanted = [forward(learner, trees[learner], vectors[:, e], reset[:, e]) for e in range(3)]

    policy = load_policy(cards[learner][0])
    task = task_for_static(policy.card["env"])
    whole = recipes.follow(policy.card["network"], task)
    legal = np.ones((4, 3, 2, SHAPES["actions"]), bool)
    observation = VectorObservation(vectors, legal)
    by_agent = np.repeat(reset[..., None], 2, -1)
    start = whole.init_carry((3, 2))
    _, logits, values = jax.jit(whole.unroll)(policy.params, start, observation, by_agent)

    wanted_logits = np.stack([w[0] for w in wanted], axis=1)
    assert wanted_logits.std() > 0.1  # or nothing is compared
    np.testing.assert_allclose(logits, wanted_logits, rtol=1e-4, atol=1e-5)
    if learner != "pqn_vdn":
        wanted_values = np.stack([w[1] for w in wanted], axis=1)
        np.testing.assert_allclose(values, wanted_values, rtol=1e-4, atol=1e-5)

    first = jax.tree.map(lambda leaf: leaf[0], observation)
    actions, _ = policy.act(first)
    np.testing.assert_array_equal(actions, wanted_logits_at_start(learner, trees, vectors))


def wanted_logits_at_start(learner, trees, vectors):
    start = [forward(learner, trees[learner], vectors[:1, e], [True])[0][0] for e in range(3)]
    return np.stack(start).argmax(-1)


def test_a_card_says_what_is_known(cards, checkpoints):
    folder, card = cards["pqn_vdn"]
    assert card["label"] == "pqn_vdn (imported)" and card["learner"] == "pqn_vdn"
    assert card["env"] == {
        "difficulty": "hard", "rules_version": "0.1.0", "num_agents": 2, "num_comm_channels": 1,
        "num_actions": SHAPES["actions"], "shared_reward": False, "without": None,
        "non_specialist_efficiency": None, "own_efficiency": None,
    }  # fmt: skip
    assert card["network"] == {
        "kind": "recurrent_q", "embedding_size": 5, "hidden_size": 6, "epsilon": 0.01
    }  # fmt: skip
    assert card["training"].items() >= {"seed": 3, "env_steps": 10**9}.items()
    assert card["source"]["checkpoint"] == str(checkpoints["pqn_vdn"] / "checkpoint")
    assert load_policy(folder).card.items() >= card.items()


def test_runs_are_told_apart_by_their_weights(cards, checkpoints, tmp_path):
    again = import_checkpoint(Options(checkpoints["ippo"], tmp_path / "p", "ippo", **TOLD))
    assert again["training"] == cards["ippo"][1]["training"]
    assert len({card["training"]["run_id"] for _, card in cards.values()}) == len(LAYOUTS)


def test_published_sizes_have_the_published_numbers_of_parameters():
    world = StaticParams(num_agents=3, num_comm_channels=4)
    shapes = dict(features=dense.obs_dim(world), agents=3, actions=world.num_actions)
    assert (shapes["features"], shapes["actions"]) == (9730, 60)

    def count(learner, **sizes):
        leaves = flat(tree_of(learner, zero_leaf, PUBLISHED | sizes, **shapes))
        converted = convert.convert(leaves, learner, None, 0.01)
        assert (converted.num_agents, converted.num_comm_channels) == (3, 4)
        return {n: sum(a.size for a in jax.tree.leaves(p)) for n, p in converted.params.items()}

    assert sum(count("ippo").values()) == 2_589_885
    assert sum(count("ippo_unshared").values()) == 7_769_655
    assert sum(count("hypermarl").values()) == 25_614_013
    mappo = count("mappo", critic=512)
    assert [round(mappo[part] / 1e6, 2) for part in ("actor", "critic")] == [2.52, 4.98]
    assert count("pqn_vdn", embedding=1024, hidden=1024)["embedding"] == 9733 * 1024 + 1024


def flat(tree, prefix=""):
    """As `stored.read` gives it."""
    if not isinstance(tree, dict):
        return {prefix: tree}
    return {
        name: leaf
        for key, branch in tree.items()
        if key != "opt_state"
        for name, leaf in flat(branch, f"{prefix}/{key}" if prefix else key).items()
    }


def test_only_the_optimiser_is_left_out_of_reading(trees, checkpoints):
    for learner, tree in trees.items():
        read, saved = stored.read(checkpoints[learner] / "checkpoint"), flat(tree)
        assert read.keys() == saved.keys()
        assert all(np.array_equal(read[name], saved[name]) for name in saved)


_GRU = "params/params/ScannedRNN_0/GRUCell_1"


@pytest.mark.parametrize(
    "learner, tree, change, words",
    [
        ("ippo", "mappo", {}, ["lacks params/params/Dense_0/bias", "looks like learner=mappo"]),
        ("ippo", "ippo_unshared", {}, ["one network for each agent", "learner=ippo_unshared"]),
        ("ippo_unshared", "ippo", {}, ["one network for all agents", "learner=ippo"]),
        ("ippo", "ippo", {f"{_GRU}/hz/kernel": None}, [f"lacks {_GRU}/hz/kernel"]),
        ("ippo", "ippo", {"params/params/X/bias": np.ones(1)}, ["besides params/params/X/bias"]),
        ("ippo", "ippo", {f"{_GRU}/hz/kernel": np.ones((6, 6))}, ["float64", f"{_GRU}/hz/kernel"]),
        (
            "ippo", "ippo", {f"{_GRU}/hz/kernel": np.ones((5, 6), np.float32)},
            [f"{_GRU}/hz/kernel", "do not fit together"],
        ),
        (
            "ippo", "ippo", {"params/params/Dense_4/bias": np.ones(2, np.float32)},
            ["Dense_4/bias", "float32 of 2", "goes float32 of 1"],
        ),
        (
            "ippo", "ippo", {"params/params/Dense_2/bias": np.full(56, np.nan, np.float32)},
            ["params/params/Dense_2/bias holds numbers that are not finite"],
        ),
        (
            "ippo", "ippo", {"params/params/Dense_0/kernel": np.ones((900, 5), np.float32)},
            ["takes 900 numbers", "56 actions", "no world"],
        ),
        (
            "ippo", "ippo", {"params/params/Dense_0/kernel": np.ones(5, np.float32)},
            ["Dense_0/kernel: has 1 axes"],
        ),
        (
            "pqn_vdn", "pqn_vdn", {"params/BatchNorm_0/scale": np.ones(3) * 2.0},
            ["params/BatchNorm_0/scale was trained", "NORM_INPUT"],
        ),
    ],
)  # fmt: skip
def test_what_is_no_network_of_the_learner_is_named(learner, tree, change, words, trees):
    leaves = {n: leaf for n, leaf in (flat(trees[tree]) | change).items() if leaf is not None}
    with pytest.raises(convert.ImportFailed) as refused:
        convert.convert(leaves, learner, None, 0.01)
    for word in words:
        assert word in str(refused.value)


def test_no_two_worlds_are_taken_for_each_other():
    worlds = convert._worlds()
    assert len(worlds) == convert.MAX_AGENTS * (convert.MAX_CHANNELS + 1)
    with_identity = {(n + agents, actions) for (n, actions), (agents, _) in worlds.items()}
    assert len(with_identity) == len(worlds)


def damaged(folder):
    for file in folder.rglob("*"):
        if file.is_file() and file.parent.name == "d":
            file.write_bytes(b"damaged")


def renamed(folder):
    (folder / "checkpoint").rename(folder / "other")


@pytest.mark.parametrize(
    "harm, words",
    [
        (damaged, "cannot be read"),
        (lambda folder: (folder / "checkpoint/_METADATA").write_text("{"), "cannot be read"),
        (renamed, "is no checkpoint"),
        (shutil.rmtree, "there is no such folder"),
    ],
)
def test_a_folder_that_cannot_be_read_is_told_in_one_line(
    harm, words, checkpoints, tmp_path, capsys
):
    folder, out = tmp_path / "run", tmp_path / "policy"
    shutil.copytree(checkpoints["ippo"], folder)
    harm(folder)
    assert run(Options(folder, out, "ippo", "hard")) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line and str(folder) in line
    assert not out.exists()


def beside(checkpoint, folder, config):
    shutil.copytree(checkpoint, folder)
    (folder / "config.json").write_text(config if isinstance(config, str) else json.dumps(config))
    return folder


TRAINER = {
    "ALG_NAME": "mappo-rnn", "TRAINING_COORDINATION_DIFFICULTY": "easy", "TOTAL_TIMESTEPS": "1e8",
    "SEED": 4, "ACTIVATION": "relu", "coord_non_specialist_efficiency": 0.2, "EPS_FINISH": None,
}  # fmt: skip


def test_what_the_trainer_wrote_down_is_read_wherever_it_stands(checkpoints, tmp_path, capsys):
    overrides = ["NUM_COMM_CHANNELS=1", "+LOAD_CHECKPOINT=x", "SEED=4"]
    config = {"algorithm": "mappo-rnn", "training": TRAINER, "reload_overrides": overrides}
    folder = beside(checkpoints["mappo"], tmp_path / "run", config)
    assert run(Options(folder, tmp_path / "policy")) == 0
    said = capsys.readouterr().out
    assert "mappo, easy, rules 0.1.0; 100,000,000 steps; seed 4; 2 agents, 1 channel;" in said
    assert "not known" not in said
    card = load_policy(tmp_path / "policy").card
    assert card["network"]["activation"] == "relu"
    assert card["env"]["non_specialist_efficiency"] == 0.2
    assert card["env"]["own_efficiency"] is False


def test_what_is_not_known_is_said(checkpoints, tmp_path, capsys):
    options = Options(checkpoints["ippo"], tmp_path / "policy", "ippo", "hard")
    assert run(options) == 0
    said = capsys.readouterr().out
    assert "steps not known; seed not known" in said
    assert "not known at which non-specialist efficiency" in said and "0.2" in said


@pytest.mark.parametrize(
    "config, options, words",
    [
        ("{", {}, "config.json: cannot be read"),
        ({"SEED": "x"}, {}, "SEED='x' is not understood"),
        ({"ALG_NAME": "dqn"}, {}, "ALG_NAME='dqn' is not understood (known are ippo-rnn,"),
        ({"SHARED_REWARD": "x"}, {}, "SHARED_REWARD='x' is not understood"),
        ({"SEED": 1, "reload_overrides": ["SEED=2"]}, {}, "SEED is both 1 and 2"),
        ({"a": TRAINER}, {"learner": "ippo"}, "--learner ippo: "),
        ({"a": TRAINER}, {"seed": 5}, "--seed 5: "),
        ({"a": TRAINER | {"NUM_COMM_CHANNELS": 4}}, {}, "num_comm_channels=4"),
        (
            {"a": TRAINER | {"TRAINING_COORDINATION_DIFFICULTY": "sampled"}}, {},
            "--difficulty is missing",
        ),
        ({"a": TRAINER | {"TRAINING_COORDINATION_DIFFICULTY": "odd"}}, {}, "'odd'"),
        ({"a": TRAINER | {"ACTIVATION": "gelu"}}, {}, "network.activation='gelu' is unknown"),
        ({}, {"difficulty": "hard"}, "--learner is missing"),
    ],
)  # fmt: skip
def test_files_and_options_that_do_not_agree_are_refused(
    config, options, words, checkpoints, tmp_path, capsys
):
    folder = beside(checkpoints["mappo"], tmp_path / "run", config)
    assert run(Options(folder, tmp_path / "policy", **options)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line
    assert not (tmp_path / "policy").exists()


def test_a_place_that_cannot_be_written_is_another_error(checkpoints, tmp_path, capsys):
    (tmp_path / "file").touch()
    out = tmp_path / "file" / "policy"
    assert run(Options(checkpoints["ippo"], out, "ippo", "hard")) == 4
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize("learner, is_shared", [("ippo", True), ("pqn_vdn", False)])
def test_shared_rewards_are_those_that_the_trainer_made(learner, is_shared, checkpoints, tmp_path):
    folder = beside(checkpoints[learner], tmp_path / "run", {"SHARED_REWARD": True})
    card = import_checkpoint(Options(folder, tmp_path / "policy", learner, "hard"))
    assert card["env"]["shared_reward"] is is_shared


@pytest.mark.parametrize(
    "options, words",
    [
        (("--out", "full"), "--out: 'full': is no empty folder"),
        (("--out", "new", "--learner", "dqn"), "--learner: invalid choice: 'dqn'"),
        (("--out", "new", "--difficulty", "odd"), "--difficulty: 'odd' is unknown"),
        (("--out", "new", "--steps", "1.5"), "--steps: '1.5' must be a whole number"),
        (("--out", "new", "--steps", "nan"), "--steps: 'nan' must be a whole number"),
        (("--out", "new", "--rules-version", "0.3"), "--rules-version: invalid choice"),
        ((), "required: --out"),
    ],
)
def test_options_are_refused_before_anything_is_read(options, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    monkeypatch.setattr("sys.argv", ["import_checkpoint.py", "checkpoint", *options])
    with pytest.raises(SystemExit) as refused:
        script.parse_args()
    assert refused.value.code == 2
    assert words in capsys.readouterr().err


def test_steps_may_be_written_as_published_budgets_are():
    assert [script.steps(text) for text in ("1e9", "100000000")] == [10**9, 10**8]


@pytest.mark.slow
def test_an_imported_policy_plays_the_protocol(checkpoints, tmp_path):
    """With a world to compile, and the commands that a user gives."""
    scripts = Path(script.__file__).parent
    policy = tmp_path / "run" / "policy"

    def call(name, *options):
        command = [sys.executable, str(scripts / name), *map(str, options)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    options = ("--learner", "hypermarl", "--difficulty", "hard", "--out", policy)
    assert f"policy: {policy}" in call("import_checkpoint.py", checkpoints["hypermarl"], *options)
    said = call("evaluate.py", f"policy={policy}", "episodes=2", "max_steps=5", "random=false")
    assert "hypermarl (imported)" in said
    (file,) = policy.parent.glob("evaluation_*.json")
    report = json.loads(file.read_text())
    assert report["protocol"]["rules_version"] == "0.1.0"
    assert "hypermarl (imported)" in call("compare.py", file)


def test_the_command_knows_all_learners_and_rules():
    assert set(script.LEARNERS) == set(LAYOUTS) == set(LEARNERS)
    assert set(script.RULES_VERSIONS) == set(RULES_VERSIONS)
