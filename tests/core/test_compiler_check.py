import jax.numpy as jnp
import pytest

from alem_env.core import compiler_check


@pytest.fixture(autouse=True)
def forget():
    compiler_check.check_compiler.cache_clear()
    yield
    compiler_check.check_compiler.cache_clear()


def test_this_compiler_passes():
    compiler_check.check_compiler()


def test_a_wrong_result_is_refused_with_a_remedy(monkeypatch):
    monkeypatch.setattr(compiler_check, "_squared_length", lambda row: jnp.sum(row**2) + 1.0)
    with pytest.raises(RuntimeError, match=r"row 0.*jaxlib 0\.10\.1.*XLA_FLAGS"):
        compiler_check.check_compiler()
