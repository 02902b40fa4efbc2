"""Scores are those of the benchmark, and what they are said to be."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from hypothesis.extra.numpy import arrays
from recorded import read

from alem_env.core.enums import Achievement
from alem_env.core.tables import ACHIEVEMENT_WEIGHT
from alem_env.score import KINDS, score, team_score

BOARD = arrays(bool, (3, len(Achievement)), elements=some.booleans())
SCORE = jax.jit(team_score)


@pytest.mark.parametrize("name", ["fuzz_medium_0", "fuzz_1player_530"])
def test_every_recorded_metric_is_equal(name):
    episode = read(name)
    metrics = jax.jit(score, static_argnums=1)(episode.final, episode.static)
    assert set(metrics) == set(episode.score)
    for key, expected in episode.score.items():
        found = np.broadcast_to(metrics[key], expected.shape)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6, err_msg=key)


@settings(deadline=None, max_examples=40)
@given(BOARD)
def test_total_is_the_published_mix_of_base_and_coord(board):
    result = SCORE(board)
    mix = (217 * result["base"] + 159 * result["coord"]) / 376
    np.testing.assert_allclose(result["total"], mix, atol=1e-6)


@settings(deadline=None, max_examples=40)
@given(BOARD)
def test_a_team_has_what_any_agent_has(board):
    union = np.broadcast_to(board.any(0), board.shape)
    for name, value in SCORE(board).items():
        np.testing.assert_array_equal(value, SCORE(union)[name], err_msg=name)
        assert value >= SCORE(np.concatenate([board[:2], board[:1]]))[name]


def test_weights_and_kinds():
    everything = team_score(np.ones((2, 3, len(Achievement)), bool))
    assert all((value == 1).all() and value.shape == (2,) for value in everything.values())
    assert ACHIEVEMENT_WEIGHT.sum() == 376
    assert sum(mask.sum() for mask in KINDS.values()) == 27
    only = np.zeros((1, len(Achievement)), bool)
    only[0, Achievement.COORD_BUILD_FORGE] = True
    team = team_score(np.concatenate([only, only]))
    np.testing.assert_allclose(
        [team["coord"], team["coord_construction"], team["count_coord"], team["base"]],
        [8 / 159, 8 / 21, 1 / 27, 0],
        rtol=1e-6,
    )


def test_coordination_does_not_count_for_a_single_agent():
    board = np.arange(len(Achievement))[None] < 66
    alone = team_score(board)
    assert alone["total"] == alone["base"] == 1


def test_another_table_of_achievements_is_refused():
    with pytest.raises(ValueError, match="92"):
        team_score(np.zeros((3, 92), bool))
