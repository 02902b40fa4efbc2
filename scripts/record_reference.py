#!/usr/bin/env python
"""Record exact transitions of the public reference environment, as data to test against.

Run it in a virtual environment of its own (Python 3.11 or 3.12); 0.1.0 works as well as 0.2.1:

    python3 -m venv ref && ref/bin/pip install alem-env==0.2.1
    ref/bin/python record_reference.py --out {seed}.npz --kind fuzz --difficulty hard --seed 0 1

Kinds of recording:

play      reset, then legal uniformly random actions. Reaches what early play reaches.
fuzz      every few steps the state is edited first: another floor, a full inventory, mobs and
          special blocks next to the players, handovers about to expire, the boss fight, ... so that
          single transitions of the whole game are covered, also those that play never reaches.
ripen     plants ripen on the overworld while the team is on another floor; then it returns.
rim       players, mobs and projectiles on the map's outermost cells, mostly facing outward.
overflow  like fuzz, with clocks, counters, cooldowns and stray projectiles about to leave 8 or 16
          bits, or the episode about to end.

One recording is one .npz file:

meta                    JSON: versions, seed, kind, EnvParams overrides, players, field names, ...
init/<field>            state right after generate_world(PRNGKey(seed))
edit/<field>/{t,i,v}    sparse edits of the state before step t (t: step, i: flat index, v: value)
step/<field>/{t,i,v}    what step t changed
keys, actions           (T, 2) uint32 legacy key and (T, players) int32 action of each step
mask                    (T, players, actions) bool, legal in the state that step t starts from
rewards, done           (T, players) float32, (T,) bool
obs/{t,i,v}             sparse dense-vector observation (players, obs_dim) after every tenth step
score/<name>            compute_score of the last state

Integers and booleans are to be matched exactly; floats to 1e-5, since XLA versions differ in the
last bit. The reference draws its random numbers with jax 0.4's non-partitionable threefry.
"""

import argparse
import dataclasses
import importlib.metadata
import json

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
from reference_scenarios import COMMON_ACTIONS, KINDS  # noqa: E402

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


# --- Recording -----------------------------------------------------------------------------------


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
    rng = np.random.default_rng([seed, steps])
    key = jax.random.PRNGKey(seed)
    state = programs.reset(key)
    flat = flatten(state)
    out = {f"init/{k}": v for k, v in flat.items()}
    edits, changes, observations = Sparse(), Sparse(), Sparse()
    rows = {"keys": [], "actions": [], "mask": [], "rewards": [], "done": []}
    for t in range(steps):
        edited, staged = KINDS[kind](t, flat, rng, static)
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


def parse_args():
    ap = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ap.add_argument("--out", required=True, help="file to write; {seed} in it is replaced")
    ap.add_argument("--kind", choices=list(KINDS), default="play")
    ap.add_argument("--difficulty", default="medium", help="none, easy, medium, hard or an alpha")
    ap.add_argument("--seed", type=int, nargs="+", default=[0], help="one file per seed")
    ap.add_argument("--steps", type=int, default=200)
    ap.add_argument("--players", type=int, default=3)
    ap.add_argument("--channels", type=int, default=4)
    ap.add_argument(
        "--set", nargs="*", default=[], metavar="FIELD=JSON", help="further EnvParams overrides"
    )
    args = ap.parse_args()
    if len(args.seed) > 1 and "{seed}" not in args.out:
        ap.error(f"--out {args.out}: with several seeds the name must hold {{seed}}")
    return args


def main():
    args = parse_args()
    overrides = dict(get_coordination_params(args.difficulty))
    overrides.update(soft_specialization=True, shared_reward=False)
    overrides.update((k, json.loads(v)) for k, v in (item.split("=", 1) for item in args.set))
    params = EnvParams(**overrides)
    static = StaticEnvParams(player_count=args.players, num_comm_channels=args.channels)
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
        np.savez_compressed(args.out.format(seed=seed), **out)
    missing = [a.name for a in Achievement if not unlocked[a.value]]
    print(
        f"{len(args.seed)} recordings, {args.steps} steps each; achievements unlocked "
        f"{int(unlocked.sum())}/{len(unlocked)}; missing: {missing}"
    )


if __name__ == "__main__":
    main()
