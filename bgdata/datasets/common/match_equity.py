"""What the kinds of match equity tables share: those that are built here, and those that are read from files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from bgdata.datasets.common.columns import chosen_texts, text_arrays, text_column, text_declarations
from bgdata.equity.match_equity import MatchEquity
from bgdata.equity.stored_met import row_arrays
from bgdata.store.declaration import PARQUET, Column, FlatArray, TableShape

if TYPE_CHECKING:
    import pyarrow as pa

    from bgdata.store.arrays import Array

MET = Column("met", "VARCHAR", "", "Name of the match equity table")
SCORE_COLUMNS = (
    Column("is_post_crawford", "BOOLEAN", "", "Whether the Crawford game is over; else 1-away is the Crawford game"),
    Column("away", "INTEGER", "points", "Points that the player still needs to win the match"),
    Column("opponent_away", "INTEGER", "points", "Points that the opponent still needs"),
)
MATCH_EQUITY = TableShape(
    name="match_equity",
    file=PARQUET,
    summary="Chance of winning a match before a game at every score, of tables built here and of other people's.",
    columns=(MET, *SCORE_COLUMNS, Column("mwc", "DOUBLE", "chance", "The player's chance of winning the match")),
    key=("met", "is_post_crawford", "away", "opponent_away"),
    shared=True,
)
MATCH_EQUITY_TABLES = TableShape(
    name="match_equity_tables",
    file="tables.parquet",
    summary="Match equity tables: who made them and how, how far they go, and on what terms they may be copied.",
    columns=(
        MET,
        Column("title", "VARCHAR", "", "What the table calls itself"),
        Column("description", "VARCHAR", "", "How it was made, in its own words"),
        Column("form", "VARCHAR", "", "built (here), explicit (chances in a file), or the formula: zadeh or mec"),
        Column("most_away", "INTEGER", "points", "Points to go that it knows; null for a formula"),
        Column("most_post_crawford_away", "INTEGER", "points", "The same of trailers after the Crawford game"),
        Column("is_symmetric", "BOOLEAN", "", "Whether both players have the same chances"),
        Column("asymmetry", "DOUBLE", "chance", "How far chances of both sides are from summing to 1, at most"),
        Column("gammon_rate", "DOUBLE", "share of games", "Games that end in a gammon, of a table built here"),
        Column(
            "cube_life_index", "DOUBLE", "share of live", "Janowski's index, of a table built here: 0 dead to 1 live"
        ),
        Column("formula", "VARCHAR", "", "Parameters of a formula as JSON; nothing is computed from them"),
        Column("notice", "VARCHAR", "", "Comments of the file: copyright, licence and source"),
    ),
    key=("met",),
    shared=True,
)
TEXTS = ("mets", "titles", "descriptions", "forms", "formulas", "notices")
TABLE_ARRAYS = (
    *text_declarations("mets", "table", "Names of the tables, in order"),
    *text_declarations("titles", "table", "What the tables call themselves"),
    *text_declarations("descriptions", "table", "How they were made"),
    *text_declarations("forms", "table", "Where the chances come from: built, explicit, zadeh or mec"),
    *text_declarations("formulas", "table", "Parameters of formulas as JSON, or nothing"),
    *text_declarations("notices", "table", "Copyright and licence"),
    FlatArray("recipes", "float64", "table, (gammon rate, cube life index)", "How they were built; NaN: elsewhere"),
    FlatArray("symmetries", "uint8", "table", "Whether both players have the same chances: 1, else 0"),
)
CELL_ARRAYS = (
    FlatArray("met", "uint16", "cell", "Index of the table in `mets`"),
    FlatArray("is_post_crawford", "uint8", "cell", "Whether the Crawford game is over: 1, else 0"),
    FlatArray("away", "uint8", "cell", "Points that the player still needs"),
    FlatArray("opponent_away", "uint8", "cell", "Points that the opponent still needs"),
    FlatArray("mwc", "float64", "cell", "The player's chance of winning the match"),
)


@dataclass(frozen=True)
class Described:
    """A table and what is known of it; `met` is None for one of a formula."""

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


def arrays_of_tables(tables: Sequence[Described]) -> dict[str, Array]:
    """TABLE_ARRAYS and CELL_ARRAYS of tables, which must come in order of their names."""
    columns = {
        "mets": [table.name for table in tables],
        "titles": [table.title for table in tables],
        "descriptions": [table.description for table in tables],
        "forms": [table.form for table in tables],
        "formulas": [json.dumps(table.formula, sort_keys=True) if table.formula else "" for table in tables],
        "notices": [table.notice for table in tables],
    }
    found: dict[str, Array] = {}
    for name, texts in columns.items():
        found |= text_arrays(name, texts)
    recipes = [(table.gammon_rate, table.cube_life_index) for table in tables]
    found["recipes"] = np.array(recipes, np.float64).reshape(-1, 2)
    found["symmetries"] = np.array([table.is_symmetric for table in tables], np.uint8)
    return found | row_arrays([table.met for table in tables])


def cell_batches(arrays: Mapping[str, Array]) -> Iterator[pa.RecordBatch]:
    """The rows of `match_equity`."""
    import pyarrow as pa

    yield pa.record_batch({**score_columns(arrays), "mwc": pa.array(np.asarray(arrays["mwc"]))})


def score_columns(arrays: Mapping[str, Array]) -> dict[str, pa.Array]:
    """`met` and the score of every cell."""
    import pyarrow as pa

    return {
        "met": chosen_texts(text_column(arrays, "mets"), np.asarray(arrays["met"]).astype(np.int32)),
        "is_post_crawford": pa.array(np.asarray(arrays["is_post_crawford"]).astype(np.bool_)),
        "away": pa.array(np.asarray(arrays["away"]).astype(np.int32)),
        "opponent_away": pa.array(np.asarray(arrays["opponent_away"]).astype(np.int32)),
    }


def table_batches(arrays: Mapping[str, Array]) -> Iterator[pa.RecordBatch]:
    """The rows of `match_equity_tables`."""
    import pyarrow as pa

    texts = {name: text_column(arrays, name) for name in TEXTS}
    lengths = [most_away(arrays, number) for number in range(len(texts["mets"]))]
    recipes = np.asarray(arrays["recipes"])
    yield pa.record_batch(
        {
            "met": texts["mets"],
            "title": texts["titles"],
            "description": texts["descriptions"],
            "form": texts["forms"],
            "most_away": pa.array([length for length, *_ in lengths], pa.int32()),
            "most_post_crawford_away": pa.array([length for _, length, _ in lengths], pa.int32()),
            "is_symmetric": pa.array(np.asarray(arrays["symmetries"]).astype(np.bool_)),
            "asymmetry": pa.array([asymmetry for *_, asymmetry in lengths], pa.float64()),
            "gammon_rate": pa.array(recipes[:, 0], from_pandas=True),
            "cube_life_index": pa.array(recipes[:, 1], from_pandas=True),
            "formula": pa.array([text or None for text in texts["formulas"].to_pylist()], pa.string()),
            "notice": texts["notices"],
        }
    )


def most_away(arrays: Mapping[str, Array], number: int) -> tuple[int | None, int | None, float | None]:
    """Points to go that a table knows, before and after the Crawford game, and its asymmetry; None without cells."""
    from bgdata.equity.stored_met import met_names, met_of_arrays

    if not (np.asarray(arrays["met"]) == number).any():
        return None, None, None
    met = met_of_arrays(arrays, met_names(arrays)[number])
    return met.length, met.post_crawford_length, met.asymmetry
