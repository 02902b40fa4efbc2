"""Files that a crash leaves whole: the old text or the new, never a part."""

import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path


def absolute(path: str | Path, option: str) -> Path:
    """The absolute path, with ~ read. Raises OSError, naming the option, if nobody has that ~."""
    try:
        return Path(path).expanduser().absolute()
    except RuntimeError as error:
        raise OSError(
            f"{option}={path}: there is no user of that name; give the whole path"
        ) from error


def require_place(path: Path, option: str) -> None:
    """Refuses, before any work, a place where a file cannot be made. Leaves nothing there.

    Raises:
        OSError: naming the option, and why.
    """
    place = path
    while not place.parent.exists():
        place = place.parent
    try:
        if path.is_dir():
            raise IsADirectoryError(0, "it is a folder")
        if not place.parent.is_dir():
            raise NotADirectoryError(0, f"{place.parent} is no folder")
        with tempfile.TemporaryFile(dir=place.parent):
            pass
        if path.exists() and not os.access(path, os.W_OK):
            raise PermissionError(0, "the file is write-protected")
    except OSError as error:
        raise OSError(
            f"{option}={path} cannot be written ({error.strerror or error}); "
            f"give another with {option}=FILE"
        ) from error


def remove(path: Path) -> None:
    """Removes a folder with all it holds, a file, or a link (never what it leads to)."""
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.exists():
        shutil.rmtree(path)


def digest(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_atomic(path: Path, content: str | bytes) -> None:
    """Writes a file so that a reader, or a crash, meets the old content or the new, whole. Raises
    OSError, naming the file, if that fails."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(temporary, "wb" if isinstance(content, bytes) else "w") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise OSError(
            f"{path} cannot be written ({error.strerror or error}); free some space there, or "
            "make it writable, then give the same command again"
        ) from error
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
