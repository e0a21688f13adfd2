"""Whole numbers from outside: floats are not rounded, and truth values and texts are not numbers."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from bgdata.errors import UsageError, cite

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def whole_numbers(values: Iterable[Any]) -> tuple[int, ...]:
    """The integers of a list, a tuple or a row of an array as plain ones. Raises TypeError for anything else."""
    if isinstance(values, str | bytes) or bool in map(type, values):
        raise TypeError(f"expected integers, got {cite(values)}")
    return tuple(map(operator.index, values))


def make_plain(instance: object, *fields: str) -> None:
    """The whole numbers of these fields of a frozen dataclass as Python's: those of NumPy wrap around. Raises TypeError
    for anything else."""
    for name in fields:
        if type(value := getattr(instance, name)) is not int:
            object.__setattr__(instance, name, operator.index(value))


def integer_array(values: ArrayLike, what: str) -> NDArray[Any]:
    """An array of integers as it is, lists of integers as one. Raises UsageError, which says `what` was expected: text
    such as "indexes as integers[n]"."""
    import numpy as np

    try:
        array = np.asarray(values)
        is_list = not hasattr(values, "dtype")
        if is_list and bool in set(map(type, np.asarray(values, object).ravel().tolist())):
            raise ValueError
    except ValueError:  # lists of different lengths, and truth values among numbers
        raise UsageError(f"expected {what}, got {cite(values)}") from None
    if array.dtype.kind not in "iu" and (array.size or not is_list):
        raise UsageError(f"expected {what}, got {array.dtype}{list(array.shape)}")
    return array if array.dtype.kind in "iu" else array.astype(np.int64)
