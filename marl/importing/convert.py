"""Arrays of the benchmark's trainers -> a network of ours with the same function. Pure."""

import dataclasses
import functools
from collections.abc import Mapping

import jax
import numpy as np

from alem_env import StaticParams, dense
from marl.export import describe_parameters
from marl.importing.layouts import LAYOUTS, Layout
from marl.networks import recipes
from marl.tasks import task_for_static
from marl.types import PyTree

MAX_AGENTS, MAX_CHANNELS = 8, 32
_SHOWN = 4  # names in a message


class ImportFailed(ValueError):
    """A checkpoint cannot be made a policy; the message says what is wrong with it."""


@dataclasses.dataclass(frozen=True)
class Converted:
    """A network as policy bundles hold it.

    Attributes:
        params: nested dictionaries of numpy arrays.
        recipe: of the network, for `marl.networks.recipes.follow`.
        num_agents, num_comm_channels: of the world that it was made for.
    """

    params: PyTree
    recipe: dict
    num_agents: int
    num_comm_channels: int


def convert(
    leaves: Mapping[str, np.ndarray], learner: str, activation: str | None, epsilon: float
) -> Converted:
    """The network of a checkpoint. All sizes are those of the arrays.

    Args:
        leaves: arrays by name, groups joined by a slash, as `stored.read` gives them.
        learner: as this program calls it, a key of `LAYOUTS`.
        activation: "tanh" or "relu"; None: that of the trainer's own configuration.
        epsilon: of a Q-network that draws its actions: how often it takes any legal one.

    Raises:
        ImportFailed: the arrays are not that learner's, or fit no world, or are not finite.
    """
    layout = LAYOUTS[learner]
    _require_names(leaves, learner)
    _require_finite({name: leaves[name] for name in layout.leaves})
    _require_unused(leaves, layout)
    flat = {ours: _join(leaves, theirs) for ours, theirs in layout.names.items()}
    num_agents, num_channels = _world_of(flat, layout)
    recipe = {"kind": layout.kind, **layout.fixed, **_sizes_of(flat, layout)}
    if layout.activation is not None:
        recipe["activation"] = activation or layout.activation
    if layout.has_identity:
        recipe["epsilon"] = epsilon
    params = _nested(flat)
    recipe = _checked(params, recipe, layout, num_agents, num_channels)
    return Converted(params, recipe, num_agents, num_channels)


def _below(leaves: Mapping[str, np.ndarray], layout: Layout) -> set[str]:
    """Names of the leaves that belong to the network."""
    return {name for name in leaves if name.startswith(layout.roots)}


def _require_names(leaves: Mapping[str, np.ndarray], learner: str) -> None:
    layout = LAYOUTS[learner]
    found = _below(leaves, layout)
    missing, extra = layout.leaves - found, found - layout.leaves
    is_stacked = not missing and _is_stacked(leaves, layout)
    if not missing and not extra and is_stacked == layout.is_stacked:
        return
    problems = [
        f"{what} {_listed(names)}"
        for what, names in (("lacks", missing), ("has besides", extra))
        if names
    ] or ["has " + ("one network for each agent" if is_stacked else "one network for all agents")]
    alike = [name for name in LAYOUTS if name != learner and _is_of(leaves, LAYOUTS[name])]
    hint = f"; it looks like learner={alike[0]}" if alike else ""
    raise ImportFailed(
        f"it is no checkpoint of learner={learner}: it {' and '.join(problems)}{hint}"
    )


def _is_of(leaves: Mapping[str, np.ndarray], layout: Layout) -> bool:
    has_names = _below(leaves, layout) == layout.leaves
    return has_names and _is_stacked(leaves, layout) == layout.is_stacked


def _is_stacked(leaves: Mapping[str, np.ndarray], layout: Layout) -> bool:
    return leaves[layout.names[layout.first_layer][0]].ndim == 3


def _listed(names: set[str]) -> str:
    shown = sorted(names)
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return ", ".join(shown[:_SHOWN]) + more


def _require_finite(leaves: Mapping[str, np.ndarray]) -> None:
    for name, array in sorted(leaves.items()):
        if not np.isfinite(array).all():
            raise ImportFailed(f"{name} holds numbers that are not finite; it cannot act")


def _require_unused(leaves: Mapping[str, np.ndarray], layout: Layout) -> None:
    for name, start in layout.unused.items():
        if not np.all(leaves[name] == start):
            raise ImportFailed(
                f"{name} was trained, so that observations were normalised (NORM_INPUT); networks "
                "here have no such layer, and would act otherwise"
            )


def _join(leaves: Mapping[str, np.ndarray], names: tuple[str, ...]) -> np.ndarray:
    try:
        return np.concatenate([leaves[name] for name in names], axis=-1)
    except ValueError as error:
        raise ImportFailed(f"{', '.join(names)} do not fit together ({error})") from error


def _sizes_of(flat: Mapping[str, np.ndarray], layout: Layout) -> dict[str, int]:
    return {option: _size(flat, layout, *place) for option, place in layout.sizes.items()}


def _size(flat: Mapping[str, np.ndarray], layout: Layout, name: str, axis: int) -> int:
    shape = flat[name].shape
    if len(shape) < -axis:
        raise ImportFailed(f"{', '.join(layout.names[name])}: has {len(shape)} axes, too few")
    return shape[axis]


@functools.cache
def _worlds() -> dict[tuple[int, int], tuple[int, int]]:
    """(length of an observation, actions) -> (agents, channels): no two worlds have the same."""
    worlds = {}
    for agents in range(1, MAX_AGENTS + 1):
        for channels in range(MAX_CHANNELS + 1):
            static = StaticParams(num_agents=agents, num_comm_channels=channels)
            worlds[dense.obs_dim(static), static.num_actions] = agents, channels
    return worlds


def _world_of(flat: Mapping[str, np.ndarray], layout: Layout) -> tuple[int, int]:
    """(agents, channels) of the world whose observations and actions these are."""
    seen, actions = (
        _size(flat, layout, layout.first_layer, -2),
        _size(flat, layout, layout.last_bias, -1),
    )
    for (length, choices), world in _worlds().items():
        identity = world[0] if layout.has_identity else 0
        if (length + identity, choices) == (seen, actions):
            return world
    raise ImportFailed(
        f"its first layer takes {seen:,} numbers and its last has {actions} actions, and no world "
        f"of up to {MAX_AGENTS} agents with up to {MAX_CHANNELS} channels has both (3 agents with "
        "4 channels observe 9,730 numbers and have 60 actions)"
    )


def _nested(flat: Mapping[str, np.ndarray]) -> PyTree:
    tree: dict = {}
    for name, array in flat.items():
        *groups, last = name.split("/")
        node = tree
        for group in groups:
            node = node.setdefault(group, {})
        node[last] = array
    return tree


def _checked(params: PyTree, recipe: dict, layout: Layout, agents: int, channels: int) -> dict:
    """The whole recipe, if a network made by it has parameters of these shapes."""
    task = task_for_static({"num_agents": agents, "num_comm_channels": channels})
    try:
        policy = recipes.follow(recipe, task)
    except ValueError as error:
        raise ImportFailed(f"such a network cannot be made here: {error}") from error
    needed = describe_parameters(jax.eval_shape(policy.init_params, jax.random.key(0)))
    found = describe_parameters(params)
    for name, want in needed.items():
        if found[name] != want:
            raise ImportFailed(
                f"{', '.join(layout.names[name])}: {_said(found[name])} as {name}, and with the "
                f"other arrays goes {_said(want)}"
            )
    return dict(policy.recipe)


def _said(description: list) -> str:
    shape, dtype = description
    return f"{dtype} of {' x '.join(map(str, shape))}"
