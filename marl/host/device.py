"""The devices that a program computes on: that there are any, and how much they hold."""

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_MEMORY = Path("/proc/meminfo")  # Linux; elsewhere all that the machine has must do
_ALLOWED = Path("/sys/fs/cgroup/memory.max")  # bytes that a container may have, or "max"


class DeviceError(RuntimeError):
    """There is no device to compute on, or it is set up so that it cannot be used."""


def require_device() -> None:
    """Starts jax. Raises DeviceError if it finds no device, or must compute in 64 bits."""
    import jax  # late: --help needs no jax

    try:
        jax.devices()
    except (RuntimeError, AssertionError) as error:  # the second where its plugin is missing
        asked = os.environ.get("JAX_PLATFORMS")
        reason = " ".join(str(error).split()) or "jax lacks the plugin for it"
        raise DeviceError(
            f"jax finds no device to compute on: JAX_PLATFORMS={asked or '(not set)'} ({reason}); "
            "give JAX_PLATFORMS=cpu, or install jax for the device that you want"
        ) from error
    if jax.config.jax_enable_x64:
        raise DeviceError(
            "JAX_ENABLE_X64=1 is set: the world and the networks compute in 32 bits, and would be "
            "others in 64; unset it"
        )


def memory_of(devices: Sequence[Any]) -> int | None:
    """Bytes that jax devices hold together; of CPUs, which share the machine's memory, what is free
    of it. None if they do not tell."""
    if devices[0].platform == "cpu":
        return _free_memory()
    limits = [(device.memory_stats() or {}).get("bytes_limit") for device in devices]
    return sum(limits) if all(limits) else None


def _free_memory() -> int:
    """Bytes of the machine's memory that programs can still have."""
    free = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with contextlib.suppress(OSError, ValueError, LookupError):
        lines = dict(line.split(":", 1) for line in _MEMORY.read_text().splitlines())
        free = 1024 * int(lines["MemAvailable"].split()[0])
    with contextlib.suppress(OSError, ValueError):
        free = min(free, int(_ALLOWED.read_text()))
    return free
