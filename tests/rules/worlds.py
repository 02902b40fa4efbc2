"""Plain worlds for tests of rules: grass, a few players, nothing else."""

import jax
import jax.numpy as jnp
import numpy as np

from alem_env.core import state as st
from alem_env.core.batch import single_world
from alem_env.core.counters import no_counts
from alem_env.core.enums import Block, DeathCause, MobClass, Specialization
from alem_env.core.params import StaticParams
from alem_env.core.storage import pack_floor
from alem_env.core.tables import DARK_FLOORS, MAP_SIZE, NUM_FLOORS
from alem_env.rules import chance

MIDDLE = 24
RIGHT, DOWN = 2, 4  # directions


def plain_state(static: StaticParams = StaticParams(), **edits) -> st.State:  # noqa: B008
    """A world of grass with the team in the middle, in one row, facing down.

    Players stand at (24, 24), (24, 25), ...; roles are warrior, forager, miner, and over again. All
    needs are at 9, inventories empty, mob slots dead, all floors alike.

    Args:
        static: shapes.
        **edits: replaced fields by dotted name with `__` for the dot, such as
            `players__direction=...` or `floor__mobs__alive=...`; values are broadcast to the
            field's shape and cast to its dtype.
    """
    state = st.State(
        floor=_plain_floor(static),
        floor_index=jnp.int32(0),
        stored=jax.tree.map(
            lambda leaf: jnp.broadcast_to(leaf, (NUM_FLOORS - 1, *leaf.shape)),
            pack_floor(_plain_floor(static)),
        ),
        stored_slot=jnp.arange(-1, NUM_FLOORS - 1, dtype=jnp.int32),
        light=jnp.zeros((len(DARK_FLOORS), *MAP_SIZE), jnp.float32),
        ladders=_ladders(static),
        players=_players(static),
        inventory=_inventory(static),
        plants=st.Plants(
            position=_zeros(static.max_plants, 2),
            age=_zeros(static.max_plants),
            growing=_zeros(static.max_plants).astype(bool),
        ),
        handovers=st.Handovers(
            active=_zeros(static.max_pending_handovers).astype(bool),
            position=_zeros(static.max_pending_handovers, 2),
            deadline=_zeros(static.max_pending_handovers),
            initiator=_zeros(static.max_pending_handovers),
            building=_zeros(static.max_pending_handovers),
        ),
        counters=no_counts(static.num_agents),
        achievements=jnp.zeros((static.num_agents, st.NUM_ACHIEVEMENTS), bool),
        potion_effect=jnp.arange(6, dtype=jnp.int32),
        boss_progress=jnp.int32(0),
        boss_spawn_steps=jnp.int32(0),
        deepest_floor=jnp.int32(0),
        light_level=jnp.float32(1.0),
        timestep=jnp.int32(100),
        sampled_alpha=jnp.float32(0.0),
        last_key=jnp.zeros(2, jnp.uint32),
    )
    return edit(state, **edits)


def edit(state, **edits):
    """`state` with fields replaced by dotted name, `__` for the dot (see `plain_state`)."""
    for name, value in edits.items():
        state = _edit(state, name.split("__"), value)
    return state


def with_blocks(state: st.State, plane: str = "block", **cells) -> st.State:
    """`state` with values written on a plane of its floor, as `r24_c25=Block.TREE`."""
    values = np.asarray(getattr(state.floor, plane)).copy()
    for name, value in cells.items():
        row, column = (int(part[1:]) for part in name.split("_"))
        values[row, column] = value
    return edit(state, **{f"floor__{plane}": values})


def with_mob(state: st.State, group: str, slot: int, position, **fields) -> st.State:
    """`state` with a live mob of "melee", "passive" or "ranged" in a slot of its class."""
    fields = {"position": position, "health": 3.0, "alive": True, **fields}
    slot += state.floor.mobs.of(MobClass[group.upper()]).start
    return with_mobs(state, slice(slot, slot + 1), **fields)


def with_mobs(state: st.State, slots: slice, **fields) -> st.State:
    """`state` with fields of some mobs of its floor replaced; values are broadcast."""
    mobs = state.floor.mobs
    mobs = mobs.replace(
        **{
            name: getattr(mobs, name).at[slots].set(jnp.asarray(value, getattr(mobs, name).dtype))
            for name, value in fields.items()
        }
    )
    return state.replace(floor=state.floor.replace(mobs=mobs))


def group_of(floor: st.Floor, group: str) -> st.Mobs:
    """The mobs of a class of one floor, or of many with leading axes: leaves (..., n, ...)."""
    mobs = floor.mobs
    part = mobs.of(MobClass[group.upper()])
    batch = mobs.alive.ndim - 1
    return jax.tree.map(lambda leaf: leaf[(slice(None),) * batch + (part,)], mobs)


def run_rule(rule):
    """`rule` jitted for one world, to be called with the rule's arguments."""
    return jax.jit(single_world(rule))


def _edit(node, path, value):
    field = getattr(node, path[0])
    if len(path) > 1:
        return node.replace(**{path[0]: _edit(field, path[1:], value)})
    value = jnp.broadcast_to(jnp.asarray(value).astype(field.dtype), field.shape)
    return node.replace(**{path[0]: value})


def _zeros(*shape):
    return jnp.zeros(shape, jnp.int32)


def _mobs(counts):
    slots = sum(counts)
    return st.Mobs(
        position=_zeros(slots, 2),
        health=jnp.ones(slots, jnp.float32),
        alive=jnp.zeros(slots, bool),
        cooldown=_zeros(slots),
        kind=_zeros(slots),
        coordination=_zeros(slots),
        agents_required=_zeros(slots),
        slots=counts,
    )


def _projectiles(slots):
    return st.Projectiles(
        position=_zeros(slots, 2),
        active=jnp.zeros(slots, bool),
        kind=_zeros(slots),
        direction=jnp.ones((slots, 2), jnp.int32),
        owner=_zeros(slots),
    )


def _plain_floor(static):
    return st.Floor(
        block=jnp.full(MAP_SIZE, int(Block.GRASS), jnp.uint8),
        item=jnp.zeros(MAP_SIZE, jnp.uint8),
        requirement=jnp.zeros(MAP_SIZE, jnp.int8),
        soft=jnp.zeros(MAP_SIZE, bool),
        mobs=_mobs(st.mob_slots(static)),
        mob_projectiles=_projectiles(static.max_mob_projectiles),
        player_projectiles=_projectiles(static.max_player_projectiles),
        sites=st.Sites(
            position=_zeros(static.max_construction_sites, 2),
            built=_zeros(static.max_construction_sites),
        ),
        chest_opened=jnp.zeros(static.num_agents, bool),
        monsters_killed=jnp.int32(0),
    )


def _ladders(static):
    cells = jnp.zeros((NUM_FLOORS, static.num_agents, 2), jnp.int8)
    return st.Ladders(down=cells, up=cells, stamp=jnp.zeros((3, static.num_agents), jnp.uint8))


def _players(static):
    agents = static.num_agents
    roles = [Specialization.WARRIOR, Specialization.FORAGER, Specialization.MINER]
    nine, one = jnp.full(agents, 9, jnp.int32), jnp.ones(agents, jnp.int32)
    position = np.stack([np.full(agents, MIDDLE), MIDDLE + np.arange(agents)], axis=1)
    values = dict(
        position=jnp.asarray(position, jnp.int32), direction=jnp.full(agents, DOWN, jnp.int32),
        alive=jnp.ones(agents, bool), health=jnp.full(agents, 9.0, jnp.float32),
        food=nine, drink=nine, energy=nine, mana=nine,
        dexterity=one, strength=one, intelligence=one,
        specialization=jnp.asarray([roles[i % 3] for i in range(agents)], jnp.int32),
        armour_enchantment=_zeros(agents, 4), message=-one, floor_at_death=-one,
        death_cause=jnp.full(agents, int(DeathCause.ALIVE), jnp.int32),
    )  # fmt: skip
    for name in ("recover", "hunger", "thirst", "fatigue", "recover_mana"):
        values[name] = jnp.zeros(agents, jnp.float32)
    for name in ("sleeping", "resting", "learned_spell"):
        values[name] = jnp.zeros(agents, bool)
    for name in st.Players.__dataclass_fields__:
        values.setdefault(name, _zeros(agents))
    return st.Players(**values)


def _inventory(static):
    wide = {"armour": 4, "potions": 6}
    return st.Inventory(
        **{
            name: _zeros(static.num_agents, wide[name])
            if name in wide
            else _zeros(static.num_agents)
            for name in st.Inventory.__dataclass_fields__
        }
    )


def chance_of(phase: str, key: jax.Array, static: StaticParams) -> chance.Chance:
    """The random numbers of a step in which `phase` starts from `key` (2,)."""
    keys = jnp.zeros((len(chance.PHASES), 2), jnp.uint32)
    return chance.from_phase_keys(keys.at[chance.PHASES.index(phase)].set(key), static)
