"""Rules see one world; they run for a batch. What a rule may ask of its whole batch is here.

Rules are vmapped over the axis named WORLDS (`env.step` is a batch of one). A `lax.cond` whose
predicate differs between worlds becomes a select that runs both sides for everyone. A predicate
reduced over the batch does not, so rare rules are skipped as long as no world needs them.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax

WORLDS = "worlds"


def any_world(predicate: jax.Array) -> jax.Array:
    """True (unbatched) if the scalar bool `predicate` holds in any world of the batch."""
    return lax.psum(predicate.astype(jnp.int32), WORLDS) > 0


def when_any(predicate: jax.Array, rule: Callable, value, *operands):
    """`rule(value, *operands)` if any world wants it, else `value` unchanged.

    The rule runs for *all* worlds of the batch then, so it must leave worlds alone whose own
    predicate is false. Its result must have the structure, shapes and dtypes of `value`.

    A loop of at most one turn: XLA copies what passes through a branch that changes nothing, also
    where it is megabytes of stored floors, and leaves in place what passes by a loop.
    """

    def turn(carry):
        return jnp.bool_(False), rule(carry[1], *operands)

    return lax.while_loop(lambda carry: carry[0], turn, (any_world(predicate), value))[1]


def over_worlds(rule: Callable, in_axes=0) -> Callable:
    """`rule` for a batch of worlds: vmapped over leading axes, with the batch's name bound."""
    return jax.vmap(rule, in_axes=in_axes, axis_name=WORLDS)


def single_world(rule: Callable) -> Callable:
    """`rule` for one world outside a batch: a batch of one, with the leading axis hidden."""

    def wrapped(*args):
        batched = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], args)
        return jax.tree.map(lambda leaf: leaf[0], over_worlds(rule)(*batched))

    return wrapped
