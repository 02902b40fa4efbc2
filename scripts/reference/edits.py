"""Changes of a flat state of the reference that bring a team into some situation.

They keep the state plausible: what they touch stays consistent (mob_map, bounds). `s` is the flat
state, {dotted field name: numpy array}, changed in place; n players; `level` the floor.
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
                s["growing_plants_age"][k] = rng.integers(490, 502)
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
