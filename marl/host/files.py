"""Files that a crash leaves whole: the old text or the new, never a part."""

import json
import os
from pathlib import Path


def write_atomic(path: Path, content: str | bytes) -> None:
    """Writes a file so that a reader, or a crash, meets the old content or the new, whole."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(temporary, "wb" if isinstance(content, bytes) else "w") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, value: object) -> None:
    """`write_atomic` of plain values; numbers that are not finite are refused."""
    write_atomic(path, json.dumps(value, indent=2, allow_nan=False) + "\n")


def rename_durably(partial: Path, final: Path) -> None:
    """Renames a folder that was written whole, when all of it has reached the disk.

    What it replaces may be deleted after that: a power cut leaves one of the two.
    """
    for path in [*partial.rglob("*"), partial]:
        _sync(path)
    os.rename(partial, final)
    _sync(final.parent)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
