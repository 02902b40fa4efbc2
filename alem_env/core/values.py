"""Checks of values that users give: each returns the value, or names it and what is needed.

And one of our own tables, `check_bits`.
"""

import operator

import numpy as np

INT32_MAX = 2**31 - 1


def whole_number(name: str, value: object, low: int, high: int = INT32_MAX) -> int:
    """The value, if it is a whole number of any integer type within bounds; booleans are none.

    Raises:
        ValueError: it is not.
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or not low <= number <= high:
        raise ValueError(f"{name}={value!r} must be a whole number from {low} to {high}")
    return number


def switch(name: str, value: object) -> bool:
    """The value, if it is a boolean of Python or numpy.

    Raises:
        ValueError: it is not; "no" would count as true.
    """
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}={value!r} must be True or False")
    return bool(value)


def real_number(name: str, value: object, low: float, high: float) -> float:
    """The value, if it is a number of any kind within bounds.

    Raises:
        ValueError: it is not.
    """
    try:
        number = None if isinstance(value, str | bool | np.bool_) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or not low <= number <= high:  # refuses nan as well
        raise ValueError(f"{name}={value!r} must lie in [{low:.2g}, {high:.2g}]")
    return number


def check_bits(what: str, largest: int, bits: int) -> None:
    """Refuses tables that have outgrown the bits they are packed into, which nothing else notices.

    Raises:
        ValueError: `largest` does not fit.
    """
    if not 0 <= largest < 1 << bits:
        raise ValueError(f"{what} may be {largest}, which {bits} bits do not hold: pack it wider")
