"""Match equity tables built from the opening play of a network or from a given post-Crawford row, and the columns and
arrays that built and imported tables share."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bgdata.equity.cube_models import check_cube_life_index
from bgdata.equity.match_equity import MAX_AWAY, MatchEquity, check_gammon_rate
from bgdata.errors import InvalidParameterError
from bgdata.kinds.columns import CHANCE_COLUMNS, POSITION_COLUMNS, text_declarations
from bgdata.selfplay.kinds.shared.rollouts import NetworkChoice
from bgdata.store.dataset import PARQUET, Column, Dataset, Estimate, FlatArray, TableShape
from bgdata.store.parameters import Parameters, number_text, value_text

# mwc of the trailer, 1- to 12-away, and gammon rate: computationalbackgammon.blogspot.com, 14 March 2012, by Player 3.3
PUBLISHED_ROW = (0.5, 0.486, 0.319, 0.306, 0.187, 0.1775, 0.113, 0.106, 0.0675, 0.063, 0.0405, 0.0375)
PUBLISHED_RATE = 0.276
MAX_PLY = 2
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
SENSITIVITIES = TableShape(
    name="match_equity_sensitivities",
    file="sensitivities.parquet",
    summary="How mwc at every score would change if more games ended in a gammon.",
    columns=(
        MET,
        *SCORE_COLUMNS,
        Column("mwc_change", "DOUBLE", "chance", "Change of mwc for each point (0.01) of gammon rate"),
    ),
    key=MATCH_EQUITY.key,
)
FIRST_DOUBLES = TableShape(
    name="first_doubles",
    file="first_doubles.parquet",
    summary="The positions in which a trailer can first double: after a roll of the leader, or two of both.",
    columns=(
        Column("state", "INTEGER", "", "Number of the position: the leader's 15 first rolls, then 15 x 21"),
        *POSITION_COLUMNS,
        Column("weight", "DOUBLE", "chance", "How often the game comes there"),
        *CHANCE_COLUMNS,
    ),
    key=("state",),
)


@dataclass(frozen=True)
class MatchEquityParameters(NetworkChoice):
    """Parameters of `match_equity`: the source of the post-Crawford row, the share of games that end in a gammon, the
    cube life index, and the number of points to go. The row is the trailer's mwc from 1-away on. It is computed by a
    network at `ply`, or given as `row`. The default gammon rate is the rate in the network's opening play."""

    ply: int = 1
    row: tuple[float, ...] = ()
    gammon_rate: float | None = None
    cube_life_index: float = 1.0
    length: int = 25

    def check_numbers(self) -> None:
        """Raise InvalidParameterError if an index or a rate is out of range, or if a row is given without a rate."""
        check_cube_life_index(self.cube_life_index)
        if self.row and self.gammon_rate is None:
            raise InvalidParameterError("expected a gammon rate from 0 to 1 beside the row, got none")
        if self.gammon_rate is not None:
            check_gammon_rate(self.gammon_rate)


PUBLISHED = MatchEquityParameters(row=PUBLISHED_ROW, gammon_rate=PUBLISHED_RATE, length=12)


class MatchEquityTables(Dataset[MatchEquityParameters]):
    """Kind `match_equity`: match equity tables built by bgdata. They have one row for each score, and two rows if a
    side is 1-away: one for the Crawford game and one for post-Crawford games."""

    name = "match_equity"
    revision = 3  # 3: 1-ply looks at 18 plays of each roll, in races too
    summary = "Match equity tables: the chance of winning a match at every score, from how a network opens."
    source = (
        "Computed: post-Crawford games from the 330 positions of first doubles, Crawford games without a cube, and the "
        "rest by Tom Keith's algorithm, mixed with a dead cube as Janowski does"
    )
    columns = MATCH_EQUITY.columns
    key = MATCH_EQUITY.key
    arrays = (
        *TABLE_ARRAYS,
        *CELL_ARRAYS,
        FlatArray("mwc_changes", "float64", "cell", "Change of mwc for each point (0.01) of gammon rate"),
        FlatArray("state_boards", "int8", "state, 26 integers", "Where the trailer, who is on roll, can first double"),
        FlatArray("state_weights", "float64", "state", "How often that comes about"),
        FlatArray("state_chances", "float32", "state, chance", "Five cumulative chances of the trailer, as evaluated"),
    )
    parameters = MatchEquityParameters
    defaults = (MatchEquityParameters(cube_life_index=0.8), MatchEquityParameters(), PUBLISHED)
    smallest = MatchEquityParameters("tiny", "", 3, 3, ply=0, cube_life_index=0.5, length=4)

    @property
    def tables(self) -> tuple[TableShape, ...]:
        return MATCH_EQUITY, MATCH_EQUITY_TABLES, SENSITIVITIES, FIRST_DOUBLES

    def slug(self, parameters: MatchEquityParameters) -> str:
        row, index = parameters.row, number_text(parameters.cube_life_index)
        rate = "" if parameters.gammon_rate is None else number_text(parameters.gammon_rate)
        if row == PUBLISHED_ROW and parameters.gammon_rate == PUBLISHED_RATE:
            first, rate = "published", ""
        elif row:
            first = f"row-{hashlib.sha256(value_text(row).encode()).hexdigest()[:8]}"
        else:
            first = f"{parameters.network}-{parameters.ply}ply"
        rates = f"-gammons-{rate}" if rate else ""
        return re.sub(
            r"[^a-z0-9]+", "-", f"{first}-{parameters.length}{rates}" + (f"-index-{index}" if index != "1" else "")
        )

    def check_parameters(self, parameters: MatchEquityParameters) -> None:
        parameters.check_network()
        if not 0 <= parameters.ply <= MAX_PLY:
            raise InvalidParameterError(f"expected a ply from 0 to {MAX_PLY}, got {parameters.ply}")
        parameters.check_numbers()
        row = parameters.row
        most = len(row) if row else MAX_AWAY
        if not 2 <= parameters.length <= most:
            reason = f", as the row has {most}" if row else ""
            raise InvalidParameterError(f"expected a length of 2 to {most} points{reason}, got {parameters.length}")
        if row:
            MatchEquity.of("the row", np.full((len(row), len(row)), 0.5), row)

    def inputs(self, parameters: MatchEquityParameters) -> Mapping[str, tuple[str, Parameters]]:
        return {} if parameters.row else parameters.network_inputs()

    def estimate(self, parameters: MatchEquityParameters) -> Estimate:
        cells = parameters.length**2 + 2 * parameters.length - 1
        return Estimate(cells, 60 * cells + 60_000, 1 << 27)


DATASET = MatchEquityTables()
