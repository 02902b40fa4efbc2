"""Ctrl-C while modules are imported, where what a handler raises gets lost."""

import os
import subprocess
import sys

import pytest
from commands import SCRIPTS

# A module that is interrupted while it is imported, swallows that, and goes on.
SWALLOWS = """
import os, signal
try:
    os.kill(os.getpid(), signal.SIGINT)
    sum(range(1000))
except BaseException:
    pass
raise ImportError("went on")
"""


@pytest.mark.parametrize("module", ["hydra", "jax"])
@pytest.mark.parametrize("command", [["train.py"], ["evaluate.py", "policy=random"], ["render.py"]])
def test_an_interrupted_import_is_the_end(command, module, tmp_path):
    (tmp_path / f"{module}.py").write_text(SWALLOWS)
    paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    script, *options = command
    done = subprocess.run(
        [sys.executable, str(SCRIPTS / script), *options],
        cwd=tmp_path, capture_output=True, text=True, timeout=100,
        env=os.environ | {"PYTHONPATH": paths},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "\nSIGINT: stopping at once; there is nothing to save\n"
