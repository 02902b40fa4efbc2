"""Plays the reference and keeps what happens. The format is told in `record_reference.py`."""

import dataclasses
import importlib.metadata
import json
import os

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_threefry_partitionable", False)

from alem.alem_coop.action_masking import compute_action_mask  # noqa: E402
from alem.alem_coop.alem_state import (  # noqa: E402
    EnvParams,
    StaticEnvParams,
    get_coordination_params,
)
from alem.alem_coop.constants import Achievement  # noqa: E402
from alem.alem_coop.envs.alem_symbolic_env import AlemCoopSymbolicEnv  # noqa: E402
from alem.alem_coop.envs.common import compute_score  # noqa: E402
from alem.alem_coop.game_logic import alem_step  # noqa: E402
from alem.alem_coop.renderer.renderer_symbolic import render_alem_symbolic  # noqa: E402
from alem.alem_coop.world_gen.world_gen import generate_world  # noqa: E402

from reference import kinds  # noqa: E402
from reference.kinds import COMMON_ACTIONS  # noqa: E402

__version__ = importlib.metadata.version("alem-env")


def flatten(state, prefix=""):
    """Nested state dataclass -> {dotted field name: numpy array}."""
    out = {}
    for f in dataclasses.fields(state):
        value = getattr(state, f.name)
        name = prefix + f.name
        if dataclasses.is_dataclass(value):
            out.update(flatten(value, name + "."))
        elif value is None or isinstance(value, tuple):
            continue
        else:
            out[name] = np.asarray(value)
    return out


def unflatten(state, flat, prefix=""):
    """Inverse of flatten, using `state` as the template."""
    changes = {}
    for f in dataclasses.fields(state):
        value = getattr(state, f.name)
        name = prefix + f.name
        if dataclasses.is_dataclass(value):
            changes[f.name] = unflatten(value, flat, name + ".")
        elif name in flat:
            changes[f.name] = jnp.asarray(flat[name])
    return state.replace(**changes)


class Sparse:
    """Sparse record of the changes of named arrays over time."""

    def __init__(self):
        self.rows = {}

    def add(self, t, name, before, after):
        b, a = np.ravel(before), np.ravel(after)
        index = np.flatnonzero(b != a)
        if index.size:
            row = np.full(index.size, t, np.int32), index.astype(np.int32), a[index]
            self.rows.setdefault(name, []).append(row)

    def arrays(self, prefix):
        out = {}
        for name, rows in self.rows.items():
            for key, parts in zip("tiv", zip(*rows, strict=True), strict=True):
                out[f"{prefix}/{name}/{key}"] = np.concatenate(parts)
        return out


def choose_actions(kind, staged, mask, players, rng):
    if staged is not None and (kind != "fuzz" or rng.random() < 0.85):
        return staged
    if kind != "play" and rng.random() < 0.4:  # the same action for all, legal or not
        return np.full(players, rng.choice(COMMON_ACTIONS))
    act = np.array([rng.choice(np.flatnonzero(m)) for m in mask])
    if kind != "play" and rng.random() < 0.2:  # illegal actions are part of the game too
        act = rng.integers(0, mask.shape[1], players)
    return act


@dataclasses.dataclass(frozen=True)
class Programs:
    """The reference's functions, compiled once for all seeds."""

    reset: object
    step: object
    mask: object
    observe: object
    done: object


def compile_programs(params, static):
    env = AlemCoopSymbolicEnv(env_params=params, static_env_params=static)
    return Programs(
        reset=jax.jit(lambda k: generate_world(k, params, static)),
        step=jax.jit(lambda k, s, a: alem_step(k, s, a, params, static)),
        mask=jax.jit(lambda s: compute_action_mask(s, params, static)),
        observe=jax.jit(lambda s: render_alem_symbolic(s, static)),
        done=jax.jit(lambda s: env.is_terminal(s, params)),
    )


def record(programs, static, seed, steps, kind):
    """One recording without its meta data, and the last flat state."""
    scenario = getattr(kinds, kind)
    rng = np.random.default_rng([seed, steps])
    key = jax.random.PRNGKey(seed)
    state = programs.reset(key)
    flat = flatten(state)
    out = {f"init/{k}": v for k, v in flat.items()}
    edits, changes, observations = Sparse(), Sparse(), Sparse()
    rows = {"keys": [], "actions": [], "mask": [], "rewards": [], "done": []}
    for t in range(steps):
        edited, staged = scenario(t, flat, rng, static)
        if edited is not None:
            for name in flat:
                edits.add(t, name, flat[name], edited[name])
            flat = edited
            state = unflatten(state, flat)
        mask = np.asarray(programs.mask(state))
        actions = choose_actions(kind, staged, mask, static.player_count, rng)
        key, step_key = jax.random.split(key)
        state, reward = programs.step(step_key, state, jnp.asarray(actions, jnp.int32))
        after = flatten(state)
        for name in flat:
            changes.add(t, name, flat[name], after[name])
        flat = after
        done = bool(programs.done(state))
        row = np.asarray(step_key), actions, mask, np.asarray(reward), done
        for name, value in zip(rows, row, strict=True):
            rows[name].append(value)
        if t % 10 == 9:
            observed = np.asarray(programs.observe(state))
            observations.add(t, "obs", np.zeros_like(observed), observed)
        if kind == "play" and done:
            break
    score = jax.tree_util.tree_flatten_with_path(compute_score(state, jnp.asarray(True), static))[0]
    for path, value in score:
        name = ".".join(str(getattr(part, "key", part)) for part in path)
        out[f"score/{name}"] = np.asarray(value)
    out.update(edits.arrays("edit"))
    out.update(changes.arrays("step"))
    out.update({k.replace("obs/obs", "obs"): v for k, v in observations.arrays("obs").items()})
    out.update({name: np.array(values) for name, values in rows.items()})
    out["actions"] = out["actions"].astype(np.int32)
    return out, flat, list(np.shape(programs.observe(state)))


def save(path, arrays):
    """Writes a recording whole or not at all."""
    path = path if path.endswith(".npz") else f"{path}.npz"
    partial = f"{path}.{os.getpid()}"
    try:
        with open(partial, "wb") as file:
            np.savez_compressed(file, **arrays)
        os.replace(partial, path)
    finally:
        if os.path.exists(partial):
            os.remove(partial)


def overrides_of(difficulty):
    """Fields of EnvParams as the published runs have them."""
    fixed = dict(soft_specialization=True, shared_reward=False)
    return dict(get_coordination_params(difficulty)) | fixed


def parameters(overrides, players, channels):
    """(EnvParams, StaticEnvParams) of the reference."""
    static = StaticEnvParams(player_count=players, num_comm_channels=channels)
    return EnvParams(**overrides), static


def record_all(args):
    """Recordings as the options of `record_reference.py` ask; prints what they reach."""
    changes = {k: json.loads(v) for k, v in (item.split("=", 1) for item in args.set)}
    known = {field.name for field in dataclasses.fields(EnvParams)}
    for name in set(changes) - known:
        raise SystemExit(f"--set {name}: EnvParams has no such field; known are {sorted(known)}")
    overrides = overrides_of(args.difficulty) | changes
    params, static = parameters(overrides, args.players, args.channels)
    programs = compile_programs(params, static)
    unlocked = np.zeros(len(Achievement), bool)
    for seed in args.seed:
        out, flat, obs_shape = record(programs, static, seed, args.steps, args.kind)
        unlocked |= flat["achievements"].any(0)
        meta = dict(
            reference=f"alem-env {__version__}", jax=jax.__version__, seed=seed, kind=args.kind,
            difficulty=args.difficulty, env_params=overrides, players=args.players,
            channels=args.channels, map_size=list(static.map_size), obs_shape=obs_shape,
            fields=sorted(flat),
        )  # fmt: skip
        out["meta"] = np.array(json.dumps(meta))
        save(args.out.replace("{seed}", str(seed)), out)
    missing = [a.name for a in Achievement if not unlocked[a.value]]
    print(
        f"{len(args.seed)} recordings, {args.steps} steps each; achievements unlocked "
        f"{int(unlocked.sum())}/{len(unlocked)}; missing: {missing}"
    )
