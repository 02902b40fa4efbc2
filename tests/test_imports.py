"""Imports do no work: they need no device, and take no time to speak of."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
IMPORT_SECONDS = 1.0  # beyond jax, of processor time


def _modules(package: str) -> list[str]:
    files = sorted((ROOT / package).rglob("*.py"))
    names = [".".join(f.relative_to(ROOT).with_suffix("").parts) for f in files]
    return [name.removesuffix(".__init__") for name in names if not name.endswith("__main__")]


def _run(program: str) -> str:
    environment = {**os.environ, "JAX_PLATFORMS": "nonsense"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment, cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("package", ["alem_env", "marl"])
def test_every_module_imports_without_a_device_and_says_nothing(package):
    imports = "\n".join(f"import {name}" for name in _modules(package))
    assert _run(imports) == ""


def test_the_package_imports_quickly():
    program = (
        "import time, jax, numpy\n"
        "start = time.process_time()\n"
        "import alem_env\n"
        "print(time.process_time() - start)"
    )
    assert float(_run(program)) < IMPORT_SECONDS
