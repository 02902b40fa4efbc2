"""What a result was made with: written beside every run, policy and evaluation."""

import importlib.metadata
import platform

PACKAGES = ("alem-marl", "jax", "jaxlib", "flax", "optax", "orbax-checkpoint", "numpy")


def package_versions() -> dict[str, str]:
    """Installed versions of the packages that decide results, and of Python and the system."""
    found = {name: _version(name) for name in PACKAGES}
    found["python"] = platform.python_version()
    found["system"] = f"{platform.system()} {platform.machine()}"
    return found


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
