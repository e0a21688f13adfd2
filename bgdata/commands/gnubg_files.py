"""gnubg's .bd files beside our tables: as SQL views with the same columns, and probed with the same words."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bgdata.errors import UsageError
from bgdata.formats.gnubg_bearoff import GnubgOneSided, GnubgTwoSided, open_gnubg_bearoff

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

COLUMNS = ("cubeless", "owned", "centered", "opponent_owned")


def view_name(path: Path) -> str:
    """SQL name of a file: its stem in lower case, other characters than letters and digits as underscores."""
    return re.sub(r"\W", "_", path.stem.lower())


def define_gnubg_view(connection: duckdb.DuckDBPyConnection, path: Path, name: str) -> str:
    """Register a file as a view with the columns of our tables; returns the dataset kind that it compares with.

    Raises CorruptFileError, or UsageError for a file that holds no bearoff table.
    """
    file = open_gnubg_bearoff(path)
    if isinstance(file, GnubgTwoSided):
        connection.register(name, two_sided_rows(file))
        return "bearoff_two_sided"
    if isinstance(file, GnubgOneSided) and not file.header.is_normal:
        connection.register(name, one_sided_rows(file))
        return "bearoff_one_sided"
    raise UsageError(f"expected a one-sided or two-sided table of chances or equities, got {path}")


def two_sided_rows(file: GnubgTwoSided) -> pa.Table:
    """on_roll_index, opponent_index and the equities that the file has."""
    import pyarrow as pa

    count = len(file)
    index = np.arange(count, dtype=np.int32)
    equities = (file.codes.reshape(count * count, -1) / np.float32(32767.5)) - np.float32(1)
    columns = {name: np.ascontiguousarray(equities[:, n]) for n, name in enumerate(COLUMNS[: equities.shape[1]])}
    return pa.table({"on_roll_index": np.repeat(index, count), "opponent_index": np.tile(index, count), **columns})


def one_sided_rows(file: GnubgOneSided) -> pa.Table:
    """position_index, chances (a list from 0 rolls on) and mean_rolls, and gammon_chances where the file has them."""
    import pyarrow as pa

    counts, gammons = file.read_all()
    columns: dict[str, object] = {
        "position_index": np.arange(len(counts), dtype=np.int32),
        "chances": list_column(counts),
        "mean_rolls": counts @ np.arange(counts.shape[1]) / 65535,
    }
    if gammons is not None:
        columns["gammon_chances"] = list_column(gammons)
    return pa.table(columns)


def list_column(counts: np.ndarray) -> pa.Array:
    """Rows of 65535ths as lists of chances."""
    from bgdata.datasets.common.columns import fixed_lists

    return fixed_lists((counts / np.float32(65535)).astype(np.float32))
