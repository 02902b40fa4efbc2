"""The folder of a run: made, checked and locked before any work starts."""

import contextlib
import errno
import fcntl
import json
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import yaml

from marl.host.files import absolute, write_atomic, write_json
from marl.versions import package_versions

LOCK_FILE = "run.lock"
CONFIG_FILE = "config.yaml"
VERSIONS_FILE = "versions.json"
METRICS_FILE = "metrics.jsonl"
_FILES = (LOCK_FILE, CONFIG_FILE, VERSIONS_FILE, METRICS_FILE)
# Packages of which another version may compute other numbers.
_DECISIVE = ("alem-marl", "jax", "jaxlib", "commit")


class RunFolderError(RuntimeError):
    """The run's folder cannot be used; the message says why and what to do."""


def prepare(path: Path, option: str = "run.dir") -> Path:
    """Makes the folder and proves that files can be written there.

    Args:
        path: the folder.
        option: by which the user named it.

    Returns:
        The absolute path (orbax insists on one).
    """
    path = absolute(path, "run.dir")
    try:
        path.mkdir(parents=True, exist_ok=True)
        # without a name, so that nothing stays whatever happens
        with tempfile.TemporaryFile(dir=path) as probe:
            probe.write(b"x" * 4096)
            probe.flush()
    except OSError as error:
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise RunFolderError(
            f"{option}={path} cannot be written ({error.strerror or error}); "
            f"{'free some space there, or ' * is_full}choose another folder with {option}=FOLDER"
        ) from error
    for file in (path / name for name in _FILES):
        if file.is_dir():
            raise RunFolderError(
                f"{file} is a folder, where a run keeps a file of that name; "
                f"move it away, or choose another {option}"
            )
    return path


class Place:
    """A folder that was there when this was made, told apart from any other of its name.

    Args:
        path: the folder.
    """

    def __init__(self, path: Path):
        self._path, self._stat = path, path.stat()

    def is_there(self) -> bool:
        """Whether the path still leads to it."""
        try:
            return os.path.samestat(self._path.stat(), self._stat)
        except OSError:
            return False

    def require(self) -> None:
        """Raises RunFolderError unless the path still leads to it."""
        if not self.is_there():
            raise RunFolderError(
                f"run.dir={self._path} is no longer the folder that this run writes to: it was "
                "moved or deleted meanwhile, and nothing more is saved. Move it back, or give "
                "run.dir=FOLDER where it is now: the same command goes on from its last checkpoint"
            )


def require_space(path: Path, num_bytes: int) -> None:
    """Refuses a disk that cannot hold what the run will save."""
    free = shutil.disk_usage(path).free
    if free < num_bytes:
        raise RunFolderError(
            f"run.dir={path} has {free / 1e6:,.1f} MB free and the run saves about "
            f"{num_bytes / 1e6:,.1f} MB; free some space, choose another run.dir, "
            "or lower num_envs or run.keep_checkpoints"
        )


@contextlib.contextmanager
def locked(path: Path, option: str = "run.dir") -> Iterator[None]:
    """Holds the folder for this process. The lock falls with the process, however it ends."""
    try:
        file = open(path / LOCK_FILE, "a+")
    except OSError as error:
        raise RunFolderError(
            f"{path / LOCK_FILE} cannot be written ({error.strerror or error}); make it writable, "
            f"or choose another {option}"
        ) from error
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.seek(0)
            raise RunFolderError(
                f"{option}={path} is in use by {file.read().strip() or 'another process'}; "
                f"wait for it, stop it, or choose another {option}"
            ) from error
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        file.flush()
        yield
    finally:
        file.close()


def claim(path: Path, resolved: dict, free_options: frozenset[str], *, begun: bool) -> None:
    """Writes config.yaml; once the run has begun, checks that the one there is of the same run.

    Args:
        path: the run's folder.
        resolved: the nested options of this run.
        free_options: dotted names, or prefixes that end in a dot, that may differ between the
            calls of one run.
        begun: whether anything was saved there; a first attempt that failed binds nobody.

    Raises:
        RunFolderError: naming the first option that differs, or a file that cannot be read.
    """
    if begun:
        require_same_run(path, resolved, free_options)
    write_atomic(path / CONFIG_FILE, yaml.safe_dump(resolved, sort_keys=False))


def require_same_run(path: Path, resolved: dict, free_options: frozenset[str]) -> None:
    """The check of `claim`, with its arguments and errors."""
    file = path / CONFIG_FILE
    if not file.exists():
        raise RunFolderError(
            f"{file} is missing, so that nobody can tell whether the options are still the run's; "
            "restore it, or choose another run.dir"
        )
    _compare(path, read_config(file), resolved, free_options)


def read_config(file: Path) -> dict:
    """The nested options of a run. Raises RunFolderError if they cannot be read, OSError if there
    is no such file."""
    try:
        found = yaml.safe_load(file.read_text())
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise RunFolderError(
            f"{file} cannot be read ({error}); restore it, or choose another run.dir"
        ) from error
    if not isinstance(found, dict):
        raise RunFolderError(f"{file} holds no options; restore it, or choose another run.dir")
    return found


def note_versions(path: Path, update: int) -> list[str]:
    """Adds to versions.json what the run goes on with, if that changed.

    Args:
        path: the run's folder.
        update: updates done so far; 0 starts the list anew.

    Returns:
        Remarks for the user: packages that decide results and are not what they were.
    """
    try:
        before = json.loads((path / VERSIONS_FILE).read_text()) if update else []
    except (OSError, ValueError, RecursionError):
        before = []
    is_whole = isinstance(before, list) and all(
        isinstance(entry, dict) and isinstance(entry.get("versions"), dict) for entry in before
    )
    if not is_whole:
        before = []
    now = package_versions()
    last = before[-1]["versions"] if before else now
    if not before or last != now:
        write_json(path / VERSIONS_FILE, [*before, {"from_update": update, "versions": now}])
    return [
        f"note: the run was made with {name} {last.get(name)} and goes on with {now[name]}: "
        "it may differ from one that was made with a single version"
        for name in _DECISIVE
        if name in last and last[name] != now[name]
    ]


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


def differing(old: dict, new: dict, free_options: frozenset[str]) -> list[str]:
    """Dotted names of the nested options that differ, as far as they may not."""
    old, new = flatten(old), flatten(new)
    names = dict.fromkeys([*new, *old])
    return [n for n in names if not is_free(n, free_options) and old.get(n) != new.get(n)]


def _compare(path: Path, old: dict, new: dict, free_options: frozenset[str]) -> None:
    for name in differing(old, new, free_options)[:1]:
        before, after = flatten(old).get(name), flatten(new).get(name)
        raise RunFolderError(
            f"run.dir={path} holds a run with {name}={before}, not {after}; "
            f"give {name}={before} to resume it, or another run.dir for a new run"
        )
