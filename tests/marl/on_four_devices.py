"""What holds on several devices. `test_runs_devices.py` runs this in a process that has four."""

import dataclasses
import re
import shutil

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_runs_loop import assert_equal_states, changed, config_for, newest
from toys import CARD

import alem_env
from marl import sharding
from marl.host.folder import prepare
from marl.host.stopping import StopRequest
from marl.learners.registry import LEARNERS
from marl.options import ConfigError
from marl.probes import DelayedReward, TimeLimit
from marl.tasks import make_task
from marl.training.assembly import Assembly, End
from marl.training.command import BundleExporter
from marl.training.devices import mesh_for
from marl.training.loop import train
from marl.training.seeds import start

jax.config.update("jax_disable_most_optimizations", True)  # compiles in half the time

NUM_ENVS, NUM_STEPS, NUM_MINIBATCHES = 16, 6, 2
# What several devices must sum up as one does: statistics of a minibatch, of a rollout, of returns.
OPTIONS = {
    "ippo": dict(advantage_norm="batch"),
    "mappo": dict(value_norm=True),
    "pqn_vdn": dict(learn_last_step=False, lr=1e-3),
}


def learner_of(name):
    entry = LEARNERS[name]
    sizes = (5, 7) if name == "pqn_vdn" else (5, 7, 4, 3, "tanh")
    options = entry.options(
        num_envs=NUM_ENVS,
        num_steps=NUM_STEPS,
        num_minibatches=NUM_MINIBATCHES,
        update_epochs=2,
        total_updates=10,
        **OPTIONS.get(name, {}),
    )
    return entry.make(TimeLimit(NUM_ENVS), entry.network(*sizes), options)


def mesh_of(count):
    return sharding.make_mesh(jax.local_devices()[:count])


def compiled_on(learner, count, seeds=1):
    """(step, state) of new runs on that many devices."""
    state = start(learner, [jax.random.key(seed) for seed in range(seeds)])
    state = sharding.place(state, mesh_of(count))
    return learner.compile(state), state


def on_host(tree):
    """Numbers, with typed keys as their words."""
    is_key = lambda leaf: jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)  # noqa: E731
    return jax.device_get(
        jax.tree.map(lambda leaf: jax.random.key_data(leaf) if is_key(leaf) else leaf, tree)
    )


def assert_close(one, other):
    assert jax.tree.structure(one) == jax.tree.structure(other)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5), one, other)


def assert_agrees(name, counts, seeds=1):
    """State and metrics after an update are those of one device, and lie where they did."""
    learner = learner_of(name)
    step, state = compiled_on(learner, 1, seeds)
    before = on_host(state.params)
    alone = on_host(step(state))
    moved = jax.tree.map(lambda a, b: np.abs(a - b).max(), alone[0].params, before)
    assert max(jax.tree.leaves(moved)) > 1e-4
    for count in counts:
        step, state = compiled_on(learner, count, seeds)
        lies = jax.tree.map(lambda leaf: leaf.sharding, state)
        after, metrics = step(state)
        assert jax.tree.map(lambda leaf: leaf.sharding, after) == lies
        assert after.reset.addressable_shards[0].data.shape[-1] == NUM_ENVS // count
        assert_close(on_host((after, metrics)), alone)
        if seeds == 1:
            assert_exchanges_little(step, after.params)


def assert_exchanges_little(step, params):
    """Devices tell one another of episodes, of minibatches and of gradients, and no more."""
    of_rollout, of_learning = (exchanged(program) for program in step.programs.values())
    assert of_rollout and set(of_rollout) == {1}  # numbers of episodes; whether any ended
    steps = (NUM_STEPS + 1) * NUM_ENVS // NUM_MINIBATCHES * TimeLimit.num_agents
    minibatch = steps * 2  # an observation, or what is legal, has two numbers
    parameters = max(leaf.size for leaf in jax.tree.leaves(params))
    assert of_learning and max(of_learning) <= max(minibatch, parameters)


def exchanged(program) -> list[int]:
    """Numbers in each array that devices exchange in a compiled program."""
    kinds = "all-gather|all-reduce|reduce-scatter|all-to-all|collective-permute"
    found = re.findall(rf" = (.*?) (?:{kinds})(?:-start)?\(", program.as_text())
    shapes = [shape for line in found for shape in re.findall(r"\w+\[([\d,]*)\]", line)]
    return [int(np.prod([int(size) for size in shape.split(",") if size])) for shape in shapes]


@pytest.mark.parametrize("name", LEARNERS)
def test_an_update_does_not_depend_on_the_number_of_devices(name):
    assert_agrees(name, counts=(4,))


# Two minutes more of compiling, and the same code.
@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
def test_nor_on_two(name):
    assert_agrees(name, counts=(2,))


@pytest.mark.parametrize(
    "name", [n if n == "ippo" else pytest.param(n, marks=pytest.mark.slow) for n in LEARNERS]
)
def test_nor_does_an_update_of_several_seeds(name):
    assert_agrees(name, counts=(2, 4) if name != "ippo" else (2,), seeds=2)


@pytest.mark.slow  # compiles the world's step twice
def test_worlds_of_several_devices_are_those_of_one():
    env = alem_env.VectorEnv(alem_env.make(), 4)
    task, params = make_task(env), alem_env.difficulty("hard")
    _, states = env.reset(jax.random.key(0), params)
    # one ends in this step, and starts anew
    clock = states.env_state.timestep.at[1].set(params.max_timesteps - 1)
    states = states.replace(env_state=states.env_state.replace(timestep=clock))
    mesh, key = mesh_of(2), jax.random.key(1)
    actions = jnp.ones((4, env.num_agents), jnp.int32)
    expected = on_host(env.step(key, states, actions, params))
    by_worlds = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(sharding.AXIS))
    with sharding.tracing(mesh):
        step = jax.jit(task.step, compiler_options=dict(alem_env.COMPILER_OPTIONS))
        found = on_host(step(key, *jax.device_put((states, actions), by_worlds), params))
    assert expected[4].tolist() == [False, True, False, False]
    assert_equal_states(found, expected)


def config_on(devices, updates=4, stop_after=None, seeds=2):
    config = config_for(updates, stop_after=stop_after, num_minibatches=2, update_epochs=2)
    config = changed(config, run={"devices": devices})
    options = dataclasses.replace(config.learner.options, num_envs=8)
    return dataclasses.replace(
        config,
        num_envs=8,
        num_seeds=seeds,
        total_steps=40 * updates,
        learner=dataclasses.replace(config.learner, options=options),
    )


def parts_of(config):
    make = LEARNERS[config.learner.name].make
    learner = make(DelayedReward(8), config.network, config.learner.options)
    return Assembly(learner, BundleExporter(CARD), None, {})


def go_on(folder, config):
    return train(config, parts_of(config), prepare(folder), StopRequest())


def ends_of(folder):
    parts = parts_of(config_on(1))
    return [newest(folder / f"seed{seed}", parts)[1] for seed in (3, 4)]


def test_runs_resume_bit_for_bit_and_go_on_with_other_devices(tmp_path):
    whole, slices, other = (tmp_path / name for name in ("whole", "slices", "other"))
    outcomes = go_on(whole, config_on(4))
    for outcome in outcomes:
        assert outcome.end is End.FINISHED
        assert all(len(leaf.devices()) == 1 for leaf in jax.tree.leaves(outcome.params))
    go_on(slices, config_on(4, stop_after=3))
    shutil.copytree(slices, other)
    go_on(slices, config_on(4))
    for state, uninterrupted in zip(ends_of(slices), ends_of(whole), strict=True):
        assert_equal_states(state, uninterrupted)
    go_on(other, config_on(1))
    for state, uninterrupted in zip(ends_of(other), ends_of(whole), strict=True):
        assert_close(on_host(state), on_host(uninterrupted))


def test_what_devices_cannot_share_is_refused_by_name():
    def refused(match, devices, num_envs, num_minibatches):
        config = config_on(devices, seeds=1)
        options = dataclasses.replace(
            config.learner.options, num_envs=num_envs, num_minibatches=num_minibatches
        )
        learner = dataclasses.replace(config.learner, options=options)
        with pytest.raises(ConfigError, match=match):
            mesh_for(dataclasses.replace(config, num_envs=num_envs, learner=learner))

    refused(r"run.devices=5, and there are 4 here \(cpu\)", 5, 8, 2)
    refused(r"num_envs=6: worlds .* by 4 devices \(run.devices=null\).*run.devices=3", None, 6, 2)
    refused(r"num_envs=8: worlds .* by 3 devices \(run.devices=3\).*run.devices=2", 3, 8, 2)
    # 8 worlds of 3 agents
    refused(r"learner.num_minibatches=4: the 6 sequences of a minibatch .*=2", None, 8, 4)
    assert mesh_for(config_on(1)) is None
    assert mesh_for(config_on(None)).devices.size == 4
