"""The manifest of a checkpoint: what was saved, so that damage is noticed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from marl.host.files import digest

MANIFEST = "manifest.json"
_PARTS = ("versions", "extra", "leaves", "files")  # of a manifest

T = TypeVar("T")


class DamageError(Exception):
    """A checkpoint cannot be used, and the one before may be; the message says why."""


def files_of(folder: Path) -> list[Path]:
    """The files of a checkpoint, but for the manifest."""
    return sorted(p for p in folder.rglob("*") if p.is_file() and p.name != MANIFEST)


def whole_manifest(folder: Path) -> dict:
    """The manifest of a checkpoint whose files are what was saved. Raises DamageError."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
        has_all = all(isinstance(manifest[part], dict) for part in _PARTS)
        if not (has_all and manifest["files"]):
            raise DamageError(f"{MANIFEST} is incomplete")
        for name, saved in manifest["files"].items():
            if digest(folder / name) != saved:
                raise DamageError(f"{name} differs from what was saved")
    except FileNotFoundError as error:
        raise DamageError(f"{Path(error.filename).name} is missing") from error
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DamageError(f"{MANIFEST}, or a file it names, cannot be read ({error})") from error
    return manifest


def check_name(folder: Path, extra: dict) -> None:
    """Raises DamageError if a checkpoint stands under another update's name."""
    update = extra.get("update", folder.name)
    if str(update) != folder.name:
        raise DamageError(f"it is of update {update}, and was renamed")


def extra_of(manifest: dict, read: Callable[[dict], T]) -> T:
    """What `read` makes of the host values of a checkpoint. Raises DamageError if it cannot."""
    try:
        return read(manifest["extra"])
    except ValueError as error:
        raise DamageError(str(error)) from error
