"""Worlds on many devices: which arrays are divided, and what each device does by itself.

A mesh has one axis, `AXIS`, over which worlds are divided; everything else, parameters above all,
is whole on every device. A state is placed once (`place`) and learners are compiled for states
placed like it. Their code says what is computed; the partitioner makes each device compute its part
and adds up what is summed over worlds, so that results do not depend on the number of devices but
for the order of those sums. Where the partitioner would do badly, which is in loops over worlds or
rows, `by_worlds` hands each device its own.

Without a mesh, on one device, nothing here does anything.
"""

import contextlib
import functools
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from marl.types import PyTree, TrainState, is_stacked

AXIS = "world_shards"

# Fields of `TrainState` with a row for each world. All others are whole everywhere.
_DIVIDED = ("env_state", "observation", "reset", "carry")


def make_mesh(devices: Sequence[jax.Device]) -> Mesh | None:
    """Devices that share the worlds; None for one, which needs none. Their number must divide that
    of the worlds, and of the sequences of a minibatch (`marl.training.devices` refuses others)."""
    if len(devices) == 1:
        return None
    return jax.make_mesh((len(devices),), (AXIS,), axis_types=(AxisType.Auto,), devices=devices)


def place(state: TrainState, mesh: Mesh | None) -> TrainState:
    """The state on the devices of a mesh, wherever it was; as it is without one.

    Raises:
        ValueError: the devices cannot share its worlds evenly.
    """
    return state if mesh is None else jax.device_put(state, _layout(state, mesh))


def layout(state: TrainState) -> TrainState | None:
    """How a placed state lies, as `jax.jit` takes it; None for a state on one device."""
    mesh = mesh_of(state)
    return None if mesh is None else _layout(state, mesh)


def mesh_of(state: TrainState) -> Mesh | None:
    """The mesh that a state was placed on, or None."""
    found = getattr(state.update.sharding, "mesh", None)
    return found if found is not None and AXIS in found.axis_names else None


def _layout(state: TrainState, mesh: Mesh) -> TrainState:
    axis = int(is_stacked(state))
    worlds = state.reset.shape[axis]
    divided = NamedSharding(mesh, PartitionSpec(*(None,) * axis, AXIS))
    whole = NamedSharding(mesh, PartitionSpec())

    # An environment may also keep what its worlds have in common: `marl.types.VectorEnv` says by
    # what length the worlds' own arrays are known.
    def lies(leaf):
        return divided if leaf.shape[axis : axis + 1] == (worlds,) else whole

    layout = jax.tree.map(lambda _: whole, state)
    return layout.replace(**{name: jax.tree.map(lies, getattr(state, name)) for name in _DIVIDED})


def copied(tree: PyTree, mesh: Mesh | None) -> PyTree:
    """The tree, whole on every device of a mesh."""
    return tree if mesh is None else jax.device_put(tree, NamedSharding(mesh, PartitionSpec()))


def on_one_device(tree: PyTree) -> PyTree:
    """One device's copy of what is whole on all, so that what is computed of it is computed once.
    It shares their memory."""
    return jax.tree.map(
        lambda leaf: leaf.addressable_data(0) if len(leaf.devices()) > 1 else leaf, tree
    )


def tracing(mesh: Mesh | None) -> contextlib.AbstractContextManager:
    """While a program for a mesh is traced: what follows here knows of it."""
    return contextlib.nullcontext() if mesh is None else jax.set_mesh(mesh)


def num_shards() -> int:
    """Parts that worlds are divided into in the program that is traced; 1 within `by_worlds`."""
    mesh = jax.sharding.get_abstract_mesh()
    return 1 if AXIS in mesh.manual_axes else mesh.shape.get(AXIS, 1)


def take(tree: PyTree, chosen: jax.Array, axis: int) -> PyTree:
    """The rows `chosen` (n,) of all leaves along an axis that is divided; divided likewise.

    Each device finds those that it has, and they are added up: what moves between devices is the
    rows chosen, not all that could be.
    """
    taken = jax.tree.map(lambda leaf: jnp.take(leaf, chosen, axis=axis), tree)
    if num_shards() == 1:
        return taken
    divided = PartitionSpec(*(None,) * axis, AXIS)

    def lay(leaf):
        # Whole first, or every leaf's look-up would begin with an exchange of indices.
        whole = lax.with_sharding_constraint(leaf, PartitionSpec())
        return lax.with_sharding_constraint(whole, divided)

    return jax.tree.map(lay, taken)


def by_worlds(
    function: Callable, in_axes: Sequence[int | None], out_axes: Sequence[int] | int
) -> Callable:
    """`function`, computed by each device for its own worlds.

    Args:
        function: of arrays, that treats rows along the axes below alike and apart.
        in_axes: for each argument the axis of its leaves that is divided; None: whole everywhere.
        out_axes: likewise for the results.

    Raises:
        ValueError: (of what is returned) the devices cannot share an axis evenly.
    """

    def specs(axes):
        if isinstance(axes, Sequence):
            return tuple(map(specs, axes))
        return PartitionSpec() if axes is None else PartitionSpec(*(None,) * axes, AXIS)

    @functools.wraps(function)
    def call(*args):
        if num_shards() == 1:
            return function(*args)
        apart = jax.shard_map(
            function, in_specs=specs(tuple(in_axes)), out_specs=specs(out_axes), check_vma=False
        )
        return apart(*args)

    return call
