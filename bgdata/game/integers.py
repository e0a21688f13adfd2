"""Checks integers from users: floats are refused and not rounded, and booleans and strings are refused too."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from bgdata.errors import UsageError, cite

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def plain_integers(values: Iterable[Any]) -> tuple[int, ...]:
    """Convert a list, a tuple or an array row to Python integers. Raises TypeError for values that are not integers."""
    if isinstance(values, str | bytes) or bool in map(type, values):
        raise TypeError(f"expected integers, got {cite(values)}")
    return tuple(map(operator.index, values))


def convert_to_plain_integers(instance: object, *fields: str) -> None:
    """Convert NumPy integers in these fields of a frozen dataclass to Python integers, which cannot overflow. Raises
    TypeError for other values."""
    for name in fields:
        if type(value := getattr(instance, name)) is not int:
            object.__setattr__(instance, name, operator.index(value))


def integer_array(values: ArrayLike, what: str) -> NDArray[Any]:
    """Convert an integer array or nested lists of integers to an integer array. Raises UsageError for anything else;
    the message says that `what` was expected, such as "indexes as integers[n]"."""
    import numpy as np

    try:
        array = np.asarray(values)
        is_list = not hasattr(values, "dtype")
        if is_list and bool in set(map(type, np.asarray(values, object).ravel().tolist())):
            raise ValueError
    except ValueError:  # raised for lists of different lengths, and for booleans among numbers
        raise UsageError(f"expected {what}, got {cite(values)}") from None
    if array.dtype.kind not in "iu" and (array.size or not is_list):
        raise UsageError(f"expected {what}, got {array.dtype}{list(array.shape)}")
    return array if array.dtype.kind in "iu" else array.astype(np.int64)
