"""Replaying recordings of the public benchmark on this world, and finding the first difference."""

import dataclasses
import functools
from collections.abc import Callable, Mapping

import jax
import numpy as np

from alem_env import recording as rec
from alem_env.core import rng
from alem_env.core.params import StaticParams
from alem_env.env import Environment
from alem_env.observe import dense
from alem_env.observe.compact import observe
from alem_env.reference import from_reference, to_reference

TOLERANCE = 1e-5  # of floats, relative above 1: XLA versions differ in the last bit
INIT = -1  # step of the state that world generation makes


@dataclasses.dataclass(frozen=True)
class Difference:
    """The first thing that is not as recorded."""

    step: int  # INIT, or the step's number from 0
    field: str
    index: tuple[int, ...]
    expected: object
    found: object
    count: int = 1  # entries of the field that differ

    def __str__(self) -> str:
        where = "world generation" if self.step == INIT else f"step {self.step}"
        index = f"[{', '.join(map(str, self.index))}]" if self.index else ""
        more = f" ({self.count} entries differ)" if self.count > 1 else ""
        return f"{where}: {self.field}{index} expected {self.expected}, found {self.found}{more}"


@dataclasses.dataclass(frozen=True)
class Outcome:
    steps: int  # compared, whole
    difference: Difference | None  # None: as recorded, to the last step


class World:
    """The environment of some static parameters; equal ones share their compiled programs."""

    def __init__(self, static: StaticParams):
        self.env = Environment(static)

    def step(self, key, state, actions, params):
        """Observation, state, rewards and whether the episode is over."""
        obs, state, reward, terminated, truncated, _ = self.env.step(key, state, actions, params)
        return obs, state, reward, np.asarray(terminated) | np.asarray(truncated)

    def observe(self, state, params):
        return _observe(state, params, self.env.static)

    def expand(self, observation):
        return _expand(observation, self.env.static)


@functools.partial(jax.jit, static_argnums=2)
def _observe(state, params, static):
    return observe(state, params, static)


@functools.partial(jax.jit, static_argnums=1)
def _expand(observation, static):
    return dense.expand(observation, static)


def verify(
    recording: rec.Transitions | rec.Facts,
    single_step: bool = False,
    progress: Callable[[int], None] = lambda step: None,
) -> Outcome:
    """Replay a recording to its end or the first difference.

    The replay starts from our own world and runs free: only recorded edits are applied to it.

    Args:
        recording: what `recording.load` returned.
        single_step: start every step from the recorded state instead, which tells a wrong rule
            from the consequences of an earlier difference. Facts cannot be replayed so.
        progress: called with the number of each step that was compared.
    """
    if isinstance(recording, rec.Facts):
        return _verify_facts(recording, progress)
    return _verify_transitions(recording, single_step, progress)


def _verify_transitions(recording, single_step, progress) -> Outcome:
    static, params = recording.static, recording.params
    world = World(static)
    observation, state = world.env.reset(rng.words(rng.key(recording.seed)), params)
    expected, found = recording.init, to_reference(state, static)
    difference = compare(INIT, expected, found)
    layout = _layout_difference(expected, found)
    layout = layout or _missing_score(recording, jax.eval_shape(world.env.score, state))
    if layout or (difference and not single_step):
        return Outcome(0, layout or difference)
    for t in range(recording.num_steps):
        edits = recording.edits.at(t)
        before = rec.patch(expected, edits)
        if single_step:
            state = from_reference(before, static)
        elif edits:
            state = from_reference(rec.patch(to_reference(state, static), edits), static)
        if single_step or edits:
            observation = world.observe(state, params)
        found = {"mask": np.asarray(observation.legal)}
        observation, state, reward, done = world.step(
            recording.keys[t], state, recording.actions[t], params
        )
        found |= to_reference(state, static)
        found |= {"rewards": np.asarray(reward), "done": np.asarray(done)}
        expected = rec.patch(before, recording.changes.at(t))
        wanted = {
            "mask": recording.masks[t], **expected,
            "rewards": recording.rewards[t], "done": recording.done[t],
        }  # fmt: skip
        if t % rec.OBSERVED_EVERY == rec.OBSERVED_EVERY - 1:
            wanted["obs"] = _recorded_observation(recording, t)
            found["obs"] = np.asarray(world.expand(observation))
        difference = difference or compare(t, wanted, found)
        if difference:
            return Outcome(t, difference)
        progress(t + 1)
    difference = compare(recording.num_steps - 1, *_scores(recording, world.env.score(state)))
    return Outcome(recording.num_steps, difference)


def _layout_difference(
    recorded: Mapping[str, np.ndarray], ours: Mapping[str, np.ndarray]
) -> Difference | None:
    """Where the recorded state lacks an array or has one made otherwise: it cannot be taken up."""
    for name, have in ours.items():
        if name not in recorded:
            return Difference(INIT, name, (), "nothing: the recording lacks it", "a value")
        wanted = recorded[name]
        if (wanted.shape, wanted.dtype.kind) != (have.shape, have.dtype.kind):
            made = [f"{array.dtype} of shape {array.shape}" for array in (wanted, have)]
            return Difference(INIT, name, (), *made)
    return None


def _missing_score(recording: rec.Transitions, ours: Mapping[str, object]) -> Difference | None:
    """The first part of the score that the recording lacks: nothing would be said of it else."""
    for name in ours:
        if name not in recording.score:
            return Difference(
                INIT, f"score/{name}", (), "nothing: the recording lacks it", "a value"
            )
    return None


def _recorded_observation(recording: rec.Transitions, t: int) -> np.ndarray:
    empty = {"obs": np.zeros(recording.observation_shape, np.float32)}
    return rec.patch(empty, recording.observations.at(t))["obs"]


def _scores(recording, ours) -> tuple[dict, dict]:
    """Recorded and own final score. The benchmark repeats team numbers for every agent."""
    wanted = {f"score/{name}": value for name, value in recording.score.items()}
    found = {
        f"score/{name}": np.broadcast_to(np.asarray(ours[name]), value.shape)
        for name, value in recording.score.items()
        if name in ours
    }
    return wanted, found


def _verify_facts(facts: rec.Facts, progress) -> Outcome:
    world = World(facts.static)
    key, reset_key = rng.split_pair(rng.words(rng.key(facts.seed)))
    observation, state = world.env.reset(reset_key, facts.params)
    reward, done = np.full(facts.static.num_agents, np.nan, np.float32), False
    for t in range(facts.num_steps):
        difference = _compare_facts(facts, t, observation, state, reward, done)
        if difference:
            return Outcome(t, difference)
        key, step_key = rng.split_pair(key)
        observation, state, reward, done = world.step(
            step_key, state, facts.actions[t], facts.params
        )
        progress(t + 1)
    difference = compare(
        facts.num_steps - 1, {"done": np.asarray(facts.final_done)}, {"done": np.asarray(done)}
    )
    return Outcome(facts.num_steps, difference)


def _compare_facts(facts, t, observation, state, reward, done) -> Difference | None:
    """Facts of the state before step t. Unknown entries (-1, NaN) are taken as they are here."""
    players = jax.tree.map(np.asarray, state.players)
    vitals = np.stack([getattr(players, name) for name in facts.vital_names], -1)
    found = {
        "position": players.position,
        "vitals": np.floor(vitals).astype(np.int32),
        "achievements": np.asarray(state.achievements).sum(-1),
        "legal": np.asarray(observation.legal).astype(np.int8),
        "reward": np.asarray(reward),
        "done": np.asarray(done),
    }
    wanted = {name: getattr(facts, name)[t] for name in found if name != "done"}
    wanted = {name: np.where(_unknown(value), found[name], value) for name, value in wanted.items()}
    wanted["done"] = np.asarray(False)
    # published with three decimals
    close = np.abs(wanted["reward"] - found["reward"]) <= 5.1e-4
    wanted["reward"] = np.where(close, found["reward"], wanted["reward"])
    return compare(t, wanted, found)


def _unknown(value: np.ndarray) -> np.ndarray:
    return np.isnan(value) if np.issubdtype(value.dtype, np.floating) else value == -1


def compare(
    step: int, expected: Mapping[str, np.ndarray], found: Mapping[str, np.ndarray]
) -> Difference | None:
    """The first of the `expected` arrays that `found` does not equal, or None."""
    for name, wanted in expected.items():
        if name not in found:
            return Difference(step, name, (), "a value", "nothing: the field is unknown here")
        have = np.asarray(found[name])
        if have.shape != wanted.shape:
            return Difference(step, name, (), f"shape {wanted.shape}", f"shape {have.shape}")
        if np.issubdtype(wanted.dtype, np.floating):
            wrong = ~np.isclose(have, wanted, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
        else:
            wrong = have != wanted
        if wrong.any():
            index = tuple(int(i) for i in np.argwhere(wrong)[0])
            return Difference(
                step, name, index, wanted[index].item(), have[index].item(), int(wrong.sum())
            )
    return None
