"""Compiled programs are kept between runs, so that resuming and evaluating start at once."""

import os
from pathlib import Path

import jax


def enable() -> None:
    """Keeps compiled programs in the user's cache folder, unless told where (or not) already.

    JAX_COMPILATION_CACHE_DIR names another folder; JAX_ENABLE_COMPILATION_CACHE=false turns it off.
    """
    if jax.config.jax_compilation_cache_dir is None:
        root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        jax.config.update("jax_compilation_cache_dir", str(root / "alem-marl" / "jax"))
