"""Bearoffs with the chances that tables know: what a race network learns from without noise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bgdata.datasets.bearoff_one_sided import DATASET as ONE_SIDED
from bgdata.datasets.bearoff_two_sided import DATASET as TWO_SIDED
from bgdata.datasets.bearoff_two_sided import TwoSidedParameters, error_bound
from bgdata.datasets.common.columns import (
    CHANCE_COLUMNS,
    CLASS_COLUMN,
    POSITION_COLUMNS,
    chance_columns,
    chosen_texts,
    class_column,
    position_columns,
)
from bgdata.datasets.common.games import slices
from bgdata.datasets.common.imports import CHANCES_ARRAY, POSITION_ARRAYS
from bgdata.datasets.common.race import RaceParameters
from bgdata.datasets.common.sources import SPLITS_ARRAY, split_column
from bgdata.errors import CheckFailedError, InvalidParameterError
from bgdata.store.context import Build, Computed, Recheck
from bgdata.store.dataset import Dataset, Estimate, sampled
from bgdata.store.declaration import Column, FlatArray
from bgdata.store.parameters import Parameters

if TYPE_CHECKING:
    import pyarrow as pa

    from bgdata.store.arrays import Array
    from bgdata.store.table import Table

SOURCES = ("exact", "combined")
MOST_POINTS = 12  # of layouts that have passed each other whatever they are
MOST_PAIRS = 1 << 28
WIN_ERROR = 2e-6  # of chances stored as float32, against sums in double precision


@dataclass(frozen=True)
class BearoffParameters(Parameters):
    """How many pairs are taken from the one-sided table of `points`, 0 for each of its layouts once on roll, and how
    many more from the two-sided table of `table_points` and `table_checkers`, 0 for none. `seed` decides who meets
    whom."""

    points: int = 10
    table_points: int = 6
    table_checkers: int = 9
    pairs: int = 400_000
    exact_pairs: int = 100_000
    seed: int = 1

    def two_sided_parameters(self) -> TwoSidedParameters | None:
        """The two-sided table."""
        if not self.table_points and not self.table_checkers:
            return None
        return TwoSidedParameters(self.table_points, self.table_checkers)


class BearoffLabels(Dataset[BearoffParameters]):
    """One row a pair: first those from the one-sided table, by the layouts' indexes, then the others."""

    name = "bearoff_labels"
    revision = 1
    summary = "Bearoffs of a player against another with the chances of tables, gammons too: exact, or nearly."
    source = "Computed: pairs of layouts decided by a seed, answered by two-sided and combined one-sided tables"
    columns = (
        Column("row", "INTEGER", "", "Number of the row, from 0"),
        *POSITION_COLUMNS,
        CLASS_COLUMN,
        *CHANCE_COLUMNS,
        Column("cubeless_equity", "FLOAT", "points", "What the five chances are worth to the player on roll"),
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

    def slug(self, parameters: BearoffParameters) -> str:
        two_sided = parameters.two_sided_parameters()
        exact = f"-and-{parameters.exact_pairs}-of-{TWO_SIDED.slug(two_sided)}" if two_sided else ""
        return f"{parameters.points}x15-{parameters.pairs or 'all'}{exact}-seed-{parameters.seed}"

    def check_parameters(self, parameters: BearoffParameters) -> None:
        if not 1 <= parameters.points <= MOST_POINTS:
            raise InvalidParameterError(f"expected 1 to {MOST_POINTS} points, got {parameters.points}")
        two_sided = parameters.two_sided_parameters()
        if two_sided:
            TWO_SIDED.check_parameters(two_sided)
            if two_sided.points > MOST_POINTS:
                raise InvalidParameterError(f"expected 1 to {MOST_POINTS} points, got {two_sided.points}")
        for name, count in (("pairs", parameters.pairs), ("exact pairs", parameters.exact_pairs)):
            if not 0 <= count <= MOST_PAIRS:
                raise InvalidParameterError(f"expected 0 to {MOST_PAIRS:,} {name}, got {count}")
        if not 0 <= parameters.seed < 1 << 63:
            raise InvalidParameterError(f"expected a seed from 0 to 2^63 - 1, got {parameters.seed}")

    def inputs(self, parameters: BearoffParameters) -> Mapping[str, tuple[str, Parameters]]:
        race, two_sided = RaceParameters(parameters.points), parameters.two_sided_parameters()
        found: dict[str, tuple[str, Parameters]] = {
            "one_sided": (ONE_SIDED.name, race),
            "gammon": ("bearoff_gammon", race),
        }
        return found | ({"two_sided": (TWO_SIDED.name, two_sided)} if two_sided else {})

    def estimate(self, parameters: BearoffParameters) -> Estimate:
        from bgdata.bearoff.index import MAX_CHECKERS, layout_count

        layouts = layout_count(parameters.points, MAX_CHECKERS)
        rows = (parameters.pairs or layouts - 1) + (parameters.exact_pairs if parameters.two_sided_parameters() else 0)
        return Estimate(rows, 100 * rows, (1 << 28) + 250 * rows + 60 * layouts)

    def compute(self, build: Build[BearoffParameters]) -> None:
        job = build.job
        boards = boards_of(build.parameters)
        job.progress.start(f"{self.name}/{self.slug(build.parameters)}", len(boards), "positions")
        for name, values in labelled(build.inputs, boards).items():
            job.save(name, values)
        job.progress.advance(len(boards))

    def batches(self, computed: Computed[BearoffParameters]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        from bgdata.evaluation.chances import cubeless_equities

        for rows in slices(len(computed.arrays["boards"]), self.row_group_rows):
            found = {name: np.asarray(values[rows]) for name, values in computed.arrays.items()}
            yield pa.record_batch(
                {
                    "row": np.arange(rows.start, rows.stop, dtype=np.int32),
                    **position_columns(found["boards"]),
                    "class": class_column(found["classes"]),
                    **chance_columns(found["chances"]),
                    "cubeless_equity": cubeless_equities(found["chances"]),
                    "label_source": chosen_texts(pa.array(SOURCES), found["sources"].astype(np.int32)),
                    "split": split_column(found["splits"]),
                }
            )

    def statistics(self, computed: Computed[BearoffParameters]) -> Mapping[str, float]:
        counts = np.bincount(computed.arrays["sources"], minlength=len(SOURCES))
        found = {name: float(count) for name, count in zip(SOURCES, counts, strict=True)}
        with_gammons = np.asarray(computed.arrays["chances"])[:, [1, 3]].any(axis=1)
        two_sided = computed.parameters.two_sided_parameters()
        bound = {"exact_equity_error_bound": error_bound(two_sided.points, two_sided.checkers)} if two_sided else {}
        return {**found, "with_gammons": float(with_gammons.sum()), **bound}

    def check_sample(self, recheck: Recheck[BearoffParameters]) -> str:
        """Draw the pairs again, answer some again, and those that are combined by another way as well."""
        table = recheck.table
        boards = boards_of(BearoffParameters.from_manifest(table.manifest.parameters))
        if len(boards) != len(table.array("boards")):
            raise CheckFailedError(f"expected {len(boards)} pairs in {table.name}, found {len(table.array('boards'))}")
        chosen = np.sort(recheck.generator.permutation(len(boards))[: recheck.rows])
        for name, values in labelled(recheck.inputs, boards[chosen]).items():
            found = np.asarray(table.array(name))[chosen]
            for place in np.flatnonzero((found != values).reshape(len(chosen), -1).any(axis=1))[:1]:
                raise CheckFailedError(
                    f"expected {name} of {values[place].tolist()} in row {chosen[place]} of {table.name}, found "
                    f"{found[place].tolist()}"
                )
        for row in chosen[table.array("sources")[chosen] == SOURCES.index("combined")].tolist():
            check_win(table, recheck.inputs["one_sided"], row)
        return sampled(len(chosen), len(boards))


def boards_of(parameters: BearoffParameters) -> Array:
    """int8[n, 26]: the pairs, on the board."""
    from bgdata.bearoff.index import MAX_CHECKERS
    from bgdata.bearoff.layouts import all_layouts
    from bgdata.bearoff.pairs import paired_boards, random_pairs

    layouts, two_sided = all_layouts(parameters.points, MAX_CHECKERS), parameters.two_sided_parameters()
    boards = paired_boards(layouts, random_pairs(layouts, parameters.pairs or len(layouts) - 1, parameters.seed))
    if two_sided is None:
        return boards
    layouts = all_layouts(two_sided.points, two_sided.checkers)
    more = paired_boards(layouts, random_pairs(layouts, parameters.exact_pairs, parameters.seed))
    return np.concatenate([boards, more])


def labelled(inputs: Mapping[str, Table], boards: Array) -> dict[str, Array]:
    """Every declared array of some pairs."""
    from bgdata.evaluation.bearoff import BearoffEvaluator
    from bgdata.evaluation.bearoff_kernels import BearoffSource
    from bgdata.game.board_kernels import position_classes
    from bgdata.game.position_hash import position_hashes
    from bgdata.play.splits import splits_of_hashes

    found = BearoffEvaluator(**inputs).evaluate_many(boards)
    return {
        "boards": boards,
        "classes": position_classes(boards).astype(np.uint8),
        "chances": found.chances,
        "sources": (found.sources != BearoffSource.EXACT).astype(np.uint8),
        "splits": splits_of_hashes(position_hashes(boards)),
    }


def check_win(table: Table, one_sided: Table, row: int) -> None:
    """Recompute the win chance of a combined row; raises CheckFailedError."""
    from bgdata.bearoff.combine import win_chance
    from bgdata.bearoff.tables import RaceTable

    reader, board = RaceTable(one_sided), table.array("boards")[row].astype(int)
    points = reader.points
    on_roll, opponent = board[1 : points + 1].tolist(), (-board[24 : 24 - points : -1]).tolist()
    expected = win_chance(reader.probe_chances(on_roll), reader.probe_chances(opponent))
    found = float(table.array("chances")[row, 0])
    if abs(found - expected) > WIN_ERROR:
        raise CheckFailedError(
            f"expected a win chance of {expected:.6f} in row {row} of {table.name}, found {found:.6f}"
        )


DATASET = BearoffLabels()
