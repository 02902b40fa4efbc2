"""The recordings in `tests/golden` reach all of the game, so replaying them proves all rules."""

from collections import defaultdict
from pathlib import Path

import pytest
from recording_coverage import coverage, full_sets

from alem_env.core.enums import Block
from alem_env.recording import Transitions, load

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.npz"))
MAX_MEGABYTES = 12


@pytest.fixture(scope="module")
def recordings():
    return [loaded for loaded in map(load, GOLDEN) if isinstance(loaded, Transitions)]


@pytest.fixture(scope="module")
def reached(recordings):
    seen = defaultdict(set)
    for loaded in recordings:
        if loaded.static.num_agents == 3 and loaded.static.num_comm_channels == 4:
            for name, values in coverage(loaded).items():
                seen[name] |= values
    return seen


@pytest.mark.parametrize("what", list(full_sets()))
def test_everything_is_reached(reached, what):
    missing = full_sets()[what] - reached[what]
    assert not missing, f"no recording reaches {what} {sorted(missing)}"


def test_blocks_left_out_exist_nowhere(reached):
    """INVALID and OUT_OF_BOUNDS are answers about cells beyond the map, never on it."""
    assert not reached["block"] & {Block.INVALID, Block.OUT_OF_BOUNDS}


def test_kinds_versions_and_team_sizes_are_there(recordings):
    assert {r.kind for r in recordings} == {"play", "fuzz", "ripen", "rim", "overflow"}
    assert {r.static.rules_version for r in recordings} == {"0.2.1", "0.1.0"}
    assert {r.static.num_agents for r in recordings} >= {1, 2, 3, 4, 8}


def test_switches_are_there_both_ways(recordings):
    for switch in (
        "soft_specialization", "coordination_enabled", "randomize_alpha", "scale_base_difficulty",
    ):  # fmt: skip
        assert {getattr(r.static, switch) for r in recordings} == {True, False}, switch
    for switch in ("shared_reward", "friendly_fire", "god_mode"):
        assert {bool(getattr(r.params, switch)) for r in recordings} == {True, False}, switch


def test_plants_ripen_while_the_team_is_away(recordings):
    """The overworld changes although the team is on another floor."""
    ripened = 0
    for loaded in recordings:
        if loaded.kind != "ripen":
            continue
        level = int(loaded.init["player_level"])
        for t in range(loaded.num_steps):
            level = _new(loaded.edits.at(t), "player_level", level)
            index, value = loaded.changes.at(t).get("map", ((), ()))
            level = _new(loaded.changes.at(t), "player_level", level)
            ripe = [v for i, v in zip(index, value, strict=True) if i < 48 * 48 and level > 0]
            ripened += ripe.count(Block.RIPE_PLANT)
    assert ripened > 10


def _new(changes, name, value):
    return int(changes[name][1][0]) if name in changes else value


@pytest.mark.parametrize(
    "name", ["timestep", "mob_projectiles.position", "melee_mobs.attack_cooldown"]
)
def test_sixteen_bits_are_left(recordings, name):
    beyond = 0
    for loaded in recordings:
        _, _, value = loaded.changes.rows.get(name, ((), (), (0,)))
        beyond += sum(abs(int(v)) > 2**15 for v in value)
    assert beyond > 10


def test_recordings_are_small():
    assert sum(path.stat().st_size for path in GOLDEN) < MAX_MEGABYTES * 1e6
