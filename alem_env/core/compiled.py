"""How functions of the world are compiled.

`COMPILER_OPTIONS` are for `jax.jit(..., compiler_options=...)` of a program that contains the
world: jax takes them for the outermost program only. They are options of the CPU compiler; others
ignore them. A step is hundreds of small kernels there, and the older way to make their code takes
two thirds of the newer one's time. Results are the same bit for bit; a step takes a little longer.
"""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp

from alem_env.core.compiler_check import check_compiler

COMPILER_OPTIONS = {"xla_cpu_use_fusion_emitters": False}


def compiled(function: Callable, **options) -> Callable:
    """`function`, compiled as a program of its own or as part of its caller's, and only by a
    compiler that passes `check_compiler`.

    Args:
        function: of arrays.
        **options: of `jax.jit`.

    Returns:
        The same function; `lower` is that of `jax.jit`, for the program of its own.
    """
    part = jax.jit(function, **options)
    whole = jax.jit(function, compiler_options=dict(COMPILER_OPTIONS), **options)

    @functools.wraps(function)
    def call(*args):
        check_compiler()
        is_part = isinstance(jnp.zeros(()), jax.core.Tracer) or any(
            isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(args)
        )
        return (part if is_part else whole)(*args)

    call.lower = whole.lower
    return call
