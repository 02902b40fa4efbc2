"""Who may import whom, and how long files and functions may be."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest
from command_line import LEVELS

import alem_env
from alem_env.core.params import DIFFICULTY_ALPHA
from marl.comparison import submission
from marl.learners.registry import LEARNERS

ROOT = Path(__file__).parents[1]
MAX_FILE_LINES, MAX_FUNCTION_LINES = 360, 65  # about 300 and 60 are meant

SOURCES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for folder in ("alem_env", "marl")
    for path in sorted((ROOT / folder).rglob("*.py"))
}
ALL_FILES = [
    path
    for folder in ("alem_env", "marl", "scripts")
    for path in sorted((ROOT / folder).rglob("*.py"))
]

_MIDDLE = {"specialization", "coordination", "handover", "combat", "achievements"}
# rules that hold no rule of their own: what several rules ask
_SHARED_RULES = {"common", "light", "terrain", "plants", "chance"}
_STEP_PATH = ("alem_env.core", "alem_env.rules", "alem_env.step")
_AT_HOME = {
    "hydra": ("marl.host.every_job",),  # and scripts
    "omegaconf": ("marl.options", "marl.host.every_job"),
    "orbax": ("marl.training.checkpoint", "marl.importing.stored"),
    "wandb": ("marl.training.loggers",),
    "tensorboardX": ("marl.training.tensorboard",),
    "yaml": ("marl.host.folder",),
}
# of the world, what it runs without
_EXTRAS_AT_HOME = dict.fromkeys(("pettingzoo", "gymnasium"), "alem_env.adapters.pettingzoo")
# Packages of marl and what else of marl they may import, besides modules that lie in no package.
_MAY_IMPORT = {
    "ops": set(),
    "networks": {"ops"},
    "learners": {"ops", "networks"},
    "host": set(),
    "environments": set(),
    "evaluation": {"host", "environments", "networks"},
    "training": {"host", "environments", "evaluation", "learners", "networks"},
    "comparison": {"host", "environments", "evaluation", "training"},
    "importing": {"host", "environments", "networks"},
}


def imported(path: Path) -> set[str]:
    """Modules that a file imports, also within functions."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def imports_of(package: str, names: set[str]) -> set[str]:
    return {n for n in names if n == package or n.startswith(package + ".")}


def modules(prefix: str) -> list[str]:
    return [name for name in SOURCES if name == prefix or name.startswith(prefix + ".")]


@pytest.mark.parametrize("name", modules("alem_env"))
def test_the_world_knows_nothing_of_learning(name):
    found = imported(SOURCES[name])
    for package in ("marl", "hydra", "omegaconf", "optax", "orbax", "wandb", "flax", "chex"):
        assert not imports_of(package, found)


@pytest.mark.parametrize("name", modules("alem_env.core"))
def test_core_stands_alone(name):
    inner = imports_of("alem_env", imported(SOURCES[name]))
    assert all(n == "alem_env" or n.startswith("alem_env.core") for n in inner), inner


@pytest.mark.parametrize("name", [n for p in _STEP_PATH for n in modules(p)])
def test_the_step_needs_neither_observations_nor_new_worlds(name):
    found = imported(SOURCES[name])
    for package in ("observe", "worldgen", "env", "vector", "score", "coordination_metrics"):
        assert not imports_of(f"alem_env.{package}", found)


@pytest.mark.parametrize("name", modules("alem_env.worldgen") + modules("alem_env.observe"))
def test_worlds_and_observations_read_core_and_shared_rules(name):
    own = ".".join(name.split(".")[:2])
    for module in imports_of("alem_env", imported(SOURCES[name])):
        parts = module.split(".")
        allowed = module == "alem_env" or module.startswith(("alem_env.core", own))
        if parts[:2] == ["alem_env", "rules"]:
            allowed = len(parts) == 2 or parts[2] in _SHARED_RULES
        assert allowed, module


@pytest.mark.parametrize("name", sorted(_MIDDLE))
def test_middle_rules_read_shared_rules_only(name):
    found = imports_of("alem_env.rules", imported(SOURCES[f"alem_env.rules.{name}"]))
    used = {n.split(".")[2] for n in found if n.count(".") >= 2}
    assert used <= _SHARED_RULES | _MIDDLE, used


_LEARNER_MODULES = {f"marl.learners.{e.make.__module__.split('.')[-1]}" for e in LEARNERS.values()}


@pytest.mark.parametrize("name", sorted(_LEARNER_MODULES))
def test_learners_do_not_import_one_another(name):
    found = imported(SOURCES[name])
    assert imports_of("marl", found), "the search finds no imports at all"
    for other in (_LEARNER_MODULES | {"marl.learners.registry"}) - {name}:
        assert not imports_of(other, found)


def packages_read(name: str, found: set[str]) -> set[str]:
    """Other packages of marl that a module imports from."""
    own = name.split(".")[1]
    read = {n.split(".")[1] for n in imports_of("marl", found) if n.count(".")}
    return {p for p in read if p in _MAY_IMPORT and p != own}


@pytest.mark.parametrize("name", [n for p in _MAY_IMPORT for n in modules(f"marl.{p}")])
def test_packages_of_marl_read_in_one_direction(name):
    assert packages_read(name, imported(SOURCES[name])) <= _MAY_IMPORT[name.split(".")[1]]


def test_every_package_of_marl_has_its_direction():
    packages = {p.parent.name for p in (ROOT / "marl").glob("*/__init__.py")}
    assert packages == set(_MAY_IMPORT)


@pytest.mark.parametrize("name", modules("marl"))
def test_learning_reads_the_world_by_its_front_door(name):
    public = {"alem_env", *(f"alem_env.{n}" for n in alem_env.__all__)}
    assert imports_of("alem_env", imported(SOURCES[name])) <= public


def test_homes_are_where_they_are_said_to_be():
    for package, homes in _AT_HOME.items():
        for home in homes:
            assert imports_of(package, imported(SOURCES[home])), (package, home)


def test_copies_of_the_difficulties_agree():
    """The reference's interpreter reads the scripts' copy, and has no package of ours."""
    assert LEVELS == ("none", *DIFFICULTY_ALPHA)
    assert submission.DIFFICULTIES == tuple(DIFFICULTY_ALPHA)


def test_everything_imported_is_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    needed = project["dependencies"] + [d for e in extras if e != "test" for d in extras[e]]
    declared = {re.split(r"[<>=~!\[ ]", d)[0] for d in needed}
    names = {"hydra-core": "hydra", "orbax-checkpoint": "orbax", "pyyaml": "yaml", "pillow": "PIL"}
    declared = {names.get(d, d) for d in declared}
    used = {n.split(".")[0] for path in ALL_FILES for n in imported(path)}
    scripts = {p.stem for p in (ROOT / "scripts").iterdir()}
    used -= set(sys.stdlib_module_names) | {"alem_env", "marl"} | scripts
    of_the_reference = {"alem"}  # scripts that run its interpreter
    of_hydra = {"hydra-joblib-launcher", "hydra-submitit-launcher", "submitit"}  # by their names
    declared -= of_hydra
    assert used - of_the_reference <= declared
    assert declared - used <= {"jaxlib"}


@pytest.mark.parametrize("name", modules("marl"))
def test_large_dependencies_have_one_home(name):
    found = imported(SOURCES[name])
    for package, homes in _AT_HOME.items():
        assert name in homes or not imports_of(package, found), package


@pytest.mark.parametrize("name", SOURCES)
def test_extras_are_needed_only_where_they_are_for(name):
    found = imported(SOURCES[name])
    for package, home in _EXTRAS_AT_HOME.items():
        assert bool(imports_of(package, found)) == (name == home), package
    assert not imports_of("alem_env.adapters", found) or name.startswith("alem_env.adapters.")


@pytest.mark.parametrize("path", ALL_FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_and_functions_are_short(path):
    text = path.read_text()
    assert text.count("\n") <= MAX_FILE_LINES
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno - node.lineno + 1 <= MAX_FUNCTION_LINES, node.name


@pytest.mark.parametrize("path", ALL_FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_asserts_and_no_module_called_utils(path):
    assert "util" not in path.stem
    assert not [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Assert)]
