"""The device that a program computes on: that there is one, and how much it holds."""

import os


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


def memory_of_device() -> int:
    """Bytes that the device has: its own memory, or the machine's where it shares that."""
    import jax

    stats = jax.devices()[0].memory_stats() or {}
    return stats.get("bytes_limit") or os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def require_memory(num_bytes: int) -> None:
    """Raises MemoryError if a device is smaller than what it should hold."""
    has = memory_of_device()
    if num_bytes > has:
        raise MemoryError(f"at least {num_bytes / 1e9:,.1f} GB, and there are {has / 1e9:,.1f} GB")
