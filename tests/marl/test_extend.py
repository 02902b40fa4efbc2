"""docs/extend.md: its examples are taken from the page as they stand there, and run."""

import importlib.util
import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir

from marl.environments.registry import ENVIRONMENTS
from marl.learners.registry import LEARNERS
from marl.options import ConfigError
from marl.read_config import make_train_config
from marl.training import command

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "extend.md").read_text()
# Path of the file -> what the page puts there.
_BLOCK = re.compile(r"^`([\w/.]+)`[^\n]*:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = dict(_BLOCK.findall(PAGE))
MODULES = ("marl.environments.meeting", "marl.learners.a2c")
REGISTRIES = ("marl.environments.registry", "marl.learners.registry")


def file_of(module):
    return module.replace(".", "/") + ".py"


@pytest.fixture(scope="module")
def conf(tmp_path_factory):
    """The page done: its modules, entries and values; the folder of configurations."""
    folder = tmp_path_factory.mktemp("extended")
    shutil.copytree(ROOT / "conf", folder / "conf")
    with pytest.MonkeyPatch.context() as patch:
        for table in (ENVIRONMENTS, LEARNERS):
            for name in ("meeting", "a2c"):  # so that they leave again
                patch.setitem(table, name, None)
                del table[name]
        for path, text in BLOCKS.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        for name in MODULES:
            spec = importlib.util.spec_from_file_location(name, folder / file_of(name))
            module = importlib.util.module_from_spec(spec)
            patch.setitem(sys.modules, name, module)
            package, _, own = name.rpartition(".")
            patch.setattr(sys.modules[package], own, module, raising=False)
            spec.loader.exec_module(module)
        for name in REGISTRIES:
            exec(BLOCKS[file_of(name)], vars(sys.modules[name]))
        yield folder / "conf"


def composed(conf, *overrides):
    with initialize_config_dir(str(conf), version_base="1.3"):
        return compose("train", overrides=["env=meeting", "learner=a2c", *overrides])


def test_the_page_has_two_examples_under_100_lines_each():
    for word in ("meeting", "a2c"):
        parts = [text for path, text in BLOCKS.items() if word in path or word in text]
        assert len(parts) == 3, list(BLOCKS)
        assert sum(text.count("\n") for text in parts) < 100, word


def test_what_cannot_work_is_refused_by_name(conf):
    for option in ("env.cells=1", "learner.lr=0", "env.num_agents=99"):
        with pytest.raises(ConfigError, match=option):
            make_train_config(composed(conf, option))


def test_they_learn_are_evaluated_exported_and_resumed(conf, tmp_path, capsys):
    options = (
        "num_envs=32", "num_steps=16", "total_steps=38400", "network.embedding_size=16",
        "network.hidden_size=16", "network.actor_size=16", "network.critic_size=16",
        "evaluation.every_updates=0", "evaluation.worlds=20", "logger.console=none",
        f"run.dir='{tmp_path}'",
    )  # fmt: skip
    assert command.run(composed(conf, *options, "run.stop_after_updates=5")) == 0
    assert command.run(composed(conf, *options)) == 0
    assert "stopped at update 5" in capsys.readouterr().out
    report = json.loads((tmp_path / "evaluation.json").read_text())
    greedy, random = (report["results"][name]["met"]["mean"] for name in ("greedy", "random"))
    assert greedy == 100.0 and random < 90.0
    assert report["results"]["greedy"]["length"]["mean"] < 5
    assert "Met %" in (tmp_path / "evaluation.txt").read_text()
    card = json.loads((tmp_path / "policy" / "card.json").read_text())
    assert card["env"]["name"] == "meeting" and card["learner"] == "a2c"
