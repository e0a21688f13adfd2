"""Losses of a player in each bearoff decision, judged by an exact table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.endgames.kinds.contact_endgame import POINTS as ANYWHERE
from bgdata.endgames.kinds.contact_endgame import EndgameParameters
from bgdata.errors import InvalidParameterError
from bgdata.kinds.columns import POSITION_COLUMNS
from bgdata.measures.kinds.shared.players import check_player_name, player_slug
from bgdata.selfplay.kinds.shared.games import check_seed
from bgdata.store.dataset import BY_PLAYERS, Column, Dataset, Estimate, FlatArray
from bgdata.store.parameters import Parameters

MIN_DECISIONS, MAX_DECISIONS = 2, 1 << 24  # limits of the number of decisions; a standard error needs two


@dataclass(frozen=True)
class RefereeParameters(Parameters):
    """Parameters of `referee_scores`: a player, its ply and version, whether a network plays with its bearoff tables,
    the exact table that judges, and the decisions. `points` and `checkers` are the size of the table; 25 points mean
    contact endgames."""

    player: str = "pubeval"
    ply: int = 0
    version: str = "2"
    tables: bool = True
    points: int = 3
    checkers: int = 3
    decisions: int = 20
    seed: int = 1


class RefereeScores(Dataset[RefereeParameters]):
    """Kind `referee_scores`: what a player loses in decisions that an exact table has solved. One row per decision, in
    the order of `referee_scores_compute.exact_decisions` or `contact_decisions`."""

    name = "referee_scores"
    made_again = BY_PLAYERS
    revision = 2  # 2: the standard error knows which decisions are of one game
    summary = (
        "Choices of a player in bearoffs of an exact two-sided table, or in contact endgames, and what each loses "
        "against the best play."
    )
    source = (
        "Computed: the player's choices by cubeless money equity, in positions of PubEval's games against itself, or "
        "in contact endgames drawn at random"
    )
    columns = (
        Column("decision", "INTEGER", "", "Number of the decision, in the order of the games"),
        *POSITION_COLUMNS,
        Column("die1", "TINYINT", "", "First die"),
        Column("die2", "TINYINT", "", "Second die"),
        Column("n_plays", "SMALLINT", "plays", "Different plays of the roll"),
        Column("next_position_id", "VARCHAR", "", "Position after the chosen play, the opponent on roll"),
        Column("best_position_id", "VARCHAR", "", "Position after the best play, the opponent on roll"),
        Column("rank", "SMALLINT", "", "How many plays are better, beyond the rounding of the table"),
        Column("loss", "DOUBLE", "points", "Exact cubeless equity after the best play less that after the choice"),
    )
    key = ("decision",)
    arrays = (
        FlatArray("boards", "int8", "decision, 26 integers", "Board before the roll, of the player on roll"),
        FlatArray("rolls", "int8", "decision, 2 dice", "Dice as rolled"),
        FlatArray("games", "int64", "decision", "Number of the game; each contact endgame is one of its own"),
        FlatArray("chosen", "int8", "decision, 26 integers", "Board after the chosen play, the opponent on roll"),
        FlatArray("losses", "float64", "decision", "Points lost against the best"),
        FlatArray("ranks", "int16", "decision", "How many plays are better, beyond the rounding of the table"),
        FlatArray("n_plays", "int16", "decision", "Different plays of the roll"),
        FlatArray("best", "int8", "decision, 26 integers", "Board after the best play, the opponent on roll"),
    )
    parameters = RefereeParameters
    defaults = ()
    smallest = RefereeParameters()

    def slug(self, parameters: RefereeParameters) -> str:
        player = player_slug(parameters.player, parameters.ply) + ("" if parameters.tables else "-without-tables")
        table = f"{parameters.points}x{parameters.checkers}"
        return f"{player}-{table}-{parameters.decisions}-seed-{parameters.seed}"

    def check_parameters(self, parameters: RefereeParameters) -> None:
        check_player_name(parameters.player)
        if not MIN_DECISIONS <= parameters.decisions <= MAX_DECISIONS:
            raise InvalidParameterError(
                f"expected {MIN_DECISIONS} to {MAX_DECISIONS:,} decisions, got {parameters.decisions}"
            )
        check_seed(parameters.seed)

    def inputs(self, parameters: RefereeParameters) -> Mapping[str, tuple[str, Parameters]]:
        if parameters.points == ANYWHERE:
            return {"table": ("contact_endgame", EndgameParameters(parameters.checkers))}
        return {"table": ("bearoff_two_sided", TwoSidedParameters(parameters.points, parameters.checkers))}

    def estimate(self, parameters: RefereeParameters) -> Estimate:
        return Estimate(parameters.decisions, 150 * parameters.decisions, (1 << 28) + 400 * parameters.decisions)


DATASET = RefereeScores()
