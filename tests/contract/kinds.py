"""All kinds of datasets, by discovery, and their smallest versions."""

import functools
from pathlib import Path
from typing import Any

import numpy as np

import bgdata
from bgdata.kinds import all_kinds
from bgdata.store.arrays import Array
from bgdata.store.dataset import Dataset
from bgdata.store.table import Table
from tests.subtests import each

HEADERS_BYTES = 4000  # .npy headers and Parquet footers, which only matter in the smallest tables


@functools.cache
def sized_kinds() -> dict[str, Dataset[Any]]:
    """The kinds with sizes as parameters: the bearoff tables."""
    from bgdata.warehouse.commands.build import SIZED

    return {kind.name: kind for kind in SIZED}


SHORT_GAMES = ("network", "contact-160")  # kind and variant
each_kind = each("kind", all_kinds)
sized_kind = each("kind", sized_kinds)


def small_variants(kind: Dataset[Any]) -> tuple[Any, ...]:
    """The variants that a small default build has: the smallest one, and the network with short games that the smallest
    rollouts play with, which comes with the package."""
    return (kind.smallest, *(each for each in kind.defaults if (kind.name, kind.slug(each)) == SHORT_GAMES))


def smallest_version(root: Path, kind: Dataset[Any]) -> Table:
    """The smallest version of a kind in the shared warehouse."""
    return bgdata.open_warehouse(root).open(kind.name, kind.slug(kind.smallest))


class Corrupted(Table):
    """A version with one array replaced in memory."""

    def __init__(self, table: Table, name: str, values: Array) -> None:
        super().__init__(table.folder)
        self._arrays = {name: values}
        self._scattered = self._arrays


def with_nan(values: Array, generator: np.random.Generator) -> Array | None:
    """A copy with NaN in place of one number; None if there is no number."""
    numbers = np.argwhere(np.isfinite(values)) if values.dtype.kind == "f" else ()
    if not len(numbers):
        return None
    changed = np.array(values)
    changed[tuple(numbers[generator.integers(len(numbers))])] = np.nan
    return changed


def corrupted_copy(values: Array, generator: np.random.Generator) -> Array:
    """A copy with one changed value in the later part of every axis, because numbers of games and offsets begin with a
    0 that nothing depends on."""
    changed = np.array(values)
    index = tuple(int(generator.integers(size // 3, max(size - 1, size // 3 + 1))) for size in changed.shape)
    changed[index] = changed_value(changed[index])
    return changed


def changed_value(value: Any) -> Any:
    """Another value of the same type; for shares and equities, about a hundredth away."""
    if value.dtype.kind == "S":
        return b"?"
    if value.dtype.kind == "f":
        return value + value.dtype.type(0.01) if np.isfinite(value) else value.dtype.type(0.5)
    step = {2: 300}.get(value.dtype.itemsize, 1) if value.dtype.kind == "u" else 1  # uint16: codes of equities
    return value.dtype.type((int(value) + step) % (np.iinfo(value.dtype).max + 1))
