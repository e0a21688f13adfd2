"""Two-sided equities, against exact rational arithmetic and the same recursion in float64."""

import os
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from bgdata.bearoff import two_sided
from bgdata.bearoff.index import layout_count, position_index
from bgdata.bearoff.kinds.bearoff_two_sided_compute import error_bound
from bgdata.bearoff.tables import equity_limit
from bgdata.bearoff.two_sided import ALL, REACH, Window, equity_rows, release, reserve_zeros, solve_batch, start_window
from bgdata.errors import TooLargeError
from bgdata.kernel import threads
from tests.reference.bearoff import cube_value, equities, layouts


def money_table(
    points: int, checkers: int, dtype: type = np.float32, arithmetic: type = np.float32, limit: float = 1.0
) -> NDArray[np.float64]:
    count = layout_count(points, checkers)
    table: NDArray[np.float64] = np.empty((count, count, 4), dtype)
    for index, row in equity_rows(points, checkers, limit, dtype, arithmetic=arithmetic):
        table[index] = row
    return table


def check_pair(table: NDArray[np.float64], points: int, checkers: int, row: int, column: int) -> None:
    """Compare the equities of a pair of layouts with exact ones."""
    on_roll, opponent = layouts(points, checkers)[row], layouts(points, checkers)[column]
    exact = [float(equity) for equity in equities(on_roll, opponent)]
    assert np.abs(table[row, column] - exact).max() < error_bound(points, checkers)


@pytest.mark.parametrize(("points", "checkers"), [(6, 2), (3, 3), (4, 3), (8, 2), (1, 15), (2, 4)])
def test_equities_are_exact(points: int, checkers: int) -> None:
    table = money_table(points, checkers)
    for row, column in product(range(len(table)), repeat=2):
        if row or column:
            check_pair(table, points, checkers, row, column)


def test_gammons_count_with_15_checkers() -> None:
    table = money_table(2, 15)
    for row, column in np.random.default_rng(0).integers(1, len(table), (8, 2)).tolist():
        check_pair(table, 2, 15, row, column)
    assert table[position_index([1, 0]), position_index([15, 0])].tolist() == [2.0] * 4


@pytest.mark.parametrize(("points", "checkers"), [(2, 15), (3, 10), (6, 4), (10, 3), (18, 2), (6, 6)])
def test_recursion_stays_within_the_error_bound(points: int, checkers: int) -> None:
    single, double = money_table(points, checkers), money_table(points, checkers, np.float64, np.float64)
    assert 0 < np.abs(single - double).max() < equity_limit(checkers) * (1e-6 + 1e-8 * points * checkers)


@pytest.mark.parametrize(("points", "checkers"), [(6, 4), (2, 15)])
def test_codes_are_rounded_to_nearest(points: int, checkers: int) -> None:
    limit = equity_limit(checkers)
    codes, exact = money_table(points, checkers, np.uint16, limit=limit), money_table(points, checkers)
    assert np.abs(codes * (limit / 32767.5) - limit - exact).max() <= limit / 65535 * (1 + 1e-9)
    assert codes[0].max() <= 65535


def test_equities_match_the_example_of_the_gnubg_manual() -> None:
    """With checkers on 5 and 2 against 3 and 2, the table has the equities of the manual, 67.1 % and 0.3441, 0.3210,
    0.1605. The manual's centered figure is the equity after the cube decision; the table contains the one without a
    double."""
    exact = equities((0, 1, 0, 0, 1), (0, 1, 1, 0, 0))
    assert [round(float(equity), 6) for equity in exact] == [0.342250, 0.344136, 0.160494, 0.160494]
    assert round(float(cube_value(exact[2], exact[3])), 6) == 0.320988
    assert round(float((1 + exact[0]) / 2), 6) == 0.671125
    table = money_table(6, 2)
    check_pair(table, 6, 2, position_index([0, 1, 0, 0, 1, 0]), position_index([0, 1, 1, 0, 0, 0]))


def test_values_do_not_depend_on_threads() -> None:
    with threads(1):
        on_one = money_table(6, 5)
    with threads(2):
        on_two = money_table(6, 5)
    assert on_one[1:].tobytes() == on_two[1:].tobytes()


@pytest.mark.parametrize(("points", "checkers"), [(1, 1), (3, 2), (6, 5)])
def test_pairs_are_solved_once(points: int, checkers: int) -> None:
    window = start_window(points, checkers)
    start = window.slots.layer_start
    times_solved = np.zeros((len(window.slots.order),) * 2, np.int64)
    for totals in window.batches():
        for solved in solve_batch(window, totals):
            for block in solved.blocks:
                on_roll = slice(start[block.on_roll], start[block.on_roll + 1])
                opponent = slice(start[block.opponent], start[block.opponent + 1])
                times_solved[on_roll, opponent] += 1
                assert block.on_roll + block.opponent in totals
    assert (times_solved[1:, 1:] == 1).all()
    assert times_solved.sum() == (layout_count(points, checkers) - 1) ** 2


def table_of(windows: list[Window], after: Callable[[Window, int], None]) -> NDArray[np.float32]:
    """[on-roll slot, opponent slot, column] of windows solved one after the other. `after` is called after each
    batch."""
    count = len(windows[0].slots.order)
    table = np.zeros((count, count, 4), np.float32)
    for window in windows:
        start = window.slots.layer_start
        for totals in window.batches():
            for solved in solve_batch(window, totals):
                for block in solved.blocks:
                    on_roll = slice(start[block.on_roll], start[block.on_roll + 1])
                    opponent = slice(start[block.opponent], start[block.opponent + 1])
                    cells = table[on_roll, opponent, window.columns[0] : window.columns[-1] + 1]
                    cells[:] = solved.values[block.place : block.place + cells.size].reshape(cells.shape)
            after(window, totals.stop)
    return table


def test_columns_can_be_solved_in_turn_with_released_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns solved one after the other have the same values, although all cells that `release` may free are
    overwritten."""
    monkeypatch.setattr(two_sided, "KEPT_BYTES", 0)

    def overwrite(window: Window, total: int) -> None:
        release(window, total)
        start = window.slots.layer_start
        cells = window.cells.reshape(-1, len(window.slots.order), window.row_bytes // 4)
        for opponent in range(1, window.slots.most_pips + 1):
            last = min(max(total - REACH - opponent, 1), window.slots.most_pips + 1)
            cells[window.tile_start[opponent] : window.tile_start[opponent + 1], 1 : start[last]] = np.float32(-9)

    together = table_of([start_window(6, 5, ALL)], lambda _window, _total: None)
    in_turn = table_of([start_window(6, 5, (0,)), start_window(6, 5, (1, 2, 3))], overwrite)
    assert together.tobytes() == in_turn.tobytes()
    assert together[1:, 1:].all()


def test_window_may_be_larger_than_memory() -> None:
    """A window larger than memory can be made, because only memory that is written is allocated."""
    setting = Path("/proc/sys/vm/overcommit_memory")
    if setting.exists() and setting.read_text().strip() == "2":
        pytest.skip("this system counts memory before it is used")
    installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with reserve_zeros(4 * installed) as memory:
        memory[3 * installed] = 1
        assert memory[3 * installed - 1 : 3 * installed + 2] == b"\0\1\0"


def test_more_memory_than_addresses_is_refused() -> None:
    with pytest.raises(TooLargeError, match=r"expected a system that gives \d+\.\d GB of memory"):
        reserve_zeros(1 << 60)


def test_release_frees_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Released pages read as zeros, and finished games stay."""
    monkeypatch.setattr(two_sided, "KEPT_BYTES", 0)
    window = start_window(6, 5)
    for totals in window.batches():
        for _ in solve_batch(window, totals):
            pass
    cells = window.cells.reshape(-1, len(window.slots.order), window.row_bytes // 4)
    n_used = np.count_nonzero(cells)
    release(window, window.slots.totals.stop)
    assert np.count_nonzero(cells) < 0.8 * n_used
    assert (cells[:, 0].reshape(-1, 4, 16)[window.tile_start[1], :, 0] == -1).all()
