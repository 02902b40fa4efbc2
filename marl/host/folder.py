"""The folder of a run: made, checked and locked before any work starts."""

import contextlib
import fcntl
import json
import os
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import yaml

LOCK_FILE = "run.lock"
CONFIG_FILE = "config.yaml"


class RunFolderError(RuntimeError):
    """The run's folder cannot be used; the message says why and what to do."""


def prepare(path: Path) -> Path:
    """Makes the folder and proves that files can be written there.

    Returns:
        The absolute path (orbax insists on one).
    """
    path = path.expanduser().absolute()
    probe = path / f".probe-{os.getpid()}"
    try:
        path.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"x" * 4096)
        probe.unlink()
    except OSError as error:
        raise RunFolderError(
            f"run.dir={path} cannot be written ({error.strerror or error}); "
            "choose another folder with run.dir=FOLDER"
        ) from error
    return path


def require_space(path: Path, num_bytes: int) -> None:
    """Refuses a disk that cannot hold what the run will save."""
    free = shutil.disk_usage(path).free
    if free < num_bytes:
        raise RunFolderError(
            f"run.dir={path} has {free / 1e6:.0f} MB free and the run saves about "
            f"{num_bytes / 1e6:.0f} MB; free some space, choose another run.dir, "
            "or lower num_envs or run.keep_checkpoints"
        )


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds the folder for this process. The lock falls with the process, however it ends."""
    file = open(path / LOCK_FILE, "a+")
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.seek(0)
            raise RunFolderError(
                f"run.dir={path} is in use by {file.read().strip() or 'another process'}; "
                "wait for it, stop it, or choose another run.dir"
            ) from error
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        file.flush()
        yield
    finally:
        file.close()


def write_atomic(path: Path, text: str) -> None:
    """Writes a file so that a reader, or a crash, meets the old text or the new, whole."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(temporary, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, value: object) -> None:
    write_atomic(path, json.dumps(value, indent=2, allow_nan=False) + "\n")


def claim(path: Path, resolved: dict, free_options: frozenset[str]) -> bool:
    """Writes config.yaml, or checks that the one there is of the same run.

    Args:
        path: the run's folder.
        resolved: the nested options of this run.
        free_options: dotted names, or prefixes that end in a dot, that may differ between the
            calls of one run.

    Returns:
        True if the folder already held this run.

    Raises:
        RunFolderError: naming the first option that differs.
    """
    file = path / CONFIG_FILE
    resumed = file.exists()
    if resumed:
        _compare(path, yaml.safe_load(file.read_text()) or {}, resolved, free_options)
    write_atomic(file, yaml.safe_dump(resolved, sort_keys=False))
    return resumed


def flatten(nested: dict, prefix: str = "") -> dict[str, object]:
    """{"a": {"b": 1}} -> {"a.b": 1}."""
    flat = {}
    for name, value in nested.items():
        if isinstance(value, dict):
            flat.update(flatten(value, f"{prefix}{name}."))
        else:
            flat[prefix + name] = value
    return flat


def is_free(name: str, free_options: frozenset[str]) -> bool:
    """Whether an option is listed, or lies under a listed prefix."""
    return name in free_options or any(f.endswith(".") and name.startswith(f) for f in free_options)


def _compare(path: Path, old: dict, new: dict, free_options: frozenset[str]) -> None:
    old, new = flatten(old), flatten(new)
    for name in dict.fromkeys([*new, *old]):
        if is_free(name, free_options) or old.get(name) == new.get(name):
            continue
        raise RunFolderError(
            f"run.dir={path} holds a run with {name}={old.get(name)}, not {new.get(name)}; "
            f"give {name}={old.get(name)} to resume it, or another run.dir for a new run"
        )
