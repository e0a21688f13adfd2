"""Two-sided bearoff: exact cubeless and cubeful equities of every pair of layouts."""

from __future__ import annotations

from dataclasses import dataclass

from bgdata.bearoff.index import MAX_CHECKERS, MAX_POINTS, layout_count
from bgdata.errors import InvalidParameterError
from bgdata.store.dataset import Dataset, Estimate
from bgdata.store.declaration import Column, FlatArray
from bgdata.store.parameters import Parameters

UNROUNDED_PAIRS = 10_000_000  # tables up to 6x8 keep float32; larger ones round once to 16 bits, half the size


@dataclass(frozen=True)
class TwoSidedParameters(Parameters):
    """Both sides have up to `checkers` on points 1 to `points`."""

    points: int = 6
    checkers: int = 6


def is_rounded(points: int, checkers: int) -> bool:
    """Whether equities are stored as 16-bit codes rather than as solved, in float32."""
    return layout_count(points, checkers) ** 2 > UNROUNDED_PAIRS


class BearoffTwoSided(Dataset[TwoSidedParameters]):
    """Every ordered pair, the pairs with an empty side included."""

    name = "bearoff_two_sided"
    revision = 2  # 2: Parquet holds equities of rounded tables too, not their codes
    summary = (
        "Exact equities of every pair of bearoff layouts for the player on roll who does not double now, in points per "
        "unit cube: money game, unlimited cube, optimal play and cube from there on."
    )
    source = "Computed: backward recursion over all legal plays and cube actions of both sides"
    columns = (
        Column("on_roll_index", "INTEGER", "", "Position index of the player on roll"),
        Column("opponent_index", "INTEGER", "", "Position index of the opponent"),
        Column("cubeless", "FLOAT", "points", "Equity without a doubling cube: 2 x chance of winning - 1"),
        Column("owned", "FLOAT", "points per unit cube", "No-double equity when the player on roll owns the cube"),
        Column("centered", "FLOAT", "points per unit cube", "No-double equity when the cube is in the middle"),
        Column("opponent_owned", "FLOAT", "points per unit cube", "Equity when the opponent owns the cube"),
    )
    key = ("on_roll_index", "opponent_index")
    whole_rows = 30_000_000
    sample_rows = 1_540_000  # finds 300 bad ones in 100 million with 99 %
    arrays = (
        FlatArray(
            "equities",
            "float32",
            "on-roll index, opponent index, (cubeless, owned, centered, opponent_owned)",
            "Equities; in tables of more than 10 million pairs uint16 codes, equity = code * limit / 32767.5 - limit, "
            "where limit is 1, or 2 if all 15 checkers can be on the board",
        ),
    )
    parameters = TwoSidedParameters
    defaults = (TwoSidedParameters(6, 6), TwoSidedParameters(6, 9))
    smallest = TwoSidedParameters(3, 3)

    def slug(self, parameters: TwoSidedParameters) -> str:
        return f"{parameters.points}x{parameters.checkers}"

    def check_parameters(self, parameters: TwoSidedParameters) -> None:
        if not (1 <= parameters.points <= MAX_POINTS and 1 <= parameters.checkers <= MAX_CHECKERS):
            raise InvalidParameterError(
                f"expected 1 to {MAX_POINTS} points and 1 to {MAX_CHECKERS} checkers, "
                f"got {parameters.points} points and {parameters.checkers} checkers"
            )

    def estimate(self, parameters: TwoSidedParameters) -> Estimate:
        count = layout_count(parameters.points, parameters.checkers)
        return Estimate(
            rows=count * count,
            disk_bytes=count * count * (18 if is_rounded(parameters.points, parameters.checkers) else 32),
            memory_bytes=count * (count + 16) * 16 + count * 21 * 6 * parameters.points * 8 + 2**28,
            checkpoint_bytes=count * (count + 16) * 16,
        )


DATASET = BearoffTwoSided()
