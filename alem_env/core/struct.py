"""Frozen dataclasses that jax treats as pytrees, with jax alone.

As `flax.struct.dataclass`: fields are leaves or subtrees, named in key paths, unless they are made
with `field(pytree_node=False)`, which are part of the tree's structure and so must be hashable.
"""

import dataclasses
from typing import Any, dataclass_transform

import jax

_PYTREE_NODE = "pytree_node"


def field(*, pytree_node: bool = True, **kwargs) -> Any:
    """`dataclasses.field` of a field that is a subtree, or, if not `pytree_node`, structure."""
    return dataclasses.field(metadata={_PYTREE_NODE: pytree_node}, **kwargs)


@dataclass_transform(frozen_default=True, field_specifiers=(field, dataclasses.field))
def dataclass(cls: type) -> type:
    """Makes of an annotated class a frozen dataclass, a pytree with `replace(**changes)`."""
    cls = dataclasses.dataclass(frozen=True)(cls)
    names: dict[bool, list[str]] = {True: [], False: []}
    for entry in dataclasses.fields(cls):
        names[entry.metadata.get(_PYTREE_NODE, True)].append(entry.name)
    jax.tree_util.register_dataclass(cls, data_fields=names[True], meta_fields=names[False])
    cls.replace = dataclasses.replace
    return cls
