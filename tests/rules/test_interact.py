"""The action DO on every kind of cell."""

import jax.numpy as jnp
import numpy as np
import pytest
from worlds import MIDDLE, chance_of, edit, group_of, plain_state, run_rule, with_blocks, with_mob

from alem_env.core.enums import Achievement, Action, Block
from alem_env.core.params import StaticParams, make_params
from alem_env.core.rng import key, words
from alem_env.rules.interact import interact

STATIC = StaticParams(num_agents=3)
PARAMS = make_params(non_specialist_efficiency=0.0, soft_solo_fail_prob=1.0)
KEY = words(key(5))
WARRIOR, FORAGER, MINER = range(3)
FRONT = MIDDLE + 1  # the row in front of the team
DO, NOOP = int(Action.DO), int(Action.NOOP)
_interact = run_rule(lambda k, s, a, p: interact(chance_of("interact", k, STATIC), s, a, p, STATIC))


def act(state, actions=(DO, DO, DO), key=KEY, params=PARAMS):
    return _interact(key, state, jnp.array(actions, jnp.int32), params)


def front(block, plane="block", **edits):
    """All three agents face `block`."""
    cells = {f"r{FRONT}_c{MIDDLE + i}": block for i in range(3)}
    return edit(with_blocks(plain_state(STATIC), plane, **cells), **edits)


def around(block=Block.STONE, requirement=0, soft=False, **edits):
    """All three agents stand around one cell and face it."""
    state = edit(
        plain_state(STATIC),
        players__position=np.array([[MIDDLE - 1, MIDDLE], [MIDDLE + 1, MIDDLE], [MIDDLE, 23]]),
        players__direction=np.array([4, 3, 2]),
        inventory__pickaxe=1,
        **edits,
    )
    cell = f"r{MIDDLE}_c{MIDDLE}"
    state = with_blocks(state, **{cell: block})
    state = with_blocks(state, "requirement", **{cell: requirement})
    return with_blocks(state, "soft", **{cell: soft})


def earned(state):
    return [{Achievement(int(a)).name for a in np.flatnonzero(row)} for row in state.achievements]


def target(state, plane="block"):
    return getattr(state.floor, plane)[MIDDLE, MIDDLE]


def test_other_actions_change_nothing():
    before = around(requirement=1)
    after = act(before, [NOOP, int(Action.SLEEP), int(Action.LEFT)])
    assert target(after) == Block.STONE and not after.inventory.stone.any()
    assert not after.achievements.any()


def test_mining_changes_the_map_and_the_inventory():
    after = act(front(Block.TREE), [DO, NOOP, DO])
    row = after.floor.block[FRONT, MIDDLE : MIDDLE + 3].tolist()
    assert row == [Block.GRASS, Block.TREE, Block.GRASS]
    assert after.inventory.wood.tolist() == [1, 0, 1]


def test_a_hard_cell_refuses_one_agent():
    after = act(around(requirement=2), [DO, NOOP, NOOP])
    assert target(after) == Block.STONE and target(after, "requirement") == 2
    assert not after.inventory.stone.any()
    assert after.counters.sync_attempts == 1 and after.counters.sync_successes == 0


def test_a_hard_cell_rewards_company():
    after = act(around(requirement=2))
    assert target(after) == Block.PATH and target(after, "requirement") == 0
    assert after.inventory.stone.tolist() == [6, 6, 6]
    assert earned(after) == [{"COORD_2_AGENTS_HARD", "COORD_MINE_STONE_HARD"}] * 3
    assert after.counters.mine_sync_hard == 1 and after.counters.mine_sync_soft == 0


def test_a_soft_cell_by_luck():
    state = around(requirement=2, soft=True)
    assert target(act(state, [DO, NOOP, NOOP])) == Block.STONE
    lucky = make_params(soft_solo_fail_prob=0.0, non_specialist_efficiency=0.0)
    after = act(state, [DO, NOOP, NOOP], params=lucky)
    assert target(after) == Block.PATH and not target(after, "soft")
    assert after.inventory.stone.tolist() == [1, 0, 0]
    assert not after.achievements.any()
    assert after.counters.solo_soft_attempts == after.counters.solo_soft_successes == 1


def test_a_handed_over_cell():
    first = act(around(requirement=-5), [DO, NOOP, NOOP])
    assert target(first) == Block.STONE and target(first, "requirement") == -5
    assert int(first.handovers.active.sum()) == 1
    second = act(first, [NOOP, NOOP, DO])
    assert target(second) == Block.PATH and target(second, "requirement") == 0
    assert second.inventory.stone.tolist() == [0, 0, 1]
    assert earned(second) == [set(), set(), {"HANDOVER_COMPLETE", "COORD_MINE_HANDOVER"}]


def test_too_weak_a_pickaxe_still_completes_a_handover():
    state = around(Block.DIAMOND, requirement=-5)
    after = act(act(state, [DO, NOOP, NOOP]), [NOOP, DO, NOOP])
    assert target(after) == Block.DIAMOND and target(after, "requirement") == 0


def test_late_handovers_expire_without_action():
    begun = act(around(requirement=-5), [DO, NOOP, NOOP])
    after = act(edit(begun, timestep=106), [NOOP] * 3)
    assert not after.handovers.active.any()
    assert after.counters.mine_handover_expiries == 1


def test_foragers_drink():
    state = edit(front(Block.WATER), players__drink=5, players__thirst=3.0)
    after = act(state)
    assert after.players.drink.tolist() == [5, 9, 5]
    assert after.players.thirst.tolist() == [3.0, 0.0, 3.0]
    assert earned(after) == [set(), {"COLLECT_DRINK"}, set()]
    assert act(edit(state, players__drink=26)).players.drink[FORAGER] == 27


def test_foragers_find_saplings_now_and_then():
    state = plain_state(STATIC)
    found = [act(state, key=words(key(seed))).inventory.sapling.tolist() for seed in range(40)]
    found = np.array(found)
    assert not found[:, [WARRIOR, MINER]].any()
    assert 1 <= found[:, FORAGER].sum() <= 20


def test_everyone_eats_ripe_plants():
    state = edit(
        front(Block.RIPE_PLANT),
        plants__position=np.array([[FRONT, MIDDLE]] + [[0, 0]] * 29),
        plants__age=600,
        players__food=5,
        players__hunger=2.0,
    )
    after = act(state, [DO, NOOP, NOOP])
    assert after.players.food.tolist() == [9, 5, 5]
    assert after.players.hunger.tolist() == [0.0, 2.0, 2.0]
    assert after.plants.age.tolist() == [0] + [600] * 29
    assert after.floor.block[FRONT, MIDDLE] == Block.PLANT
    assert earned(after) == [{"EAT_PLANT"}, set(), set()]


def test_chests_open_once():
    after = act(front(Block.CHEST), [NOOP, NOOP, DO])
    assert after.floor.chest_opened.tolist() == [False, False, True]
    assert after.floor.block[FRONT, MIDDLE + 2] == Block.PATH
    assert after.floor.block[FRONT, MIDDLE] == Block.CHEST
    assert earned(after) == [set(), set(), {"OPEN_CHEST"}]


def test_books_are_found_in_the_sewers():
    after = act(edit(front(Block.CHEST), floor_index=3), [DO, NOOP, NOOP])
    assert after.inventory.books.tolist() == [1, 0, 0]


def test_construction_sites_are_left_alone():
    after = act(around(Block.CONSTRUCTION_SITE, requirement=-5))
    assert target(after) == Block.CONSTRUCTION_SITE and target(after, "requirement") == -5
    assert not after.handovers.active.any()


def test_the_boss_can_be_hurt_when_its_monsters_are_gone():
    state = edit(front(Block.NECROMANCER), floor_index=8)
    after = act(state)
    assert after.boss_progress == 1 and after.boss_spawn_steps == 7
    assert earned(after) == [{"DAMAGE_NECROMANCER"}] * 3

    guarded = act(with_mob(state, "melee", 0, (5, 5)))
    assert guarded.boss_progress == 0 and not guarded.achievements.any()
    calling = act(edit(state, boss_spawn_steps=1))
    assert calling.boss_progress == 0 and calling.boss_spawn_steps == 1


def test_mobs_in_front_are_struck():
    state = with_mob(plain_state(STATIC), "melee", 0, (FRONT, MIDDLE), health=2.0)
    after = act(state)
    assert not group_of(after.floor, "melee").alive[0]
    assert earned(after)[WARRIOR] == {"DEFEAT_ZOMBIE"}


@pytest.mark.parametrize("direction, cell", [(3, (-1, 0)), (1, (0, -1))])
def test_nothing_is_done_beyond_the_rim(direction, cell):
    # cells at -1 are read from the other side of the map
    state = edit(
        plain_state(STATIC),
        players__position=np.array([[0, 0], [10, 10], [12, 12]]),
        players__direction=np.array([direction, 4, 4]),
    )
    state = with_blocks(state, **{f"r{cell[0] % 48}_c{cell[1] % 48}": Block.TREE})
    after = act(state, [DO, NOOP, NOOP])
    assert not after.inventory.wood.any()
    assert after.floor.block[cell[0], cell[1]] == Block.TREE


def test_without_coordination_requirements_do_not_count():
    static = StaticParams(num_agents=3, coordination_enabled=False, construction_enabled=False)
    rule = run_rule(lambda k, s, a, p: interact(chance_of("interact", k, static), s, a, p, static))
    after = rule(KEY, around(), jnp.array([DO, NOOP, NOOP]), PARAMS)
    assert target(after) == Block.PATH and after.inventory.stone.tolist() == [1, 0, 0]
    assert not after.achievements.any()
