"""The benchmark's random stream: threefry-2x32 as jax 0.4 laid it out, whatever jax is in use.

A key is two uint32 words. All draws equal those of `jax.random` under
`jax_threefry_partitionable=False` bit for bit; current jax defaults to another layout. The rounds
are unrolled: `jax.random` loops over them, which costs several times more on a CPU.

Reference: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011); the layout of
counters is jax 0.4.38's `_src/prng.py` and `_src/random.py`.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.random import define_prng_impl

_PAIR = np.arange(2, dtype=np.uint32)
_MAKE_A_KEY = 'make one with jax.random.key(seed, impl="threefry2x32")'
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def words(key: jax.Array) -> jax.Array:
    """The two words (..., 2) uint32 of jax keys (...) typed, or (..., 2) raw.

    Raises:
        ValueError: no key, or one of a generator whose keys are not two words.
    """
    dtype = getattr(key, "dtype", None)
    if dtype is None:
        raise ValueError(f"key={key!r} is no jax key; {_MAKE_A_KEY}")
    is_typed = jnp.issubdtype(dtype, jax.dtypes.prng_key)
    data = jax.random.key_data(key) if is_typed else key
    if data.dtype != np.uint32 or data.shape[-1:] != (2,):
        raise ValueError(
            f"key has shape {key.shape} and dtype {dtype}, and keys of two uint32 words are "
            f"needed; {_MAKE_A_KEY}"
        )
    return data


def key(seed: int) -> jax.Array:
    """Typed key of the benchmark's stream; `jax.random` functions on it draw from that stream."""
    return jax.random.key(seed, impl=BENCHMARK_PRNG)


def split(key: jax.Array, num: int = 2) -> jax.Array:
    """`num` new keys (num, 2) from one key (2,)."""
    return random_bits(key, 2 * num).reshape(num, 2)


def split_pair(key: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The two keys of `split(key)`, for keys of any leading shape (..., 2)."""
    return threefry(key[..., :1], key[..., 1:], _PAIR, _PAIR + np.uint32(2))


def chain(key: jax.Array, num: int) -> tuple[jax.Array, jax.Array]:
    """`num` times `key, sub = split(key)`, one after the other.

    Args:
        key: (2,) uint32.
        num: number of splits, static.

    Returns:
        The last key (2,) and the sub-keys (num, 2) in order.
    """
    # A loop even for few: unrolled, the compiler repeats the whole chain for every key of it.
    return lax.scan(lambda k, _: split_pair(k), key, None, length=num)


def stored(draw, keys):
    """`draw(keys)`, computed once however many rules read it.

    The compiler repeats a cheap chain of operations in every kernel that reads its result, and a
    draw is a hundred of them. What a loop emits is stored instead.

    Args:
        draw: maps leaves (k, ...) to leaves (k, ...), whatever k is, row by row.
        keys: a pytree of leaves (n, ...).
    """
    count = len(jax.tree.leaves(keys)[0])
    size = -(-count // 2)  # two turns: loops of one are unrolled

    def halves(leaf):
        padded = jnp.concatenate([leaf, leaf[: 2 * size - count]])
        return padded.reshape(2, size, *leaf.shape[1:])

    numbers = lax.map(draw, jax.tree.map(halves, keys))
    return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:])[:count], numbers)


def random_bits(key: jax.Array, size: int) -> jax.Array:
    """`size` words (size,) uint32 of one key (2,)."""
    half = (size + 1) // 2
    first = lax.iota(jnp.uint32, half)
    second = first + np.uint32(half)
    if size % 2:  # jax 0.4 pads an odd number of counters with a zero
        second = jnp.where(second == np.uint32(size), np.uint32(0), second)
    a, b = threefry(key[0], key[1], first, second)
    return jnp.concatenate([a, b])[:size]


def bits_each(keys: jax.Array) -> jax.Array:
    """One word (...,) uint32 from each of many keys (..., 2): `random_bits` of shape ()."""
    return threefry(keys[..., 0], keys[..., 1], np.uint32(0), np.uint32(0))[0]


def uniform_each(keys: jax.Array) -> jax.Array:
    """One float32 in [0, 1) from each of many keys (..., 2)."""
    return to_unit(bits_each(keys))


def uniform(key: jax.Array, shape: tuple[int, ...] = ()) -> jax.Array:
    """float32 in [0, 1) of the given shape from one key (2,)."""
    return to_unit(random_bits(key, int(np.prod(shape))).reshape(shape))


def randint(key: jax.Array, shape: tuple[int, ...], minval, maxval) -> jax.Array:
    """int32 in [minval, maxval); the bounds broadcast to `shape`. As jax 0.4 draws it."""
    high_key, low_key = split_pair(key)
    size = int(np.prod(shape))
    high = random_bits(high_key, size).reshape(shape)
    low = random_bits(low_key, size).reshape(shape)
    return fold_to_range(high, low, minval, maxval)


def fold_to_range(high: jax.Array, low: jax.Array, minval, maxval) -> jax.Array:
    """Two random words and bounds to an int32 in [minval, maxval)."""
    minval = jnp.asarray(minval, jnp.int32)
    maxval = jnp.asarray(maxval, jnp.int32)
    span = (maxval - minval).astype(jnp.uint32)
    span = jnp.where(maxval <= minval, np.uint32(1), span)
    half = np.uint32(2**16) % span
    multiplier = (half * half) % span
    offset = ((high % span) * multiplier + low % span) % span
    return minval + offset.astype(jnp.int32)


def permutation(key: jax.Array, size: int) -> jax.Array:
    """Random order (size,) int32 of 0..size-1, for sizes that one sorting round serves."""
    if size > 1600:
        raise ValueError(f"size={size} needs a second sorting round, which is not implemented")
    _, sub = split_pair(key)
    order = lax.iota(jnp.int32, size)
    return lax.sort_key_val(random_bits(sub, size), order)[1]


def fold_in(key: jax.Array, data) -> jax.Array:
    """New key (2,) from a key and an integer."""
    data = jnp.asarray(data).astype(jnp.uint32)
    return jnp.stack(threefry(key[0], key[1], np.uint32(0), data))


def threefry(k0, k1, x0, x1) -> tuple[jax.Array, jax.Array]:
    """Threefry-2x32 with 20 rounds of counters (x0, x1) under key words (k0, k1); broadcasts."""
    keys = (k0, k1, k0 ^ k1 ^ np.uint32(0x1BD11BDA))
    x0, x1 = x0 + k0, x1 + k1
    for group in range(5):
        for distance in _ROTATIONS[group % 2]:
            x0 = x0 + x1
            x1 = (x1 << np.uint32(distance)) | (x1 >> np.uint32(32 - distance))
            x1 = x0 ^ x1
        x0 = x0 + keys[(group + 1) % 3]
        x1 = x1 + keys[(group + 2) % 3] + np.uint32(group + 1)
    return x0, x1


def to_unit(bits: jax.Array) -> jax.Array:
    """float32 in [0, 1) of random words."""
    mantissa = (bits >> np.uint32(9)) | np.uint32(0x3F800000)
    return lax.bitcast_convert_type(mantissa, jnp.float32) - np.float32(1.0)


# --- The same stream behind jax.random -----------------------------------------------------------


def _seed(seed: jax.Array) -> jax.Array:
    low = seed.astype(jnp.uint32)
    high = (
        lax.shift_right_logical(seed, np.asarray(32, seed.dtype)).astype(jnp.uint32)
        if seed.dtype.itemsize > 4
        else jnp.zeros_like(low)
    )
    return jnp.stack([high, low])


def _split_to_shape(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    return random_bits(key, 2 * int(np.prod(shape))).reshape(*shape, 2)


def _bits_to_shape(key: jax.Array, bit_width: int, shape: tuple[int, ...]) -> jax.Array:
    if bit_width != 32:
        raise ValueError(f"the benchmark's stream draws 32-bit words only, not {bit_width}-bit")
    return random_bits(key, int(np.prod(shape))).reshape(shape)


BENCHMARK_PRNG = define_prng_impl(
    key_shape=(2,),
    seed=_seed,
    split=_split_to_shape,
    random_bits=_bits_to_shape,
    fold_in=fold_in,
    name="alem_threefry",
    tag="alem",
)
