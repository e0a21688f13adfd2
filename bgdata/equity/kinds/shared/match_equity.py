"""What the kinds of match equity tables share: those that are built here, and those that are read from files."""

from __future__ import annotations

from bgdata.kinds.columns import text_declarations
from bgdata.store.dataset import PARQUET, Column, FlatArray, TableShape

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
