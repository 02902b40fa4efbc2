"""Several devices share the worlds of a run, and its memory is known before it starts."""

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import jax
import pytest
from test_runs_loop import changed, config_for, run
from toys import CARD

from marl.host import device
from marl.learners.registry import LEARNERS
from marl.options import ConfigError
from marl.probes import DelayedReward
from marl.training import devices
from marl.training.assembly import Assembly
from marl.training.command import BundleExporter
from marl.training.loggers import read_records


@pytest.mark.parametrize("which", ["not slow", pytest.param("slow", marks=pytest.mark.slow)])
def test_on_four_devices(which):
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=4"
    cases = Path(__file__).with_name("on_four_devices.py")
    command = [sys.executable, "-m", "pytest", "-q", "-m", which, str(cases)]
    environment = os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


def test_more_devices_than_there_are_is_refused_before_there_is_a_folder(tmp_path):
    config = changed(config_for(2), run={"devices": 2})
    with pytest.raises(ConfigError, match="run.devices=2, and there are 1 here"):
        run(tmp_path, config)


def toy_parts(config):
    make = LEARNERS["ippo"].make
    learner = make(DelayedReward(2), config.network, config.learner.options)
    return Assembly(learner, BundleExporter(CARD), None, {})


def test_what_an_update_takes_is_told_once(tmp_path, capsys):
    config = changed(config_for(3), logger={"console": "lines"})
    run(tmp_path, config, toy_parts(config))
    out = capsys.readouterr().out
    assert len(re.findall(r"an update takes about [\d.]+ MB of [\d,.]+ GB of memory \(", out)) == 1


def test_an_update_that_does_not_fit_is_refused_before_it_is_tried(tmp_path, monkeypatch):
    """As soon as the compiler knows, even if the states and observations alone would fit."""
    config = config_for(3)
    monkeypatch.setattr(devices, "memory_of", lambda _: 10_000)
    with pytest.raises(MemoryError) as refused:
        run(tmp_path, config, toy_parts(config))
    message = str(refused.value)
    assert "num_envs=2 num_steps=5 learner.num_minibatches=1: an update takes about 0." in message
    assert "there are 0.0 MB" in message
    assert not read_records(tmp_path)


def program_of(argument=0, output=0, alias=0, temp=0):
    """A compiled program that takes so many bytes on each device."""
    sizes = SimpleNamespace(
        argument_size_in_bytes=argument,
        output_size_in_bytes=output,
        alias_size_in_bytes=alias,
        temp_size_in_bytes=temp,
        generated_code_size_in_bytes=0,
    )
    return SimpleNamespace(memory_analysis=lambda: sizes)


def test_the_larger_of_the_programs_counts_and_each_is_named(monkeypatch):
    rollout = program_of(argument=2 * 10**9, output=3 * 10**9, alias=2 * 10**9)
    learning = program_of(argument=3 * 10**9, output=2 * 10**9, alias=2 * 10**9, temp=10**9)
    step = SimpleNamespace(programs={"the rollout": rollout, "learning": learning})
    monkeypatch.setattr(devices, "memory_of", lambda _: 5 * 10**9)
    told = devices.require_room_for_update(config_for(1), step, None)
    sizes = "the rollout 3.0 GB, learning 4.0 GB"
    assert told == f"an update takes about 4.0 GB of 5.0 GB of memory ({sizes})"
    monkeypatch.setattr(devices, "memory_of", lambda _: 3.5 * 10**9)
    with pytest.raises(MemoryError, match=rf"about 4.0 GB \({sizes}\), and there are 3.5 GB"):
        devices.require_room_for_update(config_for(1), step, None)
    monkeypatch.setattr(devices, "memory_of", lambda _: None)  # devices that do not tell
    assert devices.require_room_for_update(config_for(1), step, None)
    assert devices.require_room_for_update(config_for(1), lambda state: state, None) is None


def accelerator(limit):
    stats = None if limit is None else {"bytes_limit": limit, "bytes_in_use": 5}
    return SimpleNamespace(platform="gpu", memory_stats=lambda: stats)


def test_memory_is_that_of_all_devices_or_what_is_free_of_the_machine_s(tmp_path, monkeypatch):
    assert device.memory_of([accelerator(7), accelerator(8)]) == 15
    assert device.memory_of([accelerator(7), accelerator(None)]) is None
    meminfo, allowed = tmp_path / "meminfo", tmp_path / "memory.max"
    monkeypatch.setattr(device, "_MEMORY", meminfo)
    monkeypatch.setattr(device, "_ALLOWED", allowed)
    whole = device.memory_of(jax.local_devices())  # a machine that does not tell what is free
    assert whole == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    meminfo.write_text("MemTotal:  9 kB\nMemAvailable:    3 kB\n")
    allowed.write_text("max\n")
    assert device.memory_of(jax.local_devices()) == 3 * 1024
    allowed.write_text("1000\n")
    assert device.memory_of(jax.local_devices()) == 1000
