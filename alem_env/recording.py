"""Recordings of the public benchmark (alem-env): reading and checking them.

Two formats, both .npz. *Transitions* hold every field of every step, in the layout that
`scripts/record_reference.py` writes and describes. *Facts* are what is publicly known of an episode
that language models played: positions, vitals, rewards, legal actions.
"""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from alem_env.core.params import (
    RULES_VERSIONS,
    STATIC_SWITCHES,
    EnvParams,
    StaticParams,
    make_params,
)
from alem_env.core.params_check import check_params
from alem_env.core.tables import MAP_SIZE
from alem_env.core.values import switch, whole_number
from alem_env.observe import dense
from alem_env.recording_checks import (
    RecordingError,
    Wanted,
    check_actions,
    check_arrays,
    check_bounds,
    check_change,
    check_kind,
    num_steps,
    read_arrays,
    require,
)

KINDS = ("play", "fuzz", "ripen", "rim", "overflow")
OBSERVED_EVERY = 10  # steps: the published vector is recorded after every tenth

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
# What facts may tell of the players: fields of `core.state.Players`.
VITALS = (
    "health", "food", "drink", "energy", "mana", "xp", "dexterity", "strength", "intelligence",
)  # fmt: skip
# Entries of meta that both formats need, and others, by type.
_REQUIRED = ("seed", "env_params", "players", "channels")
_TYPES = {"env_params": dict, "fields": list, "vitals": list}
_SEEDS = (-(2**31), 2**32 - 1)  # the benchmark keeps 32 bits


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
    arrays = read_arrays(path)
    meta = _meta(path, arrays)
    if "vitals" in meta:
        return _facts(path, arrays, meta)
    return _transitions(path, arrays, meta)


def _meta(path: Path, arrays: Mapping[str, np.ndarray]) -> dict:
    require(path, arrays, ["meta"])
    try:
        meta = json.loads(str(arrays["meta"]))
    except (ValueError, RecursionError) as error:
        raise RecordingError(f"{path}: meta is not JSON ({error}); record it again") from error
    if not isinstance(meta, dict):
        raise RecordingError(f"{path}: meta is not a JSON object; record it again")
    missing = [name for name in _REQUIRED if name not in meta]
    if missing:
        raise RecordingError(f"{path}: meta lacks {', '.join(missing)}; record it again")
    for name, kind in _TYPES.items():
        if name in meta and not isinstance(meta[name], kind):
            raise RecordingError(
                f"{path}: meta has {name}={meta[name]!r}, and a {kind.__name__} is needed; "
                "record it again"
            )
    try:
        whole_number("seed", meta["seed"], *_SEEDS)
        switch("final_done", meta.get("final_done", False))
    except ValueError as error:
        raise RecordingError(f"{path}: meta has {error}; record it again") from error
    return meta


def _transitions(path: Path, arrays: Mapping[str, np.ndarray], meta: dict) -> Transitions:
    kind = meta.get("kind")
    if kind not in KINDS:
        raise RecordingError(
            f"{path}: kind={kind!r} is unknown; recordings are of kind {', '.join(KINDS)}"
        )
    static, params = environment_of(path, meta, _version_of(path, meta))
    _check_sizes(path, meta, static)
    require(path, arrays, ("actions", "keys", "mask", "rewards", "done"))
    require(path, arrays, [f"init/{name}" for name in meta.get("fields", ())] or ["init/map"])
    steps, agents = num_steps(path, arrays), static.num_agents
    if steps >= OBSERVED_EVERY:
        require(path, arrays, ["obs/t", "obs/i", "obs/v"])
    scores = [name for name in arrays if name.startswith("score/")]
    check_arrays(path, arrays, {
        "actions": Wanted("iu", (steps, agents)), "keys": Wanted("u", (steps, 2)),
        "mask": Wanted("b", (steps, agents, static.num_actions)),
        "rewards": Wanted("f", (steps, agents)), "done": Wanted("b", (steps,)),
        **dict.fromkeys(scores, Wanted("biuf", (agents,))),
    })  # fmt: skip
    check_actions(path, arrays["actions"], static.num_actions)
    init = _group(arrays, "init/")
    for name, value in init.items():
        check_kind(path, f"init/{name}", value, "biuf")
        check_bounds(path, f"init/{name}", name, value)
    shape = (agents, dense.obs_dim(static))
    seen = {}
    if steps >= OBSERVED_EVERY:
        seen["obs"] = _change(path, arrays, "obs", steps, np.zeros(shape, np.float32))
    return Transitions(
        path=path, kind=kind, static=static, params=params, seed=meta["seed"], init=init,
        edits=_changes(path, arrays, "edit", steps, init),
        changes=_changes(path, arrays, "step", steps, init),
        keys=arrays["keys"].astype(np.uint32), actions=arrays["actions"].astype(np.int32),
        masks=arrays["mask"], rewards=arrays["rewards"], done=arrays["done"],
        observations=Changes(seen), observation_shape=shape,
        score=_group(arrays, "score/"),
    )  # fmt: skip


def _check_sizes(path: Path, meta: dict, static: StaticParams) -> None:
    """Refuses maps and observation vectors of another size than here."""
    shape = [static.num_agents, dense.obs_dim(static)]
    for name, ours in (("map_size", list(MAP_SIZE)), ("obs_shape", shape)):
        if meta.get(name, ours) != ours:
            raise RecordingError(
                f"{path}: {name}={meta[name]} cannot be replayed; record with {ours}"
            )


def _facts(path: Path, arrays: Mapping[str, np.ndarray], meta: dict) -> Facts:
    # These files name no version: they hold on the newest rules.
    version = _version_of(path, meta) if "reference" in meta else RULES_VERSIONS[0]
    static, params = environment_of(path, meta, version)
    names = ("actions", "position", "vitals", "achievements", "legal", "reward")
    require(path, arrays, names)
    vitals = meta["vitals"]
    unknown = [name for name in vitals if name not in VITALS]
    if unknown or not vitals:
        raise RecordingError(f"{path}: vitals={vitals} must be of {', '.join(VITALS)}")
    steps, agents = num_steps(path, arrays), static.num_agents
    check_arrays(path, arrays, {
        "actions": Wanted("iu", (steps, agents)), "position": Wanted("i", (steps, agents, 2)),
        "vitals": Wanted("i", (steps, agents, len(vitals))),
        "achievements": Wanted("i", (steps, agents)),
        "legal": Wanted("i", (steps, agents, static.num_actions)),
        "reward": Wanted("f", (steps, agents)),
    })  # fmt: skip
    check_actions(path, arrays["actions"], static.num_actions)
    return Facts(
        path=path, static=static, params=params, seed=meta["seed"], vital_names=tuple(vitals),
        final_done=meta.get("final_done", False), **{name: arrays[name] for name in names},
    )  # fmt: skip


def _version_of(path: Path, meta: dict) -> str:
    reference = str(meta.get("reference", ""))
    version = reference.split()[-1] if reference.strip() else ""
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
    if angles is not None and angles != [None] * 4:
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
    switches = {name: values.pop(name) for name in STATIC_SWITCHES}
    try:
        static = StaticParams(
            num_agents=meta["players"], num_comm_channels=meta["channels"],
            rules_version=version, **switches,
        )  # fmt: skip
        params = make_params(**values)
        check_params(params, static)
    except ValueError as error:
        raise RecordingError(f"{path}: {error}; record with a value in range") from error
    return static, params


def _group(arrays: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {n.removeprefix(prefix): value for n, value in arrays.items() if n.startswith(prefix)}


def _changes(
    path: Path,
    arrays: Mapping[str, np.ndarray],
    prefix: str,
    steps: int,
    like: Mapping[str, np.ndarray],
) -> Changes:
    """The changes under a prefix, of arrays that are made as those in `like`."""
    names = sorted({n.rsplit("/", 1)[0] for n in arrays if n.startswith(f"{prefix}/")})
    rows = {}
    for name in names:
        field = name.removeprefix(f"{prefix}/")
        if field not in like:
            raise RecordingError(f"{path}: {name} is no field of the state; record it again")
        rows[field] = _change(path, arrays, name, steps, like[field])
        check_bounds(path, f"{name}/v", field, rows[field][2])
    return Changes(rows)


def _change(
    path: Path, arrays: Mapping[str, np.ndarray], name: str, steps: int, like: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(t, flat index, value) by time, of changes that fit an array like `like`."""
    require(path, arrays, [f"{name}/{key}" for key in "tiv"])
    parts = {key: arrays[f"{name}/{key}"] for key in "tiv"}
    check_change(path, name, parts, steps, like)
    order = np.argsort(parts["t"], kind="stable")
    return tuple(parts[key][order] for key in "tiv")
