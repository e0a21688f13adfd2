"""Contact endgames: each side has a few checkers anywhere on the board, and hits are possible."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import ClassVar

from bgdata.errors import InvalidParameterError
from bgdata.store.dataset import Column, Dataset, Estimate, FlatArray, TableShape
from bgdata.store.parameters import Parameters

POINTS = 25  # points 1 to 24 and the bar, as in `endgames.layouts`
PARQUET_CHECKERS = 3  # tables with more checkers have no Parquet
UNIT = "points per unit cube"
ON_ROLL = Column("on_roll_index", "INTEGER", "", "Index of the layout of the player on roll on 24 points and the bar")
OPPONENT = Column("opponent_index", "INTEGER", "", "Index of the opponent's layout, in the same way")
CUBE_COLUMNS = (
    Column("owned", "FLOAT", UNIT, "No-double equity when the player on roll owns the cube"),
    Column("centered", "FLOAT", UNIT, "No-double equity when the cube is in the middle"),
    Column("opponent_owned", "FLOAT", UNIT, "Equity when the opponent owns the cube"),
)


def layouts_of(checkers: int) -> int:
    """Return the number of layouts with at most `checkers` checkers."""
    return comb(POINTS + checkers, checkers)


def pairs_of(checkers: int) -> int:
    """Return the number of ordered pairs of non-empty layouts with at most `checkers` checkers that share no point."""
    layouts = layouts_of(checkers)
    apart = sum(
        comb(24, taken) * comb(checkers + 1, taken + 1) * comb(POINTS - taken + checkers, checkers)
        for taken in range(checkers + 1)
    )
    return apart - 2 * layouts + 1


@dataclass(frozen=True)
class EndgameParameters(Parameters):
    """Parameters of endgames: each side has 1 to `checkers` checkers on the board."""

    size_names = ("checkers",)
    checkers: int = 3


class ContactEndgame(Dataset[EndgameParameters]):
    """Kind `contact_endgame`: exact equities of few checkers anywhere on the board, with one row for each pair of
    layouts that share no point. Gammons are impossible, since both sides have borne off checkers."""

    name = "contact_endgame"
    revision = 3
    summary = (
        "Exact equities of positions in which each side has a few checkers left, anywhere on the board and on the bar, "
        "for the player on roll who does not double now: money game, unlimited cube, optimal play and cube from there."
    )
    source = "Computed: value iteration over all legal plays and cube actions of both sides, between bounds that close"
    columns: ClassVar[tuple[Column, ...]] = (
        ON_ROLL,
        OPPONENT,
        Column("cubeless", "FLOAT", "points", "Equity without a doubling cube: 2 x chance of winning - 1"),
        *CUBE_COLUMNS,
    )
    key = ("on_roll_index", "opponent_index")
    whole_rows = 10_000_000
    arrays: ClassVar[tuple[FlatArray, ...]] = (
        FlatArray(
            "equities",
            "float32",
            "on-roll index, opponent index, (cubeless, owned, centered, opponent_owned)",
            "Equities; NaN where both sides stand on one point, or neither has a checker",
        ),
    )
    parameters = EndgameParameters
    most_checkers = 4
    defaults = ()  # none, because a table takes minutes; positions without contact are in the bearoff tables
    smallest = EndgameParameters(1)

    def slug(self, parameters: EndgameParameters) -> str:
        return str(parameters.checkers)

    def check_parameters(self, parameters: EndgameParameters) -> None:
        if not 1 <= parameters.checkers <= self.most_checkers:
            raise InvalidParameterError(f"expected 1 to {self.most_checkers} checkers, got {parameters.checkers}")

    def tables_of(self, parameters: EndgameParameters) -> tuple[TableShape, ...]:
        return self.tables if parameters.checkers <= PARQUET_CHECKERS else ()

    def estimate(self, parameters: EndgameParameters) -> Estimate:
        return endgame_estimate(parameters, lanes=4, stored=16, work=0)


def endgame_estimate(parameters: EndgameParameters, *, lanes: int, stored: int, work: int) -> Estimate:
    """Estimate the cost of a build. Each pair has `lanes` values in memory, and takes `stored` bytes on disk and `work`
    more bytes of memory."""
    cells, rows = layouts_of(parameters.checkers) ** 2, pairs_of(parameters.checkers)
    solving = cells * 8 * lanes  # values of this and of the previous round
    row_bytes = rows * (8 + stored) if parameters.checkers <= PARQUET_CHECKERS else 0
    return Estimate(
        rows=rows,
        disk_bytes=cells * stored + row_bytes,
        memory_bytes=max(solving, cells * (4 * lanes + stored), cells * (stored + work)) + (1 << 29),
        checkpoint_bytes=cells * 6 * lanes,
    )


DATASET = ContactEndgame()
