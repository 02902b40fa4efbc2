"""What is done to states so that recordings reach all of the game: one function a kind.

Each is (t, s, rng, static) -> (edited state or None, actions or None): `t` the step, `s` the flat
state, which stays as it is.
"""

import numpy as np
from alem.alem_coop.constants import ItemType

from reference.edits import (
    MINERALS,
    MOB_TYPES,
    WALKABLE,
    B,
    ahead,
    fill_players,
    place_blocks,
    place_mobs,
    place_players,
    place_tasks,
    remove_mobs,
    revive_all,
    set_scalar,
    standing,
)
from reference.stages import ASCEND, DESCEND, DO, NOOP, PLACE_PLANT, stage

COMMON_ACTIONS = [5] * 6 + [51, 52, 53, 20, 21, 23, 22, 8, 9, 18, 19, 26, 24, 35, 36, 41]
RIM_ACTIONS = [DO] * 4 + [7, 8, 9, PLACE_PLANT, 27, 24, 26, 51, 52, 53, 1, 2, 3, 4, ASCEND, DESCEND]


def play(t, s, rng, static):
    return None, None


def fuzz(t, s, rng, static, every=4):
    if t % every:
        return None, None
    s = {k: v.copy() for k, v in s.items()}
    n, size = static.player_count, static.map_size
    scenes = ["any", "mine", "build", "craft", "elite", "boss", "enchant", "plant"]
    scene = str(rng.choice(scenes, p=[0.3, 0.2, 0.14, 0.08, 0.12, 0.06, 0.06, 0.04]))
    level = int(rng.choice([0, 0, 0, 1, 2, 2, 3, 4, 5, 5, 6, 7, 8]))
    level = {"boss": 8, "plant": 0}.get(scene, level)
    set_scalar(s, "player_level", level)
    target = place_players(s, rng, n, level, size, scene)
    place_blocks(s, rng, n, level, size, target is not None)
    fill_players(s, rng, n, level)
    place_mobs(s, rng, n, level, size)
    place_tasks(s, rng, n, level, size)
    staged = stage(s, rng, scene, level, target, n)
    return s, None if staged is None else np.full(n, staged)


def ripen(t, s, rng, static, period=36, away=18):
    """The team waits on the first or second floor down while plants come of age, then returns by
    ladder or by edit. Plants share cells, lie under other blocks, or are older than ripe."""
    n, phase, depth = static.player_count, t % period, 1 + (t // period) % 2
    by_edit = (t // period) % 3 == 2
    if phase == 0:
        s = {k: v.copy() for k, v in s.items()}
        set_scalar(s, "player_level", depth)
        s["player_position"][:] = s["up_ladders"][depth]
        remove_mobs(s, depth, standing(s), flags=True)
        revive_all(s, 9)
        s["player_food"][:] = s["player_drink"][:] = s["player_energy"][:] = 9
        grass = np.argwhere(np.isin(s["map"][0], list(WALKABLE)) & ~s["mob_map"][0])
        home = s["down_ladders"][0][0]
        near = grass[np.argsort(np.abs(grass - home).sum(1))][n : n + 12]
        for k in range(s["growing_plants_mask"].shape[0]):
            cell = near[rng.integers(len(near))]  # often shared
            s["growing_plants_mask"][k] = rng.random() < 0.8
            s["growing_plants_positions"][k] = cell
            s["growing_plants_age"][k] = 500 - rng.integers(-3, 40)
            block = rng.choice(
                [B.PLANT.value] * 5 + [B.GRASS.value, B.STONE.value, B.RIPE_PLANT.value]
            )
            s["map"][0][tuple(cell)] = block
        return s, np.full(n, NOOP)
    if phase < away:
        waiting = rng.choice([NOOP, NOOP, DO, 42, 25, 37, 7], n)  # whatever does not move
        return None, waiting
    if phase == away and by_edit:
        s = {k: v.copy() for k, v in s.items()}
        set_scalar(s, "player_level", 0)
        s["player_position"][:] = s["down_ladders"][0]
        return s, np.full(n, NOOP)
    if phase < away + 2 * depth and not by_edit:
        if phase % 2:  # stand on the ladder that leads on
            s = {k: v.copy() for k, v in s.items()}
            level = int(s["player_level"])
            s["player_position"][:] = s["up_ladders"][level] if level else s["down_ladders"][0]
            return s, None
        return None, np.full(n, ASCEND)
    return None, np.full(n, DO) if rng.random() < 0.3 else None


def rim(t, s, rng, static):
    if t % 3:
        return None, None
    s = {k: v.copy() for k, v in s.items()}
    n, size = static.player_count, np.array(static.map_size)
    level = int(rng.integers(static.num_levels))
    set_scalar(s, "player_level", level)
    world, anchor = s["map"][level], rng.integers(0, size[0])
    side = rng.integers(4)
    for i in range(n):
        side = rng.integers(4) if rng.random() < 0.3 else side
        along = rng.choice([0, size[0] - 1]) if rng.random() < 0.4 else anchor + rng.integers(-2, 3)
        along = int(np.clip(along, 0, size[0] - 1))
        edge = 0 if side in (0, 2) else int(size[0]) - 1
        at = (along, edge) if side < 2 else (edge, along)
        if at in {tuple(p) for p in s["player_position"][:i]}:
            at = tuple(s["player_position"][i])
        s["player_position"][i] = at
        s["player_direction"][i] = side + 1 if rng.random() < 0.8 else rng.integers(1, 5)
    remove_mobs(s, level, standing(s), flags=True)
    for cell in standing(s):
        world[cell] = B.PATH.value if level else B.GRASS.value
    for i in range(n):  # free neighbours, and something where -1 wraps to
        r, c = ahead(s, i)
        wrapped = (int(r) % size[0], int(c) % size[1])
        block = rng.choice([b.value for b in MINERALS] + [b.value for b in B if b.value >= 2])
        if wrapped not in standing(s) and not s["mob_map"][level][wrapped]:
            world[wrapped] = block if rng.random() < 0.7 else B.PATH.value
            s["coordination_map"][level][wrapped] = rng.choice([0, 2, 3, -3, -9])
            s["item_map"][level][wrapped] = rng.integers(0, len(ItemType))
        near = np.clip(s["player_position"][i] + rng.integers(-2, 3, (4, 2)), 0, size - 1)
        for cell in map(tuple, near):
            if cell not in standing(s) and not s["mob_map"][level][cell]:
                world[cell] = rng.choice([B.PATH.value, B.WATER.value, B.GRASS.value, B.SAND.value])
    fill_players(s, rng, n, level)
    place_mobs(s, rng, n, level, size, margin=0)
    place_tasks(s, rng, n, level, size)
    return s, rng.choice(RIM_ACTIONS, n) if rng.random() < 0.8 else None


def overflow(t, s, rng, static):
    edited, staged = fuzz(t, s, rng, static, every=6)
    if edited is None:
        return None, None
    edges = np.array([126, 254, 32_764, 65_532])
    clock = int(rng.choice([*edges, 99_994, 131_070, 1_000_000]))
    shift = clock - int(edited["timestep"])
    set_scalar(edited, "timestep", clock)
    edited["pending_handovers"][:, 3] += shift * edited["pending_handovers"][:, 0]
    for name, value in edited.items():
        counter = name.endswith(
            ("_count", "_attempts", "_successes", "_events", "_steps", "_kills")
        )
        if counter or name in ("revives", "monsters_killed", "sync_coord_by_agents"):
            edited[name] = (value + rng.choice(edges)).astype(value.dtype) % 70_000
    plants = edited["growing_plants_age"]
    plants[:] = np.where(rng.random(plants.shape) < 0.3, rng.choice(edges, plants.shape), plants)
    for kind in MOB_TYPES:
        cooldown = edited[f"{kind}_mobs.attack_cooldown"]
        chosen = rng.random(cooldown.shape) < 0.4
        far = -rng.choice(edges, cooldown.shape) - 2
        cooldown[:] = np.where(chosen, far, cooldown)
    for kind in ("mob_projectiles", "player_projectiles"):
        position = edited[f"{kind}.position"]
        idle = ~edited[f"{kind}.mask"][..., None] & (rng.random(position.shape) < 0.6)
        far = rng.choice([-1, 1], position.shape) * rng.choice(edges, position.shape)
        position[:] = np.where(idle, far, position)
    return edited, staged
