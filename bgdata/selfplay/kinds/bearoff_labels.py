"""Bearoffs with exact or combined chances from tables, which are labels without noise for a race network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bgdata.bearoff.index import MAX_CHECKERS, layout_count
from bgdata.bearoff.kinds.bearoff_one_sided import race_inputs
from bgdata.bearoff.kinds.bearoff_two_sided import DATASET as TWO_SIDED
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.errors import InvalidParameterError
from bgdata.imports.kinds.shared.imports import CHANCES_ARRAY, POSITION_ARRAYS
from bgdata.kinds.columns import (
    CHANCE_COLUMNS,
    CLASS_COLUMN,
    DERIVED_PIPS,
    EQUITY_COLUMN,
    PIP_COLUMNS,
    POSITION_COLUMNS,
    SPLITS_ARRAY,
)
from bgdata.selfplay.kinds.shared.games import check_seed
from bgdata.store.dataset import Column, Dataset, Estimate, FlatArray
from bgdata.store.parameters import Parameters

MAX_POINTS = 12  # any two layouts on so few points have passed each other
MAX_PAIRS = 1 << 28


@dataclass(frozen=True)
class BearoffParameters(Parameters):
    """Parameters of `bearoff_labels`. `pairs` is the number of bearoffs chosen at random from the one-sided table with
    `points` points; 0 takes each of its layouts once for the player on roll. `exact_pairs` is the number of bearoffs
    chosen from the two-sided table of `table_points` and `table_checkers`. `seed` determines the choice."""

    points: int = 10
    table_points: int = 6
    table_checkers: int = 9
    pairs: int = 400_000
    exact_pairs: int = 100_000
    seed: int = 1

    def two_sided_parameters(self) -> TwoSidedParameters | None:
        """Return the parameters of the two-sided table that gives exact chances."""
        if not self.table_points and not self.table_checkers:
            return None
        return TwoSidedParameters(self.table_points, self.table_checkers)


class BearoffLabels(Dataset[BearoffParameters]):
    """Kind `bearoff_labels`: bearoffs with chances from tables. One row per bearoff: first those from the one-sided
    table, by index, then those from the two-sided table, which are exact."""

    name = "bearoff_labels"
    computed_by = "labels"
    revision = 1
    summary = "Bearoffs of a player against another with the chances of tables, gammons too: exact, or nearly."
    source = "Computed: pairs of layouts decided by a seed, answered by two-sided and combined one-sided tables"
    columns = (
        Column("row", "INTEGER", "", "Number of the row, from 0"),
        *POSITION_COLUMNS,
        CLASS_COLUMN,
        *PIP_COLUMNS,
        *CHANCE_COLUMNS,
        EQUITY_COLUMN,
        Column("label_source", "VARCHAR", "", "exact (two-sided table) or combined (two one-sided distributions)"),
        Column("split", "VARCHAR", "", "train, validation or test: by the position"),
    )
    key = ("row",)
    arrays = (
        *POSITION_ARRAYS,
        CHANCES_ARRAY,
        FlatArray("sources", "uint8", "row", "Exact or combined: 0 or 1"),
        SPLITS_ARRAY,
    )
    parameters = BearoffParameters
    defaults = ()
    smallest = BearoffParameters(3, 3, 3, 0, 100, 1)

    def derived_columns(self, _parameters: BearoffParameters) -> Mapping[str, str]:
        return DERIVED_PIPS

    def slug(self, parameters: BearoffParameters) -> str:
        two_sided = parameters.two_sided_parameters()
        exact = f"-and-{parameters.exact_pairs}-of-{TWO_SIDED.slug(two_sided)}" if two_sided else ""
        return f"{parameters.points}x15-{parameters.pairs or 'all'}{exact}-seed-{parameters.seed}"

    def check_parameters(self, parameters: BearoffParameters) -> None:
        if not 1 <= parameters.points <= MAX_POINTS:
            raise InvalidParameterError(f"expected 1 to {MAX_POINTS} points, got {parameters.points}")
        two_sided = parameters.two_sided_parameters()
        if two_sided:
            TWO_SIDED.check_parameters(two_sided)
            if two_sided.points > MAX_POINTS:
                raise InvalidParameterError(f"expected 1 to {MAX_POINTS} points, got {two_sided.points}")
        for name, count in (("pairs", parameters.pairs), ("exact pairs", parameters.exact_pairs)):
            if not 0 <= count <= MAX_PAIRS:
                raise InvalidParameterError(f"expected 0 to {MAX_PAIRS:,} {name}, got {count}")
        check_seed(parameters.seed)

    def inputs(self, parameters: BearoffParameters) -> Mapping[str, tuple[str, Parameters]]:
        two_sided = parameters.two_sided_parameters()
        return race_inputs(parameters.points) | ({"two_sided": (TWO_SIDED.name, two_sided)} if two_sided else {})

    def estimate(self, parameters: BearoffParameters) -> Estimate:
        layouts = layout_count(parameters.points, MAX_CHECKERS)
        rows = (parameters.pairs or layouts - 1) + (parameters.exact_pairs if parameters.two_sided_parameters() else 0)
        return Estimate(rows, 100 * rows, (1 << 28) + 250 * rows + 60 * layouts)


DATASET = BearoffLabels()
