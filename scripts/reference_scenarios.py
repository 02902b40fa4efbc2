"""What `record_reference.py` does to states so that recordings reach all of the game.

Runs in the reference's interpreter. Edits keep the state plausible: what they touch stays
consistent (mob_map, bounds). `s` is the flat state, changed in place; n players; `level` the floor.
Each kind of recording is a function (t, s, rng, static) -> (edited state or None, actions or None).
"""

import numpy as np
from alem.alem_coop.constants import BlockType, ItemType

B = BlockType
WALKABLE = {b.value for b in (B.GRASS, B.SAND, B.PATH, B.FIRE_GRASS, B.ICE_GRASS, B.GRAVEL)}
NEIGHBOURS = [(0, -1), (0, 1), (-1, 0), (1, 0)]  # LEFT, RIGHT, UP, DOWN as (row, column)
MINERALS = (B.STONE, B.COAL, B.IRON, B.DIAMOND, B.SAPPHIRE, B.RUBY, B.TREE)
STATIONS = (
    B.CRAFTING_TABLE, B.FURNACE, B.EPIC_FORGE, B.ENCHANTMENT_TABLE_FIRE, B.ENCHANTMENT_TABLE_ICE,
    B.EPIC_SHELTER,
)  # fmt: skip
HOSTILE = [0, 2, 1, 3, 4, 5, 6, 7, 0]  # type of each floor's mobs
MOB_TYPES = {"passive": [0, 2, 1, 2, 2, 1, 1, 1, 0], "melee": HOSTILE, "ranged": HOSTILE}
DO, NOOP, ASCEND, DESCEND, PLACE_PLANT, MAKE_IRON_ARMOUR = 5, 0, 19, 18, 10, 22
COMMON_ACTIONS = [5] * 6 + [51, 52, 53, 20, 21, 23, 22, 8, 9, 18, 19, 26, 24, 35, 36, 41]
RIM_ACTIONS = [DO] * 4 + [7, 8, 9, PLACE_PLANT, 27, 24, 26, 51, 52, 53, 1, 2, 3, 4, ASCEND, DESCEND]


def set_scalar(s, name, value):
    s[name] = np.asarray(value, s[name].dtype)


def ahead(s, i):
    """Cell that player i faces."""
    return s["player_position"][i] + np.array(NEIGHBOURS[s["player_direction"][i] - 1])


def ahead_on_map(s, i):
    """The same, with cells beyond the rim brought to the other side."""
    return ahead(s, i) % np.array(s["map"].shape[1:])


def standing(s):
    return {tuple(p) for p in s["player_position"]}


def remove_mobs(s, level, cells, kinds=("melee", "passive", "ranged"), flags=False):
    """Remove mobs on the cells; their flags in mob_map too, if asked."""
    for kind in kinds:
        mask, position = s[f"{kind}_mobs.mask"], s[f"{kind}_mobs.position"]
        for m in range(mask.shape[1]):
            if mask[level, m] and tuple(position[level, m]) in cells:
                mask[level, m] = False
                if flags:
                    s["mob_map"][level][tuple(position[level, m])] = False


def put_mob(s, kind, level, m, at, health, rng):
    """Move slot m of a class to a cell of the floor, alive."""
    if s[f"{kind}_mobs.mask"][level, m]:
        s["mob_map"][level][tuple(s[f"{kind}_mobs.position"][level, m])] = False
    s["mob_map"][level][tuple(at)] = True
    s[f"{kind}_mobs.mask"][level, m] = True
    s[f"{kind}_mobs.position"][level, m] = at
    s[f"{kind}_mobs.type_id"][level, m] = MOB_TYPES[kind][level]
    s[f"{kind}_mobs.health"][level, m] = round(float(rng.uniform(0.5, health)), 1)


def revive_all(s, health):
    s["player_alive"][:], s["player_death_cause"][:], s["player_level_at_death"][:] = True, 0, -1
    s["player_health"][:] = np.maximum(s["player_health"], health)
    s["is_sleeping"][:] = s["is_resting"][:] = False


def place_players(s, rng, n, level, size, scene):
    """All around one target block, or scattered near each other. Returns the target or None."""
    world, mobs = s["map"][level], s["mob_map"][level]
    free = np.argwhere(np.isin(world, list(WALKABLE)) & ~mobs)
    free = free[((free > 3) & (free < np.array(size) - 4)).all(1)]
    centre = free[rng.integers(len(free))]
    together = rng.random() < 0.55 or scene != "any"
    if together:
        offsets = rng.permutation(4)
        for i in range(n):
            d = offsets[i % 4]
            at = centre + (2 if i >= 4 else 1) * np.array(NEIGHBOURS[d])
            world[tuple(at)] = B.PATH.value if level else B.GRASS.value
            mobs[tuple(at)] = False
            s["player_position"][i] = at
            s["player_direction"][i] = [2, 1, 4, 3][d]  # face the target
    else:
        near = free[np.argsort(np.abs(free - centre).sum(1))[: 4 * n]]
        for i, k in enumerate(rng.permutation(len(near))[:n]):
            s["player_position"][i] = near[k]
            s["player_direction"][i] = rng.integers(1, 5)
    remove_mobs(s, level, standing(s))
    return centre if together else None


def place_blocks(s, rng, n, level, size, together):
    """Blocks that players face, stations near them, items under them."""
    world, mobs, players = s["map"][level], s["mob_map"][level], standing(s)
    interesting = [b.value for b in B if b.value >= 2]
    minerals = (B.TREE, B.STONE, B.COAL, B.IRON, B.DIAMOND, B.SAPPHIRE, B.RUBY, B.CHEST)
    for i in range(n):
        at = tuple(ahead(s, i))
        if at in players or mobs[at]:
            continue
        if rng.random() < 0.8 and (not together or i == 0):
            block = rng.choice(minerals).value if rng.random() < 0.35 else None
            block = int(rng.choice(interesting)) if block is None else block
            world[at] = block
            if block in (B.CONSTRUCTION_SITE.value, B.CONSTRUCTION_IN_PROGRESS.value):
                site = rng.integers(s["construction_site_positions"].shape[1])
                s["construction_site_positions"][level, site] = at
                s["construction_sites_built"][level, site] = 0
                s["construction_handover_deadline"][level, site] = 0
            s["coordination_map"][level][at] = rng.choice([0, 0, 2, 3, 2, 3, -3, -9, -12])
            s["soft_coordination_mask"][level][at] = rng.random() < 0.5
        for station in STATIONS:
            if rng.random() < 0.3:
                at = np.clip(s["player_position"][i] + rng.integers(-1, 2, 2), 0, size[0] - 1)
                if tuple(at) not in players and not mobs[tuple(at)]:
                    world[tuple(at)] = station.value
        if rng.random() < 0.35:
            here = tuple(s["player_position"][i])
            s["item_map"][level][here] = int(rng.integers(0, len(ItemType)))


def fill_players(s, rng, n, level):
    """Inventory, attributes, needs, life."""
    rich = rng.random() < 0.7
    for f in "wood stone coal iron diamond sapling torches ruby sapphire arrows".split():
        s["inventory." + f][:] = rng.integers(0, 60 if rich else 4, n)
    for f, hi in (("pickaxe", 5), ("sword", 5), ("bow", 2), ("books", 3)):
        s["inventory." + f][:] = rng.integers(0, hi, n)
    if rng.random() < 0.4:
        s["inventory.pickaxe"][:] = s["inventory.sword"][:] = 4
    s["inventory.armour"][:] = rng.integers(0, 3, (n, 4))
    s["inventory.potions"][:] = rng.integers(0, 3, (n, 6))
    roles = rng.permutation([1, 2, 3, 1, 2, 3, 0, 1][: max(n, 3)])[:n] if rng.random() < 0.9 else 0
    s["player_specialization"][:] = roles
    for f in ("player_dexterity", "player_strength", "player_intelligence"):
        s[f][:] = rng.integers(1, 6, n)
    s["player_xp"][:] = rng.integers(0, 4, n)
    low = rng.random(n) < 0.3
    health = np.where(low, rng.uniform(0.2, 2.5, n), rng.integers(3, 12, n))
    s["player_health"][:] = health.astype(np.float32)
    for f in ("player_food", "player_drink", "player_energy", "player_mana"):
        s[f][:] = rng.integers(0, 10, n)
    for f, lo, hi in (
        ("recover", -14, 26), ("hunger", 0, 31), ("thirst", 0, 27), ("fatigue", -12, 31),
        ("recover_mana", 0, 31),
    ):  # fmt: skip
        s["player_" + f][:] = rng.uniform(lo, hi, n).astype(np.float32).round(1)
    alive = rng.random(n) > 0.12
    alive[rng.integers(n)] = True
    s["player_alive"][:] = alive
    s["player_health"][:] = np.where(alive, s["player_health"], 0.0)
    s["player_death_cause"][:] = np.where(alive, 0, 4)
    s["player_level_at_death"][:] = np.where(alive, -1, level)
    s["is_sleeping"][:] = alive & (rng.random(n) < 0.08)
    s["is_resting"][:] = alive & ~s["is_sleeping"] & (rng.random(n) < 0.08)
    s["learned_spells"][:] = rng.random(n) < 0.6
    s["sword_enchantment"][:] = rng.integers(0, 3, n)
    s["bow_enchantment"][:] = rng.integers(0, 3, n)
    s["armour_enchantments"][:] = rng.integers(0, 3, (n, 4))
    s["request_duration"][:] = rng.integers(0, 11, n)
    s["request_type"][:] = rng.integers(0, 10, n)
    if rng.random() < 0.3:
        s["chests_opened"][level] = rng.random(n) < 0.5
    s["monsters_killed"][level] = rng.choice([0, 5, 8, 12])
    set_scalar(s, "timestep", max(int(s["timestep"]), int(rng.integers(0, 900))))


def place_mobs(s, rng, n, level, size, margin=1):
    """Mobs and projectiles close to the players; mobs keep off the outermost `margin` cells."""
    world, mobs, players = s["map"][level], s["mob_map"][level], standing(s)
    for kind in MOB_TYPES:
        for m in range(s[f"{kind}_mobs.mask"].shape[1]):
            if rng.random() < 0.5:
                continue
            p = s["player_position"][rng.integers(n)] + rng.integers(-3, 4, 2)
            if (p < margin).any() or (p >= np.array(size) - margin).any() or tuple(p) in players:
                continue
            if world[tuple(p)] not in WALKABLE or mobs[tuple(p)]:
                continue
            put_mob(s, kind, level, m, p, 9, rng)
            s[f"{kind}_mobs.attack_cooldown"][level, m] = rng.integers(0, 5)
            elite = rng.choice([0, 0, 1, 2])
            s[f"{kind}_mob_coordination"][level, m] = elite
            need = 0 if elite == 0 else rng.integers(2, max(n, 2) + 1)
            s[f"{kind}_mob_agents_required"][level, m] = need
    for kind in ("mob_projectile", "player_projectile"):
        for m in range(s[kind + "s.mask"].shape[1]):
            if rng.random() < 0.5:
                continue
            p = s["player_position"][rng.integers(n)] + rng.integers(-2, 3, 2)
            s[kind + "s.mask"][level, m] = True
            s[kind + "s.position"][level, m] = np.clip(p, 0, size[0] - 1)
            s[kind + "s.type_id"][level, m] = rng.integers(0, 8)
            s[kind + "_directions"][level, m] = NEIGHBOURS[rng.integers(4)]
            s[kind + "_owners"][level, m] = rng.integers(0, n)


def place_tasks(s, rng, n, level, size):
    """Plants about to ripen, handovers about to expire, the boss."""
    world, mobs, players = s["map"][level], s["mob_map"][level], standing(s)
    for k in range(s["growing_plants_mask"].shape[0]):
        if rng.random() < 0.3 and level == 0:
            p = s["player_position"][rng.integers(n)] + rng.integers(-2, 3, 2)
            p = np.clip(p, 0, size[0] - 1)
            if tuple(p) not in players and not mobs[tuple(p)]:
                s["growing_plants_mask"][k] = True
                s["growing_plants_positions"][k] = p
                s["growing_plants_age"][k] = rng.integers(590, 602)
                world[tuple(p)] = B.PLANT.value
    for k in range(s["pending_handovers"].shape[0]):
        if rng.random() < 0.3:
            p = ahead(s, rng.integers(n))
            deadline = int(s["timestep"]) + rng.integers(-1, 9)
            initiator, building = rng.integers(n), rng.choice([0, 0, 1, 2, 3])
            s["pending_handovers"][k] = [1, p[0], p[1], deadline, initiator, building]
            p = p % np.array(size)
            if rng.random() < 0.7 and tuple(p) not in players:
                s["coordination_map"][level][tuple(p)] = -int(rng.integers(3, 18))
    if level == 8:
        set_scalar(s, "boss_progress", rng.integers(0, 9))
        set_scalar(s, "boss_timesteps_to_spawn_this_round", rng.integers(0, 8))
        if rng.random() < 0.7:
            at = tuple(ahead_on_map(s, rng.integers(n)))
            if at not in players:
                world[at] = rng.choice([B.NECROMANCER.value, B.NECROMANCER_VULNERABLE.value])


def stage_build(s, rng, n, level, at, required):
    site = int(rng.integers(s["construction_site_positions"].shape[1]))
    s["map"][level][at] = B.CONSTRUCTION_SITE.value
    s["construction_site_positions"][level, site] = at
    s["construction_sites_built"][level, site] = 0
    need = required if rng.random() < 0.7 else -int(rng.integers(3, 18))
    s["coordination_map"][level][at] = need
    s["soft_coordination_mask"][level][at] = rng.random() < 0.5
    for f in ("wood", "stone", "coal", "iron", "diamond", "sapling", "ruby", "sapphire"):
        s["inventory." + f][:] = np.where(rng.random(n) < 0.8, 60, 0)
    return int(rng.integers(51, 54))  # BUILD_SHELTER, BUILD_FORGE, BUILD_BEACON


def stage_craft(s, rng, n, level, at, required):
    world, taken = s["map"][level], standing(s) | {at}
    world[at] = B.EPIC_FORGE.value
    for station in (B.CRAFTING_TABLE, B.FURNACE):
        spots = [(at[0] + r, at[1] + c) for r, c in ((-1, -1), (-1, 1), (1, -1), (1, 1))]
        spots = [q for q in spots if q not in taken and not s["mob_map"][level][q]]
        spots = [q for q in spots if world[q] != B.CRAFTING_TABLE.value]
        if spots:
            world[spots[rng.integers(len(spots))]] = station.value
    for f in ("wood", "stone", "coal", "iron", "diamond", "sapling", "ruby", "sapphire"):
        s["inventory." + f][:] = 60
    s["inventory.pickaxe"][:] = s["inventory.sword"][:] = 3
    action = int(
        rng.choice([20, 21, 23, MAKE_IRON_ARMOUR])
    )  # MAKE_DIAMOND_PICKAXE, _SWORD, _ARMOUR
    s["inventory.armour"][:] = 0 if action == MAKE_IRON_ARMOUR else 1
    return action


def stage_elite(s, rng, n, level, at, required):
    kind = ("melee", "ranged", "passive")[rng.integers(3)]
    s["map"][level][at] = B.PATH.value if level else B.GRASS.value
    m = int(rng.integers(s[f"{kind}_mobs.mask"].shape[1]))
    put_mob(s, kind, level, m, at, 6, rng)
    elite = rng.integers(0, 3)
    s[f"{kind}_mob_coordination"][level, m] = elite
    s[f"{kind}_mob_agents_required"][level, m] = required if elite else 0
    return DO


def stage(s, rng, scene, level, target, n):
    """Set up that one joint action is likely to succeed; returns that action, or None."""
    if scene == "any" or target is None:
        return None
    world, at = s["map"][level], tuple(target)
    remove_mobs(s, level, {at})
    s["mob_map"][level][at] = False
    if rng.random() < 0.9:
        revive_all(s, 4)
    required = int(rng.integers(2, max(n, 2) + 1))
    s["coordination_map"][level][at] = 0
    if scene == "mine":
        world[at] = rng.choice(MINERALS).value
        need = required if rng.random() < 0.8 else -int(rng.integers(3, 18))
        s["coordination_map"][level][at] = need
        s["soft_coordination_mask"][level][at] = rng.random() < 0.5
        s["inventory.pickaxe"][:] = 4
        return DO
    if scene in ("build", "craft", "elite"):
        stager = {"build": stage_build, "craft": stage_craft, "elite": stage_elite}[scene]
        return stager(s, rng, n, level, at, required)
    if scene == "boss":
        for kind in ("melee", "ranged"):
            remove_mobs(
                s, level, {tuple(q) for q in s[f"{kind}_mobs.position"][level]}, (kind,), True
            )
        world[at] = rng.choice([B.NECROMANCER.value, B.NECROMANCER_VULNERABLE.value])
        set_scalar(s, "boss_timesteps_to_spawn_this_round", rng.integers(0, 2))
        return DO
    if scene == "enchant":
        world[at] = rng.choice([B.ENCHANTMENT_TABLE_FIRE.value, B.ENCHANTMENT_TABLE_ICE.value])
        s["player_mana"][:] = 9
        s["inventory.ruby"][:] = s["inventory.sapphire"][:] = 5
        s["inventory.sword"][:], s["inventory.bow"][:], s["inventory.armour"][:] = 3, 1, 1
        return int(rng.choice([35, 36, 41]))  # ENCHANT_SWORD, ENCHANT_ARMOUR, ENCHANT_BOW
    s["inventory.sapling"][:] = 5  # plant
    if rng.random() < 0.5:
        world[at] = B.GRASS.value
        return PLACE_PLANT
    world[at] = rng.choice([B.PLANT.value, B.RIPE_PLANT.value])
    s["growing_plants_mask"][0], s["growing_plants_positions"][0] = True, target
    s["growing_plants_age"][0] = 620
    return DO


# --- Kinds: (t, flat state, rng, static) -> edited state or None, actions or None ----------------


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


KINDS = {"play": play, "fuzz": fuzz, "ripen": ripen, "rim": rim, "overflow": overflow}
