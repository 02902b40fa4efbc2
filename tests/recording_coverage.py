"""What recordings reach: achievements, actions, blocks, items and creatures."""

from collections import defaultdict

import numpy as np

from alem_env.core.enums import Achievement, Action, Block, Item, ProjectileKind
from alem_env.recording import Transitions, patch

# kinds that floors hold (the creature tables have eight of each class)
MOB_KINDS = {"melee": set(range(8)), "passive": set(range(3)), "ranged": set(range(8))}
PROJECTILES = ("mob_projectile", "player_projectile")


def full_sets() -> dict[str, set[int]]:
    """All that there is; for three agents and four channels."""
    return {
        "achievement": set(Achievement),
        "action": set(range(len(Action) + 1 + 4)),
        "block": set(Block) - {Block.INVALID, Block.OUT_OF_BOUNDS},
        "item": set(Item),
        **{f"{name} mob": kinds for name, kinds in MOB_KINDS.items()},
        **{name: set(ProjectileKind) for name in PROJECTILES},
    }


def coverage(recording: Transitions) -> dict[str, set[int]]:
    """What a recording reaches. Achievements count when a step unlocks them, actions when someone
    takes them who can act, and the rest when it is on the team's floor."""
    seen = defaultdict(set)
    flat = recording.init
    for t in range(recording.num_steps):
        flat = patch(flat, recording.edits.at(t))
        _see_floor(flat, seen)
        acts = flat["player_alive"] & ~flat["is_sleeping"] & ~flat["is_resting"]
        seen["action"].update(recording.actions[t][acts].tolist())
        unlocked, _ = recording.changes.at(t).get("achievements", (np.empty(0, int), None))
        seen["achievement"].update((unlocked % len(Achievement)).tolist())
        flat = patch(flat, recording.changes.at(t))
    return dict(seen)


def _see_floor(flat, seen) -> None:
    floor = int(flat["player_level"])
    seen["block"].update(np.unique(flat["map"][floor]).tolist())
    seen["item"].update(np.unique(flat["item_map"][floor]).tolist())
    for name in MOB_KINDS:
        alive = flat[f"{name}_mobs.mask"][floor]
        seen[f"{name} mob"].update(flat[f"{name}_mobs.type_id"][floor][alive].tolist())
    for name in PROJECTILES:
        active = flat[f"{name}s.mask"][floor]
        seen[name].update(flat[f"{name}s.type_id"][floor][active].tolist())
