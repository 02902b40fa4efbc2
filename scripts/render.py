"""Draw an episode of random legal play: a picture of the first state (.png) or a film (.gif).

    python scripts/render.py difficulty=hard steps=100 seed=0 out=world.gif

Options: policy=random; difficulty; seed; steps; agent=K shows what agent K sees, otherwise the
surroundings of the team; window=ROWS,COLUMNS; whole=1 the whole floor.
"""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
from PIL import Image

import alem_env
from alem_env.observe.pixels import render

DEFAULTS = dict(
    policy="random", difficulty="hard", seed="0", steps="100", out="world.gif", agent="",
    window="21,27", whole="0",
)  # fmt: skip
FRAME_MS = 120


def main(arguments: list[str]) -> None:
    options = read_options(arguments)
    env = alem_env.make()
    params = alem_env.difficulty(options["difficulty"])
    whole = options["whole"] != "0"
    view = dict(
        agent=int(options["agent"]) if options["agent"] else None,
        window=None if whole else tuple(int(n) for n in options["window"].split(",")),
    )
    out = Path(options["out"])
    steps = int(options["steps"]) if out.suffix == ".gif" else 0
    frames = [Image.fromarray(render(s, **view)) for s in play(env, params, options, steps)]
    out.parent.mkdir(parents=True, exist_ok=True)
    film = dict(save_all=True, append_images=frames[1:], duration=FRAME_MS, loop=0)
    frames[0].save(out, **(film if out.suffix == ".gif" else {}))
    print(f"{out}: {len(frames)} pictures of {frames[0].width} x {frames[0].height}")


def read_options(arguments: list[str]) -> dict[str, str]:
    """key=value arguments over the defaults."""
    options = dict(DEFAULTS)
    for argument in arguments:
        name, _, value = argument.partition("=")
        if name not in options:
            sys.exit(f"unknown option {argument!r}; known are {', '.join(options)}\n{__doc__}")
        options[name] = value
    if options["policy"] != "random":
        sys.exit(f"policy={options['policy']!r}: only random play can be drawn")
    if Path(options["out"]).suffix not in (".png", ".gif"):
        sys.exit(f"out={options['out']!r} must end in .png or .gif")
    return options


def play(env, params, options: dict[str, str], steps: int):
    """The states of an episode, the first one included."""
    key = jax.random.key(int(options["seed"]))
    obs, state = env.reset(key, params)
    yield state
    for _ in range(steps):
        key, act_key, step_key = jax.random.split(key, 3)
        actions = jax.random.categorical(act_key, jnp.where(obs.legal, 0.0, -1e9))
        obs, state, _, terminated, truncated, _ = env.step(step_key, state, actions, params)
        yield state
        if terminated or truncated:
            return


if __name__ == "__main__":
    main(sys.argv[1:])
