"""An update, compiled: playing and learning are a program each, for one seed or several, on one
device or many."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax

from alem_env import compiled
from marl.sharding import copied, layout, mesh_of, tracing
from marl.types import Metrics, PyTree, TrainState, is_stacked


def compile_step(
    collect: Callable, update: Callable, env_params: PyTree, state: TrainState
) -> "CompiledStep":
    """The step of one learner or, where the state is of several seeds, of all of them, on the
    devices that the state was placed on. Its results lie there as well.

    Args:
        collect: (state, environment parameters) -> (state, batch).
        update: (state, batch) -> (state, metrics).
        env_params: of each call.
        state: as those that it will be given: shapes, seeds, devices.
    """
    if is_stacked(state):
        collect, update = jax.vmap(collect, (0, None)), jax.vmap(update)
    mesh, lies = mesh_of(state), layout(state)
    env_params = copied(env_params, mesh)
    options = dict(donate_argnums=0, out_shardings=(lies, None))
    with tracing(mesh):
        collecting = compiled(collect, **options).lower(state, env_params)
        played = collecting.out_info
        collecting = collecting.compile()
        if mesh is not None:
            played = jax.tree.map(_lying, played, collecting.output_shardings)
        learning = jax.jit(update, **options).lower(*played).compile()
    return CompiledStep(collecting, learning, env_params)


def _lying(shape, sharding) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape.shape, shape.dtype, sharding=sharding)


class CompiledStep(NamedTuple):
    """An update, compiled: the two programs it is made of, and both together."""

    collecting: jax.stages.Compiled
    learning: jax.stages.Compiled
    env_params: PyTree

    def collect(self, state: TrainState) -> tuple[TrainState, Any]:
        """A rollout, as `marl.types.Learner.collect`."""
        return self.collecting(state, self.env_params)

    def update(self, state: TrainState, batch: Any) -> tuple[TrainState, Metrics]:
        """What is learnt from it, as `marl.types.Learner.update`."""
        return self.learning(state, batch)

    def __call__(self, state: TrainState) -> tuple[TrainState, Metrics]:
        return self.update(*self.collect(state))

    @property
    def programs(self) -> dict[str, jax.stages.Compiled]:
        """What it runs, by names for the user."""
        return {"the rollout": self.collecting, "learning": self.learning}
