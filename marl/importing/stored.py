"""Reading the folders in which the benchmark's trainers keep their networks (orbax)."""

import contextlib
import logging
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import jax
import numpy as np
import orbax.checkpoint as ocp

from marl.importing.convert import ImportFailed

_MARKS = ("_METADATA", "_CHECKPOINT_METADATA")  # one of these lies in a checkpoint's folder
_USUAL = "checkpoint"  # its name in the folder of a run
_OPTIMISER = "opt_state"


def checkpoint_folder(folder: Path) -> Path:
    """The checkpoint at this path: itself, or the one that a run's folder holds.

    Raises:
        ImportFailed: there is none.
    """
    if not folder.is_dir():
        raise ImportFailed(f"{folder}: there is no such folder")
    for place in (folder, folder / _USUAL):
        if any((place / mark).exists() for mark in _MARKS):
            return place
    raise ImportFailed(
        f"{folder}: is no checkpoint, and has none in {_USUAL}/ ({_MARKS[0]} is missing); give the "
        "folder that the trainer saved, or that of the run with it"
    )


def read(folder: Path) -> dict[str, np.ndarray]:
    """Arrays of a checkpoint by name, groups joined by a slash, but for the optimiser's state,
    which is not read.

    Raises:
        ImportFailed: it cannot be read.
    """
    absolute = folder.absolute()
    try:
        with _quiet_orbax(), ocp.PyTreeCheckpointer() as reader:
            listed = reader.metadata(absolute).item_metadata
            if listed is None:
                raise ValueError("the list of its arrays is damaged")
            stored = _without_optimiser(listed.tree)
            as_numpy = jax.tree.map(lambda _: ocp.RestoreArgs(restore_type=np.ndarray), stored)
            wanted = ocp.args.PyTreeRestore(
                item=stored, restore_args=as_numpy, partial_restore=True
            )
            tree = reader.restore(absolute, args=wanted)
    except Exception as error:  # orbax and tensorstore have many types for it
        raise ImportFailed(
            f"cannot be read ({_brief(error)}); fetch the checkpoint again, whole"
        ) from error
    leaves = jax.tree_util.tree_flatten_with_path(tree)[0]
    return {_name(path): np.asarray(leaf) for path, leaf in leaves}


@contextlib.contextmanager
def _quiet_orbax() -> Iterator[None]:
    """An error that we tell in one line makes its threads log tracebacks, some of them late: when
    the reads that were under way end. So those are dropped also afterwards."""
    logger, show = logging.getLogger("absl"), sys.unraisablehook
    before, logger.disabled = logger.disabled, True

    def show_unless_late(dropped):
        if "Event loop is closed" not in str(dropped.exc_value):
            show(dropped)

    sys.unraisablehook = show_unless_late
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
        sys.unraisablehook = show
    finally:
        logger.disabled = before


def _without_optimiser(tree: object) -> object:
    if not isinstance(tree, dict):
        return tree
    return {name: _without_optimiser(v) for name, v in tree.items() if name != _OPTIMISER}


def _name(path: tuple) -> str:
    return jax.tree_util.keystr(path, simple=True, separator="/")


def _brief(error: Exception) -> str:
    """Its end, where the cause stands, in one line."""
    text = " ".join(str(error).split())
    return text if len(text) <= 200 else f"... {text[-200:]}"
