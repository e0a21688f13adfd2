"""Imported matches judged by a network: every decision with its loss, every roll with its luck."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from bgdata.equity.kinds.match_equity import DATASET as MATCH_EQUITY
from bgdata.equity.kinds.match_equity import PUBLISHED
from bgdata.errors import InvalidParameterError
from bgdata.imports.kinds.shared.imports import ImportParameters
from bgdata.kinds.columns import CLASS_COLUMN, POSITION_COLUMNS, text_declarations
from bgdata.matches.kinds.matches import DATASET as MATCHES
from bgdata.matches.kinds.matches import MATCH
from bgdata.selfplay.kinds.shared.games import GAME
from bgdata.selfplay.kinds.shared.rollouts import NetworkChoice
from bgdata.store.dataset import Column, Dataset, Estimate, FlatArray, Input
from bgdata.store.parameters import VersionRef

MAX_PLY = 3
OWN, PUBLISHED_MET = METS = ("own", "published")
UNNAMED = VersionRef("matches", "unnamed")
SUBJECTS = ("play", "double", "answer")
NUMBERS = (
    *("game", "turn", "player", "subject", "away", "opponent_away", "is_crawford", "cube_value", "cube_owner"),
    *("die1", "die2", "is_forced", "is_decision", "counts_for_pr"),
)
VALUES = ("loss", "loss_mwc", "luck", "luck_mwc")


@dataclass(frozen=True)
class MatchAnalysisParameters(NetworkChoice):
    """Parameters of `match_analysis`: the imported matches, how many rolls the network looks ahead, and the match
    equity table. The table is that of the default network, or `published`, which goes up to 12-away."""

    source: VersionRef = UNNAMED
    ply: int = 1
    met: str = OWN


class MatchAnalysis(Dataset[MatchAnalysisParameters]):
    """Kind `match_analysis`: imported matches judged by a network. One row per decision. A game that another version
    has judged in the same way is copied from that version."""

    name = "match_analysis"
    revision = 3  # 3: free doubles in matches have an index of their own; 2: bearoffs for money are exact
    summary = "Decisions of imported matches, judged by a network with the cube: what each lost, and the luck of rolls."
    source = "Computed: chances by the network, some rolls ahead, then Janowski's model of the cube (1993)"
    columns = (
        MATCH,
        GAME,
        Column("turn", "INTEGER", "", "Number of the turn in its game, from 0, as in `turns`"),
        Column("subject", "VARCHAR", "", "play, double (or not), or answer (to a double)"),
        Column("game_number", "SMALLINT", "", "Number of the game in its match, from 1"),
        Column("turn_number", "INTEGER", "", "Number of the turn in its game, from 1"),
        Column("player_name", "VARCHAR", "", "Name of the player who decides"),
        Column("other_name", "VARCHAR", "", "Name of the other player"),
        *POSITION_COLUMNS,
        CLASS_COLUMN,
        Column("theme", "VARCHAR", "", "Theme of the position, such as blitz; null if the game is over"),
        Column("xgid", "VARCHAR", "", "Position, score, cube and roll of the player on roll, as an XGID"),
        Column("away", "INTEGER", "points", "Points that the player on roll needs; null in money play"),
        Column("opponent_away", "INTEGER", "points", "Points that the opponent needs; null in money play"),
        Column("is_crawford", "BOOLEAN", "", "Whether this is the Crawford game"),
        Column("cube_value", "INTEGER", "", "Cube before the turn"),
        Column("cube_owner", "VARCHAR", "", "centered, on_roll or opponent, before the turn"),
        Column("die1", "TINYINT", "", "First die, null without a roll"),
        Column("die2", "TINYINT", "", "Second die, null without a roll"),
        Column("made", "VARCHAR", "", "Play or cube action that was made"),
        Column("best", "VARCHAR", "", "Best play or cube action"),
        Column("loss", "DOUBLE", "points", "Loss in points of normalised equity"),
        Column("loss_mwc", "DOUBLE", "mwc", "Loss in match winning chances; null in money play"),
        Column("luck", "FLOAT", "points", "Luck of the roll in points of normalised equity; null without a roll"),
        Column("luck_mwc", "DOUBLE", "mwc", "Luck of the roll in match winning chances; null in money play"),
        Column("is_forced", "BOOLEAN", "", "Whether there was no choice of plays"),
        Column("is_decision", "BOOLEAN", "", "Whether it counts for the performance rating of `bgdata analyze`"),
        Column("counts_for_pr", "BOOLEAN", "", "Whether it counts for PR by the rules of eXtreme Gammon"),
        Column("error", "VARCHAR", "", "play, missed double, wrong double, wrong take, wrong pass; null without loss"),
    )
    key = ("game", "turn", "subject")
    arrays = (
        FlatArray("numbers", "int32", f"decision, ({', '.join(NUMBERS)})", "Numbers of each decision; -1: null"),
        FlatArray("values", "float64", f"decision, ({', '.join(VALUES)})", "Losses and luck; NaN: null"),
        FlatArray("boards", "int8", "decision, 26 integers", "Board of the player on roll"),
        *text_declarations("choices", "decision x 2", "What was made, and what is best"),
        *text_declarations("xgids", "decision", "Position, score, cube and roll"),
        FlatArray("game_places", "int32", "game, (match, number in the match)", "Places of the games"),
        FlatArray("game_ends", "int64", "game", "Decisions up to the end of the game"),
        FlatArray("game_keys", "uint8", "game, 16 bytes", "Hash of what was judged"),
        *text_declarations("players", "game x 2", "Names of the players of each game"),
    )
    parameters = MatchAnalysisParameters
    defaults = ()
    smallest = MatchAnalysisParameters("tiny", "", 3, 3, VersionRef("matches", "sample"), 0, PUBLISHED_MET)

    def slug(self, parameters: MatchAnalysisParameters) -> str:
        source = re.sub(r"[^a-z0-9]+", "-", f"{parameters.source.variant}-{parameters.source.version}").strip("-")
        met = "" if parameters.met == OWN else f"-{parameters.met}-met"
        return f"{source}-by-{parameters.network}-{parameters.ply}ply{met}"

    def check_parameters(self, parameters: MatchAnalysisParameters) -> None:
        parameters.check_network()
        if parameters.source.kind != MATCHES.name:
            raise InvalidParameterError(f"expected imported matches, such as matches/NAME, got {parameters.source}")
        if not 0 <= parameters.ply <= MAX_PLY:
            raise InvalidParameterError(f"expected a ply of 0 to {MAX_PLY}, got {parameters.ply}")
        if parameters.met not in METS:
            raise InvalidParameterError(f"expected own or published as met, got {parameters.met!r}")
        ImportParameters(parameters.source.variant).check()

    def inputs(self, parameters: MatchAnalysisParameters) -> Mapping[str, Input]:
        source = parameters.source
        met = MATCH_EQUITY.defaults[0] if parameters.met == OWN else PUBLISHED
        return {
            "source": source if source.version else (MATCHES.name, ImportParameters(source.variant)),
            **parameters.network_inputs(),
            "met": (MATCH_EQUITY.name, met),
        }

    def estimate(self, _parameters: MatchAnalysisParameters) -> Estimate:
        return Estimate(0, 0, 1 << 28)  # as many rows as the matches have decisions


DATASET = MatchAnalysis()
