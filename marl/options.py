"""From nested values to checked dataclasses, with refusals that name the option and the remedy."""

import dataclasses
import difflib
import types
import typing
from collections.abc import Mapping, Sequence

_WANTED = {int: "a whole number", float: "a number", bool: "true or false", str: "a string"}
_SMALLEST, _LARGEST = 1.2e-38, 3.4e38  # what 32 bits hold, besides 0


class ConfigError(ValueError):
    """An option that cannot work; the message names it, its value and the remedy."""


def plain(values: Mapping) -> dict:
    """Hydra's configuration, or a mapping, as nested plain values."""
    from omegaconf import DictConfig, OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    if not isinstance(values, DictConfig):
        return dict(values)
    try:
        return OmegaConf.to_container(values, resolve=True, throw_on_missing=True)
    except OmegaConfBaseException as error:
        first = str(error).splitlines()[0]  # what follows is OmegaConf's own
        raise ConfigError(f"{error.full_key}: {first}") from error


def build(cls: type, values: object, prefix: str) -> object:
    """A dataclass from a nested mapping, by its annotations."""
    if dataclasses.is_dataclass(values) and isinstance(values, cls):
        return values
    if not isinstance(values, Mapping):
        raise ConfigError(f"{prefix.rstrip('.')}={values!r} must be a group of options")
    hints = typing.get_type_hints(cls)
    names = [f.name for f in dataclasses.fields(cls)]
    refuse_unknown(values, names, prefix)
    refuse_missing(values, names, prefix)
    converted = {n: convert(values[n], hints[n], prefix + n) for n in names}
    try:
        return cls(**converted)
    except ConfigError:
        raise
    except ValueError as error:
        raise ConfigError(str(error)) from error


def convert(value: object, kind: object, name: str) -> object:
    """A value as the annotation wants it; 1e9 is a whole number."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(kind, types.UnionType):
        kinds = typing.get_args(kind)
        if value is None and type(None) in kinds:
            return None
        kinds = [k for k in kinds if k is not type(None)]
        fitting = float if is_number and float in kinds else type(value)
        if len(kinds) > 1 and fitting not in kinds:
            raise ConfigError(f"{name}={value!r} must be {' or '.join(map(_wanted, kinds))}")
        kind = fitting if len(kinds) > 1 else kinds[0]
    if dataclasses.is_dataclass(kind):
        return build(kind, value, name + ".")
    if kind is int and is_number and (isinstance(value, int) or value.is_integer()):
        return int(value)
    if kind is float and is_number:
        if value == 0 or _SMALLEST <= abs(value) <= _LARGEST:
            return float(value)
        raise ConfigError(
            f"{name}={value!r} must be a number that 32 bits hold: 0, or from {_SMALLEST} to "
            f"{_LARGEST} in size"
        )
    if kind in (bool, str) and type(value) is kind:
        return value
    if kind is str and is_number:
        raise ConfigError(f"{name}={value} must be a string; quote it: {name}='\"{value}\"'")
    raise ConfigError(f"{name}={value!r} must be {_wanted(kind)}")


def _wanted(kind: type) -> str:
    return _WANTED.get(kind, f"a {kind.__name__}")


def nearest(name: str, known: Sequence[str]) -> str | None:
    """The dotted option that was most likely meant: the same last part, or a similar name."""
    last = name.rsplit(".", 1)[-1]
    by_last = {option.rsplit(".", 1)[-1]: option for option in reversed(known)}
    if last in by_last:
        return by_last[last]
    close = difflib.get_close_matches(name, known, 1)
    if not close:
        close = [by_last[c] for c in difflib.get_close_matches(last, by_last, 1)]
    return close[0] if close else None


def refuse_unknown(
    values: Mapping, known: Sequence[str], prefix: str, *, elsewhere: Sequence[str] = ()
) -> None:
    """Raises ConfigError for the first name that is not known, with the nearest that is.

    Args:
        values: what was given.
        known: names, below `prefix`.
        prefix: of both, with its dot.
        elsewhere: dotted names of the options of other groups, which may have been meant.
    """
    for name in values:
        if name in known:
            continue
        close = nearest(str(name), [*(prefix + k for k in known), *elsewhere])
        hint = f"did you mean {close}? " if close else ""
        raise ConfigError(
            f"unknown option {prefix}{name}={values[name]!r}; {hint}known are "
            + ", ".join(prefix + k for k in known)
        )


def refuse_missing(values: Mapping, names: Sequence[str], prefix: str) -> None:
    """Raises ConfigError for the first of `names` that has no value."""
    for name in names:
        if name not in values:
            raise ConfigError(f"{prefix}{name} is missing; give {prefix}{name}=VALUE")


def in_range(name: str, value: float | None, low: float, high: float) -> None:
    """Raises ConfigError unless low <= value <= high; None passes."""
    if value is not None and not low <= value <= high:
        raise ConfigError(f"{name}={value} must lie between {low} and {high}")


def whole_in_range(name: str, value: object, low: int, high: int) -> None:
    """Raises ConfigError unless the value is an int from low to high; True is none."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not (is_whole and low <= value <= high):
        raise ConfigError(f"{name}={value!r} must be a whole number between {low} and {high}")


def one_of(name: str, value: object, choices: tuple) -> None:
    """Raises ConfigError unless the value is among the choices."""
    if value not in choices:
        raise ConfigError(
            f"{name}={value!r} is unknown; choose one of {', '.join(map(str, choices))}"
        )
