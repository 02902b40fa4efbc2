"""Presets and their arithmetic, and refused values."""

import dataclasses
import math

import jax
import numpy as np
import pytest

from alem_env.core.params import (
    EnvParams,
    StaticParams,
    difficulty,
    make_params,
    params_from_alpha,
)
from alem_env.core.params_check import check_params


@pytest.mark.parametrize(
    "level, p_max, window, efficiency",
    [
        ("easy", 0.3, (9, 17), 0.7),
        ("medium", 0.6, (5, 10), 0.4),
        ("hard", 0.9, (3, 6), 0.1),
        ("Hard", 0.9, (3, 6), 0.1),
        (0.33, 0.33, (9, 17), 0.67),
        ("0.0", 0.0, (12, 24), 1.0),
        (1, 1.0, (3, 6), 0.0),
    ],
)
def test_presets(level, p_max, window, efficiency):
    params = difficulty(level)
    assert params.p_max_agents == np.float32(p_max)
    assert params.soft_solo_fail_prob == np.float32(p_max)
    assert (params.handover_window_min, params.handover_window_max) == window
    assert params.non_specialist_efficiency == np.float32(efficiency)
    assert params.coordination_probability == np.float32(0.25)
    assert params.starting_resource_multiplier == 1.0


def test_windows_are_computed_in_double_precision():
    """At these alphas float32 arithmetic rounds up to another whole number of steps."""
    differing = []
    for part in range(49):
        alpha = part / 48
        single = math.ceil(np.float32(24) * (np.float32(1) - np.float32(alpha)))
        double = math.ceil(24 * (1 - alpha))
        if max(6, single) != max(6, double):
            differing.append(alpha)
            assert difficulty(alpha).handover_window_max == max(6, double)
    assert differing


def test_scaled_base_difficulty():
    params = difficulty("hard", scale_base=True)
    assert params.mob_health_multiplier == np.float32(1.3)
    assert params.starting_resource_multiplier == np.float32(0.7)


def test_preset_none_has_no_coordination():
    params = difficulty("none")
    for name in ("coordination_probability", "elite_mob_probability", "p_max_agents"):
        assert getattr(params, name) == 0.0
    assert params.num_construction_sites == params.num_mining_construction_sites == 0
    assert not params.crafting_coordination_enabled
    assert (params.handover_window_min, params.handover_window_max) == (10, 20)


def test_all_presets_share_dtypes():
    dtypes = {bool: np.bool_, int: np.int32, float: np.float32}
    for level in ("easy", "hard", "none", 0.5):
        params = difficulty(level, max_timesteps=10)
        for field in dataclasses.fields(EnvParams):
            value = getattr(params, field.name)
            assert np.asarray(value).dtype == dtypes[type(field.default)], field.name


@pytest.mark.parametrize("level", ["brutal", 1.2, -0.1, "nan", "", None])
def test_unknown_difficulties_are_refused(level):
    with pytest.raises(ValueError, match="choose none, easy, medium, hard"):
        difficulty(level)


@pytest.mark.parametrize(
    "values, message",
    [
        (dict(coordination_chance=0.1), "unknown environment parameter coordination_chance"),
        (dict(handover_ratio=1.5), "handover_ratio=1.5"),
        (dict(handover_window_min=9, handover_window_max=4), "handover_window_min=9"),
        (dict(handover_window_max=100), "handover_window_max=100"),
        (dict(handover_window_min=9.5), "handover_window_min=9.5"),
        (dict(alpha_min=0.9, alpha_max=0.1), "alpha_min=0.9"),
        (dict(max_timesteps=0), "max_timesteps=0"),
        (dict(num_construction_sites=-1), "num_construction_sites=-1"),
        (dict(max_attribute=0), "max_attribute=0"),
        (dict(mob_health_multiplier=-0.5), "mob_health_multiplier=-0.5"),
        (dict(mob_health_multiplier=float("nan")), "mob_health_multiplier=nan"),
        (dict(starting_resource_multiplier=float("inf")), "starting_resource_multiplier=inf"),
        (dict(mob_health_multiplier=1e300), "mob_health_multiplier=1e\\+300"),
        (dict(handover_ratio="0.5"), r"handover_ratio='0.5' must lie in \[0, 1\]"),
        (dict(handover_ratio=None), "handover_ratio=None"),
        (dict(handover_ratio=[[1], [1, 2]]), "handover_ratio=\\[\\[1\\]"),
        (dict(handover_ratio=True), "handover_ratio=True"),
        (dict(max_timesteps=1.5), "max_timesteps=1.5 must be a whole number from 1 to 2147483647"),
        (dict(max_timesteps=float("nan")), "max_timesteps=nan"),
        (dict(max_timesteps=2**40), f"max_timesteps={2**40}"),
        (dict(max_timesteps=True), "max_timesteps=True"),
        (dict(mob_despawn_distance=2.7), "mob_despawn_distance=2.7"),
        (dict(god_mode="no"), "god_mode='no' must be True or False"),
        (dict(god_mode=1), "god_mode=1"),
        (dict(friendly_fire=None), "friendly_fire=None"),
    ],
)
def test_values_out_of_range_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        make_params(**values)


@pytest.mark.parametrize(
    "values, message",
    [
        (dict(num_agents=0), "num_agents=0"),
        (dict(num_agents=9), "num_agents=9"),
        (dict(num_agents=True), "num_agents=True"),
        (dict(num_agents=2.0), "num_agents=2.0"),
        (dict(num_comm_channels=33), "num_comm_channels=33"),
        (dict(rules_version="0.3"), "rules_version='0.3'"),
        (dict(melee_mobs_per_agent=0), "melee_mobs_per_agent=0"),
        (dict(max_construction_sites=2.0), "max_construction_sites=2.0"),
        (dict(num_agents=np.bool_(True)), "num_agents="),
        (dict(num_agents=np.int64(9)), "num_agents=.*from 1 to 8"),
        (dict(coordination_enabled="no"), "coordination_enabled='no' must be True or False"),
        (dict(randomize_alpha=0), "randomize_alpha=0"),
    ],
)
def test_shapes_out_of_range_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        StaticParams(**values)


def test_numbers_of_numpy_are_numbers():
    static = StaticParams(num_agents=np.int64(2), coordination_enabled=np.bool_(False))
    assert static == StaticParams(num_agents=2, coordination_enabled=False)
    assert type(static.num_agents) is int
    params = difficulty(np.float32(0.5), max_timesteps=np.uint8(7), god_mode=np.bool_(True))
    assert params.max_timesteps == 7 and params.god_mode
    with pytest.raises(ValueError, match="scale_base='no'"):
        difficulty("hard", scale_base="no")


WHOLE, NONE = StaticParams(), StaticParams(coordination_enabled=False, construction_enabled=False)


@pytest.mark.parametrize(
    "static, params, named",
    [
        (WHOLE, None, "params=None is no EnvParams"),
        (WHOLE, "hard", "params='hard' is no EnvParams"),
        (WHOLE, difficulty("none"), r"make it with alem_env.make\(preset='none'\)"),
        (WHOLE, difficulty("hard", num_construction_sites=13), "num_construction_sites=13"),
        (WHOLE, EnvParams(num_mining_construction_sites=13), "num_mining_construction_sites=13"),
    ],
)
def test_parameters_that_cannot_be_meant_for_an_environment(static, params, named):
    with pytest.raises(ValueError, match=named):
        check_params(params, static)


@pytest.mark.parametrize(
    "static, params",
    [
        (WHOLE, difficulty("hard", num_construction_sites=12)),
        (WHOLE, difficulty("hard", coordination_probability=0.0, num_construction_sites=0)),
        (NONE, difficulty("none", num_construction_sites=13)),
        (NONE, difficulty("hard")),
        (StaticParams(construction_enabled=False), difficulty("hard")),
        (StaticParams(coordination_enabled=False), difficulty("hard")),
    ],
)
def test_mixtures_of_switches_and_parameters_are_the_users_own(static, params):
    check_params(params, static)


def test_numbers_of_any_kind_get_the_dtypes_of_difficulty():
    """Else the world would compile anew for them."""
    given = difficulty("hard").replace(
        p_max_agents=1, max_timesteps=np.int64(50), god_mode=True, handover_ratio=np.array(0.5)
    )
    checked = check_params(given, WHOLE)
    assert [np.asarray(v).dtype for v in vars(checked).values()] == [
        np.asarray(v).dtype for v in vars(difficulty("easy")).values()
    ]
    assert (checked.p_max_agents, checked.max_timesteps, checked.god_mode) == (1.0, 50, True)


def test_fields_of_many_worlds_are_checked_too():
    each = jax.tree.map(lambda x: np.stack([x, x]), difficulty(0.5))
    checked = check_params(each.replace(p_max_agents=np.array([0.5, 1.0])), WHOLE, num_worlds=2)
    assert checked.p_max_agents.dtype == np.float32
    with pytest.raises(ValueError, match=r"p_max_agents=np.float64\(nan\)"):
        check_params(each.replace(p_max_agents=np.array([0.5, np.nan])), WHOLE, num_worlds=2)


@pytest.mark.parametrize(
    "wrong",
    [
        dict(p_max_agents=float("nan")), dict(p_max_agents=np.float32("nan")),
        dict(p_max_agents=None), dict(p_max_agents=True), dict(p_max_agents=7.0),
        dict(p_max_agents=np.zeros(2)), dict(p_max_agents=jax.numpy.zeros((1,))),
        dict(max_timesteps=2.5), dict(max_timesteps=2**40), dict(god_mode=1),
        dict(mob_health_multiplier="2"), dict(mob_health_multiplier=1e300),
    ],
)  # fmt: skip
def test_fields_that_replace_spoilt_are_named(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        check_params(difficulty("hard").replace(**wrong), WHOLE)


def test_traced_parameters_pass():
    def traced(params):
        check_params(params, WHOLE)
        return params.num_construction_sites

    jax.eval_shape(traced, difficulty("hard", num_construction_sites=13))


@pytest.mark.parametrize("agents, channels, actions", [(3, 4, 60), (1, 0, 55), (2, 0, 55)])
def test_number_of_actions(agents, channels, actions):
    assert StaticParams(num_agents=agents, num_comm_channels=channels).num_actions == actions


def test_drawn_alpha_gives_the_same_formulas():
    traced = params_from_alpha(np.float32(0.33), scale_base=True)
    params = difficulty(0.33, scale_base=True)
    for name, value in traced.items():
        assert float(value) == pytest.approx(float(getattr(params, name)), abs=1e-4), name
