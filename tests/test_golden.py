"""Recordings of the public benchmark replay here without a difference, free from the first state.

Those of three agents and the standard switches share one compiled program for each version of the
rules. The others need a program each and are marked slow. `tests/golden/README.md` says what each
recording is for.
"""

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

from alem_env import recording, verification

GOLDEN_FOLDER = Path(__file__).parent / "golden"
GOLDEN = sorted(GOLDEN_FOLDER.glob("*.npz"))
OWN_PROGRAM = {
    "fuzz_1player_530", "fuzz_2players_70", "fuzz_4players_80", "fuzz_8players_540",
    "fuzz_hard_gates_40", "fuzz_none_30", "fuzz_none_7104", "fuzz_random_alpha_50",
    "fuzz_scaled_550",
}  # fmt: skip


def _parameters(paths):
    return [
        pytest.param(path, id=path.stem, marks=pytest.mark.slow if path.stem in OWN_PROGRAM else [])
        for path in paths
    ]


@pytest.mark.parametrize("path", _parameters(GOLDEN))
def test_recording_replays_without_a_difference(path):
    loaded = recording.load(path)
    outcome = verification.verify(loaded)
    assert outcome.difference is None, str(outcome.difference)
    assert outcome.steps == loaded.num_steps


def test_all_recordings_are_there():
    """Those that the page beside them lists: one that got lost would be replayed by nobody."""
    rows = re.findall(r"^\| (`.+?) \|", (GOLDEN_FOLDER / "README.md").read_text(), re.MULTILINE)
    listed = {name for row in rows for name in re.findall(r"`(\w[\w-]*)`", row)}
    assert listed == {path.stem for path in GOLDEN} and OWN_PROGRAM <= listed


# --- The yardstick itself ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "expected, found",
    [
        (np.int32([1, 2, 3]), np.int32([1, 2, 4])),
        (np.float32([1, 2, 3]), np.float32([1, 2, 3.0001])),
        (np.bool_([True, False]), np.bool_([True, True])),
    ],
)
def test_a_difference_is_located(expected, found):
    difference = verification.compare(7, {"field": expected}, {"field": found})
    last = len(expected) - 1
    assert (difference.step, difference.field, difference.index) == (7, "field", (last,))
    assert (difference.expected, difference.found) == (expected[last].item(), found[last].item())
    assert str(difference).startswith(f"step 7: field[{last}] expected ")


def test_floats_may_differ_in_the_last_bits():
    expected = np.float32([9.0, 1e-7, np.nan])
    found = np.float32([9.00001, 0.0, np.nan])
    assert verification.compare(0, {"field": expected}, {"field": found}) is None


def test_integers_may_not_differ_at_all():
    expected = {"field": np.int32([1_000_000])}
    assert verification.compare(0, expected, {"field": np.int32([1_000_001])}) is not None


def test_a_missing_field_and_a_wrong_shape_are_differences():
    expected = {"field": np.zeros((2, 3))}
    assert "unknown" in verification.compare(0, expected, {}).found
    assert verification.compare(0, expected, {"field": np.zeros(3)}).found == "shape (3,)"


def test_a_wrong_recording_is_found_out():
    """A replay that could not fail would prove nothing: change one recorded number."""
    loaded = recording.load(next(path for path in GOLDEN if path.stem == "fuzz_medium_0"))
    t, index, value = loaded.changes.rows["player_food"]
    tampered = value.copy()
    tampered[3] += 1
    rows = {**loaded.changes.rows, "player_food": (t, index, tampered)}
    wrong = dataclasses.replace(loaded, changes=recording.Changes(rows))
    outcome = verification.verify(wrong)
    assert outcome.difference.field == "player_food"
    assert outcome.difference.step == t[3]
    assert outcome.difference.index == (index[3],)
    assert outcome.difference.expected == outcome.difference.found + 1
