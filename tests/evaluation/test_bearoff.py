"""Bearoff positions from mapped tables: against exact fractions, simulated races, and the definition of coverage."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import bgdata
from bgdata.bearoff.index import layout_count, position_index
from bgdata.bearoff.kinds.bearoff_error import ErrorParameters
from bgdata.bearoff.kinds.bearoff_one_sided import RaceParameters
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.bearoff.layouts import all_layouts
from bgdata.bearoff.tables import Equities, RaceTable
from bgdata.endgames.kinds.contact_endgame import EndgameParameters
from bgdata.endgames.layouts import all_layouts as endgame_layouts
from bgdata.endgames.layouts import boards_of as endgame_boards
from bgdata.endgames.tables import EndgameTable
from bgdata.equity.curves import CENTERED
from bgdata.errors import CorruptFileError, InvalidParameterError, InvalidPositionError, MissingWarehouseError
from bgdata.evaluation.answers import exact_equities
from bgdata.evaluation.bearoff import BearoffEvaluator, open_bearoff
from bgdata.evaluation.bearoff_kernels import (
    BLOCK,
    BearoffArrays,
    BearoffSource,
    bearoff_source,
    fill_bearoff_chances,
    layout_indexes,
)
from bgdata.evaluation.chances import AnswerSource
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.player import open_named_player
from bgdata.game.board_kernels import game_outcomes
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.position import Position
from bgdata.kernel import threads
from tests.random_games import random_game_positions
from tests.reference.bearoff import equities, layouts
from tests.reference.bearoff_chances import combined_chances, covered_by
from tests.subtests import each

NONE, EXACT, COMBINED = BearoffSource.NONE, BearoffSource.EXACT, BearoffSource.COMBINED
ROUNDING = 3e-7  # rounding of stored and summed chances
TWO_SIDED_BOUND, ENDGAME_BOUND = 3.2e-5, 7e-6  # errors of stored equities


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse folder with one-sided and gammon tables of 7 and 6 points, two-sided ones of 6x3 and 2x15, and
    contact endgames."""
    folder = tmp_path_factory.mktemp("bearoff")
    warehouse = bgdata.open_warehouse(folder)
    warehouse.build("bearoff_one_sided", RaceParameters(7))
    for kind in ("bearoff_one_sided", "bearoff_gammon"):
        warehouse.build(kind, RaceParameters(6))
    for points, checkers in ((2, 15), (6, 3)):
        warehouse.build("bearoff_two_sided", TwoSidedParameters(points, checkers))
    for checkers in (1, 2):
        warehouse.build("contact_endgame", EndgameParameters(checkers))
    return folder


@pytest.fixture(scope="module")
def evaluator(root: Path) -> BearoffEvaluator:
    """An evaluator that uses the 6x3 two-sided table, which contains more positions than 2x15."""
    warehouse = bgdata.open_warehouse(root)
    race = [warehouse.open(kind, "6x15") for kind in ("bearoff_one_sided", "bearoff_gammon")]
    return BearoffEvaluator(warehouse.open("bearoff_two_sided", "6x3"), *race)


@pytest.fixture(scope="module")
def table(root: Path) -> EndgameTable:
    """Contact endgames of two checkers."""
    return EndgameTable(bgdata.open_warehouse(root).open("contact_endgame", "2"))


@pytest.fixture(scope="module")
def endgames(root: Path, table: EndgameTable) -> BearoffEvaluator:
    """Contact endgames and the 6x3 two-sided table."""
    return BearoffEvaluator(bgdata.open_warehouse(root).open("bearoff_two_sided", "6x3"), endgame=table.table)


@pytest.fixture(scope="module")
def player(root: Path) -> LookaheadPlayer:
    """The default player with all these tables."""
    return bgdata.open_player(root)


@pytest.fixture(scope="module", name="pairs")
def all_pairs(table: EndgameTable) -> Boards:
    """Every position of the contact endgame table."""
    counts = endgame_layouts(2).counts
    ours, theirs = np.nonzero(~np.isnan(np.asarray(table.stored)[..., 0]))
    boards = endgame_boards(counts[ours], counts[theirs])
    return np.ascontiguousarray(boards[(ours > 0) & (theirs > 0)])


def boards_of(on_roll: NDArray[np.int8], opponent: NDArray[np.int8]) -> Boards:
    """int8[n, 26]: boards of n layouts a side, ace point first."""
    boards = np.zeros((len(on_roll), 26), np.int8)
    boards[:, 1 : on_roll.shape[1] + 1] = on_roll
    boards[:, 24 : 24 - opponent.shape[1] : -1] -= opponent
    return boards


def random_pairs(points: int, checkers: int, count: int) -> Boards:
    """Boards with random layouts of 1 to `checkers` on each side, any number equally likely; of every nine boards the
    first has all of them on one side, the fourth on the other, the seventh on both."""
    generator = np.random.default_rng(points * checkers)
    every = all_layouts(points, checkers)
    sides = []
    for first in range(2):
        held = generator.integers(1, checkers + 1, count)
        held[3 * first :: 9] = held[6::9] = checkers
        ends = np.array([layout_count(points, most) for most in range(1, checkers + 1)])
        starts = np.array([1, *ends[:-1]])
        sides.append(every[generator.integers(starts[held - 1], ends[held - 1])])
    return boards_of(*sides)


def rolls_of(table: RaceTable, layout: list[int]) -> dict[int, float]:
    """The nonzero chances of a layout by number of rolls."""
    return {n: chance for n, chance in enumerate(table.probe_chances(layout).tolist()) if chance}


def test_exact_chances_equal_exact_fractions(evaluator: BearoffEvaluator) -> None:
    """Chances from the two-sided table equal rational arithmetic."""
    small = layouts(6, 2)[1:]
    pairs = [(on_roll, opponent) for on_roll in small for opponent in small]
    found = evaluator.evaluate_many(boards_of(*(np.array(side, np.int8) for side in zip(*pairs, strict=True))))
    assert set(found.sources.tolist()) == {EXACT}
    assert not found.chances[:, 1:].any()
    expected = [(1 + float(equities(*pair)[0])) / 2 for pair in pairs]
    assert found.chances[:, 0] == pytest.approx(np.array(expected), abs=1e-6)


def test_codes_and_floats_are_read_from_the_same_cells(evaluator: BearoffEvaluator, root: Path) -> None:
    """16-bit codes and float32 equities are read from the same cells. The test makes codes, because only tables that
    are too large for tests have them."""
    table = bgdata.open_two_sided(root, 6, 3)
    index, other = (side.ravel() for side in np.mgrid[1:84, 1:84])
    every = all_layouts(6, 3)
    boards = boards_of(every[index], every[other])
    win = 0.5 + 0.5 * table.probe_many(index, other)[:, 0].astype(np.float64)
    assert (evaluator.evaluate_many(boards).chances[:, 0] == win.astype(np.float32)).all()

    codes = np.rint((table.stored.reshape(-1) + 1.0) * 32767.5).astype(np.uint16)
    rounded = BearoffEvaluator(evaluator.two_sided, evaluator.one_sided, evaluator.gammon)
    rounded.arrays = evaluator.arrays._replace(equities=evaluator.arrays.equities[:0], codes=codes)
    found = rounded.evaluate_many(boards)
    assert found.chances[:, 0] == pytest.approx(win, abs=0.5 / 65535 + 1e-7)
    assert set(found.sources.tolist()) == {EXACT}


def test_combined_chances_equal_simulated_races(evaluator: BearoffEvaluator) -> None:
    """Chances combined from one-sided tables equal the shares of simulated races."""
    assert evaluator.one_sided is not None
    assert evaluator.gammon is not None
    one_sided, gammon = RaceTable(evaluator.one_sided), RaceTable(evaluator.gammon)
    boards = random_pairs(6, 15, 900)
    found = BearoffEvaluator(None, evaluator.one_sided, evaluator.gammon).evaluate_many(boards)
    assert set(found.sources.tolist()) == {COMBINED}
    gammons = np.zeros(2, int)
    for board, chances in zip(boards.tolist(), found.chances.tolist(), strict=True):
        sides = board[1:7], [-count for count in board[24:18:-1]]
        rolls = [rolls_of(one_sided, side) for side in sides]
        saved = [rolls_of(gammon, side) if sum(side) == 15 else None for side in sides]
        expected = combined_chances(*rolls, *saved)
        assert [chances[0], chances[1], chances[3]] == pytest.approx(expected, abs=ROUNDING)
        assert chances[2] == chances[4] == 0
        gammons += [expected[1] > 0.001, expected[2] > 0.001]
    assert gammons.min() > 5


def test_chances_respect_their_order(evaluator: BearoffEvaluator) -> None:
    found = evaluator.evaluate_many(random_pairs(6, 15, 20_000))
    win, win_gammon, _, lose_gammon, _ = found.chances.T
    assert found.chances.min() >= 0
    assert found.chances.max() <= 1
    assert (win_gammon <= win).all()
    assert (lose_gammon <= np.float32(1) - win).all()


def test_side_on_roll_wins_ties(evaluator: BearoffEvaluator, root: Path) -> None:
    """If both sides need the same number of rolls, the side on roll wins: its chance and that of the other side overlap
    by these ties."""
    boards = random_pairs(6, 15, 300)
    boards[:, 1:7] = all_layouts(6, 15)[-300:]
    both = [evaluator.evaluate_many(seen).chances.astype(np.float64) for seen in (boards, flip_boards(boards))]
    one_sided, gammon = bgdata.open_one_sided(root, 6), bgdata.open_gammon(root, 6)
    for row, board in enumerate(boards.tolist()):
        ours, first = one_sided.probe_chances(board[1:7]), gammon.probe_chances(board[1:7])
        theirs = one_sided.probe_chances([-count for count in board[24:18:-1]])
        level, level_first = (sum(a * b for a, b in zip(side, theirs, strict=False)) for side in (ours, first))
        assert both[0][row, 0] + both[1][row, 0] - 1 == pytest.approx(level, abs=ROUNDING)
        assert both[1][row, 1] - both[0][row, 3] == pytest.approx(level_first, abs=ROUNDING)


def test_chances_match_values_by_hand(evaluator: BearoffEvaluator) -> None:
    """Chances of a few positions are those calculated by hand."""
    last, full = [1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 15]
    sides = [(last, last), (last, full), (full, last)]
    found = evaluator.evaluate_many(boards_of(*(np.array(side, np.int8) for side in zip(*sides, strict=True))))
    assert found.sources.tolist() == [EXACT, COMBINED, COMBINED]
    # off at once; a gammon, because the opponent never rolls; and on the other side 17 of 36 rolls hold a 6, or save
    # with 33
    assert found.chances[:2].tolist() == [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0]]
    saved = float(17 / 36)
    assert found.chances[2].tolist() == pytest.approx([0, 0, 0, 1 - saved, 0], abs=ROUNDING)
    assert evaluator.gammon is not None
    assert bgdata.open_gammon(evaluator.gammon.folder.parents[2], 6).probe_chances(full)[1] == pytest.approx(saved)


def test_coverage_follows_its_definition(evaluator: BearoffEvaluator) -> None:
    """A table answers for exactly the positions of all kinds that its definition covers."""
    boards = np.concatenate(
        [
            random_game_positions(15, seed=5).boards,
            *(random_pairs(points, checkers, 150) for points, checkers in ((6, 15), (6, 3), (7, 15), (2, 15))),
        ]
    )
    sizes: list[tuple[tuple[int, int], int, int]] = [
        ((6, 3), 6, 6),
        ((6, 3), 0, 0),
        ((0, 0), 6, 0),
        ((0, 0), 0, 0),
        ((2, 15), 7, 7),
        ((6, 15), 6, 6),
        ((7, 4), 6, 0),
    ]
    for two_sided, one_sided, gammon in sizes:
        arrays = with_table_sizes(evaluator.arrays, two_sided, one_sided, gammon)
        expected = [covered_by(board, two_sided, one_sided, gammon) for board in boards.tolist()]
        assert [bearoff_source(arrays, board) for board in boards] == expected
        assert (len(set(expected)) == 3) == (one_sided > 0 and two_sided[0] > 0)


def with_table_sizes(arrays: BearoffArrays, two_sided: tuple[int, int], one_sided: int, gammon: int) -> BearoffArrays:
    """The arrays with the sizes of other tables, for questions of coverage, which read no table."""
    points, checkers = two_sided
    return arrays._replace(
        two_sided_points=points, two_sided_checkers=checkers, one_sided_points=one_sided, gammon_points=gammon
    )


def test_contact_within_the_points_of_a_large_table(evaluator: BearoffEvaluator) -> None:
    """Two sides within a table of 13 points or more can still be in contact, and then are not covered."""
    arrays = with_table_sizes(evaluator.arrays, (18, 14), 18, 18)
    answers = set()
    for ours in range(2, 24):
        for theirs in set(range(2, 24)) - {25 - ours}:
            board = np.zeros(26, np.int8)
            board[[1, ours]], board[[24, 25 - theirs]] = 1, -1
            is_past = ours + theirs <= 24 and max(ours, theirs) <= 18
            assert bearoff_source(arrays, board) == (EXACT if is_past else NONE), (ours, theirs)
            answers.add((is_past, ours + theirs <= 24, max(ours, theirs) <= 18))
    assert len(answers) == 4


UNCOVERED_ENDGAMES = {
    "one more": {20: 3, 22: -1},
    "one more of theirs": {20: 1, 22: -2, 0: 1},
    "one more on the bar": {25: 3, 0: 1},
    "they are off": {20: 1},
    "our bar below 0": {20: 1, 25: -1, 22: -1},
    "their bar below 0": {20: 1, 22: -1, 0: -1},
    "fifteen": {20: 15, 22: -1},
}
UNCOVERED = {
    "our bar": {25: 1, 1: 2, 24: -2},
    "their bar": {0: 1, 1: 2, 24: -2},
    "we are off": {24: -2},
    "they are off": {1: 2},
    "nobody": {},
    "beyond the table": {7: 1, 24: -1},
    "they are beyond the table": {1: 1, 18: -1},
    "contact": {20: 1, 24: -2},
    "behind us": {6: 1, 3: -1},
    "too many": {1: 16, 24: -1},
    "too many of theirs": {1: 1, 24: -16},
    "no count": {1: -128, 2: 1, 24: -1},
    "large counts": {1: 127, 2: 127, 24: -127},
}


def board_of(counts: dict[int, int]) -> Boards:
    board = np.zeros(26, np.int8)
    for slot, count in counts.items():
        board[slot] = count
    return board


@each("name", list(UNCOVERED))
def test_uncovered_positions_stay_unanswered(evaluator: BearoffEvaluator, name: str) -> None:
    board = board_of(UNCOVERED[name])
    chances = np.full(5, 7, np.float32)
    assert fill_bearoff_chances(evaluator.arrays, board, chances) == NONE
    assert chances.tolist() == [7] * 5
    found = evaluator.evaluate_many(board[None])
    assert found.sources.tolist() == [NONE]
    assert np.isnan(found.chances).all()


@each("name", list(UNCOVERED_ENDGAMES))
def test_uncovered_endgames_stay_unanswered(endgames: BearoffEvaluator, name: str) -> None:
    found = endgames.evaluate_many(board_of(UNCOVERED_ENDGAMES[name])[None])
    assert found.sources.tolist() == [NONE]
    assert np.isnan(found.chances).all()


def test_no_backgammon_from_points_of_tables() -> None:
    """A loser on point 18 or below is outside the winner's home board and cannot lose a backgammon."""
    boards = np.zeros((24, 26), np.int8)
    boards[:, 24] = -14
    boards[np.arange(24), 24 - np.arange(24)] -= 1
    assert game_outcomes(boards).tolist() == [2] * 18 + [3] * 6


def test_fifteen_checkers_are_never_answered_from_equities(root: Path) -> None:
    """A table with 15 checkers does not give winning chances, which equities with gammons do not determine; with fewer
    checkers it does."""
    warehouse = bgdata.open_warehouse(root)
    one_sided, gammon = warehouse.open("bearoff_one_sided", "6x15"), warehouse.open("bearoff_gammon", "6x15")
    with_gammons = BearoffEvaluator(warehouse.open("bearoff_two_sided", "2x15"), one_sided, gammon)
    boards = random_pairs(2, 15, 900)
    found = with_gammons.evaluate_many(boards)
    is_full = (np.maximum(boards, 0).sum(axis=1) == 15) | (np.minimum(boards, 0).sum(axis=1) == -15)
    assert found.sources.tolist() == np.where(is_full, COMBINED, EXACT).tolist()
    races = BearoffEvaluator(None, one_sided, gammon).evaluate_many(boards)
    assert found.chances == pytest.approx(races.chances, abs=0.02)
    assert (found.chances[is_full] == races.chances[is_full]).all()


def test_bulk_answers_equal_single_ones(evaluator: BearoffEvaluator) -> None:
    """Answers for many boards equal those for single boards, with any number of threads, partial blocks and memory
    layout."""
    boards = np.concatenate([random_pairs(6, 15, 3 * BLOCK + 1), random_pairs(6, 3, BLOCK), random_pairs(8, 15, 9)])
    boards = np.random.default_rng(1).permutation(boards)
    expected = evaluator.evaluate_many(boards)
    assert set(expected.sources.tolist()) == {NONE, EXACT, COMBINED}
    for count in (1, 2):
        with threads(count):
            again = evaluator.evaluate_many(boards)
            for name, wanted in expected._asdict().items():
                assert getattr(again, name).tobytes() == wanted.tobytes()
    for row, board in enumerate(boards):
        chances = np.full(5, np.nan, np.float32)
        assert fill_bearoff_chances(evaluator.arrays, board, chances) == expected.sources[row]
        assert chances.tobytes() == expected.chances[row].tobytes()
    strided = evaluator.evaluate_many(np.asfortranarray(boards)[::2])
    assert strided.chances.tobytes() == expected.chances[::2].tobytes()
    assert evaluator.evaluate_many(boards[:0]).chances.shape == (0, 5)


@pytest.mark.parametrize(("shape", "dtype"), [((3, 25), np.int8), ((26,), np.int8), ((2, 26), np.int64)])
def test_invalid_boards_are_refused(evaluator: BearoffEvaluator, shape: tuple[int, ...], dtype: type) -> None:
    with pytest.raises(InvalidPositionError, match="expected boards as int8"):
        evaluator.evaluate_many(np.zeros(shape, dtype))


def test_indexes_equal_those_of_layouts() -> None:
    for points in (1, 6, 7, 18):
        sides = np.random.default_rng(points).multinomial(15, np.ones(points + 9) / (points + 9), (2, 50))
        ours, theirs = sides[:, :, :points].astype(np.int8)
        for row in range(50):  # each side on its own board, because beyond 12 points they could share a point
            alone = boards_of(ours[row : row + 1], np.zeros((1, points), np.int8))[0]
            other = boards_of(np.zeros((1, points), np.int8), theirs[row : row + 1])[0]
            assert layout_indexes(alone, points) == (position_index(ours[row].tolist()), 0)
            assert layout_indexes(other, points) == (0, position_index(theirs[row].tolist()))


def test_best_tables_are_opened(root: Path, tmp_path: Path) -> None:
    found = open_bearoff(bgdata.open_warehouse(root))
    tables = (found.two_sided, found.one_sided, found.gammon)
    # 136 layouts against 84; and 7 points have no gammon table
    assert [table and table.folder.parent.name for table in tables] == ["2x15", "6x15", "6x15"]
    shutil.copytree(root / "bearoff_one_sided", tmp_path / "bearoff_one_sided")
    found = open_bearoff(bgdata.open_warehouse(tmp_path))
    assert (found.two_sided, found.gammon) == (None, None)
    assert found.one_sided is not None
    assert found.one_sided.folder.parent.name == "7x15"
    boards = random_pairs(7, 15, 90)
    is_full = (np.maximum(boards, 0).sum(axis=1) == 15) | (np.minimum(boards, 0).sum(axis=1) == -15)
    assert found.evaluate_many(boards).sources.tolist() == np.where(is_full, NONE, COMBINED).tolist()


def test_gammon_tables_of_other_points_are_refused(root: Path) -> None:
    warehouse = bgdata.open_warehouse(root)
    one_sided, gammon = warehouse.open("bearoff_one_sided", "7x15"), warehouse.open("bearoff_gammon", "6x15")
    with pytest.raises(InvalidParameterError, match="expected a gammon table of 7 points, got bearoff_gammon/6x15"):
        BearoffEvaluator(None, one_sided, gammon)
    with pytest.raises(InvalidParameterError, match="expected a gammon table of 0 points"):
        BearoffEvaluator(None, None, gammon)


def test_warehouse_without_tables_gives_no_answers(tmp_path: Path) -> None:
    with pytest.raises(MissingWarehouseError):
        open_bearoff(bgdata.open_warehouse(tmp_path / "none"))
    (tmp_path / "bearoff_two_sided" / "6x6").mkdir(parents=True)  # an unfinished build
    (tmp_path / "bearoff_two_sided" / "copy of mine" / "r1-00000000").mkdir(parents=True)
    (tmp_path / "contact_endgame" / "copy of mine" / "r1-00000000").mkdir(parents=True)
    empty = open_bearoff(bgdata.open_warehouse(tmp_path))
    assert not empty.evaluate_many(random_pairs(6, 15, 50)).sources.any()
    assert empty.accuracy == {NONE: "not covered"}
    assert repr(empty) == "BearoffEvaluator(no tables)"
    assert open_bearoff(bgdata.open_warehouse(tmp_path), with_endgames=True).endgame is None


def test_accuracy_is_described(evaluator: BearoffEvaluator, root: Path, tmp_path: Path) -> None:
    assert evaluator.two_sided is not None
    accuracy = evaluator.accuracy
    assert accuracy[EXACT] == (
        f"exact, {evaluator.two_sided.name}: cubeless equity within 1.2e-06, win chance within 5.9e-07"
    )
    assert (
        "; over all pairs of 6x9 the error of the cubeless equity is 0.0017 on average, -0.0279 to +0.0236; "
        in accuracy[COMBINED]
    )
    shutil.copytree(root, tmp_path / "measured")
    warehouse = bgdata.open_warehouse(tmp_path / "measured")
    statistics = warehouse.build("bearoff_error", ErrorParameters(6, 3)).manifest.statistics
    told = open_bearoff(warehouse).accuracy[COMBINED]
    assert (
        f"over all pairs of 6x3 the error of the cubeless equity is {statistics['mean_absolute_difference']:.4f}"
        in told
    )
    assert f"{statistics['smallest_difference']:+.4f} to {statistics['largest_difference']:+.4f}" in told


@pytest.mark.parametrize(
    ("kind", "variant", "name"),
    [
        ("bearoff_two_sided", "6x3", "equities"),
        ("bearoff_one_sided", "6x15", "offsets"),
        ("bearoff_one_sided", "6x15", "chances"),
        ("bearoff_gammon", "6x15", "first_roll"),
    ],
)
def test_arrays_of_a_wrong_size_are_refused(root: Path, tmp_path: Path, kind: str, variant: str, name: str) -> None:
    """A table whose array is too short is refused, because a kernel would read past its end."""
    folder = next(bgdata.open_warehouse(root).versions(kind, variant)).folder
    copy = tmp_path / folder.relative_to(root)
    shutil.copytree(folder, copy)
    array = np.load(copy / f"{name}.npy")
    (copy / f"{name}.npy").unlink()
    np.save(copy / f"{name}.npy", array[:-1])
    if kind == "bearoff_gammon":
        shutil.copytree(root / "bearoff_one_sided" / variant, tmp_path / "bearoff_one_sided" / variant)
    with pytest.raises(CorruptFileError, match=f"expected the array {name} of .*; try: bgdata verify"):
        open_bearoff(bgdata.open_warehouse(tmp_path))


def probe_equities(table: EndgameTable, position: Position) -> Equities:
    """The equities of a position, from its rows."""
    opponent, on_roll = position.rows
    return table.probe(on_roll, opponent)


def test_contact_endgames_are_exact(table: EndgameTable, endgames: BearoffEvaluator, pairs: Boards) -> None:
    found = endgames.evaluate_many(pairs)
    assert (found.sources == EXACT).all()
    assert (found.chances[:, 1:] == 0).all()
    for row in np.random.default_rng(1).integers(0, len(pairs), 500):
        expected = probe_equities(table, Position(pairs[row])).cubeless
        assert found.chances[row, 0] == pytest.approx(0.5 + 0.5 * expected, abs=1e-7)


def test_bearoffs_equal_the_two_sided_table(endgames: BearoffEvaluator, pairs: Boards) -> None:
    without = BearoffEvaluator(endgames.two_sided)
    found, expected = endgames.evaluate_many(pairs), without.evaluate_many(pairs)
    is_bearoff = expected.sources == EXACT
    assert is_bearoff.sum() == 27 * 27, "one or two checkers on six points, twice"
    difference = np.abs(found.chances[is_bearoff, 0] - expected.chances[is_bearoff, 0]).max()
    assert difference <= (TWO_SIDED_BOUND + ENDGAME_BOUND) / 2


def test_two_sided_table_answers_for_more_checkers(endgames: BearoffEvaluator) -> None:
    boards = board_of({1: 3, 24: -3})[None]
    found = endgames.evaluate_many(boards)
    assert found.sources.tolist() == [EXACT]
    assert found.chances.tolist() == BearoffEvaluator(endgames.two_sided).evaluate_many(boards).chances.tolist()


def test_contact_endgames_have_cubeful_equities(table: EndgameTable, endgames: BearoffEvaluator, pairs: Boards) -> None:
    for row in np.random.default_rng(2).integers(0, len(pairs), 200):
        expected, found = (
            probe_equities(table, Position(pairs[row])),
            exact_equities(endgames.arrays, pairs[row], CENTERED),
        )
        assert found.no_double == pytest.approx(expected.centered, abs=1e-7)
        assert found.double_take == pytest.approx(2 * expected.opponent_owned, abs=1e-7)


def test_player_answers_from_contact_endgames(table: EndgameTable, player: LookaheadPlayer, pairs: Boards) -> None:
    is_contact = np.abs(player.evaluate_many(pairs).chances[:, 0] - 0.5) < 0.3
    position = Position(pairs[np.flatnonzero(is_contact)[0]])
    evaluation = player.evaluate(position)
    assert evaluation.source is AnswerSource.EXACT
    assert f"; with at most 2 checkers a side {table.table.name}: cubeless equity within 7e-06" in evaluation.accuracy
    decision = player.decide_cube(position)
    assert decision.accuracy == f"exact, {table.table.name}: each equity within 1.4e-05"
    assert decision.equities.no_double == pytest.approx(probe_equities(table, position).centered, abs=1e-7)


def test_plays_are_ranked_by_contact_endgames(table: EndgameTable, player: LookaheadPlayer, pairs: Boards) -> None:
    is_open = np.abs(player.evaluate_many(pairs).chances[:, 0] - 0.5) < 0.3
    for row in np.random.default_rng(3).choice(np.flatnonzero(is_open), 20):
        position = Position(pairs[row])
        for ranked in player.rank_plays(position, "21"):
            after = position.play(str(ranked.play), "21")
            if any(after.rows[0]) and any(after.rows[1]):
                expected = -probe_equities(table, after).cubeless
                assert ranked.evaluation.cubeless_equity == pytest.approx(expected, abs=2e-7)


def test_player_version_includes_contact_endgames(
    root: Path, endgames: BearoffEvaluator, player: LookaheadPlayer
) -> None:
    assert endgames.endgame
    assert endgames.endgame.name in repr(endgames)
    assert open_named_player("network", 0, bgdata.open_warehouse(root)).version != player.version


def test_contact_endgame_table_of_wrong_size_is_refused(tmp_path: Path, table: EndgameTable) -> None:
    folder = tmp_path / "contact_endgame" / "3"
    folder.parent.mkdir()
    folder.symlink_to(table.table.folder.parent, target_is_directory=True)
    with pytest.raises(CorruptFileError, match=r"expected the array equities of contact_endgame/3/.* found float32"):
        open_bearoff(bgdata.open_warehouse(tmp_path), with_endgames=True)
