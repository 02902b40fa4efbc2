"""The published observation vector, exactly, and sparse forms of the same vector.

Layout: 99 cells x channels (row by row), then scalars. `feature_layout` names all of it.
A Dense layer on the vector is a weighted sum of rows of its kernel; `embedding_inputs` gives the
rows and weights without building the vector.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from alem_env.core.enums import Block, Item, Specialization
from alem_env.core.params import StaticParams
from alem_env.core.tables import NUM_FLOORS
from alem_env.observe.compact import (
    HANDOVER_STEPS_SHOWN,
    KINDS_PER_CLASS,
    NUM_CELLS,
    NUM_REQUESTS,
    Observation,
    View,
    unpack,
)
from alem_env.observe.numbers import NUMBERS

_NUM_ROLES = len(Specialization) - 1
_NUM_SIDES = 8
_HANDOVER_SCALE = 20.0  # what a handover's window is divided by; no clipping

# How each column of `numbers` is scaled. Columns not named here are shown as they are.
_ROOTS = NUMBERS.index("books")  # counts before it: sqrt(x) / 10; potions too
_POTIONS = slice(NUMBERS.index("potion_0"), NUMBERS.index("food"))
_DIRECTION = NUMBERS.index("direction")
_DIVISOR = np.ones(len(NUMBERS), np.float32)
_DIVISOR[:_ROOTS] = 10.0
_DIVISOR[_POTIONS] = 10.0
_DIVISOR[[NUMBERS.index("pickaxe"), NUMBERS.index("sword")]] = 4.0
_DIVISOR[NUMBERS.index("food") : _DIRECTION] = 10.0
_DIVISOR[NUMBERS.index("armour_0") : NUMBERS.index("armour_enchantment_0")] = 2.0
_DIVISOR[NUMBERS.index("floor")] = NUM_FLOORS - 1


class EmbeddingInputs(NamedTuple):
    """A sparse form of the published vector: `vector @ kernel` equals

    `(weights[..., None] * kernel[rows]).sum(-2) + dense @ kernel[dense_columns(static)]`.
    """

    rows: jax.Array  # (..., A, K) int32, index into the published vector; 0 where the weight is 0
    weights: jax.Array  # (..., A, K) float32
    dense: jax.Array  # (..., A, D) float32, the columns `dense_columns` of the vector


def cell_channels(static: StaticParams) -> dict[str, slice]:
    """Channels of each cell, by name, in order."""
    return _slices(
        block=len(Block),
        item=len(Item),
        mobs=3 * KINDS_PER_CLASS,
        mob_projectiles=KINDS_PER_CLASS,
        player_projectiles=KINDS_PER_CLASS,
        team=static.num_agents,
        alive=1,
        requirement=1,
        soft=1,
        mob_requires=1,
        mob_hard=1,
        handover=1,
        light=1,
    )


def feature_layout(static: StaticParams) -> dict[str, slice]:
    """Slices of the published vector by name. `cells` is (9, 11, channels) flattened; `dashboard`
    and `directions` have a block for every player, self first.
    """
    agents = static.num_agents
    channels = _width(cell_channels(static))
    dashboard = 2 + _NUM_ROLES + NUM_REQUESTS + static.num_comm_channels
    return _slices(
        cells=NUM_CELLS * channels,
        dashboard=agents * dashboard,
        directions=agents * _NUM_SIDES,
        inventory=_POTIONS.start,
        potions=_POTIONS.stop - _POTIONS.start,
        intrinsics=_DIRECTION - _POTIONS.stop,
        direction=4,
        armour=4,
        armour_enchantments=4,
        flags=3,
        daylight=1,
        level=3,
    )


def obs_dim(static: StaticParams) -> int:
    """Length of the published vector: 9,730 for three agents and four channels."""
    return _width(feature_layout(static))


def expand(obs: Observation, static: StaticParams) -> jax.Array:
    """The published vector (..., A, obs_dim) float32 of a compact observation (..., A, ...)."""
    view = unpack(obs)
    channels = cell_channels(static)
    batch = view.lit.shape[:-1]
    planes = jnp.concatenate(
        [
            jax.nn.one_hot(view.block, len(Block)),
            jax.nn.one_hot(view.item, len(Item)),
            _entity_planes(view, channels),
        ],
        axis=-1,
    )
    planes = planes * view.lit[..., None]
    ground = jnp.stack(_ground_planes(view, static), axis=-1)
    entities = planes[..., : channels["requirement"].start]
    markers = planes[..., channels["requirement"].start :]
    cells = jnp.concatenate(
        [entities, ground[..., :2], markers, view.lit[..., None].astype(jnp.float32)], axis=-1
    )
    return jnp.concatenate([cells.reshape(*batch, -1), _scalars(obs, view, static)], axis=-1)


def embedding_inputs(obs: Observation, static: StaticParams) -> EmbeddingInputs:
    """The published vector as rows to be summed and a dense rest (see `EmbeddingInputs`).

    One-hot fields become rows: 2 x 99 for the ground, then one or a few for each slot that may be
    in view. Numbers, and the channels nearly every cell has, are dense.
    """
    view = unpack(obs)
    channels = cell_channels(static)
    width = _width(channels)
    ground = np.arange(NUM_CELLS) * width
    lists = _entity_entries(view, channels)
    rows = [ground + view.block, ground + channels["item"].start + view.item]
    rows += [cell * width + channel for cell, channel, _ in lists]
    weights = [view.lit, view.lit & (view.item < len(Item))] + [value for *_, value in lists]
    rows = jnp.concatenate(rows, axis=-1)
    weights = jnp.concatenate([w.astype(jnp.float32) for w in weights], axis=-1)
    requirement, soft = _ground_planes(view, static)
    dense = [view.lit.astype(jnp.float32), requirement, soft, _scalars(obs, view, static)]
    return EmbeddingInputs(
        jnp.where(weights != 0, rows, 0), weights, jnp.concatenate(dense, axis=-1)
    )


def dense_columns(static: StaticParams) -> np.ndarray:
    """Indices (D,) int32 of `EmbeddingInputs.dense` in the published vector."""
    channels = cell_channels(static)
    ground = np.arange(NUM_CELLS) * _width(channels)
    columns = [ground + channels[name].start for name in ("light", "requirement", "soft")]
    scalars = np.arange(feature_layout(static)["cells"].stop, obs_dim(static))
    return np.concatenate([*columns, scalars]).astype(np.int32)


def _entity_entries(view: View, channels: dict[str, slice]) -> list[tuple]:
    """(cell, channel, value) of everything in the lists, each (..., A, n)."""
    agents = view.mate_cell.shape[-1]
    mobs, alive = channels["mobs"].start, channels["alive"].start
    requires, hard = channels["mob_requires"].start, channels["mob_hard"].start
    time_left = view.handover_steps.astype(jnp.float32) / float(HANDOVER_STEPS_SHOWN)
    team = channels["team"].start + np.arange(agents)
    return [
        (view.mob_cell, mobs + view.mob_channel, view.mob_shown),
        (view.mob_cell, requires, view.mob_requires),
        (view.mob_cell, hard, view.mob_hard),
        (view.projectile_cell, mobs + view.projectile_channel, view.projectile_shown),
        (view.mate_cell, team, view.mate_cell < NUM_CELLS),
        (view.mate_cell, alive, view.mate_alive_shown),
        (view.handover_cell, channels["handover"].start, time_left),
    ]


def _entity_planes(view: View, channels: dict[str, slice]) -> jax.Array:
    """(..., A, 99, n) float32: the channels from `mobs` on, without the ground's and light."""
    first, ground = channels["mobs"].start, channels["requirement"].start
    width = channels["light"].start - first - 2
    batch = view.lit.shape[:-1]
    planes = jnp.zeros((int(np.prod(batch)), NUM_CELLS, width))
    for cell, channel, value in _entity_entries(view, channels):
        channel = jnp.broadcast_to(channel, cell.shape)
        channel = channel - first - jnp.where(channel > ground, 2, 0)
        flat = [jnp.reshape(x, (planes.shape[0], -1)) for x in (cell, channel, value)]
        row = np.arange(planes.shape[0])[:, None]
        planes = planes.at[row, flat[0], flat[1]].add(flat[2].astype(jnp.float32), mode="drop")
    return planes.reshape(*batch, NUM_CELLS, width)


def _ground_planes(view: View, static: StaticParams) -> tuple[jax.Array, jax.Array]:
    """Requirement and soft channels (..., A, 99) float32: agents of the team that are needed, or
    minus the steps of a handover.
    """
    need = view.requirement.astype(jnp.float32)
    need = jnp.where(need > 0, need / static.num_agents, need / _HANDOVER_SCALE)
    return need, view.soft.astype(jnp.float32)


def _scalars(obs: Observation, view: View, static: StaticParams) -> jax.Array:
    """Everything behind the cells (..., A, n) float32."""
    batch = view.lit.shape[:-1]
    dashboard = jnp.concatenate(
        [
            obs.health[..., None] / 10.0,
            view.mate_alive[..., None].astype(jnp.float32),
            jax.nn.one_hot(view.mate_role - 1, _NUM_ROLES),
            jax.nn.one_hot(view.mate_request - 1, NUM_REQUESTS),
            jax.nn.one_hot(view.mate_message - 1, static.num_comm_channels),
        ],
        axis=-1,
    )
    directions = jax.nn.one_hot(view.mate_direction - 1, _NUM_SIDES)
    numbers = obs.numbers.astype(jnp.float32)
    is_root = _DIVISOR == 10.0
    is_root[_POTIONS.stop :] = False
    numbers = jnp.where(is_root, jnp.sqrt(numbers), numbers) / _DIVISOR
    facing = jax.nn.one_hot(obs.numbers[..., _DIRECTION].astype(jnp.int32) - 1, 4)
    flags = NUMBERS.index("floor")
    return jnp.concatenate(
        [
            dashboard.reshape(*batch, -1),
            directions.reshape(*batch, -1),
            numbers[..., :_DIRECTION],
            facing,
            numbers[..., _DIRECTION + 1 : flags],
            obs.daylight[..., None],
            numbers[..., flags:],
        ],
        axis=-1,
    )


def _slices(**widths: int) -> dict[str, slice]:
    slices, start = {}, 0
    for name, width in widths.items():
        slices[name] = slice(start, start + width)
        start += width
    return slices


def _width(slices: dict[str, slice]) -> int:
    return max(s.stop for s in slices.values())
