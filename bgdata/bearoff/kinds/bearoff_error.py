"""The error of the one-sided approximation: the approximate and the exact equity of every pair of layouts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from bgdata.bearoff.index import MAX_CHECKERS, layout_count
from bgdata.bearoff.kinds.bearoff_one_sided import RaceParameters
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters, check_size
from bgdata.errors import InvalidParameterError, cite
from bgdata.store.dataset import Column, Dataset, Estimate, FlatArray
from bgdata.store.parameters import Parameters


@dataclass(frozen=True)
class ErrorParameters(Parameters):
    """Parameters of `bearoff_error`: both sides have 1 to `checkers` checkers on points 1 to `points`. `combination`
    names the approximation: independent races (plain), the same minus their mean excess (corrected), the same with all
    plays of the next roll tried (one-roll), or both."""

    later: ClassVar[tuple[str, ...]] = ("combination",)

    size_names = ("points", "checkers")
    points: int = 6
    checkers: int = 9
    combination: str = "plain"

    @property
    def is_corrected(self) -> bool:
        """Whether the mean excess is subtracted from the combined equities."""
        return "corrected" in self.combination

    @property
    def looks_ahead(self) -> bool:
        """Whether all plays of the next roll are tried."""
        return "one-roll" in self.combination


P = TypeVar("P", bound=ErrorParameters)


class CombinationErrorTable(Dataset[P]):
    """Base class of the kinds `bearoff_error` and `race_error`: the error of combining two one-sided tables."""

    combinations: ClassVar[tuple[str, ...]]
    most_checkers = MAX_CHECKERS

    def slug(self, parameters: P) -> str:
        size = f"{parameters.points}x{parameters.checkers}"
        return size if parameters.combination == "plain" else f"{size}-{parameters.combination}"

    def check_parameters(self, parameters: P) -> None:
        check_size(parameters.points, parameters.checkers, self.most_checkers)
        if parameters.combination not in self.combinations:
            raise InvalidParameterError(
                f"expected a combination among {', '.join(self.combinations)}, got {cite(parameters.combination)}"
            )

    def inputs(self, parameters: P) -> Mapping[str, tuple[str, Parameters]]:
        return {
            "one_sided": ("bearoff_one_sided", RaceParameters(parameters.points)),
            "two_sided": ("bearoff_two_sided", TwoSidedParameters(parameters.points, parameters.checkers)),
        }


class BearoffErrorTable(CombinationErrorTable[ErrorParameters]):
    """Kind `bearoff_error`: the error of the combined equity, with one row for each ordered pair of non-empty
    layouts."""

    name = "bearoff_error"
    revision = 2  # 2: Parquet contains all columns, as SQL shows them
    summary = (
        "One-sided against exact cubeless equity for every ordered pair of non-empty layouts: what combining two "
        "one-sided distributions gets wrong."
    )
    source = "Computed from bearoff_one_sided and bearoff_two_sided"
    columns = (
        Column("on_roll_index", "INTEGER", "", "Position index of the player on roll"),
        Column("opponent_index", "INTEGER", "", "Position index of the opponent"),
        Column(
            "one_sided_equity",
            "FLOAT",
            "points",
            "Cubeless equity from the two one-sided distributions, combined as the name of the variant says",
        ),
        Column("exact_equity", "FLOAT", "points", "Cubeless equity of the two-sided table"),
        Column("difference", "FLOAT", "points", "one_sided_equity - exact_equity"),
    )
    key = ("on_roll_index", "opponent_index")
    whole_rows = 30_000_000
    arrays = (
        FlatArray("difference", "float32", "on-roll index - 1, opponent index - 1", "One-sided minus exact equity"),
        FlatArray(
            "exact",
            "uint16",
            "on-roll index - 1, opponent index - 1",
            "Exact equity, within 1.6e-5: code / 32767.5 - 1",
        ),
    )
    combinations = ("plain", "corrected", "one-roll", "corrected-one-roll")
    most_checkers = 14  # with 15 a gammon is possible, which one-sided chances of winning ignore
    parameters = ErrorParameters
    defaults = more = (ErrorParameters(6, 9),)
    smallest = ErrorParameters(3, 3)

    def estimate(self, parameters: ErrorParameters) -> Estimate:
        count = layout_count(parameters.points, parameters.checkers) - 1
        return Estimate(rows=count**2, disk_bytes=count**2 * 15, memory_bytes=count**2 * 28 + 2**28)


DATASET = BearoffErrorTable()
