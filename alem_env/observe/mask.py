"""Which actions are legal: facts about a player as bits, and the facts each action needs.

A legal action may still do nothing (a move into a wall). An illegal one does nothing, with two
exceptions that are the benchmark's: in god mode nobody needs a ladder to change floor, and who
looks off the map enchants at a table on the opposite rim.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from alem_env.core.enums import Action, Block, Building, Item, Specialization
from alem_env.core.params import MAX_AGENTS, EnvParams, StaticParams
from alem_env.core.recipes import (
    ANYONE,
    FORGE,
    MATERIALS,
    MINER,
    RECIPES,
    TABLE,
    TABLE_AND_FURNACE,
    THINGS,
    WARRIOR,
    Recipe,
    Thing,
)
from alem_env.core.state import State
from alem_env.core.tables import (
    BUILDING_COST,
    ENCHANTING_MANA,
    MONSTERS_TO_CLEAR_FLOOR,
    NUM_ARMOUR_SLOTS,
    NUM_POTIONS,
)
from alem_env.core.values import check_bits
from alem_env.observe.numbers import NUMBERS, numbers
from alem_env.rules.common import PRICED_GOODS, at, goods_wanted, is_role, neighbour_blocks

_BUILDINGS = (Building.SHELTER, Building.FORGE, Building.BEACON)
_TOOLS = ("pickaxe", "sword")
_BITS = 32  # facts a word

_PLACE_FACTS = {
    TABLE: ("table",), TABLE_AND_FURNACE: ("table", "furnace"), FORGE: ("diamond_bench",),
}  # fmt: skip
_ROLE_FACTS = {ANYONE: (), MINER: ("miner",), WARRIOR: ("warrior",)}


def _amounts(spends: Recipe | Thing) -> dict[str, tuple[str, int]]:
    """Fact -> (good, how many of it) that something made or placed takes."""
    if isinstance(spends, Thing):
        goods = {spends.good: spends.number}
    else:
        goods = {good: getattr(spends, good) for good in MATERIALS}
    return {f"{good}_from_{n}": (good, n) for good, n in goods.items() if n}


def _making(recipe: Recipe) -> tuple[str, ...]:
    better = (f"{tool}_below_{getattr(recipe, tool)}" for tool in _TOOLS if getattr(recipe, tool))
    return (*_ROLE_FACTS[recipe.role], *_amounts(recipe), *_PLACE_FACTS[recipe.place], *better)


def _placing(thing: Thing) -> tuple[str, ...]:
    return (*_ROLE_FACTS[thing.role], *_amounts(thing))


_AMOUNTS = {f: held for spends in (*RECIPES, *THINGS) for f, held in _amounts(spends).items()}
# What a player may need to know of itself; the position is the fact's bit.
_FACTS = (
    "miner", "warrior", "table", "furnace", "enchanter", "diamond_bench", "gem",
    "way_down", "way_up",
    *_AMOUNTS,
    *(f"{tool}_below_{level}" for tool in _TOOLS for level in range(1, 5)),
    "sword", "bow", "arrow", "armour", "spell", "book", "mana", "xp",
    *(f"potion_{k}" for k in range(NUM_POTIONS)),
    "shelter", "forge", "beacon",
)  # fmt: skip
# and gifts, above them; the highest bit is nobody's
check_bits("the number of facts and gifts", len(_FACTS) + MAX_AGENTS - 1, 6)


# Actions that are not named here, messages and GIVE apart, are legal for whoever can act.
_NEEDS: dict[Action, tuple[str, ...]] = {
    Action.DESCEND: ("way_down",),
    Action.ASCEND: ("way_up",),
    **{thing.action: _placing(thing) for thing in THINGS},
    **{recipe.action: _making(recipe) for recipe in RECIPES},
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

# Facts that hold where any of these (column of NUMBERS, at least) does, or where none does.
_HOLDS: dict[str, tuple[tuple[str, int], ...]] = {
    "gem": (("ruby", 1), ("sapphire", 1)),
    **{fact: (held,) for fact, held in _AMOUNTS.items()},
    "sword": (("sword", 1),), "bow": (("bow", 1),), "arrow": (("arrows", 1),),
    "spell": (("learned_spell", 1),),
    "armour": tuple((f"armour_{k}", 1) for k in range(NUM_ARMOUR_SLOTS)),
    "book": (("books", 1),), "mana": (("mana", ENCHANTING_MANA),), "xp": (("xp", 1),),
    **{f"potion_{k}": ((f"potion_{k}", 1),) for k in range(NUM_POTIONS)},
}  # fmt: skip
_LACKS = {f"{tool}_below_{level}": ((tool, level),) for tool in _TOOLS for level in range(1, 5)}
# blocks that make a place, as bits of _NEAR
_PLACES = {
    "table": (Block.CRAFTING_TABLE,), "furnace": (Block.FURNACE,), "forge": (Block.EPIC_FORGE,),
    "enchanter": (Block.ENCHANTMENT_TABLE_FIRE, Block.ENCHANTMENT_TABLE_ICE),
    "site": (Block.CONSTRUCTION_SITE,),
}  # fmt: skip
_NEAR = np.zeros(len(Block), np.uint8)
for _bit, _blocks in enumerate(_PLACES.values()):
    _NEAR[list(_blocks)] = 1 << _bit


def action_mask(state: State, params: EnvParams, static: StaticParams) -> jax.Array:
    """Legal actions (A, num_actions) bool, True = allowed. Who cannot act may only wait."""
    players = state.players
    words = _numbers_words(numbers(state)) | _words(_facts(state, params, static))
    first_give = len(_FACTS) - _BITS
    low, high = words[:, 0], words[:, 1] | _give_bits(state, first_give)

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


def _bits_of(fact: str) -> np.ndarray:
    """The fact's bit in two words (2,) uint32."""
    word, bit = divmod(_FACTS.index(fact), _BITS)
    return (np.arange(2) == word).astype(np.uint32) << np.uint32(bit)


def _numbers_words(numbers: jax.Array) -> jax.Array:
    """Words (A, 2) of the facts in _HOLDS and _LACKS, of `numbers` (A, 45)."""
    rows = [(f, c, n, False) for f, needs in _HOLDS.items() for c, n in needs]
    rows += [(f, c, n, True) for f, needs in _LACKS.items() for c, n in needs]
    facts, columns, least, lacks = zip(*rows, strict=True)
    held = numbers[:, np.array([NUMBERS.index(column) for column in columns])]
    holds = (held >= np.array(least)) != np.array(lacks)
    bits = np.stack([_bits_of(fact) for fact in facts])
    return _union(jnp.where(holds[:, :, None], bits, np.uint32(0)))


def _words(facts: dict[str, jax.Array]) -> jax.Array:
    """Words (A, 2) of facts (A,) bool."""
    bits = np.stack([_bits_of(fact) for fact in facts])
    holds = jnp.stack(list(facts.values()), axis=1)
    return _union(jnp.where(holds[:, :, None], bits, np.uint32(0)))


def _union(words: jax.Array) -> jax.Array:
    """Words (A, n, ...) or-ed over n."""
    return lax.reduce(words, np.zeros((), words.dtype), lax.bitwise_or, (1,))


def _facts(state: State, params: EnvParams, static: StaticParams) -> dict[str, jax.Array]:
    """Every other fact of `_FACTS` as (A,) bool."""
    players = state.players
    around = neighbour_blocks(state.floor, players.position)
    near = _union(jnp.asarray(_NEAR)[around])
    is_near = {place: near & (1 << bit) > 0 for bit, place in enumerate(_PLACES)}
    item_here = at(state.floor.item, players.position)
    is_cleared = state.floor.monsters_killed >= MONSTERS_TO_CLEAR_FLOOR
    facts = dict(
        table=is_near["table"],
        furnace=is_near["furnace"],
        enchanter=is_near["enchanter"],
        diamond_bench=jnp.where(
            params.crafting_coordination_enabled, is_near["forge"], is_near["table"]
        ),
        way_down=(item_here == Item.LADDER_DOWN) & is_cleared,
        way_up=item_here == Item.LADDER_UP,
    )
    for name, role in (("miner", Specialization.MINER), ("warrior", Specialization.WARRIOR)):
        everyone = jnp.ones_like(players.alive)
        facts[name] = everyone if static.soft_specialization else is_role(players, role)
    buildings = _may_build(state, is_near["site"])
    return facts | {b.name.lower(): buildings[:, k] for k, b in enumerate(_BUILDINGS)}


def _may_build(state: State, near_site: jax.Array) -> jax.Array:
    """Which of _BUILDINGS each player may begin (anyone of the team can pay) or finish, (A, 3)."""
    pending, players, bag = state.handovers, state.players, state.inventory
    agents = players.alive.shape[0]
    distance = jnp.abs(pending.position - players.position[:, None]).max(-1)  # (A, H)
    can_finish = (
        (distance == 1)
        & pending.active
        & (pending.deadline > state.timestep)
        & (pending.initiator != np.arange(agents)[:, None])
    )
    buildings = np.array(_BUILDINGS)
    finish = (can_finish[:, :, None] & (pending.building[:, None] == buildings)).any(1)
    held = jnp.stack([getattr(bag, good) for good in PRICED_GOODS], axis=-1)  # (A, 4)
    funded = (held[:, None] >= BUILDING_COST[buildings]).all(-1).any(0)  # (3,)
    return (near_site[:, None] & funded) | finish


def _give_bits(state: State, first_bit: int) -> jax.Array:
    """Bits (A,) uint32 of the GIVE slots that would hand something over.

    Slot k of giver i is the k-th of the other players.
    """
    held, wanted = goods_wanted(state)
    agents = held.shape[0]
    giver, receiver = np.indices((agents, agents))
    slot = receiver - (receiver > giver)
    bit = np.where(giver == receiver, 0, np.uint32(1) << (slot + first_bit).astype(np.uint32))
    helps = (held > 0)[:, None] & wanted  # (giver, receiver, good); one good a receiver
    bits = jnp.where(helps, bit.astype(np.uint32)[:, :, None], np.uint32(0))
    return bits.sum((1, 2), dtype=jnp.uint32)
