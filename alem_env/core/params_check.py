"""Whether parameters are meant for an environment: looked at on every call of it."""

import jax
import numpy as np

from alem_env.core.params import (
    NO_COORDINATION,
    EnvParams,
    StaticParams,
    as_field,
    refuse_crossed,
)


def check_params(
    params: EnvParams, static: StaticParams, num_worlds: int | None = None
) -> EnvParams:
    """Refuses parameters that cannot be meant for this environment.

    Looks at Python's and numpy's numbers only. Of jax arrays, which may be traced or still on their
    way from a device, the shapes count.

    Args:
        params: as a caller gives them; `replace` may have put in anything.
        static: the environment's.
        num_worlds: E, if the fields are (E,), for each world its own. None: they are scalars.

    Returns:
        The parameters, with all numbers in the dtypes that `difficulty` gives them: others would
        make the world compile anew.

    Raises:
        ValueError: no EnvParams; a field of another kind or shape, or out of range; a lower end
            above its upper one; more construction sites than slots; parameters of the game without
            coordination for one with it.
    """
    if not isinstance(params, EnvParams):
        raise ValueError(
            f"params={params!r} is no EnvParams; make one with alem_env.difficulty('hard')"
        )
    shape = () if num_worlds is None else (num_worlds,)
    fields = {name: _checked_field(name, value, shape) for name, value in vars(params).items()}
    params = params.replace(**fields)
    refuse_crossed(params)
    if static.construction_enabled:
        for name in ("num_construction_sites", "num_mining_construction_sites"):
            number = getattr(params, name)
            if _is_known(number) and number > static.max_construction_sites:
                raise ValueError(
                    f"{name}={number} is more than max_construction_sites="
                    f"{static.max_construction_sites}; lower it, or make the environment with more"
                )
    is_none = all(_equals(params, *pair) for pair in NO_COORDINATION.items())
    if static.coordination_enabled and is_none:
        raise ValueError(
            "params are those of difficulty('none'), but this environment has "
            "coordination_enabled=True; make it with alem_env.make(preset='none')"
        )
    return params


def _checked_field(name: str, value: object, shape: tuple[int, ...]) -> object:
    default = EnvParams.__dataclass_fields__[name].default
    found = getattr(value, "shape", ())
    if found != shape:
        raise ValueError(
            f"params: {name} has shape {found}, and {shape} is needed; worlds with parameters of "
            "their own are for reset_batch and step_batch, with params_axis=0 and all fields (E,)"
        )
    if isinstance(value, jax.Array):
        return value
    if not shape:
        return as_field(name, value[()] if isinstance(value, np.ndarray) else value, default)
    ends = [as_field(name, end, default) for end in (value.min(), value.max())]
    return value.astype(ends[0].dtype)


def _is_known(value: object) -> bool:
    return isinstance(value, np.generic | int | float)


def _equals(params: EnvParams, name: str, value: float) -> bool:
    found = getattr(params, name)
    return _is_known(found) and found == value
