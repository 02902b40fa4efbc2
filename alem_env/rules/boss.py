"""The boss on the lowest floor: its waves of monsters and its defeat."""

from alem_env.core.enums import Achievement
from alem_env.core.state import State
from alem_env.rules.common import award, has_beaten_boss, is_fighting_boss


def advance_boss(state: State) -> State:
    """Counts the current wave down while the team is there; everyone earns the victory."""
    return state.replace(
        boss_spawn_steps=state.boss_spawn_steps - is_fighting_boss(state),
        achievements=award(
            state.achievements, {Achievement.DEFEAT_NECROMANCER: has_beaten_boss(state)}
        ),
    )
