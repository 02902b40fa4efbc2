"""The order of a step's phases, and which numbers each gets. Rules have tests of their own."""

import importlib

import jax
import numpy as np
import pytest

from alem_env import step as step_module
from alem_env.core.params import StaticParams, make_params
from alem_env.rules import chance

# (module, rule, what it gets of the random numbers: all of them, or a key)
PHASES = (
    ("outcome", "begin", None),
    ("floors", "change_floor", None),
    ("crafting", "craft", "all"),
    ("interact", "interact", "all"),
    ("placing", "place", "all"),
    ("construction", "construct", None),
    ("projectiles", "shoot", None),
    ("magic", "heal", None),
    ("magic", "drink_potion", None),
    ("magic", "read_book", None),
    ("magic", "enchant", "all"),
    ("boss", "advance_boss", None),
    ("attributes", "level_up", None),
    ("trading", "give", None),
    ("trading", "request", None),
    ("comms", "communicate", None),
    ("movement", "move_players", None),
    ("mobs", "move_mobs", "mobs_key"),
    ("spawning", "spawn_mobs", "all"),
    ("plants", "grow", None),
    ("survival", "live", None),
    ("achievements", "clip", None),
    ("achievements", "award_inventory", None),
    ("outcome", "reward", None),
    ("outcome", "settle_deaths", None),
    ("outcome", "advance_clock", "last_key"),
)
KEY = np.array([0, 9999], np.uint32)


class FakePlayers:
    def __init__(self, health):
        self.health = health


class FakeState:
    """Counts the rules it went through; its health is that count."""

    def __init__(self, age=0):
        self.age = age
        self.players = FakePlayers(age)


@pytest.fixture
def calls(monkeypatch):
    """Replaces every phase by one that notes its call and hands on an older state."""
    seen = []

    def stand_in(name):
        def rule(*args):
            seen.append((name, args))
            states = [a for a in args if isinstance(a, FakeState)]
            older = FakeState(states[-1].age + 1)
            actions = [a for a in args if isinstance(a, str)]
            if name == "outcome.begin":
                return older, f"effective {actions[0]}"
            return "reward" if name == "outcome.reward" else older

        return rule

    for module, rule, _ in PHASES:
        owner = importlib.import_module(f"alem_env.rules.{module}")
        monkeypatch.setattr(owner, rule, stand_in(f"{module}.{rule}"))
    return seen


def test_phases_run_in_the_benchmarks_order_on_one_state(calls):
    final, reward = step_module.step(KEY, FakeState(), "chosen", make_params(), StaticParams())
    assert [name for name, _ in calls] == [f"{module}.{rule}" for module, rule, _ in PHASES]
    assert reward == "reward"
    assert final.age == len(PHASES) - 1  # the reward changes nothing
    ages = [[a.age for a in args if isinstance(a, FakeState)] for _, args in calls]
    assert all(seen[-1] == number for number, seen in enumerate(ages[:-3]))
    assert ages[-3] == [0, len(PHASES) - 3]  # reward: first and last


def test_every_phase_gets_its_random_numbers(calls):
    step_module.step(KEY, FakeState(), "chosen", make_params(), StaticParams())
    luck = chance.draw(KEY, StaticParams())
    for (_, _, gets), (name, args) in zip(PHASES, calls, strict=True):
        numbers = [a for a in args if isinstance(a, jax.Array | chance.Chance)]
        want = [] if gets is None else [luck if gets == "all" else getattr(luck, gets)]
        assert len(numbers) == len(want), name
        same = jax.tree.map(lambda a, b: (a == b).all(), numbers, want)
        assert all(jax.tree.leaves(same)), name


def test_rules_see_the_actions_that_count_and_deaths_the_health_of_three_moments(calls):
    step_module.step(KEY, FakeState(), "chosen", make_params(), StaticParams())
    for name, args in calls[1:]:
        assert "chosen" not in [a for a in args if isinstance(a, str)], name
    log = dict(calls)["outcome.settle_deaths"][1]
    names = [f"{module}.{rule}" for module, rule, _ in PHASES]
    assert log.at_start == 0
    assert log.after_interaction == names.index("interact.interact") + 1
    assert log.after_mobs == names.index("spawning.spawn_mobs") + 1
