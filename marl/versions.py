"""What a result was made with: written beside every run, policy and evaluation."""

import functools
import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path

PACKAGES = ("alem-marl", "jax", "jaxlib", "flax", "optax", "orbax-checkpoint", "numpy")

_ROOT = Path(__file__).parents[1]
_GIT_SECONDS = 5.0


def package_versions() -> dict[str, str | None]:
    """Installed versions of the packages that decide results, of Python and the system, and the
    commit of this project."""
    found = {name: _version(name) for name in PACKAGES}
    found["python"] = platform.python_version()
    found["system"] = f"{platform.system()} {platform.machine()}"
    found["commit"] = commit(_ROOT)
    return found


@functools.cache
def commit(root: Path) -> str | None:
    """The commit of a clone, with -dirty if its files differ from it; asked once a process.

    Returns:
        None where `root` itself is no clone (a clone around it would be another project's), there
        is no git, or it does not answer.
    """
    git_folder = root / ".git"
    if not git_folder.exists():
        return None
    command = ["git", f"--git-dir={git_folder}", f"--work-tree={root}"]
    ask = ["describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        answer = subprocess.run(
            [*command, *ask], cwd=root, capture_output=True, text=True, timeout=_GIT_SECONDS,
            env=os.environ | {"GIT_OPTIONAL_LOCKS": "0"},
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() or None if answer.returncode == 0 else None


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
