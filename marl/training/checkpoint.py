"""Checkpoints: the whole state of a run, saved so that a crash at any moment loses little.

One checkpoint is a folder `checkpoints/<update>/` with the arrays (orbax) and a `manifest.json`
that names every leaf with its shape and dtype, every file with its digest, and the versions. It is
written under a temporary name and renamed when whole; older ones are removed only after that.
Saving runs in one background thread on a copy of the state; `close` waits for it.
"""

import concurrent.futures
import contextlib
import json
import logging
import math
import os
import shutil
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp

from marl.host.files import digest, rename_durably
from marl.host.folder import Place
from marl.training.manifest import (
    MANIFEST,
    DamageError,
    check_name,
    extra_of,
    files_of,
    whole_manifest,
)

SCHEMA_VERSION = 1
ARRAYS = "arrays"
_PARTIAL = ".partial-"
_REPLACED = ".replaced-"
# Bytes of names, indices and half-filled blocks, beside the arrays.
_OVERHEAD = 2**20
T = TypeVar("T")

_log = logging.getLogger(__name__)


def size_of(state: object) -> int:
    """Bytes of a state, or its shapes."""
    shapes = (jax.eval_shape(_plain, leaf) for leaf in jax.tree.leaves(state))
    return sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in shapes)


def size_on_disk(state: object) -> int:
    """Bytes that a checkpoint of a state, or its shapes, takes at most."""
    return size_of(state) + _OVERHEAD


class CheckpointError(RuntimeError):
    """A checkpoint cannot be written or read; the message says what to do."""


class Checkpoints:
    """The checkpoints of one run's folder.

    Args:
        folder: where they are kept; made when missing.
        keep: how many of the newest stay.
        versions: names and versions that a checkpoint must agree with to be restored.
    """

    def __init__(self, folder: Path, *, keep: int, versions: dict[str, str]):
        self._folder = Path(folder).absolute()
        self._keep = keep
        self._versions = versions
        self._pool = concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._pending: concurrent.futures.Future | None = None
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CheckpointError(f"{self._folder} cannot be made ({error})") from error
        self._run = Place(self._folder.parent)
        for leftover in self._folder.glob(f"{_PARTIAL}*"):
            shutil.rmtree(leftover, ignore_errors=True)
        for leftover in self._folder.glob(f"{_REPLACED}*"):  # of a crash between two renames
            final = self._folder / leftover.name.removeprefix(_REPLACED)
            shutil.rmtree(leftover) if final.exists() else os.rename(leftover, final)

    def save(self, update: int, state: object, extra: dict) -> None:
        """Starts to save; waits for the save before, and raises what that one met.

        Args:
            update: counter that names the checkpoint.
            state: any tree of arrays, typed keys included.
            extra: host values (JSON) that go with it; "update" among them is the same.
        """
        self.wait()
        # A real copy: on CPU device_get may alias buffers that the next update donates.
        arrays = {name: np.array(leaf) for name, leaf in _flatten(state).items()}
        self._pending = self._pool.submit(self._write, update, arrays, extra)

    def wait(self) -> None:
        """Waits for the save under way, if any, and raises what it met."""
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.result()

    def check(self) -> None:
        """Raises what the save under way met, if it has come to its end. Does not wait."""
        if self._pending is not None and self._pending.done():
            self.wait()

    def close(self) -> None:
        try:
            self.wait()
        finally:
            self._pool.shutdown(wait=True)

    def _free(self) -> str:
        try:
            return f"{shutil.disk_usage(self._folder).free / 1e6:,.1f} MB free"
        except OSError:
            return "which is gone"

    def updates(self) -> list[int]:
        """Counters of the checkpoints there, oldest first; none if the folder is gone."""
        names = [path.name for path in self._folder.glob("*")]
        return sorted(int(name) for name in names if name.isascii() and name.isdecimal())

    def restore_newest(
        self,
        template: object,
        read_extra: Callable[[dict], T],
        among: Collection[int] | None = None,
    ) -> tuple[int, object, T] | None:
        """The newest whole checkpoint, or None if the folder has none at all.

        Args:
            template: a state of the run, or its shapes; gives structure, dtypes and key types.
            read_extra: what to make of the host values; a ValueError means that they are damaged.
            among: the updates to choose from; None: all that are there.

        Returns:
            (update, state, what `read_extra` made).

        Raises:
            CheckpointError: all are damaged, or one was made by another program: the message
                names the leaf or version that differs.
        """
        return self._newest(lambda *args: _read(*args, template), read_extra, among)

    def restore_params(
        self, read_extra: Callable[[dict], T], among: Collection[int] | None = None
    ) -> tuple[int, object, T] | None:
        """As `restore_newest`, of the parameters alone, for which no template is needed: nested
        mappings, by the names of the checkpoint's leaves."""
        return self._newest(_read_params, read_extra, among)

    def _newest(self, read: Callable, read_extra: Callable, among: Collection[int] | None):
        updates = self.updates() if among is None else sorted(among)
        for update in reversed(updates):
            folder = self._folder / str(update)
            try:
                manifest = whole_manifest(folder)
                check_name(folder, manifest["extra"])
                self._check_versions(folder, manifest)
                return update, read(folder, manifest), extra_of(manifest, read_extra)
            except DamageError as problem:
                _log.warning(
                    "checkpoint %s is damaged (%s); trying the one before", folder, problem
                )
        if updates:
            raise CheckpointError(
                f"every checkpoint in {self._folder} is damaged; the run cannot be resumed. "
                "Move the whole run's folder away, or choose another run.dir, to start afresh"
            )
        return None

    def _check_versions(self, folder: Path, manifest: dict) -> None:
        expected = {"schema": SCHEMA_VERSION, **self._versions}
        for name, version in expected.items():
            found = manifest["versions"].get(name)
            if found != version:
                raise CheckpointError(
                    f"{folder} was made with {name} {found}, this program has {version}; "
                    "resume it with the version that made it, or choose another run.dir"
                )

    def _write(self, update: int, arrays: dict[str, np.ndarray], extra: dict) -> None:
        partial = self._folder / f"{_PARTIAL}{update}"
        stored = {name: a for name, a in arrays.items() if a.size}
        needed = sum(a.nbytes for a in stored.values()) + _OVERHEAD
        try:
            shutil.rmtree(partial, ignore_errors=True)
            self._folder.mkdir(exist_ok=True)  # but not the run's folder, if that was moved away
            partial.mkdir()
            _require_space(partial, needed)
            with _quiet_orbax(), ocp.PyTreeCheckpointer() as writer:
                writer.save(partial / ARRAYS, stored)
            manifest = {
                "versions": {"schema": SCHEMA_VERSION, **self._versions},
                "extra": extra,
                "leaves": {n: [list(a.shape), str(a.dtype)] for n, a in arrays.items()},
                "files": {str(p.relative_to(partial)): digest(p) for p in files_of(partial)},
            }
            (partial / MANIFEST).write_text(json.dumps(manifest))
            final, replaced = self._folder / str(update), self._folder / f"{_REPLACED}{update}"
            if final.exists():  # saved again, with other counters, or found damaged on resume
                os.rename(final, replaced)
            rename_durably(partial, final)
            shutil.rmtree(replaced, ignore_errors=True)
        except Exception as error:  # tensorstore reports a full disk in types of its own
            shutil.rmtree(partial, ignore_errors=True)
            self._run.require()  # if that was moved away meanwhile, this is what to say
            raise CheckpointError(
                f"update {update} could not be saved in {self._folder} ({self._free()}, "
                f"{needed / 1e6:,.1f} MB needed); saved before and kept: "
                f"{self.updates() or 'none'}. Free some space there, then give the same command "
                f"again ({_brief(error)})"
            ) from error
        for old in self.updates()[: -self._keep]:
            if old < update:
                shutil.rmtree(self._folder / str(old), ignore_errors=True)


def _flatten(state: object) -> dict[str, jax.Array | np.ndarray]:
    """Leaves by dotted name; typed keys as their words."""
    leaves = jax.tree_util.tree_flatten_with_path(state)[0]
    return {_name(path): _plain(leaf) for path, leaf in leaves}


def _name(path: tuple) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".") or "state"


def _is_key(leaf: object) -> bool:
    return jnp.issubdtype(getattr(leaf, "dtype", np.float32), jax.dtypes.prng_key)


def _plain(leaf: object) -> object:
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf


def _generator(leaf: object) -> str:
    """Name of the generator of a typed key, or of its shape."""
    found = []
    jax.eval_shape(lambda key: found.append(jax.random.key_impl(key)), leaf)
    return found[0]


def _read(folder: Path, manifest: dict, template: object) -> object:
    leaves, tree = jax.tree_util.tree_flatten_with_path(template)
    shapes = {_name(p): jax.eval_shape(_plain, leaf) for p, leaf in leaves}
    _check_leaves(folder, manifest["leaves"], shapes)
    stored = _stored(folder)
    missing = {name for name, shape in shapes.items() if shape.size} - set(stored)
    if missing:
        raise DamageError(f"its arrays lack {', '.join(sorted(missing))}")
    restored = []
    for path, leaf in leaves:
        name = _name(path)
        value = stored[name] if shapes[name].size else np.zeros(shapes[name].shape)
        value = jnp.asarray(np.asarray(value, shapes[name].dtype))
        if _is_key(leaf):
            value = jax.random.wrap_key_data(value, impl=_generator(leaf))
        restored.append(value)
    return jax.tree.unflatten(tree, restored)


def _stored(folder: Path) -> dict[str, np.ndarray]:
    """The arrays of a checkpoint, by dotted name."""
    try:
        with _quiet_orbax(), ocp.PyTreeCheckpointer() as reader:
            return dict(reader.restore(folder / ARRAYS))
    except Exception as error:  # orbax and tensorstore have many types for it
        raise DamageError(f"its arrays cannot be read: {_brief(error)}") from error


def _read_params(folder: Path, manifest: dict) -> dict:
    """The leaves below "params" as nested mappings."""
    prefix, stored, params = "params.", _stored(folder), {}
    for name in (n for n in manifest["leaves"] if n.startswith(prefix)):
        *groups, last = name.removeprefix(prefix).split(".")
        node = params
        for group in groups:
            node = node.setdefault(group, {})
        if name not in stored:
            raise DamageError(f"its arrays lack {name}")
        node[last] = np.asarray(stored[name])
    return params


def _check_leaves(folder: Path, found: dict, expected: dict) -> None:
    for name in dict.fromkeys([*expected, *found]):
        want = expected.get(name)
        want = None if want is None else [list(want.shape), str(want.dtype)]
        if found.get(name) != want:
            has, wanted = _describe(found.get(name)), _describe(want)
            raise CheckpointError(
                f"{folder}: leaf {name} is {has}, this program expects {wanted}; "
                "resume with the options and version that made it, or choose another run.dir"
            )


def _describe(leaf: list | None) -> str:
    return "missing" if leaf is None else f"{leaf[1]}{tuple(leaf[0])}"


def _require_space(folder: Path, num_bytes: int) -> None:
    """Raises OSError if a disk, or a quota, has not so much left. On its way to the same error
    orbax prints what we cannot keep from the user."""
    path = folder / "space"
    try:
        with open(path, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(1, num_bytes))
    finally:
        path.unlink(missing_ok=True)


def _brief(error: Exception) -> str:
    """Its end, where the cause stands, in one line."""
    text = " ".join(str(error).split())
    return text if len(text) <= 200 else f"... {text[-200:]}"


@contextlib.contextmanager
def _quiet_orbax() -> Iterator[None]:
    """Its threads log the traceback of an error that we tell in one line."""
    logger = logging.getLogger("absl")
    before = logger.disabled
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = before
