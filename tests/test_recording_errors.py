"""Files that are no usable recordings get an error that says what is wrong and what to do."""

import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

from alem_env.env import Environment
from alem_env.recording import KINDS, Facts, RecordingError, Transitions, load
from alem_env.reference import from_reference
from alem_env.verification import INIT, verify

GOLDEN = Path(__file__).parent / "golden"
PLAY = GOLDEN / "play_hard_10000.npz"
FACTS = GOLDEN / "llm_qwen35-27b.npz"


@pytest.fixture(scope="module")
def play() -> dict[str, np.ndarray]:
    with np.load(PLAY) as archive:
        return {name: archive[name] for name in archive.files}


@pytest.fixture
def write(tmp_path):
    """Writes arrays as a recording and returns its path."""

    def to_file(arrays: dict[str, np.ndarray], **meta) -> Path:
        if meta:
            values = {**json.loads(str(arrays["meta"])), **meta}
            values = {name: value for name, value in values.items() if value is not ...}
            arrays = {**arrays, "meta": np.array(json.dumps(values))}
        np.savez(tmp_path / "recording.npz", **arrays)
        return tmp_path / "recording.npz"

    return to_file


def without(arrays, *names):
    return {name: value for name, value in arrays.items() if name not in names}


def test_both_formats_load():
    played = load(PLAY)
    assert isinstance(played, Transitions)
    assert played.num_steps == len(played.done) == 131
    facts = load(FACTS)
    assert isinstance(facts, Facts)
    assert facts.static.rules_version == "0.2.1"


def test_parameters_not_recorded_are_those_of_the_benchmark(play, write):
    params = json.loads(str(play["meta"]))["env_params"]
    fewer = {k: v for k, v in params.items() if k not in ("shared_reward", "soft_specialization")}
    fewer |= {"melee_mob_health": 5, "max_agents_required": 3, "fractal_noise_angles": [None] * 4}
    loaded = load(write(play, env_params=fewer))
    assert bool(loaded.params.shared_reward)
    assert not loaded.static.soft_specialization


def test_edits_and_changes_are_found_by_step():
    loaded = load(PLAY)
    index, value = loaded.changes.at(5)["timestep"]
    assert index.tolist() == [0]
    assert value.tolist() == [6]
    assert loaded.edits.at(5) == {}


def test_no_such_file(tmp_path):
    with pytest.raises(RecordingError, match="no such file"):
        load(tmp_path / "nothing.npz")


def test_a_folder(tmp_path):
    with pytest.raises(RecordingError, match="not a file"):
        load(tmp_path)


@pytest.mark.parametrize("content", [b"not a recording", b"\x93NUMPY\x01\x00"])
def test_not_an_archive(tmp_path, content):
    path = tmp_path / "text.npz"
    path.write_bytes(content)
    with pytest.raises(RecordingError, match=r"text\.npz: not an \.npz archive"):
        load(path)


def test_empty_file(tmp_path):
    path = tmp_path / "empty.npz"
    path.touch()
    with pytest.raises(RecordingError, match="empty"):
        load(path)


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_archive_cut_short(tmp_path, share):
    path = tmp_path / "cut.npz"
    content = PLAY.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(RecordingError, match=r"cut\.npz.*cut short.*record it again"):
        load(path)


def test_damaged_archive(tmp_path):
    path = tmp_path / "damaged.npz"
    content = bytearray(PLAY.read_bytes())
    content[500:5000] = bytes(4500)
    path.write_bytes(content)
    with pytest.raises(RecordingError, match="damaged"):
        load(path)


@pytest.mark.parametrize("name", ["meta", "actions", "keys", "mask", "rewards", "done", "init/map"])
def test_missing_array(play, write, name):
    with pytest.raises(RecordingError, match=f"lacks {name}"):
        load(write(without(play, name)))


@pytest.mark.parametrize("names", [["obs/t"], ["obs/t", "obs/i", "obs/v"]])
def test_missing_observations(play, write, names):
    with pytest.raises(RecordingError, match=f"lacks {', '.join(names)}"):
        load(write(without(play, *names)))


def test_no_observation_before_the_tenth_step(play, write):
    named = ("actions", "keys", "mask", "rewards", "done")
    short = {
        name: value for name, value in play.items() if name.split("/")[0] not in ("obs", "step")
    }
    assert load(write({**short, **{name: play[name][:9] for name in named}})).num_steps == 9


@pytest.mark.parametrize("lost", [lambda name: name == "score/Team/mean_xp", lambda _: True])
def test_a_score_that_is_missing_is_a_difference(play, write, monkeypatch, lost):
    """Else a replay would say ok and not tell what it did not compare."""
    whole = load(PLAY)
    start = from_reference(whole.init, whole.static)
    monkeypatch.setattr(Environment, "reset", lambda *_: (None, start))
    names = [name for name in play if name.startswith("score/") and lost(name)]
    outcome = verify(load(write(without(play, *names))))
    assert outcome.difference.field in names and "lacks it" in str(outcome.difference)
    assert outcome.steps == 0


def test_a_name_that_no_file_can_have():
    with pytest.raises(RecordingError, match="name too long.*name a recording"):
        load("x" * 300)


@pytest.mark.parametrize("name", ["actions", "keys", "mask", "rewards", "done"])
def test_lengths_that_do_not_agree(play, write, name):
    with pytest.raises(RecordingError, match="shape.*cut short"):
        load(write({**play, name: play[name][:-3]}))


def test_changes_after_the_last_step(play, write):
    names = ("actions", "keys", "mask", "rewards", "done")
    with pytest.raises(RecordingError, match="only 100 steps are there.*cut short"):
        load(write({**play, **{name: play[name][:100] for name in names}}))


def test_changes_whose_parts_do_not_agree(play, write):
    with pytest.raises(RecordingError, match="timestep has 130 times, 131 indices"):
        load(write({**play, "step/timestep/t": play["step/timestep/t"][:-1]}))


def test_change_of_an_entry_that_does_not_exist(play, write):
    with pytest.raises(RecordingError, match="step/timestep changes entry 1 of 1"):
        load(write({**play, "step/timestep/i": play["step/timestep/i"] + 1}))


def test_change_of_an_unknown_field(play, write):
    changes = {f"step/mood/{key}": play[f"step/timestep/{key}"] for key in "tiv"}
    with pytest.raises(RecordingError, match="step/mood is no field"):
        load(write({**play, **changes}))


@pytest.mark.parametrize("reference", ["alem-env 0.3.0", "alem-env 0.2.0", "", ...])
def test_unknown_version(play, write, reference):
    with pytest.raises(
        RecordingError, match=r"reference=.*record with alem-env 0\.2\.1 or 0\.1\.0"
    ):
        load(write(play, reference=reference))


def test_unknown_kind(play, write):
    with pytest.raises(RecordingError, match="kind='dream' is unknown.*" + ", ".join(KINDS)):
        load(write(play, kind="dream"))


def test_unknown_parameter(play, write):
    with pytest.raises(RecordingError, match=r"unknown environment parameter gravity=9\.8"):
        load(write(play, env_params={"gravity": 9.8}))


def test_parameter_out_of_range(play, write):
    with pytest.raises(RecordingError, match=r"p_max_agents=1\.5 must lie in \[0, 1\]"):
        load(write(play, env_params={"p_max_agents": 1.5}))


def test_noise_angles_are_not_supported(play, write):
    with pytest.raises(RecordingError, match="fractal_noise_angles"):
        load(write(play, env_params={"fractal_noise_angles": [0.1, None, None, None]}))


@pytest.mark.parametrize("players", [0, 9, 2.5, "three"])
def test_impossible_number_of_players(play, write, players):
    with pytest.raises(RecordingError, match="num_agents="):
        load(write(play, players=players))


def test_other_map_size(play, write):
    with pytest.raises(RecordingError, match=r"map_size=\[32, 32\]"):
        load(write(play, map_size=[32, 32]))


def test_actions_out_of_range(play, write):
    with pytest.raises(RecordingError, match="action 60 is outside 0 to 59"):
        load(write({**play, "actions": np.full_like(play["actions"], 60)}))


def test_meta_that_is_not_json(play, write):
    with pytest.raises(RecordingError, match="not JSON"):
        load(write({**play, "meta": np.array("{")}))


def test_meta_without_seed(play, write):
    with pytest.raises(RecordingError, match="meta lacks seed"):
        load(write(play, seed=...))


@pytest.mark.parametrize(
    "meta, named",
    [
        (dict(env_params=5), "env_params=5, and a dict is needed"),
        (dict(env_params=["god_mode"]), r"env_params=\['god_mode'\]"),
        (dict(env_params={"god_mode": "no"}), "god_mode='no' must be True or False"),
        (dict(env_params={"coordination_enabled": "no"}), "coordination_enabled='no'"),
        (dict(env_params={"max_timesteps": 1.5}), "max_timesteps=1.5"),
        (dict(env_params={"handover_ratio": None}), "handover_ratio=None"),
        (dict(env_params={"fractal_noise_angles": 3}), "fractal_noise_angles=3"),
        (dict(seed="x"), "seed='x' must be a whole number"),
        (dict(seed=1.5), "seed=1.5"),
        (dict(seed=2**40), f"seed={2**40}"),
        (dict(seed=None), "seed=None"),
        (dict(players=None), "num_agents=None"),
        (dict(channels="four"), "num_comm_channels='four'"),
        (dict(fields=5), "fields=5, and a list is needed"),
        (dict(fields=[1]), "lacks init/1"),
        (dict(kind=["play"]), "kind="),
        (dict(map_size=48), "map_size=48"),
        (dict(obs_shape=7), "obs_shape=7"),
        (dict(obs_shape=[3, 10**12]), "obs_shape=.*"),
        (dict(reference=" "), "reference=' '"),
        (dict(reference=[0.2]), "reference="),
    ],
)
def test_meta_of_other_types(play, write, meta, named):
    with pytest.raises(RecordingError, match=rf"recording\.npz: .*{named}.*record"):
        load(write(play, **meta))


@pytest.mark.parametrize("meta", ["5", "[]", "null", "[" * 100_000])
def test_meta_that_is_no_object(play, write, meta):
    with pytest.raises(RecordingError, match=r"recording\.npz: meta is not"):
        load(write({**play, "meta": np.array(meta)}))


@pytest.mark.parametrize(
    "name, change, named",
    [
        ("actions", lambda a: a[0, 0], r"actions has shape \(\), no steps"),
        ("actions", lambda a: a[:0], r"actions has shape \(0, 3\), no steps"),
        ("actions", lambda a: a.astype(float), "actions has dtype float64, and integers"),
        ("keys", lambda a: a.astype(float), "keys has dtype float64, and unsigned integers"),
        ("mask", lambda a: a.astype(int), "mask has dtype int64, and booleans"),
        ("rewards", lambda a: a.astype(str), "rewards has dtype .*, and floats"),
        ("done", lambda a: a[:, None], r"done has shape \(131, 1\)"),
        ("init/map", lambda a: a.astype(str), "init/map has dtype"),
        ("init/player_level", lambda a: a + 9, "init/player_level holds 9, outside 0 to 8"),
        ("init/up_ladders", lambda a: a - 48, "init/up_ladders holds -.*, outside 0 to 47"),
        ("score/Team/mean_xp", lambda a: a[:2], r"score/Team/mean_xp has shape \(2,\)"),
        ("score/Team/mean_xp", lambda a: a.astype(str), "score/Team/mean_xp has dtype"),
        ("step/timestep/t", lambda a: a - 1, "step/timestep has time -1"),
        ("step/timestep/i", lambda a: a - 1, "index -1, and none may be below 0"),
        ("step/timestep/i", lambda a: a.astype(float), "step/timestep/i has dtype float64"),
        ("step/timestep/v", lambda a: a.astype(float), "step/timestep/v has dtype float64"),
        ("step/timestep/v", lambda a: a[None], r"step/timestep/v has shape \(1, 131\)"),
        ("step/passive_mobs.position/v", lambda a: a + 48, "passive_mobs.position/v holds"),
        ("obs/i", lambda a: a - 10**6, "obs has time .* index -"),
    ],
)
def test_arrays_of_another_shape_or_kind(play, write, name, change, named):
    with pytest.raises(RecordingError, match=rf"recording\.npz: .*{named}.*record it again"):
        load(write({**play, name: change(play[name])}))


def test_members_that_are_no_arrays(tmp_path):
    shutil.copy(PLAY, tmp_path / "text.npz")
    with zipfile.ZipFile(tmp_path / "text.npz", "a") as archive:
        archive.writestr("notes.npy", "hello")
    with pytest.raises(RecordingError, match=r"text\.npz: notes is no numpy array"):
        load(tmp_path / "text.npz")


@pytest.mark.parametrize("single_step", [False, True])
def test_states_that_cannot_be_taken_up_are_a_difference(play, write, monkeypatch, single_step):
    """Fields that are missing or made otherwise are found before the first step."""
    init = load(PLAY).init

    def reset(*_):
        return None, from_reference(init, load(PLAY).static)

    monkeypatch.setattr(Environment, "reset", reset)  # world generation would have to compile
    short = {**play, "init/player_food": play["init/player_food"][:2]}
    short = without(short, *(f"step/player_food/{key}" for key in "tiv"))
    difference = verify(load(write(short)), single_step).difference
    assert (difference.field, difference.step) == ("player_food", INIT)
    names = [name for name in short if "player_food" not in name]
    lacking = load(write({name: short[name] for name in names}, fields=...))
    difference = verify(lacking, single_step).difference
    assert difference.field == "player_food" and "lacks it" in str(difference)


@pytest.mark.parametrize(
    "meta, named",
    [
        (dict(vitals=9), "vitals=9, and a list is needed"),
        (dict(vitals=["mood"] * 9), "vitals=.*must be of health"),
        (dict(vitals=[["health"]] * 9), "vitals="),
        (dict(vitals=[]), "vitals="),
        (dict(final_done="no"), "final_done='no' must be True or False"),
        (dict(reference="alem-env 0.3"), "reference="),
    ],
)
def test_facts_with_meta_of_other_types(write, meta, named):
    with np.load(FACTS) as archive:
        arrays = {name: archive[name] for name in archive.files}
    with pytest.raises(RecordingError, match=rf"recording\.npz: .*{named}"):
        load(write(arrays, **meta))


def test_facts_cut_short(tmp_path):
    with np.load(FACTS) as archive:
        arrays = {name: archive[name] for name in archive.files}
    arrays["legal"] = arrays["legal"][:-1]
    np.savez(tmp_path / "facts.npz", **arrays)
    with pytest.raises(RecordingError, match="legal has shape"):
        load(tmp_path / "facts.npz")


def test_arrays_of_objects_are_refused(tmp_path):
    shutil.copy(PLAY, tmp_path / "objects.npz")
    np.savez(tmp_path / "objects.npz", meta=np.array([{"a": 1}], dtype=object))
    with pytest.raises(RecordingError, match="damaged"):
        load(tmp_path / "objects.npz")
