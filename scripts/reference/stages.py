"""Situations in which one joint action is likely to succeed: coordination and rare deeds.

Each returns that action. Arguments as in `edits`; `at` is the cell in the middle of the team,
`required` how many players the deed takes.
"""

import numpy as np

from reference.edits import MINERALS, B, put_mob, remove_mobs, revive_all, set_scalar, standing

# codes of actions
DO, NOOP, ASCEND, DESCEND, PLACE_PLANT, MAKE_IRON_ARMOUR = 5, 0, 19, 18, 10, 22


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
    # MAKE_DIAMOND_PICKAXE, _SWORD, _ARMOUR
    action = int(rng.choice([20, 21, 23, MAKE_IRON_ARMOUR]))
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
