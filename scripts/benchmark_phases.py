"""What each phase of a step costs: every one compiled by itself. See `benchmark.py phases`.

Worlds play random legal actions, and everything small is kept of each moment: players, mobs,
projectiles, counters. A phase then runs through these moments in one program. Maps are too large to
keep; they start as they were at the first moment and go on as the phase leaves them. In a whole
step the compiler joins neighbours, so that its cost, which is shown too, is not that of all phases.
"""

import dataclasses
import statistics
import time
from collections.abc import Callable

import jax
import jax.numpy as jnp
from benchmark_world import CHANNELS, DIFFICULTY, act, nbytes, touch
from command_line import note

import alem_env
from alem_env.core import rng
from alem_env.core.batch import over_worlds
from alem_env.core.state import State
from alem_env.observe import compact, mask
from alem_env.rules import (
    achievements,
    attributes,
    boss,
    chance,
    comms,
    construction,
    crafting,
    floors,
    interact,
    magic,
    mobs,
    movement,
    outcome,
    placing,
    plants,
    projectiles,
    spawning,
    survival,
    trading,
)

MAP_BYTES = 1024  # leaves of a world that have more are maps
RECORD_BYTES = 2**28  # what may be kept of all moments


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Moment:
    """What phases are given, of one world."""

    key: jax.Array
    luck: chance.Chance
    state: State
    actions: jax.Array
    before: State  # a step earlier, as far as it is small
    health: outcome.HealthLog


# Phases of `alem_env.step`, in its order and by the names it calls them by.
PHASES: dict[str, Callable] = {
    "chance.draw": lambda m, p, s: chance.draw(m.key, s),
    "outcome.begin": lambda m, p, s: outcome.begin(m.state, m.actions),
    "floors.change_floor": lambda m, p, s: floors.change_floor(m.state, m.actions, p),
    "crafting.craft": lambda m, p, s: crafting.craft(m.luck, m.state, m.actions, p, s),
    "interact.interact": lambda m, p, s: interact.interact(m.luck, m.state, m.actions, p, s),
    "placing.place": lambda m, p, s: placing.place(m.luck, m.state, m.actions, p, s),
    "construction.construct": lambda m, p, s: construction.construct(m.state, m.actions, s),
    "projectiles.shoot": lambda m, p, s: projectiles.shoot(m.state, m.actions),
    "magic.heal": lambda m, p, s: magic.heal(m.state, m.actions),
    "magic.drink_potion": lambda m, p, s: magic.drink_potion(m.state, m.actions),
    "magic.read_book": lambda m, p, s: magic.read_book(m.state, m.actions),
    "magic.enchant": lambda m, p, s: magic.enchant(m.luck, m.state, m.actions, p, s),
    "boss.advance_boss": lambda m, p, s: boss.advance_boss(m.state),
    "attributes.level_up": lambda m, p, s: attributes.level_up(m.state, m.actions, p),
    "trading.give": lambda m, p, s: trading.give(m.state, m.actions),
    "trading.request": lambda m, p, s: trading.request(m.state, m.actions),
    "comms.communicate": lambda m, p, s: comms.communicate(m.state, m.actions, s),
    "movement.move_players": lambda m, p, s: movement.move_players(m.state, m.actions, p),
    "mobs.move_mobs": lambda m, p, s: mobs.move_mobs(m.luck.mobs_key, m.state, p),
    "spawning.spawn_mobs": lambda m, p, s: spawning.spawn_mobs(m.luck, m.state, p, s),
    "plants.grow": lambda m, p, s: plants.grow(m.state),
    "survival.live": lambda m, p, s: survival.live(m.state, m.actions),
    "achievements.clip": lambda m, p, s: achievements.clip(m.state, p),
    "achievements.award_inventory": lambda m, p, s: achievements.award_inventory(m.state),
    "outcome.reward": lambda m, p, s: outcome.reward(m.before, m.state, p),
    "outcome.settle_deaths": lambda m, p, s: outcome.settle_deaths(m.state, m.health),
    "outcome.advance_clock": lambda m, p, s: outcome.advance_clock(m.state, m.luck.last_key, p),
}
# What follows a step; the observation holds the legal actions.
AFTER: dict[str, Callable] = {
    "mask.action_mask": lambda m, p, s: mask.action_mask(m.state, p, s),
    "compact.observe": lambda m, p, s: compact.observe(m.state, p, s),
}


def time_phases(num_envs: int, steps: int, repeats: int) -> dict:
    """Microseconds a world-step of each phase, the dearest first, and seconds to compile each.

    Args:
        num_envs: worlds in the batch.
        steps: moments to go through in a measurement; fewer where they would not fit into memory.
        repeats: measurements; the median counts.
    """
    env = alem_env.make(num_agents=3, num_comm_channels=CHANNELS)
    params = alem_env.difficulty(DIFFICULTY)
    played = Played(env, params, num_envs, steps)
    programs, compile_s = {}, {}
    table = PHASES | AFTER
    for number, (name, phase) in enumerate(table.items(), 1):
        note(f"{num_envs} worlds: compiling {name} ({number} of {len(table)}) ...")
        started = time.perf_counter()
        programs[name] = played.program(phase)
        compile_s[name] = time.perf_counter() - started
        seconds(programs[name], *played.arguments)  # warm up
    note(f"{num_envs} worlds: measuring {repeats} times ...")
    whole, cost = [], {name: [] for name in programs}
    for _ in range(repeats):
        whole.append(seconds(played.play, played.carry))
        for name, run in programs.items():
            cost[name].append(seconds(run, *played.arguments))

    def microseconds(taken: list[float]) -> float:
        return statistics.median(taken) / (played.moments * num_envs) * 1e6

    phases = {name: microseconds(taken) for name, taken in cost.items()}
    order = sorted(phases, key=phases.get, reverse=True)
    return {
        "num_envs": num_envs,
        "moments": played.moments,
        "step_us": microseconds(whole),  # with observation and choosing actions, as in `env`
        "sum_of_phases_us": sum(phases[name] for name in (*PHASES, "compact.observe")),
        "phases_us": {name: phases[name] for name in order},
        "phases_compile_s": {name: compile_s[name] for name in order},
    }


class Played:
    """Moments of worlds that play random legal actions, and programs that go through them."""

    def __init__(self, env: alem_env.Environment, params, num_envs: int, steps: int):
        self.env, self.params, self.num_envs = env, params, num_envs
        note(f"{num_envs} worlds: compiling the whole step, to play ...")
        keys = jax.random.split(jax.random.key(0), num_envs)
        obs, state = env.reset_batch(keys, params)
        is_map = [leaf.nbytes // num_envs > MAP_BYTES for leaf in jax.tree.leaves(state)]
        self.is_map = jax.tree.unflatten(jax.tree.structure(state), is_map)
        moment_bytes = nbytes(self._small(state))
        self.moments = min(steps, max(2, RECORD_BYTES // moment_bytes))
        self.play = alem_env.compiled(self._play)
        self.carry, _ = self.play((state, obs, jax.random.key(1)))  # away from the start
        self.start = self.carry[0]
        _, (small, self.keys, self.actions) = self.play(self.carry)
        self.before = jax.tree.map(lambda leaf: jnp.roll(leaf, 1, 0), small)
        self.small = small
        draw = jax.vmap(over_worlds(lambda key: chance.draw(key, env.static)))
        self.luck = alem_env.compiled(draw)(self.keys)

    @property
    def arguments(self) -> tuple:
        return self.start, (self.keys, self.luck, self.small, self.actions, self.before)

    def program(self, phase: Callable) -> Callable:
        """(state, moments) -> the last state and numbers, so that nothing the phase does can be
        left out: what it changes is the loop's state, what else it gives is summed up."""

        def one_world(moment):
            return phase(moment, self.params, self.env.static)

        def meet(last, kept):
            key, luck, small, actions, before = kept
            health = outcome.HealthLog(*(s.players.health for s in (before, small, before)))
            state = self._join(small, last)
            made = over_worlds(one_world)(Moment(key, luck, state, actions, before, health))
            parts = made if isinstance(made, tuple) else (made,)
            others = [part for part in parts if not isinstance(part, State)]
            after = next((part for part in parts if isinstance(part, State)), state)
            # what the phase does not touch is not copied either
            changed = jax.tree.map(
                lambda new, met, old: old if new is met else new, after, state, last
            )
            return changed, touch(others)

        run = alem_env.compiled(lambda state, kept: jax.lax.scan(meet, state, kept))
        return run.lower(*self.arguments).compile()

    def _play(self, carry):
        def step(carry, _):
            state, obs, key = carry
            actions, key, step_key = act(obs, key)
            keys = rng.words(jax.random.split(step_key, self.num_envs))
            obs, after, *_ = self.env.step_batch(keys, state, actions, self.params)
            return (after, obs, key), (self._small(state), keys, actions)

        return jax.lax.scan(step, carry, None, length=self.moments)

    def _small(self, state: State) -> State:
        return jax.tree.map(lambda leaf, is_map: None if is_map else leaf, state, self.is_map)

    def _join(self, small: State, state: State) -> State:
        """`small`, and the maps of `state`."""
        return jax.tree.map(lambda is_map, a, b: b if is_map else a, self.is_map, small, state)


def seconds(run: Callable, *arguments) -> float:
    started = time.perf_counter()
    jax.block_until_ready(run(*arguments))
    return time.perf_counter() - started
