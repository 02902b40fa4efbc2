"""Our state <-> the fields of the public benchmark (alem-env), for verification.

A reference state is a flat dict of numpy arrays under the benchmark's dotted field names, as in
recordings. Slow and in numpy: not for training.
"""

from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np

from alem_env.core import state as st
from alem_env.core import storage
from alem_env.core.counters import AGENT_COUNTS, TEAM_COUNTS, Counters
from alem_env.core.enums import MobClass
from alem_env.core.params import StaticParams
from alem_env.core.tables import DARK_FLOORS, MAP_SIZE, NUM_FLOORS
from alem_env.rules.plants import ripen

_PLAYERS = {
    "position": "player_position", "direction": "player_direction", "alive": "player_alive",
    "health": "player_health", "food": "player_food", "drink": "player_drink",
    "energy": "player_energy", "mana": "player_mana", "sleeping": "is_sleeping",
    "resting": "is_resting", "recover": "player_recover", "hunger": "player_hunger",
    "thirst": "player_thirst", "fatigue": "player_fatigue",
    "recover_mana": "player_recover_mana", "xp": "player_xp", "dexterity": "player_dexterity",
    "strength": "player_strength", "intelligence": "player_intelligence",
    "specialization": "player_specialization", "request_duration": "request_duration",
    "request_type": "request_type", "learned_spell": "learned_spells",
    "sword_enchantment": "sword_enchantment", "bow_enchantment": "bow_enchantment",
    "armour_enchantment": "armour_enchantments", "death_cause": "player_death_cause",
    "floor_at_death": "player_level_at_death",
}  # fmt: skip

_COUNTERS = {
    "trades": "trade_count", "food_trades": "food_trade_count",
    "drink_trades": "drink_trade_count", "give_attempts": "give_attempt_count",
    "requests": "request_count", "requests_expired": "request_expiry_count",
    "requests_received": "request_received_count", "messages": "comm_count",
    "friendly_fire_damage": "ff_damage_dealt", "necessities_fraction": "all_necessities_frac",
    "revives": "revives", "alive_agent_steps": "alive_agent_steps",
    "actionable_agent_steps": "actionable_agent_steps",
    "handover_successes": "handover_successes", "handover_setups": "handover_setups",
    "handover_expiries": "handover_expiries",
    "mine_sync_soft": "coord_mine_sync_soft_count", "mine_sync_hard": "coord_mine_sync_hard_count",
    "mine_handover": "coord_mine_handover_count",
    "mine_handover_expiries": "coord_mine_handover_expiries",
    "sync_attempts": "coord_sync_attempts", "sync_successes": "coord_sync_successes",
    "soft_sync_events": "soft_sync_events", "soft_sync_bonus_events": "soft_sync_bonus_events",
    "solo_soft_attempts": "coord_solo_soft_attempts",
    "solo_soft_successes": "coord_solo_soft_successes",
    "construction_attempts": "coord_construction_attempts",
    "construction_successes": "coord_construction_successes",
    "construction_handovers": "coord_construction_handover_count",
    "construction_handover_setups": "coord_construction_handover_setups",
    "construction_handover_expiries": "coord_construction_handover_expiries",
    "construction_unfunded": "construction_build_at_site_unfunded",
    "shelters_built": "coord_build_shelter_count", "forges_built": "coord_build_forge_count",
    "beacons_built": "coord_build_beacon_count", "elite_attempts": "coord_elite_attempts",
    "elite_successes": "coord_elite_successes", "elite_melee_kills": "coord_elite_melee_kills",
    "elite_ranged_kills": "coord_elite_ranged_kills",
    "large_passive_kills": "coord_large_passive_kills", "craft_attempts": "coord_craft_attempts",
    "craft_successes": "coord_craft_successes",
    "diamond_pickaxes": "coord_diamond_pickaxe_count",
    "diamond_swords": "coord_diamond_sword_count", "diamond_armours": "coord_diamond_armour_count",
}  # fmt: skip

_SCALARS = {
    "achievements": "achievements", "potion_effect": "potion_mapping",
    "boss_progress": "boss_progress", "boss_spawn_steps": "boss_timesteps_to_spawn_this_round",
    "deepest_floor": "max_player_level", "light_level": "light_level", "timestep": "timestep",
    "sampled_alpha": "sampled_alpha", "last_key": "state_rng", "floor_index": "player_level",
}  # fmt: skip

_PLANTS = {
    "position": "growing_plants_positions", "age": "growing_plants_age",
    "growing": "growing_plants_mask",
}  # fmt: skip

_MOB_GROUPS = {MobClass.MELEE: "melee", MobClass.PASSIVE: "passive", MobClass.RANGED: "ranged"}
_MOBS = {
    "position": "{0}_mobs.position", "health": "{0}_mobs.health", "alive": "{0}_mobs.mask",
    "cooldown": "{0}_mobs.attack_cooldown", "kind": "{0}_mobs.type_id",
    "coordination": "{0}_mob_coordination", "agents_required": "{0}_mob_agents_required",
}  # fmt: skip

_PROJECTILES = {
    "position": "{0}s.position", "active": "{0}s.mask", "kind": "{0}s.type_id",
    "direction": "{0}_directions", "owner": "{0}_owners",
}  # fmt: skip

_PLANES = {
    "block": "map", "item": "item_map", "requirement": "coordination_map",
    "soft": "soft_coordination_mask",
}  # fmt: skip

_PER_FLOOR = {"chest_opened": "chests_opened", "monsters_killed": "monsters_killed"}

# rows of Ladders.stamp: (floor, field of Ladders)
_STAMPED = ((0, "up"), (8, "down"), (8, "up"))


def to_reference(state: st.State, static: StaticParams) -> dict[str, np.ndarray]:
    """One world's state under the benchmark's field names and dtypes."""
    s = jax.tree.map(np.asarray, state)
    out: dict[str, np.ndarray] = {}
    floors = _all_floors(s)

    for ours, theirs in {**_PLANES, **_PER_FLOOR}.items():
        out[theirs] = np.stack([np.asarray(getattr(f, ours)) for f in floors])
    if s.floor_index != 0:  # plants that ripened while the team was away
        out["map"][0] = np.asarray(ripen(jnp.asarray(out["map"][0]), state.plants))
    for row, (floor, field) in enumerate(_STAMPED):
        cells = tuple(getattr(s.ladders, field)[floor].T.astype(int))
        stamped = out["item_map"][floor][cells] >= storage.STAMPED_ITEM
        out["item_map"][floor][cells] = np.where(
            stamped, s.ladders.stamp[row], out["item_map"][floor][cells]
        )
    for mob_class, group in _MOB_GROUPS.items():
        part = floors[0].mobs.of(mob_class)
        for ours, theirs in _MOBS.items():
            out[theirs.format(group)] = np.stack(
                [np.asarray(getattr(f.mobs, ours))[part] for f in floors]
            )
    for group in ("mob_projectile", "player_projectile"):
        _stack(out, floors, f"{group}s", _PROJECTILES, group)
        shape = out[f"{group}s.mask"].shape
        out[f"{group}s.health"] = np.ones(shape, np.float32)
        out[f"{group}s.attack_cooldown"] = np.zeros(shape, np.int32)
    out["construction_site_positions"] = np.stack([f.sites.position for f in floors])
    out["construction_sites_built"] = np.stack([f.sites.built for f in floors])
    out["construction_handover_deadline"] = np.zeros_like(out["construction_sites_built"])

    out["mob_map"] = _occupancy(floors)
    out["light_map"] = np.ones((NUM_FLOORS, *MAP_SIZE), np.float32)
    out["light_map"][list(DARK_FLOORS)] = s.light
    out["down_ladders"], out["up_ladders"] = s.ladders.down, s.ladders.up
    for name, group, fields in (
        ("players", s.players, _PLAYERS), ("counters", s.counters, _COUNTERS),
        ("plants", s.plants, _PLANTS), ("state", s, _SCALARS),
    ):  # fmt: skip
        del name
        out.update({theirs: getattr(group, ours) for ours, theirs in fields.items()})
    by_agents = (s.counters.sync_of_two_agents, s.counters.sync_of_more_agents)
    out["sync_coord_by_agents"] = np.stack(by_agents)
    for field in st.Inventory.__dataclass_fields__:
        out[f"inventory.{field}"] = getattr(s.inventory, field)
    h = s.handovers
    out["pending_handovers"] = np.column_stack(
        [h.active, h.position, h.deadline, h.initiator, h.building]
    )
    channels = np.arange(static.num_comm_channels)
    out["comm_messages"] = (s.players.message[:, None] == channels).astype(np.float32)
    return {name: _widen(name, value) for name, value in out.items()}


def from_reference(flat: Mapping[str, np.ndarray], static: StaticParams) -> st.State:
    """Inverse of `to_reference`. What it leaves out is derived or constant in the benchmark."""
    current = int(flat["player_level"])
    floors = [_floor(flat, i) for i in range(NUM_FLOORS)]
    order = [i for i in range(NUM_FLOORS) if i != current]
    slots = np.full(NUM_FLOORS, -1, np.int32)
    slots[order] = np.arange(len(order))
    stored = _pack(jax.tree.map(lambda *leaves: np.stack(leaves), *[floors[i] for i in order]))
    pending = flat["pending_handovers"]
    message = np.where(
        flat["comm_messages"].any(-1) if static.num_comm_channels else False,
        flat["comm_messages"].argmax(-1) if static.num_comm_channels else 0,
        -1,
    )
    stamp = []
    for floor, field in _STAMPED:
        item = flat["item_map"][floor][tuple(flat[f"{field}_ladders"][floor].T)]
        stamp.append(np.where(item >= storage.STAMPED_ITEM, item, 0))
    state = st.State(
        floor=floors[current],
        stored=stored,
        stored_slot=slots,
        light=flat["light_map"][list(DARK_FLOORS)],
        ladders=st.Ladders(
            down=flat["down_ladders"].astype(np.int8),
            up=flat["up_ladders"].astype(np.int8),
            stamp=np.stack(stamp).astype(np.uint8),
        ),
        players=st.Players(
            message=np.broadcast_to(message, (static.num_agents,)).astype(np.int32),
            **{ours: flat[theirs] for ours, theirs in _PLAYERS.items()},
        ),
        inventory=st.Inventory(
            **{f: flat[f"inventory.{f}"] for f in st.Inventory.__dataclass_fields__}
        ),
        plants=st.Plants(**{ours: flat[theirs] for ours, theirs in _PLANTS.items()}),
        handovers=st.Handovers(
            active=pending[:, 0] == 1, position=pending[:, 1:3], deadline=pending[:, 3],
            initiator=pending[:, 4], building=pending[:, 5],
        ),
        counters=_counters(flat),
        **{ours: flat[theirs] for ours, theirs in _SCALARS.items()},
    )  # fmt: skip
    return jax.tree.map(jnp.asarray, state)


def _all_floors(state: st.State) -> list[st.Floor]:
    """The nine floors in order, as numpy."""
    stored = jax.tree.map(np.asarray, _unpack(state.stored, state.floor))
    return [
        state.floor
        if index == state.floor_index
        else jax.tree.map(lambda leaf, slot=slot: leaf[slot], stored)
        for index, slot in enumerate(state.stored_slot)
    ]


@jax.jit
def _unpack(stored: jax.Array, like: st.Floor) -> st.Floor:
    return storage.unpack_floor(stored, like)


@jax.jit
def _pack(floors: st.Floor) -> jax.Array:
    return storage.pack_floor(floors)


def _floor(flat: Mapping[str, np.ndarray], index: int) -> st.Floor:
    def group(kind, fields, name):
        return kind(**{o: flat[t.format(name)][index] for o, t in fields.items()})

    return st.Floor(
        block=flat["map"][index].astype(np.uint8),
        item=flat["item_map"][index].astype(np.uint8),
        requirement=flat["coordination_map"][index].astype(np.int8),
        soft=flat["soft_coordination_mask"][index],
        mobs=_mobs(flat, index),
        mob_projectiles=group(st.Projectiles, _PROJECTILES, "mob_projectile"),
        player_projectiles=group(st.Projectiles, _PROJECTILES, "player_projectile"),
        sites=st.Sites(
            position=flat["construction_site_positions"][index],
            built=flat["construction_sites_built"][index],
        ),
        chest_opened=flat["chests_opened"][index],
        monsters_killed=flat["monsters_killed"][index],
    )


def _counters(flat: Mapping[str, np.ndarray]) -> Counters:
    values = {ours: flat[theirs] for ours, theirs in _COUNTERS.items()}
    values["sync_of_two_agents"], values["sync_of_more_agents"] = flat["sync_coord_by_agents"]
    return Counters(
        agents=np.stack([values[name] for name in AGENT_COUNTS], axis=-1),
        team=np.stack([values[name] for name in TEAM_COUNTS]),
        friendly_fire_damage=values["friendly_fire_damage"],
        necessities_fraction=values["necessities_fraction"],
    )


def _mobs(flat: Mapping[str, np.ndarray], index: int) -> st.Mobs:
    groups = [_MOB_GROUPS[mob_class] for mob_class in st.MOVING_ORDER]
    return st.Mobs(
        **{
            ours: np.concatenate([flat[theirs.format(group)][index] for group in groups])
            for ours, theirs in _MOBS.items()
        },
        slots=tuple(len(flat[_MOBS["alive"].format(group)][index]) for group in groups),
    )


def _stack(out, floors, group, fields, name) -> None:
    for ours, theirs in fields.items():
        out[theirs.format(name)] = np.stack(
            [np.asarray(getattr(getattr(f, group), ours)) for f in floors]
        )


def _occupancy(floors: list[st.Floor]) -> np.ndarray:
    occupied = np.zeros((NUM_FLOORS, *MAP_SIZE), bool)
    for index, floor in enumerate(floors):
        row, column = np.asarray(floor.mobs.position)[np.asarray(floor.mobs.alive)].T
        occupied[index, row, column] = True
    return occupied


def _widen(name: str, value: np.ndarray) -> np.ndarray:
    """The benchmark's dtype: int32 for every integer but keys."""
    value = np.asarray(value)
    if name != "state_rng" and np.issubdtype(value.dtype, np.integer):
        return value.astype(np.int32)
    return value
