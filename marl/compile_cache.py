"""Compiled programs are kept between runs, so that resuming and evaluating start at once."""

import hashlib
import os
import platform
from pathlib import Path

import jax

_CPU_FEATURES = Path("/proc/cpuinfo")  # Linux; elsewhere the machine's type has to do


def enable() -> None:
    """Keeps compiled programs in the user's cache folder, unless told where (or not) already.

    Each kind of machine has a folder of its own: a home folder may be shared between machines, and
    programs made for one kind of CPU can crash another.

    JAX_COMPILATION_CACHE_DIR names another folder; JAX_ENABLE_COMPILATION_CACHE=false turns it off.
    """
    if jax.config.jax_compilation_cache_dir is None:
        root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        folder = root / "alem-marl" / "jax" / machine_kind()
        jax.config.update("jax_compilation_cache_dir", str(folder))


def machine_kind() -> str:
    """Machine type and a digest of what its CPU can do, for example "x86_64-3f1c09ab"."""
    try:
        lines = _CPU_FEATURES.read_text().splitlines()
    except OSError:
        lines = []
    features = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    digest = hashlib.sha256(features.encode()).hexdigest()[:8]
    return f"{platform.machine()}-{digest}"
