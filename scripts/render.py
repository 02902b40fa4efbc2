"""Draws an episode: a picture of its first state, or a film. See --help."""

import io
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from hydra_command import start

FRAME_MS = 120


def run(values: Mapping) -> int:
    """Does what the options say; messages for the user, an exit code for the shell."""
    # Imported here, so that --help, wrong option names and Ctrl-C are answered at once.
    from marl.host.device import DeviceError, require_device
    from marl.host.exits import BAD_OPTION, FILES_FAILED, guarded
    from marl.host.files import absolute, require_place
    from marl.host.stopping import StopRequest
    from marl.options import ConfigError
    from marl.play_config import make_render_config
    from marl.policy_card import PolicyError

    def work() -> int:
        config = make_render_config(values)
        out = absolute(config.out, "out")
        require_place(out, "out")
        require_device()
        with StopRequest():
            draw(config, out)
        return 0

    return guarded(
        work,
        {
            ConfigError: BAD_OPTION, DeviceError: BAD_OPTION, PolicyError: BAD_OPTION,
            OSError: FILES_FAILED,
        },
        memory_advice="the film does not fit into memory; lower max_steps",
    )  # fmt: skip


def draw(config, out: Path) -> None:
    """Plays an episode and writes its pictures."""
    from PIL import Image

    from alem_env.observe.pixels import render

    env, params, act = players_of(config)
    is_film = config.out.endswith(".gif")
    window = None if config.whole else (config.rows, config.columns)
    steps = config.max_steps if is_film else 0
    frames = [
        Image.fromarray(render(state, agent=config.agent, window=window))
        for state in shown(play(env, params, act, config.seed, steps), steps)
    ]
    film = dict(save_all=True, append_images=frames[1:], duration=FRAME_MS, loop=0)
    picture = io.BytesIO()
    frames[0].save(picture, "gif" if is_film else "png", **(film if is_film else {}))
    save(out, picture.getvalue())
    count = f"{len(frames)} picture{'s' * (len(frames) > 1)}"
    print(f"{config.out}: {count} of {frames[0].width} x {frames[0].height}")


def shown(states: Iterator, steps: int) -> Iterator:
    """The same states; how far they are is told on the way."""
    from command_line import Status, time_left

    status = Status()
    status.show("compiling the world, up to some minutes ...")
    try:
        for number, state in enumerate(states):
            if number <= 1:  # the first step compiles, too
                started = time.monotonic()
            elif status.is_due:
                left = (steps - number) * (time.monotonic() - started) / (number - 1)
                status.show(f"step {number} of {steps}, {time_left(left)}")
            yield state
    finally:
        status.clear()


def save(out: Path, content: bytes) -> None:
    """Writes the file whole or not at all, and says which folder it makes for it."""
    from command_line import note

    from marl.host.files import write_atomic

    if not out.parent.exists():
        note(f"making the folder {out.parent}")
        out.parent.mkdir(parents=True)
    write_atomic(out, content)


def players_of(config):
    """(environment, its parameters, act: (observation, memory, key) -> (actions, memory))."""
    import jax
    import jax.numpy as jnp

    from marl import compile_cache, export
    from marl.env_config import ALEM
    from marl.environments.alem import make_environment
    from marl.evaluation.command import DEFAULT_WORLD, RANDOM, world_for
    from marl.options import in_range
    from marl.policy_card import PolicyError

    policy = None if config.policy == RANDOM else export.load_policy(config.policy)
    if policy is None:
        world = config.env.applied_to(DEFAULT_WORLD)
    else:
        world = world_for(policy, config.policy, config.env)
        if world.name != ALEM:
            raise PolicyError(
                f"policy={config.policy} plays {world.name}, and only ALEM can be drawn; "
                "give a policy for ALEM"
            )
    in_range("agent", config.agent, 0, world.num_agents - 1)
    compile_cache.enable()

    def random(observation, memory, key):
        logits = jnp.where(observation.legal, 0.0, -1e9)
        return jax.random.categorical(key, logits), memory

    act = policy.act if policy else random
    return make_environment(world), world.params(), act


def play(env, params, act, seed: int, steps: int) -> Iterator:
    """The states of an episode with drawn actions, the first one included."""
    import jax

    from marl.evaluation.tracks import GENERATOR

    key = jax.random.key(seed, impl=GENERATOR)
    observation, state = env.reset(key, params)
    memory = None
    yield state
    for _ in range(steps):
        key, act_key, step_key = jax.random.split(key, 3)
        actions, memory = act(observation, memory, act_key)
        observation, state, _, terminated, truncated, _ = env.step(step_key, state, actions, params)
        yield state
        if terminated or truncated:
            return


if __name__ == "__main__":
    start(run, "render")
