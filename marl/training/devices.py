"""The devices of a run: which of them share its worlds, and whether its memory is enough."""

from collections.abc import Callable

import jax
from jax.sharding import Mesh

from marl.config import TrainConfig
from marl.host.device import memory_of
from marl.options import ConfigError
from marl.sharding import make_mesh
from marl.training.checkpoint import size_of
from marl.types import PyTree


def mesh_for(config: TrainConfig) -> Mesh | None:
    """The devices that share the worlds of a run, or None if it has one alone.

    Raises:
        ConfigError: there are fewer than `run.devices`, or they cannot share evenly.
    """
    local = jax.local_devices()
    count = config.run.devices or len(local)
    if count > len(local):
        raise ConfigError(
            f"run.devices={count}, and there are {len(local)} here ({local[0].platform}); lower "
            "it, or give null for all that there are"
        )
    _refuse_uneven_shares(config, count)
    return make_mesh(local[:count])


def devices_of(mesh: Mesh | None) -> list[jax.Device]:
    """Those of a mesh; without one, that on which jax computes."""
    return jax.local_devices()[:1] if mesh is None else list(mesh.devices.flat)


def _refuse_uneven_shares(config: TrainConfig, count: int) -> None:
    sequences = config.learner.options.sequences_per_minibatch(config.env.num_agents)
    option = _dividing(config)
    shared = {
        f"num_envs={config.num_envs}: worlds": config.num_envs,
        f"{option}{': ' * bool(option)}the {sequences} sequences of a minibatch": sequences,
    }
    fits = max(n for n in range(1, count + 1) if not any(size % n for size in shared.values()))
    for what, size in shared.items():
        if size % count:
            raise ConfigError(
                f"{what} cannot be shared evenly by {count} devices "
                f"(run.devices={config.run.devices or 'null'}); change it, or give "
                f"run.devices={fits}"
            )


def _dividing(config: TrainConfig) -> str:
    """The option that divides a rollout, and its value; empty if the learner has none."""
    number = getattr(config.learner.options, "num_minibatches", None)
    return "" if number is None else f"learner.num_minibatches={number}"


def require_room(config: TrainConfig, state: PyTree, mesh: Mesh | None) -> None:
    """Refuses what cannot fit on the devices whatever the compiler does.

    Args:
        config: the options.
        state: of one seed, or its shapes.
        mesh: the devices.

    Raises:
        MemoryError: the states and observations of a rollout are more than the devices hold.
    """
    rollout = config.num_steps * size_of(getattr(state, "observation", ()))
    needs, has = config.num_seeds * (size_of(state) + rollout), memory_of(devices_of(mesh))
    if has is not None and needs > has:
        raise MemoryError(f"at least {_in_words(needs)}, and there are {_in_words(has)}")


def require_room_for_update(config: TrainConfig, step: Callable, mesh: Mesh | None) -> str | None:
    """Refuses an update that does not fit on the devices, by what the compiler says of it.

    Args:
        config: the options.
        step: of `Learner.compile`.
        mesh: the devices.

    Returns:
        What it takes, for the user; None if that is not told.

    Raises:
        MemoryError: the message has sizes, and the options that decide them.
    """
    devices = devices_of(mesh)
    parts = {
        name: len(devices) * _memory_of_program(program)
        for name, program in getattr(step, "programs", {}).items()
    }
    if not parts:
        return None
    # They run one after the other. Of a CPU's memory the state, which is part of this, has its own
    # already; a checkpoint will take as much for its copy.
    needs, has = max(parts.values()), memory_of(devices)
    each = ", ".join(f"{name} {_in_words(size)}" for name, size in parts.items())
    on = f" on {len(devices)} devices" * (mesh is not None)
    if has is not None and needs > has:
        options = [
            f"num_seeds={config.num_seeds}" * (config.num_seeds > 1),
            f"num_envs={config.num_envs}",
            f"num_steps={config.num_steps}",
            _dividing(config),
        ]
        raise MemoryError(
            f"{' '.join(filter(None, options))}: an update takes about {_in_words(needs)}{on} "
            f"({each}), and there are {_in_words(has)}"
        )
    of = "" if has is None else f" of {_in_words(has)}"
    return f"an update takes about {_in_words(needs)}{of} of memory{on} ({each})"


def _memory_of_program(program: jax.stages.Compiled) -> int:
    """Bytes on one device while it runs, what it is given included; 0 if it does not tell."""
    sizes = program.memory_analysis()
    if sizes is None:
        return 0
    given = sizes.argument_size_in_bytes - sizes.alias_size_in_bytes
    return (
        given
        + sizes.output_size_in_bytes
        + sizes.temp_size_in_bytes
        + sizes.generated_code_size_in_bytes
    )


def _in_words(num_bytes: int) -> str:
    size, unit = (num_bytes / 1e9, "GB") if num_bytes >= 1e9 else (num_bytes / 1e6, "MB")
    return f"{size:,.1f} {unit}"
