"""The reference's interpreter, as `--reference PYTHON` of several commands names it."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping

from alem_env.core.params import RULES_VERSIONS

_VERSION_CODE = """
import importlib.metadata as m
try:
    print(m.version('alem-env'))
except m.PackageNotFoundError:
    print('none')
"""
# Never into the environment of this interpreter: it wants a jax of its own.
_REMEDY = (
    "Make one: python3 -m venv ref && ref/bin/pip install "
    f"alem-env=={RULES_VERSIONS[0]}, and give --reference ref/bin/python"
)
_ERROR = re.compile(r"[\w.]*(Error|Exception|Interrupt)\b")  # jax ends with a footer
_OF_THIS_INTERPRETER = ("PYTHONPATH", "PYTHONHOME", "XLA_FLAGS")  # jaxlibs know different flags


class ReferenceFailed(RuntimeError):
    """The reference's interpreter does not do what is asked of it."""


def environment(**changes: str) -> Mapping[str, str]:
    """Environment variables for it: ours, without those meant for this interpreter."""
    kept = {name: v for name, v in os.environ.items() if name not in _OF_THIS_INTERPRETER}
    return kept | changes


def run_reference(python: str, *arguments: str) -> str:
    """Output of the reference's interpreter, on the CPU.

    Raises:
        ReferenceFailed: it cannot be run, or ended with an error.
    """
    if shutil.which(python) is None:
        raise ReferenceFailed(
            f"--reference {python}: no such program; it must be the Python interpreter of an "
            f"environment that has alem-env. {_REMEDY}"
        )
    try:
        result = subprocess.run(
            [python, *arguments], capture_output=True, text=True, check=False,
            env=environment(JAX_PLATFORMS="cpu"),
        )  # fmt: skip
    except OSError as error:
        raise ReferenceFailed(
            f"--reference {python}: cannot be run ({error.strerror}); is it a Python interpreter?"
        ) from error
    if result.returncode:
        lines = result.stderr.strip().splitlines() or ["no message"]
        errors = [line for line in lines if _ERROR.match(line)]
        raise ReferenceFailed(
            f"--reference {python}: failed with status {result.returncode}: {[*lines, *errors][-1]}"
        )
    return result.stdout.strip()


def version_of(python: str) -> str:
    """The version of its alem-env.

    Raises:
        ReferenceFailed: there is none, or one whose rules are not known here.
    """
    version = run_reference(python, "-c", _VERSION_CODE)
    if version == "none":
        raise ReferenceFailed(f"--reference {python}: has no alem-env. {_REMEDY}")
    if version not in RULES_VERSIONS:
        raise ReferenceFailed(
            f"--reference {python}: has alem-env {version!r}, whose rules are not known here; "
            f"known are {' and '.join(RULES_VERSIONS)}. {_REMEDY}"
        )
    return version
