"""Recordings of the public benchmark (alem-env): reading and checking them.

Two formats, both .npz. *Transitions* hold every field of every step, in the layout that
`scripts/record_reference.py` writes and describes. *Facts* are what is publicly known of an episode
that language models played: positions, vitals, rewards, legal actions.
"""

import dataclasses
import json
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from alem_env.core.params import RULES_VERSIONS, EnvParams, StaticParams, make_params
from alem_env.core.tables import MAP_SIZE

KINDS = ("play", "fuzz", "ripen", "rim", "overflow")

# What the benchmark's EnvParams hold where a recording does not say; ours differ.
_REFERENCE_DEFAULTS = dict(
    max_timesteps=100_000, day_length=300, mob_despawn_distance=14, max_attribute=5,
    god_mode=False, shared_reward=True, friendly_fire=True,
    soft_specialization=False, specialist_efficiency=1.0, non_specialist_efficiency=0.2,
    coordination_enabled=False, coordination_probability=0.25, handover_ratio=0.15,
    soft_coordination_ratio=0.5, handover_window_min=10, handover_window_max=20,
    p_max_agents=0.5, soft_solo_fail_prob=0.0,
    elite_mob_probability=0.15, large_passive_probability=0.20, hard_mob_probability=0.0,
    construction_enabled=False, num_construction_sites=8, num_mining_construction_sites=4,
    soft_construction_ratio=0.5, crafting_coordination_enabled=False,
    diamond_crafting_agents_required=2, scale_base_difficulty=False, mob_health_multiplier=1.0,
    starting_resource_multiplier=1.0, randomize_alpha=False, alpha_min=0.2, alpha_max=0.85,
)  # fmt: skip
# Parameters of the benchmark that no rule reads.
_INERT = {
    "melee_mob_health", "passive_mob_health", "ranged_mob_health",
    "min_agents_required", "max_agents_required",
}  # fmt: skip
_STATIC_SWITCHES = (
    "soft_specialization", "coordination_enabled", "construction_enabled", "randomize_alpha",
    "scale_base_difficulty",
)  # fmt: skip


class RecordingError(ValueError):
    """A file that is no usable recording: says which, what is wrong with it, and what to do."""


@dataclasses.dataclass(frozen=True)
class Changes:
    """Sparse changes of named arrays over time."""

    rows: Mapping[str, tuple[np.ndarray, np.ndarray, np.ndarray]]  # name -> (t, flat index, value)

    def at(self, step: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """What changes at `step`: name -> (flat indices, values)."""
        found = {}
        for name, (t, index, value) in self.rows.items():
            low, high = np.searchsorted(t, (step, step + 1))
            if high > low:
                found[name] = (index[low:high], value[low:high])
        return found


@dataclasses.dataclass(frozen=True)
class Transitions:
    """A recording of every field. T steps, A agents; a step's mask is of the state it starts from,
    after the edits."""

    path: Path
    kind: str
    static: StaticParams
    params: EnvParams
    seed: int
    init: dict[str, np.ndarray]
    edits: Changes
    changes: Changes
    keys: np.ndarray  # (T, 2) uint32
    actions: np.ndarray  # (T, A) int32
    masks: np.ndarray  # (T, A, num_actions) bool
    rewards: np.ndarray  # (T, A) float32
    done: np.ndarray  # (T,) bool
    observations: Changes  # of zeros (A, obs_dim), under the name "obs"
    observation_shape: tuple[int, int]
    score: dict[str, np.ndarray]

    @property
    def num_steps(self) -> int:
        return len(self.actions)


@dataclasses.dataclass(frozen=True)
class Facts:
    """Facts of a public episode; those of row t are of the state before step t."""

    path: Path
    static: StaticParams
    params: EnvParams
    seed: int
    vital_names: tuple[str, ...]
    final_done: bool
    actions: np.ndarray  # (T, A) int32
    position: np.ndarray  # (T, A, 2) int32, -1 unknown, as below
    vitals: np.ndarray  # (T, A, n) int32, rounded down
    achievements: np.ndarray  # (T, A) int32, how many each agent has
    legal: np.ndarray  # (T, A, num_actions) int8
    reward: np.ndarray  # (T, A) float32, what the step before t paid; NaN unknown

    @property
    def num_steps(self) -> int:
        return len(self.actions)


def patch(
    flat: Mapping[str, np.ndarray], changes: Mapping[str, tuple[np.ndarray, np.ndarray]]
) -> dict[str, np.ndarray]:
    """A copy of the named arrays with sparse changes applied."""
    result = dict(flat)
    for name, (index, value) in changes.items():
        array = np.array(result[name])
        array.reshape(-1)[index] = value
        result[name] = array
    return result


def load(path: str | Path) -> Transitions | Facts:
    """Read and check a recording.

    Raises:
        RecordingError: the file cannot be read, is no recording, is cut short, contradicts itself,
            or was made with rules or parameters that are not known here.
    """
    path = Path(path)
    arrays = _read(path)
    meta = _meta(path, arrays)
    if "vitals" in meta:
        return _facts(path, arrays, meta)
    return _transitions(path, arrays, meta)


def _read(path: Path) -> dict[str, np.ndarray]:
    remedy = "copy or record it again"
    if not path.exists():
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
            return {name: archive[name] for name in archive.files}
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError) as error:
        if isinstance(error, RecordingError):
            raise
        raise RecordingError(
            f"{path}: the archive is cut short or damaged ({error}); {remedy}"
        ) from error
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read ({error})") from error


def _meta(path: Path, arrays: Mapping[str, np.ndarray]) -> dict:
    _require(path, arrays, ["meta"])
    try:
        meta = json.loads(str(arrays["meta"]))
    except json.JSONDecodeError as error:
        raise RecordingError(f"{path}: meta is not JSON ({error}); record it again") from error
    if not isinstance(meta, dict):
        raise RecordingError(f"{path}: meta is not a JSON object; record it again")
    missing = [name for name in ("seed", "env_params", "players", "channels") if name not in meta]
    if missing:
        raise RecordingError(f"{path}: meta lacks {', '.join(missing)}; record it again")
    return meta


def _require(path: Path, arrays: Mapping[str, np.ndarray], names: Iterable[str]) -> None:
    missing = [name for name in names if name not in arrays]
    if missing:
        raise RecordingError(
            f"{path}: the recording lacks {', '.join(missing[:5])}"
            + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
            + "; it is no recording of the known formats, or was cut short: record it again"
        )


def _transitions(path: Path, arrays: Mapping[str, np.ndarray], meta: dict) -> Transitions:
    kind = meta.get("kind")
    if kind not in KINDS:
        raise RecordingError(
            f"{path}: kind={kind!r} is unknown; recordings are of kind {', '.join(KINDS)}"
        )
    static, params = environment_of(path, meta, _version_of(path, meta))
    if list(meta.get("map_size", MAP_SIZE)) != list(MAP_SIZE):
        raise RecordingError(
            f"{path}: map_size={meta['map_size']} cannot be replayed; record with {list(MAP_SIZE)}"
        )
    _require(path, arrays, ("actions", "keys", "mask", "rewards", "done"))
    init = _group(arrays, "init/")
    _require(path, arrays, [f"init/{name}" for name in meta.get("fields", ())] or ["init/map"])
    steps, agents = len(arrays["actions"]), static.num_agents
    _check_shapes(path, arrays, {
        "actions": (steps, agents), "keys": (steps, 2),
        "mask": (steps, agents, static.num_actions), "rewards": (steps, agents),
        "done": (steps,), "init/player_position": (agents, 2),
    })  # fmt: skip
    _check_actions(path, arrays["actions"], static.num_actions)
    sizes = {name: value.size for name, value in init.items()}
    shape = tuple(meta.get("obs_shape", (agents, 0)))
    observed = {f"obs/obs/{key}": arrays[f"obs/{key}"] for key in "tiv" if f"obs/{key}" in arrays}
    return Transitions(
        path=path, kind=kind, static=static, params=params, seed=int(meta["seed"]), init=init,
        edits=_changes(path, arrays, "edit", steps, sizes),
        changes=_changes(path, arrays, "step", steps, sizes),
        keys=arrays["keys"].astype(np.uint32), actions=arrays["actions"].astype(np.int32),
        masks=arrays["mask"], rewards=arrays["rewards"], done=arrays["done"],
        observations=_changes(path, observed, "obs", steps, {"obs": int(np.prod(shape))}),
        observation_shape=shape,
        score=_group(arrays, "score/"),
    )  # fmt: skip


def _facts(path: Path, arrays: Mapping[str, np.ndarray], meta: dict) -> Facts:
    # These files name no version: they hold on the newest rules.
    version = _version_of(path, meta) if "reference" in meta else RULES_VERSIONS[0]
    static, params = environment_of(path, meta, version)
    names = ("actions", "position", "vitals", "achievements", "legal", "reward")
    _require(path, arrays, names)
    steps, agents = len(arrays["actions"]), static.num_agents
    vital_names = tuple(meta["vitals"])
    _check_shapes(path, arrays, {
        "actions": (steps, agents), "position": (steps, agents, 2),
        "vitals": (steps, agents, len(vital_names)), "achievements": (steps, agents),
        "legal": (steps, agents, static.num_actions), "reward": (steps, agents),
    })  # fmt: skip
    _check_actions(path, arrays["actions"], static.num_actions)
    return Facts(
        path=path, static=static, params=params, seed=int(meta["seed"]), vital_names=vital_names,
        final_done=bool(meta.get("final_done", False)), **{name: arrays[name] for name in names},
    )  # fmt: skip


def _version_of(path: Path, meta: dict) -> str:
    reference = str(meta.get("reference", ""))
    version = reference.split()[-1] if reference else ""
    if version not in RULES_VERSIONS:
        raise RecordingError(
            f"{path}: reference={reference!r} has rules that are not known here; "
            f"record with alem-env {' or '.join(RULES_VERSIONS)}"
        )
    return version


def environment_of(path: Path, meta: dict, version: str) -> tuple[StaticParams, EnvParams]:
    """The environment that a recording's meta data describe.

    Raises:
        RecordingError: a parameter that is unknown here or out of range.
    """
    given = dict(meta["env_params"])
    angles = given.pop("fractal_noise_angles", None)
    if angles is not None and any(angle is not None for angle in angles):
        raise RecordingError(
            f"{path}: fractal_noise_angles={angles} is not supported; record without it"
        )
    unknown = sorted(set(given) - set(_REFERENCE_DEFAULTS) - _INERT)
    if unknown:
        raise RecordingError(
            f"{path}: unknown environment parameter {unknown[0]}={given[unknown[0]]!r}; "
            f"record with parameters of alem-env {' or '.join(RULES_VERSIONS)}"
        )
    values = {name: given.get(name, default) for name, default in _REFERENCE_DEFAULTS.items()}
    switches = {name: bool(values.pop(name)) for name in _STATIC_SWITCHES}
    try:
        static = StaticParams(
            num_agents=meta["players"], num_comm_channels=meta["channels"],
            rules_version=version, **switches,
        )  # fmt: skip
        return static, make_params(**values)
    except (TypeError, ValueError) as error:
        raise RecordingError(f"{path}: {error}; record with a value in range") from error


def _group(arrays: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {n.removeprefix(prefix): value for n, value in arrays.items() if n.startswith(prefix)}


def _check_shapes(
    path: Path, arrays: Mapping[str, np.ndarray], shapes: Mapping[str, tuple[int, ...]]
) -> None:
    for name, shape in shapes.items():
        if arrays[name].shape != shape:
            raise RecordingError(
                f"{path}: {name} has shape {arrays[name].shape}, but the {shapes['actions'][0]} "
                f"recorded actions need {shape}; the recording was cut short: record it again"
            )


def _check_actions(path: Path, actions: np.ndarray, num_actions: int) -> None:
    if not np.issubdtype(actions.dtype, np.integer):
        raise RecordingError(f"{path}: actions are {actions.dtype}, not integers; record it again")
    outside = (actions < 0) | (actions >= num_actions)
    if outside.any():
        raise RecordingError(
            f"{path}: action {actions[outside][0]} is outside 0 to {num_actions - 1}; "
            "record it again"
        )


def _changes(
    path: Path, arrays: Mapping[str, np.ndarray], prefix: str, steps: int, sizes: Mapping[str, int]
) -> Changes:
    names = sorted({n.rsplit("/", 1)[0] for n in arrays if n.startswith(f"{prefix}/")})
    rows = {}
    for name in names:
        field = name.removeprefix(f"{prefix}/")
        if field not in sizes:
            raise RecordingError(f"{path}: {name} is no field of the state; record it again")
        _require(path, arrays, [f"{name}/{key}" for key in "tiv"])
        t, index, value = (arrays[f"{name}/{key}"] for key in "tiv")
        if not len(t) == len(index) == len(value):
            raise RecordingError(
                f"{path}: {name} has {len(t)} times, {len(index)} indices and {len(value)} values; "
                "the recording was cut short: record it again"
            )
        if len(t) and not (0 <= t.min() and t.max() < steps):
            raise RecordingError(
                f"{path}: {name} goes to step {t.max()}, but only {steps} steps are there; "
                "the recording was cut short: record it again"
            )
        if len(index) and not (0 <= index.min() and index.max() < sizes[field]):
            raise RecordingError(
                f"{path}: {name} changes entry {index.max()} of {sizes[field]}; record it again"
            )
        order = np.argsort(t, kind="stable")
        rows[field] = (t[order], index[order], value[order])
    return Changes(rows)
