"""Reading the arrays of a recording, and what each must be.

All functions raise RecordingError: it names the file, the entry and the remedy.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from alem_env.core.tables import MAP_SIZE, NUM_FLOORS

# Entries of the state that say where something is: other values cannot be taken up.
_BOUNDS = {
    "player_level": (0, NUM_FLOORS - 1),
    **dict.fromkeys(
        ("down_ladders", "up_ladders", "melee_mobs.position", "passive_mobs.position",
         "ranged_mobs.position"),
        (0, max(MAP_SIZE) - 1),
    ),
}  # fmt: skip
_KIND_NAMES = {"b": "booleans", "i": "integers", "u": "unsigned integers", "f": "floats"}


class RecordingError(ValueError):
    """A file that is no usable recording: says which, what is wrong with it, and what to do."""


class Wanted(NamedTuple):
    kinds: str  # of numpy's dtypes, any of "biuf"
    shape: tuple[int, ...]


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an .npz file by name.

    Raises:
        RecordingError: there is no such file, or it cannot be read.
    """
    remedy = "copy or record it again"
    try:
        exists = path.exists()
    except OSError as error:  # a name that no file can have
        raise RecordingError(f"{path}: {error.strerror}; name a recording") from error
    if not exists:
        raise RecordingError(f"{path}: no such file")
    if not path.is_file():
        raise RecordingError(f"{path}: not a file; name .npz recordings, for instance DIR/*.npz")
    try:
        with open(path, "rb") as stream:
            magic = stream.read(4)
        if not magic:
            raise RecordingError(f"{path}: the file is empty; {remedy}")
        if not magic.startswith(b"PK"):
            raise RecordingError(
                f"{path}: not an .npz archive; recordings are written by "
                "scripts/record_reference.py"
            )
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except RecordingError:
        raise
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read ({error}); {remedy}") from error
    except Exception as error:  # damaged bytes make zipfile and numpy raise nearly anything
        raise RecordingError(
            f"{path}: the archive is cut short or damaged ({error}); {remedy}"
        ) from error
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):
            raise RecordingError(f"{path}: {name} is no numpy array; {remedy}")
    return arrays


def require(path: Path, arrays: Mapping[str, np.ndarray], names: Iterable[str]) -> None:
    missing = [name for name in names if name not in arrays]
    if missing:
        raise RecordingError(
            f"{path}: the recording lacks {', '.join(missing[:5])}"
            + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
            + "; it is no recording of the known formats, or was cut short: record it again"
        )


def num_steps(path: Path, arrays: Mapping[str, np.ndarray]) -> int:
    """How many actions there are, at least one."""
    shape = arrays["actions"].shape
    if not shape or not shape[0]:
        raise RecordingError(f"{path}: actions has shape {shape}, no steps; record it again")
    return shape[0]


def check_arrays(
    path: Path, arrays: Mapping[str, np.ndarray], wanted: Mapping[str, Wanted]
) -> None:
    """Refuses arrays of another shape or kind. Those without an entry pass."""
    for name, (kinds, shape) in wanted.items():
        if arrays[name].shape != shape:
            raise RecordingError(
                f"{path}: {name} has shape {arrays[name].shape}, but the "
                f"{wanted['actions'].shape[0]} recorded actions need {shape}; the recording was "
                "cut short: record it again"
            )
        check_kind(path, name, arrays[name], kinds)


def check_kind(path: Path, name: str, array: np.ndarray, kinds: str) -> None:
    if array.dtype.kind not in kinds:
        needed = " or ".join(_KIND_NAMES[kind] for kind in kinds)
        raise RecordingError(
            f"{path}: {name} has dtype {array.dtype}, and {needed} are needed; record it again"
        )


def check_actions(path: Path, actions: np.ndarray, num_actions: int) -> None:
    outside = (actions < 0) | (actions >= num_actions)
    if outside.any():
        raise RecordingError(
            f"{path}: action {actions[outside][0]} is outside 0 to {num_actions - 1}; "
            "record it again"
        )


def check_bounds(path: Path, name: str, field: str, values: np.ndarray) -> None:
    """Refuses places that do not exist. Fields that are no places pass."""
    low, high = _BOUNDS.get(field, (None, None))
    if low is None or not values.size or (low <= values.min() and values.max() <= high):
        return
    bad = values.min() if values.min() < low else values.max()
    raise RecordingError(f"{path}: {name} holds {bad}, outside {low} to {high}; record it again")


def check_change(
    path: Path, name: str, parts: Mapping[str, np.ndarray], steps: int, like: np.ndarray
) -> None:
    """Refuses changes (times t, flat indices i, values v) that do not fit the array `like`."""
    t, index, value = (parts[key] for key in "tiv")
    for key, kinds in (("t", "iu"), ("i", "iu"), ("v", like.dtype.kind)):
        if parts[key].ndim != 1:
            raise RecordingError(
                f"{path}: {name}/{key} has shape {parts[key].shape}, and one axis is needed; "
                "record it again"
            )
        check_kind(path, f"{name}/{key}", parts[key], kinds)
    if not len(t) == len(index) == len(value):
        raise RecordingError(
            f"{path}: {name} has {len(t)} times, {len(index)} indices and {len(value)} values; "
            "the recording was cut short: record it again"
        )
    if len(t) == 0:
        return
    if t.min() < 0 or index.min() < 0:
        raise RecordingError(
            f"{path}: {name} has time {t.min()} and index {index.min()}, and none may be below 0; "
            "record it again"
        )
    if t.max() >= steps:
        raise RecordingError(
            f"{path}: {name} goes to step {t.max()}, but only {steps} steps are there; "
            "the recording was cut short: record it again"
        )
    if index.max() >= like.size:
        raise RecordingError(
            f"{path}: {name} changes entry {index.max()} of {like.size}; record it again"
        )
