"""Which actions are legal: facts about a player as bits, and the facts each action needs.

A legal action may still do nothing (a move into a wall); an illegal one never does anything.
"""

import jax
import jax.numpy as jnp
import numpy as np

from alem_env.core.enums import Action, Block, Building, Item, Specialization
from alem_env.core.params import EnvParams, StaticParams
from alem_env.core.state import Inventory, Players, State
from alem_env.core.tables import MAX_STACK, MONSTERS_TO_CLEAR_FLOOR, NUM_POTIONS
from alem_env.rules.common import (
    at,
    can_pay,
    is_near,
    is_role,
    max_drink,
    max_food,
    neighbour_blocks,
)

ENCHANTING_MANA = 9
_BITS = 32  # facts a word

# What a player may need to know of itself; the position is the fact's bit.
_FACTS = (
    "miner", "warrior", "table", "furnace", "enchanter", "diamond_bench", "gem",
    "way_down", "way_up",
    "wood", "wood_2", "stone", "iron", "iron_3", "coal", "coal_3", "diamond_2", "diamond_3",
    "sapling", "torch", "pickaxe_below_1", "pickaxe_below_2", "pickaxe_below_3", "pickaxe_below_4",
    "sword_below_1", "sword_below_2", "sword_below_3", "sword_below_4", "sword", "bow", "arrow",
    "armour", "spell", "book", "mana", "xp",
    *(f"potion_{k}" for k in range(NUM_POTIONS)),
    "shelter", "forge", "beacon",
)  # fmt: skip

# Actions that are not named here, messages and GIVE apart, are legal for whoever can act.
_NEEDS: dict[Action, tuple[str, ...]] = {
    Action.DESCEND: ("way_down",),
    Action.ASCEND: ("way_up",),
    Action.PLACE_STONE: ("miner", "stone"),
    Action.PLACE_TABLE: ("wood_2",),
    Action.PLACE_FURNACE: ("stone",),
    Action.PLACE_PLANT: ("sapling",),
    Action.PLACE_TORCH: ("torch",),
    Action.MAKE_WOOD_PICKAXE: ("miner", "wood", "table", "pickaxe_below_1"),
    Action.MAKE_STONE_PICKAXE: ("miner", "wood", "stone", "table", "pickaxe_below_2"),
    Action.MAKE_IRON_PICKAXE: (
        "miner", "wood", "stone", "iron", "coal", "table", "furnace", "pickaxe_below_3",
    ),
    Action.MAKE_DIAMOND_PICKAXE: (
        "miner", "wood", "diamond_3", "diamond_bench", "pickaxe_below_4",
    ),
    Action.MAKE_WOOD_SWORD: ("wood", "table", "sword_below_1"),
    Action.MAKE_STONE_SWORD: ("warrior", "wood", "stone", "table", "sword_below_2"),
    Action.MAKE_IRON_SWORD: (
        "warrior", "wood", "stone", "iron", "coal", "table", "furnace", "sword_below_3",
    ),
    Action.MAKE_DIAMOND_SWORD: ("warrior", "wood", "diamond_2", "diamond_bench", "sword_below_4"),
    Action.MAKE_IRON_ARMOUR: ("iron_3", "coal_3", "table", "furnace"),
    Action.MAKE_DIAMOND_ARMOUR: ("diamond_3", "diamond_bench"),
    Action.MAKE_ARROW: ("warrior", "wood", "stone", "table"),
    Action.MAKE_TORCH: ("miner", "wood", "coal", "table"),
    Action.SHOOT_ARROW: ("bow", "arrow"),
    Action.CAST_SPELL: ("spell",),  # what it costs depends on the role, so mana is not asked for
    Action.READ_BOOK: ("book",),
    Action.ENCHANT_SWORD: ("warrior", "enchanter", "gem", "sword", "mana"),
    Action.ENCHANT_ARMOUR: ("enchanter", "gem", "armour", "mana"),
    Action.ENCHANT_BOW: ("warrior", "enchanter", "gem", "bow", "mana"),
    Action.LEVEL_UP_DEXTERITY: ("xp",),
    Action.LEVEL_UP_STRENGTH: ("xp",),
    Action.LEVEL_UP_INTELLIGENCE: ("xp",),
    Action.BUILD_SHELTER: ("shelter",),
    Action.BUILD_FORGE: ("forge",),
    Action.BUILD_BEACON: ("beacon",),
    **{
        Action(Action.DRINK_POTION_RED + colour): (f"potion_{colour}",)
        for colour in range(NUM_POTIONS)
    },
}  # fmt: skip

_REQUESTED = ("wood", "stone", "iron", "coal", "diamond", "ruby", "sapphire")


def action_mask(state: State, params: EnvParams, static: StaticParams) -> jax.Array:
    """Legal actions (A, num_actions) bool, True = allowed. Who cannot act may only wait."""
    players = state.players
    facts = _facts(state, params, static)
    low = _pack([facts[name] for name in _FACTS[:_BITS]])
    high = _pack([facts[name] for name in _FACTS[_BITS:]])
    first_give = len(_FACTS) - _BITS
    high |= _give_bits(players, state.inventory, first_give)

    needs_low, needs_high = needed_bits(static)
    legal = (low[:, None] & needs_low) == needs_low
    legal &= (high[:, None] & needs_high) == needs_high
    can_act = players.alive & ~players.sleeping & ~players.resting
    waiting = np.arange(static.num_actions) == Action.NOOP
    return jnp.where(can_act[:, None], legal, waiting)


def needed_bits(static: StaticParams) -> tuple[np.ndarray, np.ndarray]:
    """The facts each action needs, as two words of bits (num_actions,) uint32.

    The highest bit of the second word is never set in a player's facts: it marks actions that do
    not exist (a single agent's GIVE).
    """
    never = 2 * _BITS - 1
    needs: list[list[int]] = [[] for _ in range(static.num_actions)]
    for action, facts in _NEEDS.items():
        needs[action] = [_FACTS.index(fact) for fact in facts]
    message = static.first_message_action
    for slot, action in enumerate(range(Action.GIVE, static.num_actions)):
        if slot < static.num_give_actions:
            needs[action] = [len(_FACTS) + slot]
        elif not message <= action < message + static.num_comm_channels:
            needs[action] = [never]
    words = np.zeros((2, static.num_actions), np.uint32)
    for action, bits in enumerate(needs):
        for bit in bits:
            words[bit // _BITS, action] |= np.uint32(1 << (bit % _BITS))
    return words[0], words[1]


def _facts(state: State, params: EnvParams, static: StaticParams) -> dict[str, jax.Array]:
    """Every fact of `_FACTS` as (A,) bool."""
    players, bag = state.players, state.inventory
    around = neighbour_blocks(state.floor, players.position)
    item_here = at(state.floor.item, players.position)
    is_cleared = state.floor.monsters_killed >= MONSTERS_TO_CLEAR_FLOOR
    table = is_near(around, Block.CRAFTING_TABLE)
    facts = dict(
        table=table,
        furnace=is_near(around, Block.FURNACE),
        enchanter=is_near(around, Block.ENCHANTMENT_TABLE_FIRE, Block.ENCHANTMENT_TABLE_ICE),
        diamond_bench=jnp.where(
            params.crafting_coordination_enabled, is_near(around, Block.EPIC_FORGE), table
        ),
        gem=(bag.ruby >= 1) | (bag.sapphire >= 1),
        way_down=(item_here == Item.LADDER_DOWN) & is_cleared,
        way_up=item_here == Item.LADDER_UP,
        wood=bag.wood >= 1, wood_2=bag.wood >= 2, stone=bag.stone >= 1,
        iron=bag.iron >= 1, iron_3=bag.iron >= 3, coal=bag.coal >= 1, coal_3=bag.coal >= 3,
        diamond_2=bag.diamond >= 2, diamond_3=bag.diamond >= 3,
        sapling=bag.sapling >= 1, torch=bag.torches >= 1,
        sword=bag.sword > 0, bow=bag.bow > 0, arrow=bag.arrows >= 1,
        armour=bag.armour.sum(-1) > 0, spell=players.learned_spell, book=bag.books > 0,
        mana=players.mana >= ENCHANTING_MANA, xp=players.xp >= 1,
    )  # fmt: skip
    for level in range(1, 5):
        facts[f"pickaxe_below_{level}"] = bag.pickaxe < level
        facts[f"sword_below_{level}"] = bag.sword < level
    for colour in range(NUM_POTIONS):
        facts[f"potion_{colour}"] = bag.potions[:, colour] > 0
    for name, role in (("miner", Specialization.MINER), ("warrior", Specialization.WARRIOR)):
        everyone = jnp.ones_like(players.alive)
        facts[name] = everyone if static.soft_specialization else is_role(players, role)
    return facts | _building_facts(state, is_near(around, Block.CONSTRUCTION_SITE))


def _building_facts(state: State, near_site: jax.Array) -> dict[str, jax.Array]:
    """Which buildings each player may begin (anyone of the team can pay) or finish."""
    pending, players = state.handovers, state.players
    agents = players.alive.shape[0]
    distance = jnp.abs(pending.position - players.position[:, None]).max(-1)  # (A, H)
    can_finish = (
        (distance == 1)
        & pending.active
        & (pending.deadline > state.timestep)
        & (pending.initiator != jnp.arange(agents)[:, None])
    )
    facts = {}
    for building in (Building.SHELTER, Building.FORGE, Building.BEACON):
        funded = can_pay(state.inventory, building).any()
        finish = (can_finish & (pending.building == building)).any(-1)
        facts[building.name.lower()] = (near_site & funded) | finish
    return facts


def _give_bits(players: Players, bag: Inventory, first_bit: int) -> jax.Array:
    """Bits (A,) uint32 of the GIVE slots that would hand something over.

    Slot k of giver i is the k-th of the other players.
    """
    agents = players.alive.shape[0]
    held = [players.food, players.drink, *(getattr(bag, name) for name in _REQUESTED)]
    room = [players.food < max_food(players), players.drink < max_drink(players)]
    room += [count < MAX_STACK for count in held[2:]]
    asks = (players.request_duration > 0) & players.alive
    helps = jnp.zeros((agents, agents), bool)  # [giver, receiver]
    for kind, (count, has_room) in enumerate(zip(held, room, strict=True)):
        wanted = asks & (players.request_type == Action.REQUEST_FOOD + kind) & has_room
        helps |= (count > 0)[:, None] & wanted
    giver, receiver = np.indices((agents, agents))
    slot = receiver - (receiver > giver)
    bit = np.where(giver == receiver, 0, np.uint32(1) << (slot + first_bit).astype(np.uint32))
    return jnp.where(helps, bit.astype(np.uint32), np.uint32(0)).sum(-1, dtype=jnp.uint32)


def _pack(facts: list[jax.Array]) -> jax.Array:
    word = facts[0].astype(jnp.uint32)
    for bit, fact in enumerate(facts[1:], start=1):
        word |= fact.astype(jnp.uint32) << np.uint32(bit)
    return word
