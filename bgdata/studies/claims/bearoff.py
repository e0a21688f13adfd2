"""Claims about bearoffs that no single row of a table answers: extremes, truncated chances, gnubg's files and rounding.

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

from bgdata.bearoff.combine import one_sided_equities, wastages_of, win_chance
from bgdata.bearoff.index import layout_count, position_index
from bgdata.bearoff.layouts import all_layouts
from bgdata.bearoff.race import one_sided_counts
from bgdata.bearoff.tables import RaceTable, TwoSidedTable
from bgdata.bearoff.two_sided import two_sided_codes
from bgdata.formats.gnubg_bearoff import write_one_sided, write_two_sided
from bgdata.game.dice import PIPS_PER_ROLL
from bgdata.store.storage import sha256_file
from bgdata.store.table import Table
from bgdata.studies.claims.definitions import Found

Tables = Mapping[str, Table]
GNUBG_SCALE = 65535  # of gnubg's one-sided chances
GNUBG_STEPS = 32767.5  # of its equities


gnubg_counts = lru_cache(maxsize=2)(one_sided_counts)
gnubg_codes = lru_cache(maxsize=1)(two_sided_codes)
race_table = lru_cache(maxsize=4)(RaceTable)


def open_table(tables: Tables, pattern: str) -> Table:
    """The table whose dataset/variant fits a pattern."""
    return tables[matching(tables, pattern)[0]]


def one_sided_equity(tables: Tables, on_roll: Sequence[int], opponent: Sequence[int]) -> float:
    """Equity of the player on roll from the two one-sided distributions."""
    table = RaceTable(open_table(tables, "bearoff_one_sided/6x15"))
    return 2 * win_chance(table.probe_chances(on_roll), table.probe_chances(opponent)) - 1


def exact_equity(tables: Tables, pattern: str, on_roll: Sequence[int], opponent: Sequence[int], column: str) -> Found:
    """An equity of a two-sided table (cubeless, owned, centered or opponent_owned), with its stated error bound."""
    table = open_table(tables, pattern)
    return Found(float(getattr(TwoSidedTable(table).probe(on_roll, opponent), column)), bound=stated_error(table))


def stated_error(table: Table) -> float:
    """The error bound of the equities of a two-sided table, from its manifest."""
    return float(table.manifest.statistics["cubeless_error_bound"])


def decided_equity(tables: Tables, pattern: str, on_roll: Sequence[int], opponent: Sequence[int], column: str) -> Found:
    """The equity of `exact_equity`, for an owned or centered cube, if the player on roll may double now."""
    equities = TwoSidedTable(open_table(tables, pattern)).probe(on_roll, opponent)
    doubled = min(1.0, 2 * equities.opponent_owned)
    bound = 2 * stated_error(open_table(tables, pattern))  # doubled is twice as far off
    return Found(float(max(doubled, getattr(equities, column))), bound=bound)


def exact_win_chance(tables: Tables, pattern: str, on_roll: Sequence[int], opponent: Sequence[int]) -> Found:
    """The cubeless winning chance of the player on roll."""
    table = open_table(tables, pattern)
    return Found((TwoSidedTable(table).probe(on_roll, opponent).cubeless + 1) / 2, bound=stated_error(table) / 2)


def extreme_difference(tables: Tables, points: int, checkers: int, what: str) -> Found:
    """The largest or smallest difference of one-sided minus exact equity, over all pairs of 6 points and up to 9
    checkers in which neither side has more than `checkers`."""
    rows = layout_count(points, checkers) - 1
    differences = open_table(tables, f"bearoff_error/{points}x*").array("difference")[:rows, :rows]
    extreme = differences.max() if what == "largest" else differences.min()
    return Found(float(extreme), bound=stated_error(open_table(tables, f"bearoff_two_sided/{points}x9")))


@lru_cache(maxsize=4)
def gnubg_file(points: int, checkers: int, is_two_sided: bool) -> tuple[str, int]:
    """(SHA-256, bytes) of gnubg's file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "gnubg.bd"
        if is_two_sided:
            write_two_sided(path, points, checkers, gnubg_codes(points, checkers))
        else:
            counts, gammon_counts = (gnubg_counts(points, is_gammon=is_gammon) for is_gammon in (False, True))
            write_one_sided(path, points, counts, gammon_counts, compressed=True)
        return sha256_file(path), path.stat().st_size


def gnubg_sha256(tables: Tables, points: int, checkers: int, is_two_sided: bool) -> str:  # noqa: ARG001
    """SHA-256 of the file that `export gnubg-bd` writes."""
    return gnubg_file(points, checkers, is_two_sided)[0]


def gnubg_bytes(tables: Tables, points: int, checkers: int, is_two_sided: bool) -> int:  # noqa: ARG001
    """Size of the file that `export gnubg-bd` writes."""
    return gnubg_file(points, checkers, is_two_sided)[1]


def gnubg_two_sided_error(tables: Tables, pattern: str, checkers: int) -> Found:
    """The largest difference between the equities of gnubg, for up to this many checkers, and those of a table of
    ours."""
    table = open_table(tables, pattern)
    ours, rows = TwoSidedTable(table), layout_count(6, checkers)
    codes, worst = gnubg_codes(ours.points, checkers), 0.0
    for row in range(rows):  # all at once take gigabytes
        differences = codes[row] / GNUBG_STEPS - 1 - ours.decode(ours.stored[row, :rows])
        worst = max(worst, float(np.abs(differences).max()))
    return Found(worst, bound=stated_error(table))


@lru_cache(maxsize=2)
def gnubg_differences(ours: RaceTable) -> NDArray[np.float64]:
    """float64[positions, rolls]: gnubg's chances less ours."""
    counts = gnubg_counts(ours.points, is_gammon=ours.first_index > 0)[ours.first_index :]
    differences = counts / GNUBG_SCALE
    chances = ours.chances_matrix(len(ours))
    differences[:, : chances.shape[1]] -= chances
    return np.asarray(differences)


def gnubg_chance_error(tables: Tables, pattern: str) -> float:
    """The largest difference between the one-sided chances of gnubg and ours."""
    return float(np.abs(gnubg_differences(race_table(open_table(tables, pattern)))).max())


def gnubg_rows_off(tables: Tables, pattern: str, by: float) -> int:
    """The number of layouts with a chance of gnubg that differs from ours by more than `by`."""
    differences = gnubg_differences(race_table(open_table(tables, pattern)))
    return int((np.abs(differences).max(axis=1) > by).sum())


def gnubg_mean_error(tables: Tables, pattern: str) -> float:
    """The largest difference between the mean rolls of gnubg and ours."""
    table = open_table(tables, pattern)
    ours = race_table(table)
    counts = gnubg_counts(ours.points, is_gammon=ours.first_index > 0)[ours.first_index :]
    means = counts @ np.arange(counts.shape[1]) / GNUBG_SCALE
    return float(np.abs(means - table.array("mean_rolls")).max())


def gnubg_rolls(tables: Tables, layout: Sequence[int], what: str) -> float:  # noqa: ARG001
    """Mean, standard deviation (sd) or epc of the rolls until a layout is off, by gnubg's rounded chances."""
    chances = gnubg_counts(len(layout), is_gammon=False)[position_index(layout)] / GNUBG_SCALE
    rolls = np.arange(len(chances))
    mean = float(chances @ rolls)
    return {"mean": mean, "sd": sqrt(float(chances @ rolls**2) - mean**2), "epc": mean * PIPS_PER_ROLL}[what]


def truncated_difference(tables: Tables, points: int, checkers: int, terms: int, what: str) -> float:
    """A figure of one-sided minus exact equity if each layout keeps only its `terms` likeliest chances, scaled to sum
    to one."""
    two_sided = open_table(tables, f"bearoff_two_sided/{points}x{checkers}")
    return truncated_figures(open_table(tables, "bearoff_one_sided/6x15"), two_sided, terms)[what]


@lru_cache(maxsize=1)
def truncated_figures(one_sided: Table, two_sided: Table, terms: int) -> dict[str, float]:
    """The `figures` of `truncated_difference`."""
    exact = TwoSidedTable(two_sided)
    differences = one_sided_equities(cut_short(RaceTable(one_sided).chances_matrix(len(exact.stored))[1:], terms))
    differences -= exact.decode(exact.stored[1:, 1:, 0])
    return figures(differences)


def corrected_difference(tables: Tables, points: int, checkers: int, what: str) -> Found:
    """A figure of one-sided equity, less the mean excess, minus exact equity."""
    two_sided = open_table(tables, f"bearoff_two_sided/{points}x{checkers}")
    found = corrected_figures(open_table(tables, f"bearoff_one_sided/{points}x15"), two_sided)
    return Found(found[what], bound=stated_error(two_sided))


@lru_cache(maxsize=1)
def corrected_figures(one_sided: Table, two_sided: Table) -> dict[str, float]:
    """The `figures` of `corrected_difference`."""
    exact = TwoSidedTable(two_sided)
    layouts = all_layouts(exact.points, exact.checkers)
    race = RaceTable(one_sided)
    differences = one_sided_equities(race.chances_matrix(len(layouts))[1:], wastages_of(race, layouts)[1:])
    differences -= exact.decode(exact.stored[1:, 1:, 0])
    return figures(differences)


def figures(differences: NDArray[np.float64]) -> dict[str, float]:
    """Mean, standard deviation (sd), mean absolute value, largest and smallest of differences over all pairs."""
    return {
        "mean": float(differences.mean()),
        "sd": float(differences.std()),
        "mean-absolute": float(np.abs(differences).mean()),
        "largest": float(differences.max()),
        "smallest": float(differences.min()),
    }


def cut_short(chances: NDArray[np.float64], terms: int) -> NDArray[np.float64]:
    """The chances with all but the `terms` largest of each row set to 0, and each row scaled to sum to one."""
    kept = chances.copy()
    np.put_along_axis(kept, np.argsort(-kept, axis=1, kind="stable")[:, terms:], 0, axis=1)
    return np.asarray(kept / kept.sum(axis=1, keepdims=True))


READINGS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        *(one_sided_equity, exact_equity, decided_equity, exact_win_chance),
        *(extreme_difference, truncated_difference, corrected_difference, gnubg_rolls),
        *(gnubg_sha256, gnubg_bytes, gnubg_two_sided_error, gnubg_chance_error, gnubg_rows_off, gnubg_mean_error),
    )
}
