"""Arrays and rows of match equity tables, both built and imported."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from bgdata.equity.match_equity import MatchEquity, met_names, met_of_arrays, row_arrays
from bgdata.kinds.column_values import select_texts, text_arrays, text_column
from bgdata.store.arrays import Array

TEXTS = ("mets", "titles", "descriptions", "forms", "formulas", "notices")


@dataclass(frozen=True)
class MetWithDescription:
    """A match equity table with its description; `met` is None for a table that is given by a formula."""

    name: str
    met: MatchEquity | None
    title: str
    description: str
    form: str
    is_symmetric: bool = True
    gammon_rate: float = np.nan
    cube_life_index: float = np.nan
    formula: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    notice: str = ""


def arrays_of_tables(tables: Sequence[MetWithDescription]) -> dict[str, Array]:
    """Convert match equity tables, which must be sorted by name, to TABLE_ARRAYS and CELL_ARRAYS."""
    columns = [[getattr(table, name) for table in tables] for name in ("name", "title", "description", "form")]
    columns.append([json.dumps(table.formula, sort_keys=True) if table.formula else "" for table in tables])
    columns.append([table.notice for table in tables])
    found: dict[str, Array] = {}
    for name, texts in zip(TEXTS, columns, strict=True):
        found |= text_arrays(name, texts)
    recipes = [(table.gammon_rate, table.cube_life_index) for table in tables]
    found["recipes"] = np.array(recipes, np.float64).reshape(-1, 2)
    found["symmetries"] = np.array([table.is_symmetric for table in tables], np.uint8)
    return found | row_arrays([table.met for table in tables])


def cell_batches(arrays: Mapping[str, Array]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the SQL table `match_equity`."""
    yield pa.record_batch({**score_columns(arrays), "mwc": pa.array(np.asarray(arrays["mwc"]))})


def score_columns(arrays: Mapping[str, Array]) -> dict[str, pa.Array]:
    """Return the column `met` and the columns of the score, for every cell."""
    return {
        "met": select_texts(text_column(arrays, "mets"), np.asarray(arrays["met"]).astype(np.int32)),
        "is_post_crawford": pa.array(np.asarray(arrays["is_post_crawford"]).astype(np.bool_)),
        "away": pa.array(np.asarray(arrays["away"]).astype(np.int32)),
        "opponent_away": pa.array(np.asarray(arrays["opponent_away"]).astype(np.int32)),
    }


def table_batches(arrays: Mapping[str, Array]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the SQL table `match_equity_tables`."""
    texts = {name: text_column(arrays, name) for name in TEXTS}
    with_cells = set(np.unique(np.asarray(arrays["met"])).tolist())
    names = met_names(arrays)
    mets = [met_of_arrays(arrays, name) if number in with_cells else None for number, name in enumerate(names)]
    recipes = np.asarray(arrays["recipes"])
    yield pa.record_batch(
        {
            "met": texts["mets"],
            "title": texts["titles"],
            "description": texts["descriptions"],
            "form": texts["forms"],
            "most_away": pa.array([met and met.length for met in mets], pa.int32()),
            "most_post_crawford_away": pa.array([met and met.post_crawford_length for met in mets], pa.int32()),
            "is_symmetric": pa.array(np.asarray(arrays["symmetries"]).astype(np.bool_)),
            "asymmetry": pa.array([met and met.asymmetry for met in mets], pa.float64()),
            "gammon_rate": pa.array(recipes[:, 0], from_pandas=True),
            "cube_life_index": pa.array(recipes[:, 1], from_pandas=True),
            "formula": pa.array([text or None for text in texts["formulas"].to_pylist()], pa.string()),
            "notice": texts["notices"],
        }
    )
