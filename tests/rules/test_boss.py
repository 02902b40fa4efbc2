"""The boss's clock and its defeat."""

from worlds import edit, plain_state, run_rule

from alem_env.core.enums import Achievement
from alem_env.core.params import StaticParams
from alem_env.rules import boss

STATIC = StaticParams(num_agents=3)
advance = run_rule(boss.advance_boss)


def test_waves_run_down_only_on_the_lowest_floor():
    state = edit(plain_state(STATIC), boss_spawn_steps=7)
    assert int(advance(state).boss_spawn_steps) == 7
    assert int(advance(edit(state, floor_index=8)).boss_spawn_steps) == 6


def test_victory_is_everyones():
    state = edit(plain_state(STATIC), boss_progress=7, players__alive=[True, False, True])
    assert not advance(state).achievements.any()
    after = advance(edit(state, boss_progress=8))
    assert after.achievements[:, Achievement.DEFEAT_NECROMANCER].all()
    assert int(after.achievements.sum()) == 3
