"""Refuse compilers that are known to compute wrong results without saying so."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

_ROWS = 40_000  # the fault shows from row 32,768 on
_REMEDY = (
    "Install jaxlib 0.10.1, or set the environment variable "
    "XLA_FLAGS=--xla_cpu_experimental_ynn_fusion_type= (nothing after the equals sign)."
)


@functools.cache
def check_compiler() -> None:
    """Compile and run a small program that jaxlib 0.10.2 gets wrong on CPU (jax issue 39103).

    Its batched results are wrong while single ones are right, so nothing else would notice.
    Takes well under a second, and once a process.

    Raises:
        RuntimeError: the result is wrong; the message says what to do.
    """
    rows = np.random.default_rng(0).standard_normal((_ROWS, 3)).astype(np.float32)
    with jax.ensure_compile_time_eval():  # also where the first call is under a trace
        found = np.asarray(jax.jit(jax.vmap(_squared_length))(rows))
    expected = (rows * rows).sum(-1)
    # wide enough for accelerators that multiply in reduced precision
    wrong = ~np.isclose(found, expected, rtol=0.02, atol=0.02)
    if wrong.any():
        raise RuntimeError(
            f"jaxlib {jax.lib.__version__} on {jax.default_backend()} computes wrong results: "
            f"{int(wrong.sum())} of {_ROWS} rows of a small batched program differ, the first is "
            f"row {int(wrong.argmax())}. {_REMEDY}"
        )


def _squared_length(row: jax.Array) -> jax.Array:
    return jnp.sum((jnp.eye(3) @ row) ** 2)
