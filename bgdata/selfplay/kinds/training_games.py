"""Positions for training: turns of games that begin anywhere, labelled by looking ahead and by the rest of the game."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from bgdata.errors import InvalidParameterError
from bgdata.imports.kinds.shared.imports import CHANCES_ARRAY, POSITION_ARRAYS
from bgdata.kinds import columns as col
from bgdata.selfplay.kinds.shared.corpora import RowsOfGames
from bgdata.selfplay.kinds.shared.games import check_count
from bgdata.selfplay.kinds.shared.rollouts import NETWORK_ARRAY, NETWORK_COLUMN, NetworkChoice
from bgdata.store.dataset import Column, Estimate, FlatArray, Input
from bgdata.store.parameters import VersionRef, number_text

if TYPE_CHECKING:
    from bgdata.store.table import Table

STARTS = (  # in the order of `selfplay.training_games.Start`, which would import kernels
    *("opening", "random-plays", "back-game", "ace-point", "containment", "blitz"),
    *("primes", "holding", "bear-in", "crashed", "anywhere", "doubtful"),
)
DOUBTFUL = STARTS[-1]
MAX_LIKELY = 21  # as in `evaluation.roll_values`, which imports kernels
TURNS = 40  # turns of a game, roughly: games from set-ups are shorter than those from the opening


@dataclass(frozen=True)
class StartShare:
    """A kind of start position, and the relative number of games that begin with it, such as `back-game:3`."""

    start: str
    share: float = 1.0

    def __str__(self) -> str:
        return f"{self.start}:{number_text(self.share)}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the kind of start and the share from a string `START:SHARE`. Raises InvalidParameterError if the
        string has another form."""
        start, _, share = text.partition(":")
        try:
            return cls(start, float(share or 1))
        except ValueError:
            raise InvalidParameterError(f"expected START:SHARE, such as back-game:3, got {text!r}") from None


MIXED = (
    *(
        StartShare("opening", 3),
        StartShare("random-plays", 6),
        StartShare("back-game", 4),
        StartShare("containment", 2),
    ),
    *(StartShare(start) for start in STARTS[3:] if start not in ("containment", DOUBTFUL)),
)


@dataclass(frozen=True)
class TrainingGameParameters(NetworkChoice):
    """Parameters of `training_games`: the network that plays and looks ahead, its tables, and the games.

    `likely` is the number of plays of each roll that are considered, by PubEval's choice; 0 for all. `overlooked` is
    the share of turns in which the player overlooks half of the plays, for more varied games. `td_lambda` is the weight
    of later turns in the label: 0 for 1-ply chances, 1 for the outcome minus all luck. Doubtful games begin at
    positions of `doubts`, a version of training_games.
    """

    name: str = "mixed"
    games: int = 10_000
    seed: int = 1
    starts: tuple[StartShare, ...] = MIXED
    likely: int = 12
    overlooked: float = 0.1
    td_lambda: float = 0.95  # about twenty turns, with a fraction of the noise of outcomes
    doubts: VersionRef | None = None


class TrainingGames(RowsOfGames[TrainingGameParameters]):
    """Kind `training_games`: turns of games that begin anywhere, labelled by looking ahead and by the rest of the game.
    One row per turn, until the game is over or a bearoff table contains its chances."""

    name = "training_games"
    revision = 3  # 3: likely plays are considered in races too
    summary = "Positions to learn from: games begun anywhere, every turn labelled by looking ahead, free of luck."
    source = "Computed: TD(lambda) returns over 1-ply chances; see play.training_games"
    columns = (
        col.CORPUS_COLUMN,
        Column("game", "INTEGER", "", "Number of the game, from 0"),
        col.TURN_COLUMN,
        *col.POSITION_COLUMNS,
        col.CLASS_COLUMN,
        *col.PIP_COLUMNS,
        Column("start", "VARCHAR", "", f"Where the game began: {', '.join(STARTS)}"),
        *col.CHANCE_COLUMNS,
        col.EQUITY_COLUMN,
        Column("lookahead_equity", "FLOAT", "points", "Equity by the network at 1-ply"),
        Column("static_equity", "FLOAT", "points", "Equity by the network at 0-ply"),
        NETWORK_COLUMN,
        col.GAME_SPLIT_COLUMN,
    )
    key = ("game", "turn")
    arrays = (
        *POSITION_ARRAYS,
        CHANCES_ARRAY,
        *col.TURN_PLACE_ARRAYS,
        FlatArray("starts", "uint8", "row", f"How the game began: {', '.join(STARTS)} from 0 on"),
        FlatArray("lookahead_equities", "float32", "row", "Cubeless equity at 1-ply"),
        FlatArray("static_equities", "float32", "row", "Cubeless equity at 0-ply"),
        col.SPLITS_ARRAY,
        NETWORK_ARRAY,
    )
    parameters = TrainingGameParameters
    defaults = ()
    smallest = TrainingGameParameters(
        "tiny", "", 3, 3, games=22, name="tiny", starts=tuple(map(StartShare, STARTS[:-1]))
    )

    part_items = 50_000  # games

    def slug(self, parameters: TrainingGameParameters) -> str:
        return f"{parameters.name}-by-{parameters.network}-{parameters.games}-seed-{parameters.seed}"

    def check_parameters(self, parameters: TrainingGameParameters) -> None:
        parameters.check_network()
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", parameters.name):
            raise InvalidParameterError(f"expected a name of small letters, digits and -, got {parameters.name!r}")
        check_count(parameters.games)
        if not 0 <= parameters.seed < 1 << 62:
            raise InvalidParameterError(f"expected a seed from 0 to 2^62 - 1, got {parameters.seed}")
        if not 0 <= parameters.likely <= MAX_LIKELY:
            raise InvalidParameterError(
                f"expected 1 to {MAX_LIKELY} likely plays of a roll, or 0 for all, got {parameters.likely}"
            )
        for name in ("overlooked", "td_lambda"):
            if not 0 <= getattr(parameters, name) <= 1:
                raise InvalidParameterError(f"expected {name} from 0 to 1, got {getattr(parameters, name)}")
        if not parameters.starts:
            raise InvalidParameterError("expected starts of games, got none")
        for each in parameters.starts:
            if each.start not in STARTS or not 0 < each.share < float("inf"):
                raise InvalidParameterError(f"expected START:SHARE of {', '.join(STARTS)}, got '{each}'")

        is_doubtful, doubts = any(each.start == DOUBTFUL for each in parameters.starts), parameters.doubts
        if is_doubtful != (doubts is not None) or (doubts and not (doubts.kind == self.name and doubts.version)):
            raise InvalidParameterError(
                f"expected a version training_games/VARIANT/VERSION where games begin as {DOUBTFUL}, and only there, "
                f"got {doubts or 'none'}"
            )

    def inputs(self, parameters: TrainingGameParameters) -> Mapping[str, Input]:
        doubts: dict[str, Input] = {"doubts": parameters.doubts} if parameters.doubts else {}
        return {**parameters.network_inputs(), **doubts}

    def item_count(self, parameters: TrainingGameParameters, _inputs: Mapping[str, Table]) -> int:
        return parameters.games

    def estimate(self, parameters: TrainingGameParameters) -> Estimate:
        rows, part = TURNS * parameters.games, TURNS * min(parameters.games, self.part_items)
        return Estimate(rows, 100 * rows, (1 << 28) + 300 * part)


DATASET = TrainingGames()
