"""Match equity tables of a warehouse by name, whether built or imported. Needs NumPy alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgdata.equity.match_equity import MatchEquity, decided_cells
from bgdata.errors import CorruptFileError, MissingTableError
from bgdata.store.versions import Versions

KINDS = ("match_equity", "met_xml")  # built here, and read from files; the first of a name is meant
TYPES = {"met": "u2", "is_post_crawford": "u1", "away": "u1", "opponent_away": "u1", "mwc": "f8"}  # of `row_arrays`
Arrays = Mapping[str, NDArray[Any]]


def find_met(warehouse: Versions, name: str = "") -> MatchEquity:
    """The table of this name; without a name the default one. Raises MissingTableError."""
    wanted, known = name or default_met(warehouse), list[str]()
    for kind in KINDS:
        for table in warehouse.current(kind):
            names = met_names(table.arrays())
            if wanted in names:
                return met_of_arrays(table.arrays(), wanted)
            known += names
    have = ", ".join(dict.fromkeys(known)) or "none"
    raise MissingTableError(
        f"no match equity table {name or 'is built'} in {warehouse.root} (have: {have}); try: bgdata build match_equity"
    )


def default_met(warehouse: Versions) -> str:
    """The name of the default table."""
    kind = warehouse.kind(KINDS[0])
    return kind.slug(kind.defaults[0])


def met_names(arrays: Arrays) -> list[str]:
    """Names of the tables that a version holds, including those given by formulas."""
    return texts(arrays, "mets")


def met_of_arrays(arrays: Arrays, name: str) -> MatchEquity:
    """A table from the arrays of a version. Raises MissingTableError for a table that the version lacks, or that is a
    formula without chances, and CorruptFileError for scores or chances that no table has."""
    names = met_names(arrays)
    rows = np.flatnonzero(np.asarray(arrays["met"]) == names.index(name)) if name in names else np.zeros(0, np.int64)
    if not len(rows):
        have = ", ".join(names[number] for number in np.unique(arrays["met"])) or "none"
        what = f"{name}, which is a formula without chances" if name in names else name
        raise MissingTableError(f"expected a match equity table among {have}, got {what}")
    if len({len(arrays[key]) for key in TYPES}) > 1:
        raise CorruptFileError(
            f"expected as many scores as chances in the match equity table {name}, found others; "
            "try: bgdata verify --repair"
        )
    is_post_crawford, away, opponent_away = (
        np.asarray(arrays[key])[rows].astype(np.int64) for key in ("is_post_crawford", "away", "opponent_away")
    )
    mwc = np.asarray(arrays["mwc"])[rows]
    scores, length = np.stack([away, opponent_away]), int(away.max())
    if not ((scores >= 1) & (scores <= length) & (mwc >= 0) & (mwc <= 1)).all() or is_post_crawford.max() > 1:
        raise CorruptFileError(
            f"expected scores of 1-away to {length}-away and chances from 0 to 1 in the match equity table {name}, "
            "found others; try: bgdata verify --repair"
        )
    cells = decided_cells(length)
    cells[is_post_crawford, away, opponent_away] = mwc
    cells.flags.writeable = False
    return MatchEquity(name, cells)


def row_arrays(mets: Sequence[MatchEquity | None]) -> dict[str, NDArray[Any]]:
    """The arrays `met` (index of the table), `is_post_crawford`, `away`, `opponent_away` and `mwc` of all cells that
    tables have, in this order; nothing for None."""
    found: list[tuple[NDArray[Any], ...]] = []
    for number, met in enumerate(mets):
        if met is not None:
            places = np.nonzero(np.isfinite(met.cells[:, 1:, 1:]))
            values = met.cells[:, 1:, 1:][places]
            found.append((np.full(len(values), number), places[0], places[1] + 1, places[2] + 1, values))
    columns = [np.concatenate(parts) for parts in zip(*found, strict=True)] or [np.zeros(0)] * 5
    return {key: column.astype(type_) for (key, type_), column in zip(TYPES.items(), columns, strict=True)}


def texts(arrays: Arrays, name: str) -> list[str]:
    """Texts from an array of all their bytes and an array of their ends."""
    letters, ends = np.asarray(arrays[name]).tobytes(), np.asarray(arrays[f"{name}_ends"]).tolist()
    return [letters[begin:end].decode() for begin, end in zip([0, *ends[:-1]], ends, strict=True)]
