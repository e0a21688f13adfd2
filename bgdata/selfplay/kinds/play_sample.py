"""Positions after the best plays of self-play turns, which a player must distinguish to choose well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bgdata.errors import InvalidParameterError
from bgdata.game.classes import PositionClass
from bgdata.kinds import columns as col
from bgdata.selfplay.kinds.selfplay import DATASET as SELFPLAY
from bgdata.selfplay.kinds.selfplay import SelfPlayParameters
from bgdata.selfplay.kinds.shared.corpora import RowsOfGames
from bgdata.selfplay.kinds.shared.rollouts import NetworkChoice
from bgdata.store.dataset import Column, Estimate, FlatArray
from bgdata.store.parameters import Parameters, number_text

if TYPE_CHECKING:
    from bgdata.selfplay.rollout_decisions import Window

MAX_PLAYS = 20  # limit of `plays`
CLASSES = ("contact", "crashed", "race")  # races include bearoffs


@dataclass(frozen=True)
class PlaySampleParameters(SelfPlayParameters, NetworkChoice):
    """Parameters of `play_sample`: a corpus, the classes of positions, the maximum number of turns of each class, and
    which plays of a turn are included. Plays are included up to a maximum number and a maximum loss, in points at
    0-ply, by the network that evaluates them."""

    classes: tuple[str, ...] = CLASSES
    most: int = 2000
    plays: int = 4
    within: float = 6.0

    def numbers(self) -> list[int]:
        """Return the numbers by which files store the chosen classes. Raises InvalidParameterError if a class name is
        unknown."""
        names = self.classes
        if not names or names != tuple(name for name in CLASSES if name in names):
            raise InvalidParameterError(
                f"expected some of {' '.join(CLASSES)} in this order, got {' '.join(names) or 'none'}"
            )
        return [int(PositionClass[name.upper()]) for name in names]

    def window(self) -> Window:
        """Return the rule that says which plays of a turn are included. Raises InvalidParameterError if it includes no
        play."""
        from bgdata.selfplay.rollout_decisions import Window

        if not 0 <= self.within <= 6:
            raise InvalidParameterError(f"expected plays within 0 to 6 points, got {self.within}")
        return Window(within=self.within, least_plays=1, most_plays=self.plays)


class PlaySample(RowsOfGames[PlaySampleParameters]):
    """Kind `play_sample`: positions after the best plays of self-play turns. One row per play, the best first, in the
    order of the games."""

    name = "play_sample"
    computed_by = "sample"
    revision = 2
    summary = "Positions after the best plays of turns of self-play, split into train, validation and test by game."
    source = "Computed: turns chosen from a version of selfplay by a hash of the position, plays by a network"
    columns = (
        col.CORPUS_COLUMN,
        Column("game", "INTEGER", "", "Number of the first game of the corpus that has the position before the turn"),
        col.TURN_COLUMN,
        Column("rank", "SMALLINT", "", "Rank of the play by the network at 0-ply, 1 for the best"),
        *col.POSITION_COLUMNS,
        col.CLASS_COLUMN,
        *col.PIP_COLUMNS,
        Column("loss", "DOUBLE", "points", "Loss of the play against the best at 0-ply"),
        col.GAME_SPLIT_COLUMN,
    )
    joins = (col.JOINS_TURNS, col.JOINS_GAMES)
    key = ("game", "turn", "rank")
    arrays = (
        FlatArray("boards", "int8", "row, 26 integers", "Boards after the play, of the opponent, who is on roll"),
        FlatArray("classes", "uint8", "row", "Class of the position, numbered as by gnubg"),
        *col.TURN_PLACE_ARRAYS,
        FlatArray("ranks", "uint8", "row", "Rank of the play, from 1"),
        FlatArray("losses", "float32", "row", "Loss of the play at 0-ply in points"),
        col.SPLITS_ARRAY,
    )
    parameters = PlaySampleParameters
    defaults = ()
    smallest = PlaySampleParameters(
        **vars(SELFPLAY.smallest), most=20, within=0.16, network="tiny", table_points=3, table_checkers=3
    )

    def slug(self, parameters: PlaySampleParameters) -> str:
        corpus, within = SELFPLAY.slug(parameters.corpus), number_text(parameters.within).replace(".", "-")
        classes = "" if parameters.classes == CLASSES else f"{'-'.join(parameters.classes)}-of-"
        return (
            f"{classes}{corpus}-most-{parameters.most}-plays-{parameters.plays}-within-{within}-by-{parameters.network}"
        )

    def check_parameters(self, parameters: PlaySampleParameters) -> None:
        SELFPLAY.check_parameters(parameters.corpus)
        if not 1 <= parameters.most < 1 << 31:
            raise InvalidParameterError(f"expected at least 1 turn of each class, got {parameters.most}")
        if not 1 <= parameters.plays <= MAX_PLAYS:
            raise InvalidParameterError(f"expected 1 to {MAX_PLAYS} plays of a turn, got {parameters.plays}")
        parameters.window()
        parameters.numbers()
        parameters.check_network()

    def inputs(self, parameters: PlaySampleParameters) -> Mapping[str, tuple[str, Parameters]]:
        return {"games": (SELFPLAY.name, parameters.corpus), **parameters.network_inputs()}

    def estimate(self, parameters: PlaySampleParameters) -> Estimate:
        rows = min(3 * parameters.most, 40 * parameters.games) * parameters.plays
        return Estimate(rows, 90 * rows, (1 << 29) + 200 * rows + 16 * parameters.games)


DATASET = PlaySample()
