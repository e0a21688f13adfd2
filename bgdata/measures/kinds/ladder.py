"""The ladder: ratings of players from the games of all pairings, with intervals."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from bgdata.errors import InvalidParameterError, cite
from bgdata.kinds.columns import text_declarations
from bgdata.measures.kinds.cubeful_scores import DATASET as CUBEFUL
from bgdata.measures.kinds.cubeful_scores import LONGEST
from bgdata.measures.kinds.game_scores import DATASET as CUBELESS
from bgdata.measures.kinds.shared.players import check_player_name
from bgdata.store.dataset import BY_PLAYERS, Column, Dataset, Estimate, FlatArray, TableShape
from bgdata.store.parameters import Parameters, VersionRef

PLAYS = "cubeless, money or match-N"
MATCH = re.compile(r"match-([1-9][0-9]*)")
SMALLEST = VersionRef(CUBELESS.name, CUBELESS.slug(CUBELESS.smallest))
PAIRINGS = TableShape(
    name="ladder_pairings",
    file="pairings.parquet",
    summary="Results of the pairings that a ladder is made from, beside what the ratings say.",
    columns=(
        Column("player_name", "VARCHAR", "", "Player"),
        Column("ply", "INTEGER", "", "How many rolls it looked ahead"),
        Column("opponent", "VARCHAR", "", "Its opponent, the later one by name and ply"),
        Column("opponent_ply", "INTEGER", "", "How many rolls that looked ahead"),
        Column("games", "BIGINT", "games", "Games or matches"),
        Column(
            "mean_points", "DOUBLE", "points", "Points per game or match to the player, luck-adjusted if luck is known"
        ),
        Column("points_error", "DOUBLE", "points", "Standard error of mean_points"),
        Column("expected", "DOUBLE", "points", "What the ratings say"),
        Column("deviation", "DOUBLE", "points", "mean_points less expected"),
    ),
    key=("player_name", "ply", "opponent", "opponent_ply"),
)


class Entrant(NamedTuple):
    """A player of a ladder: its name, ply and version."""

    name: str
    ply: int
    version: str


@dataclass(frozen=True)
class LadderParameters(Parameters):
    """Parameters of `ladder`: the kind of play, the player that is rated 0 with its ply, and the sources. The sources
    are versions with games, sorted by name. A source that names no version is the smallest variant of its kind, which
    is built first."""

    play: str = "cubeless"
    zero: str = "pubeval"
    zero_ply: int = 0
    sources: tuple[VersionRef, ...] = (SMALLEST,)

    @property
    def length(self) -> int:
        """The points that win the match; 0 for money play."""
        return match_length(self.play)


def match_length(play: str) -> int:
    """Return the points that win a match in the kind of play that `play` names; 0 for money play, with or without the
    cube. Raises InvalidParameterError for an unknown name."""
    match = MATCH.fullmatch(play)
    if play in ("cubeless", "money"):
        return 0
    if not match or int(match[1]) > LONGEST:
        raise InvalidParameterError(f"expected {PLAYS} with up to {LONGEST} points, got {cite(play)}")
    return int(match[1])


class Ladder(Dataset[LadderParameters]):
    """Kind `ladder`: ratings of players from games of each pairing. One row per player."""

    name = "ladder"
    made_again = BY_PLAYERS
    revision = 1
    summary = "Ratings of players by points per game against a fixed one, from games of all pairings, with intervals."
    source = "Computed: a Bradley-Terry model of points per game, fitted by least squares to luck-adjusted paired games"
    columns = (
        Column("rank", "SMALLINT", "", "Place, 1 for the highest rating"),
        Column("player_name", "VARCHAR", "", "Player"),
        Column("ply", "INTEGER", "", "How many rolls it looked ahead; 0 is the static evaluation"),
        Column("player_version", "VARCHAR", "", "Version of the player as it says it"),
        Column("rating", "DOUBLE", "points", "Points per game (of a match: wins less losses) against who is rated 0"),
        Column("rating_error", "DOUBLE", "points", "Standard error of rating; 0 for who is rated 0"),
        Column("rating_low", "DOUBLE", "points", "Lower end of the 95 % interval"),
        Column("rating_high", "DOUBLE", "points", "Upper end of it"),
        Column("opponents", "INTEGER", "players", "Whom it played"),
        Column("games", "BIGINT", "games", "Its games or matches"),
    )
    key = ("rank",)
    side_tables = (PAIRINGS,)
    arrays = (
        *text_declarations("names", "player", "Players, best first"),
        *text_declarations("versions", "player", "Versions of the players"),
        FlatArray("plies", "int32", "player", "How many rolls each looked ahead"),
        FlatArray("ratings", "float64", "player", "Points per game against who is rated 0"),
        FlatArray("covariances", "float64", "player, player", "Of the ratings"),
        FlatArray("pairs", "int32", "pairing, (player, opponent)", "Places of both among the players"),
        FlatArray("counts", "int64", "pairing", "Games or matches"),
        FlatArray("points", "float64", "pairing", "Points per game or match to the player"),
        FlatArray("errors", "float64", "pairing", "Standard error of mean_points"),
    )
    parameters = LadderParameters
    defaults = ()
    smallest = LadderParameters()

    def slug(self, parameters: LadderParameters) -> str:
        return parameters.play

    def check_parameters(self, parameters: LadderParameters) -> None:
        match_length(parameters.play)
        check_player_name(parameters.zero)
        kind = CUBELESS.name if parameters.play == "cubeless" else CUBEFUL.name
        for place in parameters.sources:
            if place.kind != kind or not (place.version or place == SMALLEST):
                raise InvalidParameterError(f"expected sources {kind}/VARIANT/VERSION, got '{place}'")
        if not parameters.sources or list(parameters.sources) != sorted(set(parameters.sources), key=str):
            raise InvalidParameterError("expected sources in order, each once")

    def inputs(self, parameters: LadderParameters) -> Mapping[str, tuple[str, Parameters]]:
        return {"smallest": (SMALLEST.kind, CUBELESS.smallest)} if SMALLEST in parameters.sources else {}

    def estimate(self, parameters: LadderParameters) -> Estimate:
        pairings = len(parameters.sources)
        return Estimate(2 * pairings, 400 * pairings + 8 * (2 * pairings) ** 2, 1 << 24)


DATASET = Ladder()
