"""What runs the reference, alem-env, in an interpreter of its own: nothing here imports alem_env.

Only this file can be imported without alem-env.
"""

import importlib.util
import sys
from pathlib import Path

KINDS = ("play", "fuzz", "ripen", "rim", "overflow")  # functions of `reference.kinds`


def need_reference(script):
    """Exits, saying what to install, if this interpreter lacks alem-env."""
    if importlib.util.find_spec("alem") is None:
        sys.exit(
            f"{Path(script).name}: {sys.executable} has no alem-env; make an environment for it, "
            "python3 -m venv ref && ref/bin/pip install alem-env==0.2.1, "
            f"and run ref/bin/python {script}"
        )
