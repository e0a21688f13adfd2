"""Kinds of dataset and their versions as rows of data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bgdata.errors import BgdataError
from bgdata.rows import Row
from bgdata.store.dataset import Dataset, Input
from bgdata.store.names import CURRENT
from bgdata.store.parameters import Parameters, VersionRef, value_text
from bgdata.store.registry import SqlFolders
from bgdata.store.survey import Variant, read_index, read_variant, survey
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse


def listing_rows(warehouse: Warehouse, kinds: Iterable[Dataset[Any]] | None = None) -> Iterator[Row]:
    """Yield a row for each version of these kinds, by default of all kinds, and a row for each kind that has no
    version."""
    known = known_variants(warehouse)
    for kind in warehouse.kinds.values() if kinds is None else kinds:
        kept = list(version_rows(warehouse, kind.name, known))
        for row in kept or [{}]:
            empty = dict.fromkeys(("variant", "version", "is_current", "rows", "bytes", "damage"))
            yield {"dataset": kind.name, "summary": kind.summary, **empty, **row}


def version_rows(warehouse: Warehouse, name: str, known: dict[str, Variant] | None = None) -> Iterator[dict[str, Any]]:
    """Yield a row for each version of the kind `name`, with its number of rows and size, or with what is wrong if the
    version is damaged. A variant whose current version is missing or unknown has a row with the error and no version.
    Manifests are not read again if the catalog's index has their content; `known` is the result of `known_variants`, if
    the caller has it."""
    known = known_variants(warehouse) if known is None else known
    lost: list[tuple[str, BgdataError]] = []
    for key, found in survey(warehouse, known, partial(read_variant, warehouse), kinds={name}).items():
        variant = key.partition("/")[2]
        if found.current == CURRENT:
            try:
                warehouse.open(name, variant)
            except BgdataError as error:
                lost.append((variant, error))
        for version, read in found.versions.items():
            row = {"variant": variant, "version": version, "is_current": version == found.current}
            if read.sizes:
                yield row | {"rows": read.rows, "bytes": read.bytes, "damage": None}
            else:
                yield row | _read_again(warehouse.table_in(warehouse.root / name / variant / version, name))
    for variant, flaw in lost:
        missing = dict.fromkeys(("version", "rows", "bytes"))
        yield {"variant": variant, "is_current": True, "damage": str(flaw), **missing}


def _read_again(table: Table) -> dict[str, Any]:
    """Return the number of rows and the size of a version, or what is wrong with it."""
    try:
        table.check_sizes()
        size = sum(entry.bytes for entry in table.manifest.files)
        return {"rows": table.manifest.rows, "bytes": size, "damage": None}
    except BgdataError as error:
        return {"rows": None, "bytes": None, "damage": str(error)}


def known_variants(warehouse: Warehouse) -> dict[str, Variant]:
    """Return the variants in the index of the catalog, by KIND/VARIANT. The result is empty if there is no index that
    this user wrote for this folder."""
    index = read_index(warehouse)
    return index.variants if index else {}


class Part(NamedTuple):
    """One item of the explanation of a kind, such as a column, an array or a check. It becomes a line of text or a row
    of data."""

    part: str  # type of the item: column, join, array, parameter, check or input
    name: str
    type: str = ""
    unit: str = ""
    meaning: str = ""


def kind_parts(kind: Dataset[Any], parameters: Parameters, sql: SqlFolders) -> Iterator[Part]:
    """Yield the items that explain a kind and its variant with these parameters: columns, arrays, parameters, checks
    and inputs."""
    for shape in kind.tables:
        for column in shape.columns:
            yield Part(f"column of {shape.name}", column.name, column.type, column.unit, column.meaning)
        for join in shape.joins:
            yield Part(f"join of {shape.name}", join)
    for array in kind.arrays:
        yield Part("array", array.name, array.dtype, array.axes, array.meaning)
    for name, value in vars(parameters).items():
        yield Part("parameter", name, type(value).__name__, "", value_text(value))
    for shape in kind.tables:
        for claim, _ in sql.checks(shape.name):
            yield Part(f"check of {shape.name}", claim)
    for role, wanted in kind.inputs(parameters).items():
        yield Part("input", role, "", "", input_text(wanted))


def part_rows(name: str, parts: Iterable[Part]) -> Iterator[Row]:
    """Yield the items of an explanation as rows of data; `name` is what they explain."""
    return ({"explained": name, **part._asdict()} for part in parts)


def input_text(wanted: Input) -> str:
    """Return an input of a variant in words: `KIND/VARIANT/VERSION`, or a kind with its parameters."""
    if isinstance(wanted, VersionRef):
        return str(wanted)
    return f"{wanted[0]} with {', '.join(f'{key} {value_text(value)}' for key, value in vars(wanted[1]).items())}"


GROUP_PIPS = 10  # number of pip counts in a group
# arrays of int8[n, 26] boards of the player on roll; the main array of a version comes first
BOARDS = ("boards", "turn_boards", "decisions_boards")


class PipSpread(NamedTuple):
    """How the positions of a version are distributed over the pip count of the player on roll, in groups of GROUP_PIPS
    pip counts that begin at 0."""

    pips: list[int]  # first pip count of each group
    percents: list[float]  # percent of all positions in each group


def pip_spread(table: Table) -> PipSpread | None:
    """Return how the positions of a version are distributed over the pip count of the player on roll; None if the
    version has no positions."""
    from bgdata.game.codec import pip_counts  # imports kernels

    name = next((name for name in BOARDS if table.has_array(name)), None)
    total = len(table.array(name)) if name else 0
    if name is None or not total:
        return None
    counts = np.zeros(0, np.int64)
    for part in table.parts:
        own = np.bincount(pip_counts(part.array(name))[:, 0] // GROUP_PIPS, minlength=len(counts))
        counts = own + np.pad(counts, (0, len(own) - len(counts)))
    return PipSpread(
        [GROUP_PIPS * group for group in range(len(counts))],
        [round(100 * int(count) / total, 2) for count in counts],
    )
