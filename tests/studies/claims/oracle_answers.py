"""Functions that answer the oracles of `oracles/*.toml`, in addition to those of claims."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgdata.bearoff.combine import correct_equities, one_sided_equities, win_chance
from bgdata.bearoff.index import layout_count
from bgdata.bearoff.layouts import all_layouts, pip_counts
from bgdata.bearoff.tables import RaceTable, TwoSidedTable
from bgdata.equity.numeric import CENTERED, OPPONENT_OWNED, OWNED, drifting_money
from bgdata.evaluation.networks.shots import escape_counts
from bgdata.game.dice import PIPS_PER_ROLL
from bgdata.store.table import Table
from bgdata.studies.claims.bearoff import (
    Tables,
    difference_figures,
    gnubg_codes,
    gnubg_differences,
    open_table,
    race_table,
    stated_error,
)
from bgdata.studies.claims.counting import HEADER_BYTES
from bgdata.studies.claims.cube import jump_point
from bgdata.studies.claims.definitions import FoundAnswer
from bgdata.studies.claims.dropped import exact_equities, filtered_equities, keeps_pips, plays_of, solved_rolls
from tests.reference.jump_match import implied_index

GNUBG_STEPS = 32767.5  # gnubg's steps per point of equity
SMALL_JUMPS = (0.03, 0.06)  # mean sizes
DRIFTING = {"owned": OWNED, "centered": CENTERED, "opponent_owned": OPPONENT_OWNED}  # rows of `numeric.Sides`
SAME = 1e-7  # smaller differences of means count as equal
CHANGED = 1e-12  # smaller differences of equities count as equal


def hypergammon_bytes(checkers: int) -> int:
    """The size of gnubg's hypergammon file: seven numbers of four bytes per pair of placements on 24 points, bar and
    off."""
    return HEADER_BYTES + 28 * comb(25 + checkers, checkers) ** 2


def escape_patterns() -> int:
    """The number of patterns of points in our table of escaping rolls."""
    return len(escape_counts())


def smallest_jump_point(mean_win: float, mean_loss: float, jumps: str, name: str) -> float:
    """The decision point of the jump model in the limit of jumps of size 0, extrapolated linearly from SMALL_JUMPS."""
    small, large = (jump_point(mean_win, mean_loss, size, jumps, name) for size in SMALL_JUMPS)
    return small - (large - small) * SMALL_JUMPS[0] / (SMALL_JUMPS[1] - SMALL_JUMPS[0])


def drifting_equity(mean_win: float, mean_loss: float, points: int, name: str) -> float:
    """The equity at a chance of 1/2 if the chance moves without jumps, for a cube in DRIFTING; `points` is even."""
    return float(drifting_money(mean_win, mean_loss, points)[DRIFTING[name], points // 2])


def one_sided_equity(tables: Tables, on_roll: Sequence[int], opponent: Sequence[int]) -> float:
    """The equity of the player on roll, combined from the two one-sided distributions."""
    table = RaceTable(open_table(tables, "bearoff_one_sided/6x15"))
    return 2 * win_chance(table.probe_chances(on_roll), table.probe_chances(opponent)) - 1


def extreme_difference(tables: Tables, points: int, checkers: int, what: str) -> FoundAnswer:
    """The largest or smallest one-sided minus exact equity, over all pairs with at most `checkers` checkers a side."""
    rows = layout_count(points, checkers) - 1
    differences = open_table(tables, f"bearoff_error/{points}x*").array("difference")[:rows, :rows]
    extreme = differences.max() if what == "largest" else differences.min()
    return FoundAnswer(float(extreme), bound=stated_error(open_table(tables, f"bearoff_two_sided/{points}x9")))


def gnubg_two_sided_error(tables: Tables, pattern: str, checkers: int) -> FoundAnswer:
    """The largest difference between the equities of gnubg's and our two-sided table, for up to `checkers` checkers."""
    table = open_table(tables, pattern)
    ours = TwoSidedTable(table)
    rows = layout_count(6, checkers)
    codes = gnubg_codes(ours.points, checkers)
    worst = 0.0
    for row in range(rows):  # all rows at once take gigabytes
        differences = codes[row] / GNUBG_STEPS - 1 - ours.decode(ours.stored[row, :rows])
        worst = max(worst, float(np.abs(differences).max()))
    return FoundAnswer(worst, bound=stated_error(table))


def gnubg_rows_off(tables: Tables, pattern: str, by: float) -> int:
    """The number of layouts for which gnubg's chance differs from ours by more than `by`."""
    differences = gnubg_differences(race_table(open_table(tables, pattern)))
    return int((np.abs(differences).max(axis=1) > by).sum())


def truncated_difference(tables: Tables, points: int, checkers: int, terms: int, what: str) -> float:
    """One figure of one-sided minus exact equity if layouts keep only their `terms` largest chances, scaled to 1.
    `what` is its name."""
    two_sided = open_table(tables, f"bearoff_two_sided/{points}x{checkers}")
    return truncated_figures(open_table(tables, "bearoff_one_sided/6x15"), two_sided, terms)[what]


@lru_cache(maxsize=1)
def truncated_figures(one_sided: Table, two_sided: Table, terms: int) -> dict[str, float]:
    """All figures of `truncated_difference`, by name."""
    exact = TwoSidedTable(two_sided)
    differences = one_sided_equities(truncated(RaceTable(one_sided).chances_matrix(len(exact.stored))[1:], terms))
    differences -= exact.decode(exact.stored[1:, 1:, 0])
    return difference_figures(differences)


def corrected_difference(tables: Tables, points: int, checkers: int, what: str) -> FoundAnswer:
    """One figure of one-sided equity minus the mean excess, minus exact equity. `what` is its name."""
    two_sided = open_table(tables, f"bearoff_two_sided/{points}x{checkers}")
    found = corrected_figures(open_table(tables, f"bearoff_one_sided/{points}x15"), two_sided)
    return FoundAnswer(found[what], bound=stated_error(two_sided))


@lru_cache(maxsize=1)
def corrected_figures(one_sided: Table, two_sided: Table) -> dict[str, float]:
    """All figures of `corrected_difference`, by name."""
    exact = TwoSidedTable(two_sided)
    layouts = all_layouts(exact.points, exact.checkers)[1:]
    wastages = one_sided.array("mean_rolls")[1 : len(layouts) + 1] * PIPS_PER_ROLL - pip_counts(layouts)
    differences = one_sided_equities(RaceTable(one_sided).chances_matrix(len(layouts) + 1)[1:])
    correct_equities(differences, wastages, wastages)
    differences -= exact.decode(exact.stored[1:, 1:, 0])
    return difference_figures(differences)


def truncated(chances: NDArray[np.float64], terms: int) -> NDArray[np.float64]:
    """The chances with all but the `terms` largest of each row set to 0, and each row scaled to sum to one."""
    kept = chances.copy()
    np.put_along_axis(kept, np.argsort(-kept, axis=1, kind="stable")[:, terms:], 0, axis=1)
    return np.asarray(kept / kept.sum(axis=1, keepdims=True))


def dropped_results(tables: Tables, points: int, checkers: int) -> int:  # noqa: ARG001
    """The number of legal results, over all layouts and rolls, that a generator without plays that waste pips drops."""
    return int((~keeps_pips(points, checkers)).sum())


def changed_means(tables: Tables, points: int, checkers: int) -> int:  # noqa: ARG001
    """The number of layouts whose mean number of rolls changes without the dropped results."""
    before, after = (solved_rolls(points, checkers, is_filtered).means for is_filtered in (False, True))
    return int((after - before > SAME).sum())


def largest_mean_change(tables: Tables, points: int, checkers: int) -> float:  # noqa: ARG001
    """The largest increase of a layout's mean number of rolls without the dropped results."""
    before, after = (solved_rolls(points, checkers, is_filtered).means for is_filtered in (False, True))
    return float((after - before).max())


def largest_filtered_change(tables: Tables, points: int, checkers: int) -> FoundAnswer:
    """The largest error of an equity that is computed without the dropped plays."""
    table = open_table(tables, f"bearoff_two_sided/{points}x{checkers}")
    exact = TwoSidedTable(table)
    changes = np.abs(filtered_equities(points, checkers) - exact.decode(exact.stored[1:, 1:, 0]))
    return FoundAnswer(float(changes.max()), bound=stated_error(table))


def changed_pairs(tables: Tables, points: int, checkers: int) -> int:  # noqa: ARG001
    """The number of pairs of layouts, none empty, whose equity changes without plays that waste pips."""
    changes = exact_equities(plays_of(points, checkers)[0])
    changes -= filtered_equities(points, checkers)
    return int((np.abs(changes, out=changes) > CHANGED).sum())


FORMULAS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (hypergammon_bytes, escape_patterns, implied_index, smallest_jump_point, drifting_equity)
}
READINGS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        *(one_sided_equity, extreme_difference, truncated_difference, corrected_difference),
        *(gnubg_two_sided_error, gnubg_rows_off, dropped_results, changed_means, largest_mean_change),
        *(largest_filtered_change, changed_pairs),
    )
}
