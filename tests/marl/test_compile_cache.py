"""Where compiled programs are kept."""

import jax
import pytest

from marl import compile_cache


@pytest.fixture
def no_folder(monkeypatch):
    before = jax.config.jax_compilation_cache_dir
    jax.config.update("jax_compilation_cache_dir", None)
    yield
    jax.config.update("jax_compilation_cache_dir", before)


def test_machines_that_can_do_different_things_share_no_programs(tmp_path, monkeypatch, no_folder):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folders = set()
    for features in ("flags : fma avx2", "flags : fma avx2 avx512f"):
        cpuinfo = tmp_path / "cpuinfo"
        cpuinfo.write_text(f"processor : 0\n{features}\n")
        monkeypatch.setattr(compile_cache, "_CPU_FEATURES", cpuinfo)
        jax.config.update("jax_compilation_cache_dir", None)
        compile_cache.enable()
        folders.add(jax.config.jax_compilation_cache_dir)
    assert len(folders) == 2
    assert all(folder.startswith(str(tmp_path / "alem-marl" / "jax")) for folder in folders)


def test_a_folder_that_the_user_named_stays(tmp_path, no_folder):
    jax.config.update("jax_compilation_cache_dir", str(tmp_path))
    compile_cache.enable()
    assert jax.config.jax_compilation_cache_dir == str(tmp_path)


def test_a_machine_without_a_list_of_features_has_a_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(compile_cache, "_CPU_FEATURES", tmp_path / "none")
    assert compile_cache.machine_kind()
