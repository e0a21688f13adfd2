"""Claims about bearoffs that need several rows of a table, such as extremes, truncated chances, gnubg's files and
rounding.

Every function of READINGS takes the tables as first argument, by dataset/variant.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from fnmatch import filter as matching
from functools import lru_cache
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgdata.bearoff.index import position_index
from bgdata.bearoff.race import one_sided_counts
from bgdata.bearoff.tables import RaceTable, TwoSidedTable
from bgdata.bearoff.two_sided import two_sided_codes
from bgdata.formats.gnubg_bearoff import write_one_sided, write_two_sided
from bgdata.game.dice import PIPS_PER_ROLL
from bgdata.store.storage import sha256_file
from bgdata.store.table import Table
from bgdata.studies.claims.definitions import FoundAnswer

Tables = Mapping[str, Table]
GNUBG_SCALE = 65535  # gnubg's integer for a chance of 1


gnubg_counts = lru_cache(maxsize=2)(one_sided_counts)
gnubg_codes = lru_cache(maxsize=1)(two_sided_codes)
race_table = lru_cache(maxsize=4)(RaceTable)


def open_table(tables: Tables, pattern: str) -> Table:
    """Return the version whose kind/variant matches `pattern`, among the tables that a claim reads."""
    return tables[matching(tables, pattern)[0]]


def exact_equity(
    tables: Tables, pattern: str, on_roll: Sequence[int], opponent: Sequence[int], column: str
) -> FoundAnswer:
    """Return an equity of a position in a two-sided table, with the error bound that the table states. `column` is
    cubeless, owned, centered or opponent_owned."""
    table = open_table(tables, pattern)
    return FoundAnswer(float(getattr(TwoSidedTable(table).probe(on_roll, opponent), column)), bound=stated_error(table))


def stated_error(table: Table) -> float:
    """Return the error bound of a two-sided table's equities, as its manifest states it."""
    return float(table.manifest.statistics["cubeless_error_bound"])


def decided_equity(
    tables: Tables, pattern: str, on_roll: Sequence[int], opponent: Sequence[int], column: str
) -> FoundAnswer:
    """Return the equity of `exact_equity` if the player on roll may double now. `column` is owned or centered."""
    equities = TwoSidedTable(open_table(tables, pattern)).probe(on_roll, opponent)
    doubled = min(1.0, 2 * equities.opponent_owned)
    bound = 2 * stated_error(open_table(tables, pattern))  # doubling doubles the error
    return FoundAnswer(float(max(doubled, getattr(equities, column))), bound=bound)


def exact_win_chance(tables: Tables, pattern: str, on_roll: Sequence[int], opponent: Sequence[int]) -> FoundAnswer:
    """Return the cubeless winning chance of the player on roll, from a two-sided table."""
    table = open_table(tables, pattern)
    return FoundAnswer((TwoSidedTable(table).probe(on_roll, opponent).cubeless + 1) / 2, bound=stated_error(table) / 2)


@lru_cache(maxsize=4)
def gnubg_file(points: int, checkers: int, is_two_sided: bool) -> tuple[str, int]:
    """Return the SHA-256 and the size in bytes of the gnubg bearoff file of this size."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "gnubg.bd"
        if is_two_sided:
            write_two_sided(path, points, checkers, gnubg_codes(points, checkers))
        else:
            counts, gammon_counts = (gnubg_counts(points, is_gammon=is_gammon) for is_gammon in (False, True))
            write_one_sided(path, points, counts, gammon_counts, compressed=True)
        return sha256_file(path), path.stat().st_size


def gnubg_sha256(tables: Tables, points: int, checkers: int, is_two_sided: bool) -> str:  # noqa: ARG001
    """Return the SHA-256 of the file that `export gnubg-bd` writes for this size."""
    return gnubg_file(points, checkers, is_two_sided)[0]


def gnubg_bytes(tables: Tables, points: int, checkers: int, is_two_sided: bool) -> int:  # noqa: ARG001
    """Return the size in bytes of the file that `export gnubg-bd` writes for these points and checkers."""
    return gnubg_file(points, checkers, is_two_sided)[1]


@lru_cache(maxsize=2)
def gnubg_differences(ours: RaceTable) -> NDArray[np.float64]:
    """Return gnubg's chance that a position needs a number of rolls minus the chance in bgdata's table, as
    float64[positions, rolls]."""
    counts = gnubg_counts(ours.points, is_gammon=ours.first_index > 0)[ours.first_index :]
    differences = counts / GNUBG_SCALE
    chances = ours.chances_matrix(len(ours))
    differences[:, : chances.shape[1]] -= chances
    return np.asarray(differences)


def gnubg_chance_error(tables: Tables, pattern: str) -> float:
    """Return the largest difference between gnubg's one-sided chances and bgdata's."""
    return float(np.abs(gnubg_differences(race_table(open_table(tables, pattern)))).max())


def gnubg_mean_error(tables: Tables, pattern: str) -> float:
    """Return the largest difference between gnubg's mean numbers of rolls and bgdata's."""
    table = open_table(tables, pattern)
    ours = race_table(table)
    counts = gnubg_counts(ours.points, is_gammon=ours.first_index > 0)[ours.first_index :]
    means = counts @ np.arange(counts.shape[1]) / GNUBG_SCALE
    return float(np.abs(means - table.array("mean_rolls")).max())


def gnubg_rolls(tables: Tables, layout: Sequence[int], what: str) -> float:  # noqa: ARG001
    """Return a figure of the number of rolls that bear off a layout, by gnubg's rounded chances. `what` is mean, sd
    (standard deviation) or epc."""
    chances = gnubg_counts(len(layout), is_gammon=False)[position_index(layout)] / GNUBG_SCALE
    rolls = np.arange(len(chances))
    mean = float(chances @ rolls)
    return {"mean": mean, "sd": sqrt(float(chances @ rolls**2) - mean**2), "epc": mean * PIPS_PER_ROLL}[what]


def difference_figures(differences: NDArray[np.float64]) -> dict[str, float]:
    """Return the mean, standard deviation (sd), mean absolute value, smallest and largest of the differences over all
    pairs."""
    return {
        "mean": float(differences.mean()),
        "sd": float(differences.std()),
        "mean-absolute": float(np.abs(differences).mean()),
        "largest": float(differences.max()),
        "smallest": float(differences.min()),
    }


READINGS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        *(exact_equity, decided_equity, exact_win_chance, gnubg_rolls),
        *(gnubg_sha256, gnubg_bytes, gnubg_chance_error, gnubg_mean_error),
    )
}
