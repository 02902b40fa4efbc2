"""Blank messages, and the language-model harness: its episodes, and worlds without channels."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_runs_export import GOLDEN, observe_recordings

import alem_env
from alem_env import recording
from alem_env.observe.compact import unpack
from marl.environments.muted import Muted
from marl.evaluation.protocol import Evaluator
from marl.evaluation.tracks import LLM
from marl.networks.exported import ExportedTeam


class _Spoken:
    """An environment of which only what is observed matters."""

    num_agents = 3

    def __init__(self, observation):
        self.observation = observation

    def reset_batch(self, keys, params):
        return self.observation, "state"

    def step_batch(self, keys, state, actions, params):
        return self.observation, state, actions, False, False, {}


def test_muted_teams_hear_nothing_and_see_all_else():
    silent = observe_recordings("play_hard_10000")
    spoken = silent.replace(team=silent.team | (2 << 19))
    assert (unpack(spoken).mate_message == 2).all()
    muted = Muted(_Spoken(spoken))
    seen = [muted.reset_batch(None, None)[0], muted.step_batch(None, "state", 0, None)[0]]
    for observation in seen:
        jax.tree.map(np.testing.assert_array_equal, observation, silent)
    assert muted.num_agents == 3


def _playing(actions):
    """A team that takes recorded actions (T, A), whatever it sees."""
    table = jnp.asarray(actions, jnp.int32)

    def act(params, carry, observation, reset, key, greedy=False):
        return carry + 1, jnp.broadcast_to(table[carry[0, 0]], observation.legal.shape[:-1])

    return ExportedTeam(lambda shape: jnp.zeros(shape, jnp.int32), None, act)


@pytest.mark.slow
@pytest.mark.parametrize("channels", [0, 4])
def test_recorded_episodes_of_language_models_are_those_of_their_track(channels):
    """Also in a world with channels, in which nobody speaks."""
    facts = recording.load(GOLDEN / "llm_gemma-26b.npz")
    assert (facts.static.num_comm_channels, facts.params.non_specialist_efficiency) == (0, 0.2)
    env = alem_env.make(
        num_agents=3, num_comm_channels=channels, rules_version=facts.static.rules_version
    )
    params = alem_env.difficulty("easy").replace(non_specialist_efficiency=0.2)

    def outcome(states):
        return states.achievements, {"health": states.players.health.sum(-1)}

    evaluator = Evaluator(env, params, _playing(facts.actions), outcome, width=1, track=LLM)
    # the facts of row t are of the state before step t; unknown ones are below 0
    last = int(np.flatnonzero((facts.achievements >= 0).all(1))[-1])
    results = evaluator.play(None, [facts.seed], max_steps=last)
    assert results.length[0] == last > 200
    np.testing.assert_array_equal(results.achievements[0].sum(-1), facts.achievements[last])
    # published with three decimals
    paid = facts.reward[1 : last + 1]
    np.testing.assert_allclose(results.team_return[0], paid.sum(), atol=5e-4 * paid.size)
    assert paid.sum() > 3.0
