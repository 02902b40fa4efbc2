"""`scripts/export.py`: a bundle of whatever a run has saved, and clear words where it has not."""

import json
import shutil

import numpy as np
import pytest
from test_runs_command import call, judge  # noqa: F401, fixtures

from marl.export import load_params
from marl.host.folder import locked
from marl.policy_card import read_card
from marl.training import command, exporting
from marl.training.exporting import Options


@pytest.fixture
def run_folder(call, tmp_path, monkeypatch):  # noqa: F811
    """A finished toy run, of five updates, checkpoints of some."""
    assert call(run_checkpoint_every_updates=2) == 0
    monkeypatch.setattr(exporting, "assemble", lambda config: command.assemble(config))
    return tmp_path


def export(folder, **options):
    given = dict(update=None, best=False, out=None, label=None) | options
    return exporting.run(Options(folder, **given))


def kernel(folder):
    return np.asarray(load_params(folder)["layer"]["kernel"])


def test_the_newest_is_exported_again_with_its_scores(run_folder, capsys):
    before, card = kernel(run_folder / "policy"), read_card(run_folder / "policy")
    shutil.rmtree(run_folder / "policy")
    assert export(run_folder) == 0
    np.testing.assert_array_equal(kernel(run_folder / "policy"), before)
    assert read_card(run_folder / "policy") == card
    assert set(card["scores"]["results"]) == {"greedy", "sampled", "random"}
    assert "update 5, 50 environment steps" in capsys.readouterr().out
    assert export(run_folder, label="ours") == 0
    assert "in place of the bundle that was there" in capsys.readouterr().out
    assert read_card(run_folder / "policy") == card | {"label": "ours"}


def test_an_older_checkpoint_has_no_scores(run_folder, tmp_path):
    older = min(int(p.name) for p in (run_folder / "checkpoints").iterdir())
    assert older < 5
    assert export(run_folder, update=older, out=tmp_path / "early") == 0
    card = read_card(tmp_path / "early")
    assert card["training"]["update"] == older and "scores" not in card
    assert not np.array_equal(kernel(tmp_path / "early"), kernel(run_folder / "policy"))


def test_the_best_is_told_as_such_with_what_it_did(run_folder, tmp_path):
    assert export(run_folder, best=True, out=tmp_path / "best team") == 0
    np.testing.assert_array_equal(
        kernel(tmp_path / "best team"), kernel(run_folder / "policy_best")
    )
    card = read_card(tmp_path / "best team")
    assert card["training"]["chosen"] == "best on development worlds"
    assert set(card["scores"]["results"]) == {"greedy", "random"}
    readme = (tmp_path / "best team" / "README.md").read_text()
    greedy = card["scores"]["results"]["greedy"]["total"]
    assert f"{greedy['mean']:.2f} [{greedy['low']:.2f}, {greedy['high']:.2f}]" in readme
    assert "| chosen | best on development worlds |" in readme


def test_what_cannot_be_exported_is_refused_by_name(run_folder, tmp_path, capsys):
    def refused(words, folder=run_folder, code=4, **options):
        assert export(folder, **options) == code
        assert words in capsys.readouterr().err

    refused("--update=99 is no checkpoint", update=99, out=tmp_path / "x")
    refused("is no folder", folder=tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    refused("holds no config.yaml", folder=tmp_path / "empty")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("dear")
    refused("is there, and no policy bundle", out=tmp_path / "mine")
    (tmp_path / "mine" / "card.json").write_text('{"suit": "hearts"}')
    refused("thesis.tex would be lost", out=tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "dear"
    with locked(run_folder):
        refused("is in use by process", out=tmp_path / "x")
    for file in (run_folder / "checkpoints").rglob("manifest.json"):
        file.write_text("{")
    refused("is damaged", out=tmp_path / "x")
    shutil.rmtree(run_folder / "checkpoints")
    refused("nothing was saved there", out=tmp_path / "x")
    shutil.rmtree(run_folder / "policy_best")
    refused("has no policy_best", best=True, out=tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_seeds_are_exported_each_into_its_own(run_folder, tmp_path, capsys):
    for seed in (0, 1):
        own = tmp_path / "many" / f"seed{seed}"
        own.mkdir(parents=True)
        for name in ("checkpoints", "config.yaml", "evaluation.json"):
            whole = run_folder / name
            (shutil.copytree if whole.is_dir() else shutil.copy)(whole, own / name)
    assert export(tmp_path / "many") == 0
    assert all((tmp_path / "many" / f"seed{seed}" / "policy").is_dir() for seed in (0, 1))
    assert export(tmp_path / "many", out=tmp_path / "x") == 2
    assert "many/seed0 and so on" in capsys.readouterr().err


def test_a_readme_says_what_its_card_says(run_folder):
    readme = (run_folder / "policy" / "README.md").read_text()
    card = json.loads((run_folder / "policy" / "card.json").read_text())
    assert readme.startswith(f"# {card['label']}\n")
    for words in (card["weights_sha256"], "ALEM hard, rules 0.2.1", "random legal play", "sampled"):
        assert words in readme
