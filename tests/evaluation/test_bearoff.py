"""Bearoff evaluations: against exact fractions, simulated races, and the definition of coverage."""

import itertools
import shutil
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

import bgdata
from bgdata.bearoff.index import layout_count, position_index
from bgdata.bearoff.kinds.bearoff_error import ErrorParameters
from bgdata.bearoff.kinds.bearoff_one_sided import RaceParameters
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.bearoff.layouts import all_layouts
from bgdata.bearoff.tables import Equities, RaceTable
from bgdata.endgames.kinds.contact_endgame import EndgameParameters
from bgdata.endgames.layouts import all_layouts as all_endgame_layouts
from bgdata.endgames.layouts import boards_of as boards_of_endgames
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
from bgdata.game.codec import Boards
from bgdata.game.position import Position
from bgdata.kernel import threads
from tests.random_games import random_game_positions
from tests.reference.bearoff import equities, layouts
from tests.reference.bearoff_chances import combined_chances, covered_by

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
    """An evaluator with the two-sided table 6x3 and one-sided tables of 6 points."""
    warehouse = bgdata.open_warehouse(root)
    one_sided, gammon = warehouse.open("bearoff_one_sided", "6x15"), warehouse.open("bearoff_gammon", "6x15")
    return BearoffEvaluator(warehouse.open("bearoff_two_sided", "6x3"), one_sided, gammon)


@pytest.fixture(scope="module")
def endgame_table(root: Path) -> EndgameTable:
    """Contact endgames of two checkers."""
    return EndgameTable(bgdata.open_warehouse(root).open("contact_endgame", "2"))


@pytest.fixture(scope="module")
def endgame_evaluator(root: Path, endgame_table: EndgameTable) -> BearoffEvaluator:
    """An evaluator with contact endgames and the two-sided table 6x3."""
    return BearoffEvaluator(bgdata.open_warehouse(root).open("bearoff_two_sided", "6x3"), endgame=endgame_table.table)


@pytest.fixture(scope="module")
def player(root: Path) -> LookaheadPlayer:
    """The default player with all these tables."""
    return bgdata.open_player(root)


@pytest.fixture(scope="module")
def endgame_boards(endgame_table: EndgameTable) -> Boards:
    """Every position of the contact endgame table."""
    counts = all_endgame_layouts(2).counts
    on_roll, opponent = np.nonzero(~np.isnan(np.asarray(endgame_table.stored)[..., 0]))
    boards = boards_of_endgames(counts[on_roll], counts[opponent])
    return np.ascontiguousarray(boards[(on_roll > 0) & (opponent > 0)])


@pytest.fixture(scope="module")
def contact_boards(player: LookaheadPlayer, endgame_boards: Boards) -> Boards:
    """Contact endgames that either side wins in 20 % of the games or more."""
    return endgame_boards[np.abs(player.evaluate_many(endgame_boards).chances[:, 0] - 0.5) < 0.3]


def bearoff_boards(on_roll: ArrayLike, opponent: ArrayLike) -> Boards:
    """int8[n, 26]: boards of n layouts a side, ace point first."""
    on_roll, opponent = np.asarray(on_roll, np.int8), np.asarray(opponent, np.int8)
    boards = np.zeros((len(on_roll), 26), np.int8)
    boards[:, 1 : on_roll.shape[1] + 1] = on_roll
    boards[:, 24 : 24 - opponent.shape[1] : -1] -= opponent
    return boards


def random_bearoffs(points: int, checkers: int, count: int) -> Boards:
    """Boards with random layouts of 1 to `checkers` on each side, any number equally likely; of every nine boards the
    first has all of them on one side, the fourth on the other, the seventh on both."""
    generator = np.random.default_rng(points * checkers)
    layouts_by_index = all_layouts(points, checkers)
    sides = []
    for first in range(2):
        on_board = generator.integers(1, checkers + 1, count)
        on_board[3 * first :: 9] = on_board[6::9] = checkers
        ends = np.array([layout_count(points, most) for most in range(1, checkers + 1)])
        starts = np.array([1, *ends[:-1]])
        sides.append(layouts_by_index[generator.integers(starts[on_board - 1], ends[on_board - 1])])
    return bearoff_boards(*sides)


def has_all_checkers(boards: Boards) -> NDArray[np.bool_]:
    """Whether a side has all 15 checkers on the board."""
    return (np.maximum(boards, 0).sum(axis=1) == 15) | (np.minimum(boards, 0).sum(axis=1) == -15)


def board_of(counts: dict[int, int]) -> Boards:
    board = np.zeros(26, np.int8)
    for slot, count in counts.items():
        board[slot] = count
    return board


def roll_chances(table: RaceTable, layout: list[int]) -> dict[int, float]:
    """The nonzero chances of a layout by number of rolls."""
    return {rolls: chance for rolls, chance in enumerate(table.probe_chances(layout).tolist()) if chance}


def test_exact_chances_equal_exact_fractions(evaluator: BearoffEvaluator) -> None:
    pairs = list(itertools.product(layouts(6, 2)[1:], repeat=2))
    evaluations = evaluator.evaluate_many(bearoff_boards(*zip(*pairs, strict=True)))
    assert (evaluations.sources == EXACT).all()
    assert (evaluations.chances[:, 1:] == 0).all()
    cubeless = np.array([float(equities(on_roll, opponent)[0]) for on_roll, opponent in pairs])
    assert evaluations.chances[:, 0] == pytest.approx((1 + cubeless) / 2, abs=1e-6)


def test_codes_and_floats_are_read_from_the_same_cells(evaluator: BearoffEvaluator, root: Path) -> None:
    """The test makes 16-bit codes itself, because only tables that are too large for tests have them."""
    table = bgdata.open_two_sided(root, 6, 3)
    on_roll, opponent = (side.ravel() for side in np.mgrid[1:84, 1:84])  # 84 layouts
    boards = bearoff_boards(all_layouts(6, 3)[on_roll], all_layouts(6, 3)[opponent])
    win = 0.5 + 0.5 * table.probe_many(on_roll, opponent)[:, 0].astype(np.float64)
    assert (evaluator.evaluate_many(boards).chances[:, 0] == win.astype(np.float32)).all()

    codes = np.rint((table.stored.reshape(-1) + 1.0) * 32767.5).astype(np.uint16)
    with_codes = BearoffEvaluator(evaluator.two_sided, evaluator.one_sided, evaluator.gammon)
    with_codes.arrays = evaluator.arrays._replace(equities=evaluator.arrays.equities[:0], codes=codes)
    evaluations = with_codes.evaluate_many(boards)
    assert (evaluations.sources == EXACT).all()
    assert evaluations.chances[:, 0] == pytest.approx(win, abs=0.5 / 65535 + 1e-7)


def test_combined_chances_equal_simulated_races(root: Path, evaluator: BearoffEvaluator) -> None:
    one_sided, gammon = bgdata.open_one_sided(root, 6), bgdata.open_gammon(root, 6)
    boards = random_bearoffs(6, 15, 900)
    evaluations = BearoffEvaluator(None, evaluator.one_sided, evaluator.gammon).evaluate_many(boards)
    assert (evaluations.sources == COMBINED).all()
    assert (evaluations.chances[:, [2, 4]] == 0).all(), "no backgammons"
    won_gammons = lost_gammons = 0
    for board, chances in zip(boards.tolist(), evaluations.chances.tolist(), strict=True):
        sides = board[1:7], [-count for count in board[24:18:-1]]
        rolls = [roll_chances(one_sided, side) for side in sides]
        rolls_to_first_off = [roll_chances(gammon, side) if sum(side) == 15 else None for side in sides]
        win, win_gammon, lose_gammon = combined_chances(*rolls, *rolls_to_first_off)
        assert [chances[0], chances[1], chances[3]] == pytest.approx([win, win_gammon, lose_gammon], abs=ROUNDING)
        won_gammons += win_gammon > 0.001
        lost_gammons += lose_gammon > 0.001
    assert min(won_gammons, lost_gammons) > 5


def test_chances_respect_their_order(evaluator: BearoffEvaluator) -> None:
    chances = evaluator.evaluate_many(random_bearoffs(6, 15, 20_000)).chances
    win, win_gammon, _, lose_gammon, _ = chances.T
    assert chances.min() >= 0
    assert chances.max() <= 1
    assert (win_gammon <= win).all()
    assert (lose_gammon <= np.float32(1) - win).all()


def test_chances_match_values_by_hand(evaluator: BearoffEvaluator) -> None:
    last_checker, all_on_six = [1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 15]
    boards = bearoff_boards([last_checker, last_checker, all_on_six], [last_checker, all_on_six, last_checker])
    evaluations = evaluator.evaluate_many(boards)
    assert evaluations.sources.tolist() == [EXACT, COMBINED, COMBINED]
    assert evaluations.chances[0].tolist() == [1, 0, 0, 0, 0]
    assert evaluations.chances[1].tolist() == [1, 1, 0, 0, 0], "the opponent never rolls"
    saves_gammon = 17 / 36  # any roll with a 6, and 51, 42, 33 and 22
    assert evaluations.chances[2].tolist() == pytest.approx([0, 0, 0, 1 - saves_gammon, 0], abs=ROUNDING)


@pytest.mark.parametrize(
    ("two_sided", "one_sided", "gammon"),
    [
        ((6, 3), 6, 6),
        ((6, 3), 0, 0),
        ((0, 0), 6, 0),
        ((0, 0), 0, 0),
        ((2, 15), 7, 7),
        ((6, 15), 6, 6),
        ((7, 4), 6, 0),
    ],
)
def test_tables_cover_the_positions_of_their_definition(
    evaluator: BearoffEvaluator, two_sided: tuple[int, int], one_sided: int, gammon: int
) -> None:
    bearoffs = [random_bearoffs(points, checkers, 150) for points, checkers in ((6, 15), (6, 3), (7, 15), (2, 15))]
    boards = np.concatenate([random_game_positions(15, seed=5).boards, *bearoffs])
    arrays = with_table_sizes(evaluator.arrays, two_sided, one_sided, gammon)
    expected = [covered_by(board, two_sided, one_sided, gammon) for board in boards.tolist()]
    assert [bearoff_source(arrays, board) for board in boards] == expected
    has_both_kinds = one_sided > 0 and two_sided > (0, 0)
    assert (set(expected) == {NONE, EXACT, COMBINED}) == has_both_kinds


def with_table_sizes(arrays: BearoffArrays, two_sided: tuple[int, int], one_sided: int, gammon: int) -> BearoffArrays:
    """The arrays with the sizes of other tables, for questions of coverage, which read no table."""
    points, checkers = two_sided
    return arrays._replace(
        two_sided_points=points, two_sided_checkers=checkers, one_sided_points=one_sided, gammon_points=gammon
    )


def test_contact_within_the_points_of_a_large_table_is_not_covered(evaluator: BearoffEvaluator) -> None:
    """From 13 points on, two sides within the points of a table can still be in contact."""
    arrays = with_table_sizes(evaluator.arrays, (18, 14), 18, 18)
    cases = set()
    for farthest, opponent_farthest in itertools.product(range(2, 24), repeat=2):
        if farthest + opponent_farthest == 25:  # the same point
            continue
        board = board_of({1: 1, farthest: 1, 24: -1, 25 - opponent_farthest: -1})
        is_past = farthest + opponent_farthest < 25
        is_within = max(farthest, opponent_farthest) <= 18
        expected = EXACT if is_past and is_within else NONE
        assert bearoff_source(arrays, board) == expected, (farthest, opponent_farthest)
        cases.add((is_past, is_within))
    assert len(cases) == 4


UNCOVERED = {
    "player on the bar": {25: 1, 1: 2, 24: -2},
    "opponent on the bar": {0: 1, 1: 2, 24: -2},
    "player has borne off": {24: -2},
    "opponent has borne off": {1: 2},
    "empty board": {},
    "player beyond the table": {7: 1, 24: -1},
    "opponent beyond the table": {1: 1, 18: -1},
    "contact": {20: 1, 24: -2},
    "contact in the home board": {6: 1, 3: -1},
    "16 checkers": {1: 16, 24: -1},
    "16 checkers of the opponent": {1: 1, 24: -16},
    "count of -128": {1: -128, 2: 1, 24: -1},
    "counts of 127": {1: 127, 2: 127, 24: -127},
}
UNCOVERED_ENDGAMES = {
    "3 checkers": {20: 3, 22: -1},
    "3 checkers of the opponent": {20: 1, 22: -2, 0: 1},
    "3 checkers on the bar": {25: 3, 0: 1},
    "opponent has borne off": {20: 1},
    "negative bar": {20: 1, 25: -1, 22: -1},
    "negative bar of the opponent": {20: 1, 22: -1, 0: -1},
    "15 checkers": {20: 15, 22: -1},
}


@pytest.mark.parametrize("counts", UNCOVERED.values(), ids=UNCOVERED)
def test_uncovered_bearoff_has_no_chances(evaluator: BearoffEvaluator, counts: dict[int, int]) -> None:
    board = board_of(counts)
    chances = np.full(5, 7, np.float32)
    assert fill_bearoff_chances(evaluator.arrays, board, chances) == NONE
    assert chances.tolist() == [7] * 5, "unchanged"
    evaluations = evaluator.evaluate_many(board[None])
    assert evaluations.sources.tolist() == [NONE]
    assert np.isnan(evaluations.chances).all()


@pytest.mark.parametrize("counts", UNCOVERED_ENDGAMES.values(), ids=UNCOVERED_ENDGAMES)
def test_uncovered_endgame_has_no_chances(endgame_evaluator: BearoffEvaluator, counts: dict[int, int]) -> None:
    evaluations = endgame_evaluator.evaluate_many(board_of(counts)[None])
    assert evaluations.sources.tolist() == [NONE]
    assert np.isnan(evaluations.chances).all()


def test_fifteen_checkers_are_never_answered_from_equities(root: Path) -> None:
    """Equities with gammons do not determine winning chances."""
    warehouse = bgdata.open_warehouse(root)
    one_sided, gammon = warehouse.open("bearoff_one_sided", "6x15"), warehouse.open("bearoff_gammon", "6x15")
    boards = random_bearoffs(2, 15, 900)
    has_all = has_all_checkers(boards)
    with_two_sided = BearoffEvaluator(warehouse.open("bearoff_two_sided", "2x15"), one_sided, gammon)
    evaluations = with_two_sided.evaluate_many(boards)
    assert (evaluations.sources == np.where(has_all, COMBINED, EXACT)).all()
    combined = BearoffEvaluator(None, one_sided, gammon).evaluate_many(boards).chances
    assert evaluations.chances == pytest.approx(combined, abs=0.02)
    assert (evaluations.chances[has_all] == combined[has_all]).all()


def test_answers_do_not_depend_on_threads_blocks_or_memory_layout(evaluator: BearoffEvaluator) -> None:
    uncovered = random_bearoffs(8, 15, 9)
    boards = np.concatenate([random_bearoffs(6, 15, 3 * BLOCK + 1), random_bearoffs(6, 3, BLOCK), uncovered])
    boards = np.random.default_rng(1).permutation(boards)
    expected = evaluator.evaluate_many(boards)
    assert set(expected.sources.tolist()) == {NONE, EXACT, COMBINED}
    for count in (1, 2):
        with threads(count):
            evaluations = evaluator.evaluate_many(boards)
        assert evaluations.chances.tobytes() == expected.chances.tobytes()
        assert evaluations.sources.tobytes() == expected.sources.tobytes()
    for row, board in enumerate(boards):
        chances = np.full(5, np.nan, np.float32)
        assert fill_bearoff_chances(evaluator.arrays, board, chances) == expected.sources[row]
        assert chances.tobytes() == expected.chances[row].tobytes()
    strided = evaluator.evaluate_many(np.asfortranarray(boards)[::2])
    assert strided.chances.tobytes() == expected.chances[::2].tobytes()
    assert evaluator.evaluate_many(boards[:0]).chances.shape == (0, 5)


def test_other_arrays_than_boards_are_refused(evaluator: BearoffEvaluator) -> None:
    with pytest.raises(InvalidPositionError, match="expected boards as int8"):
        evaluator.evaluate_many(np.zeros((3, 25), np.int8))


@pytest.mark.parametrize("points", [1, 6, 7, 18])
def test_layout_indexes_equal_position_indexes(points: int) -> None:
    """Each side is alone on its board, because beyond 12 points both could share a point."""
    slots = points + 9  # some checkers are beyond the points, so the number on the board varies
    random_counts = np.random.default_rng(points).multinomial(15, np.ones(slots) / slots, (2, 50))
    nobody = [0] * points
    for layout in random_counts[0, :, :points].tolist():
        (board,) = bearoff_boards([layout], [nobody])
        assert layout_indexes(board, points) == (position_index(layout), 0)
    for layout in random_counts[1, :, :points].tolist():
        (board,) = bearoff_boards([nobody], [layout])
        assert layout_indexes(board, points) == (0, position_index(layout))


def test_best_tables_are_opened(root: Path) -> None:
    """2x15 has 136 layouts, 6x3 has 84; the one-sided table of 7 points has no gammon table."""
    evaluator = open_bearoff(bgdata.open_warehouse(root))
    tables = evaluator.two_sided, evaluator.one_sided, evaluator.gammon
    assert [table and table.manifest.variant for table in tables] == ["2x15", "6x15", "6x15"]


def test_all_checkers_are_not_covered_without_a_gammon_table(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root / "bearoff_one_sided", tmp_path / "bearoff_one_sided")
    evaluator = open_bearoff(bgdata.open_warehouse(tmp_path))
    assert evaluator.one_sided is not None
    assert evaluator.one_sided.manifest.variant == "7x15"
    assert evaluator.two_sided is None
    assert evaluator.gammon is None
    boards = random_bearoffs(7, 15, 90)
    expected = np.where(has_all_checkers(boards), NONE, COMBINED)
    assert (evaluator.evaluate_many(boards).sources == expected).all()


def test_gammon_tables_of_other_points_are_refused(root: Path) -> None:
    warehouse = bgdata.open_warehouse(root)
    one_sided, gammon = warehouse.open("bearoff_one_sided", "7x15"), warehouse.open("bearoff_gammon", "6x15")
    with pytest.raises(InvalidParameterError, match="expected a gammon table of 7 points, got bearoff_gammon/6x15"):
        BearoffEvaluator(None, one_sided, gammon)
    with pytest.raises(InvalidParameterError, match="expected a gammon table of 0 points"):
        BearoffEvaluator(None, None, gammon)


def test_warehouse_without_tables_gives_no_answers(tmp_path: Path) -> None:
    (tmp_path / "bearoff_two_sided" / "6x6").mkdir(parents=True)  # an unfinished build
    for kind in ("bearoff_two_sided", "contact_endgame"):
        (tmp_path / kind / "copy of mine" / "r1-00000000").mkdir(parents=True)
    evaluator = open_bearoff(bgdata.open_warehouse(tmp_path))
    assert (evaluator.evaluate_many(random_bearoffs(6, 15, 50)).sources == NONE).all()
    assert evaluator.accuracy == {NONE: "not covered"}
    assert repr(evaluator) == "BearoffEvaluator(no tables)"
    assert open_bearoff(bgdata.open_warehouse(tmp_path), with_endgames=True).endgame is None


def test_missing_warehouse_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingWarehouseError):
        open_bearoff(bgdata.open_warehouse(tmp_path / "none"))


def test_accuracy_of_exact_and_combined_answers(evaluator: BearoffEvaluator) -> None:
    assert evaluator.two_sided is not None
    exact = f"exact, {evaluator.two_sided.name}: cubeless equity within 1.2e-06, win chance within 5.9e-07"
    assert evaluator.accuracy[EXACT] == exact
    error = "over all pairs of 6x9 the error of the cubeless equity is 0.0017 on average, -0.0279 to +0.0236"
    combined = f"as if each side just raced; {error}; "
    assert combined in evaluator.accuracy[COMBINED]


def test_accuracy_of_combined_answers_is_measured_by_bearoff_error(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root, tmp_path / "warehouse")
    warehouse = bgdata.open_warehouse(tmp_path / "warehouse")
    statistics = warehouse.build("bearoff_error", ErrorParameters(6, 3)).manifest.statistics
    mean, least, most = (statistics[f"{name}_difference"] for name in ("mean_absolute", "smallest", "largest"))
    accuracy = open_bearoff(warehouse).accuracy[COMBINED]
    expected = (
        f"over all pairs of 6x3 the error of the cubeless equity is {mean:.4f} on average, {least:+.4f} to {most:+.4f}"
    )
    assert expected in accuracy


@pytest.mark.parametrize(
    ("kind", "variant", "name"),
    [
        ("bearoff_two_sided", "6x3", "equities"),
        ("bearoff_one_sided", "6x15", "offsets"),
        ("bearoff_one_sided", "6x15", "chances"),
        ("bearoff_gammon", "6x15", "first_roll"),
    ],
)
def test_truncated_array_is_refused(root: Path, tmp_path: Path, kind: str, variant: str, name: str) -> None:
    """A kernel would read past its end."""
    folder = bgdata.open_warehouse(root).open(kind, variant).folder
    copied = tmp_path / folder.relative_to(root)
    shutil.copytree(folder, copied)
    array = np.load(copied / f"{name}.npy")
    (copied / f"{name}.npy").unlink()
    np.save(copied / f"{name}.npy", array[:-1])
    if kind == "bearoff_gammon":  # which is used only beside a one-sided table
        shutil.copytree(root / "bearoff_one_sided" / variant, tmp_path / "bearoff_one_sided" / variant)
    with pytest.raises(CorruptFileError, match=f"expected the array {name} of .*; try: bgdata verify"):
        open_bearoff(bgdata.open_warehouse(tmp_path))


def test_contact_endgame_table_of_wrong_size_is_refused(tmp_path: Path, endgame_table: EndgameTable) -> None:
    folder = tmp_path / "contact_endgame" / "3"
    folder.parent.mkdir()
    folder.symlink_to(endgame_table.table.folder.parent, target_is_directory=True)
    with pytest.raises(CorruptFileError, match=r"expected the array equities of contact_endgame/3/.* found float32"):
        open_bearoff(bgdata.open_warehouse(tmp_path), with_endgames=True)


def probe_board(table: EndgameTable, board: Boards) -> Equities:
    opponent, on_roll = Position(board).rows
    return table.probe(on_roll, opponent)


def test_contact_endgames_are_exact(
    endgame_table: EndgameTable, endgame_evaluator: BearoffEvaluator, endgame_boards: Boards
) -> None:
    evaluations = endgame_evaluator.evaluate_many(endgame_boards)
    assert (evaluations.sources == EXACT).all()
    assert (evaluations.chances[:, 1:] == 0).all()
    for row in np.random.default_rng(1).integers(0, len(endgame_boards), 500):
        cubeless = probe_board(endgame_table, endgame_boards[row]).cubeless
        assert evaluations.chances[row, 0] == pytest.approx(0.5 + 0.5 * cubeless, abs=1e-7)


def test_contact_endgames_equal_the_two_sided_table(
    endgame_evaluator: BearoffEvaluator, endgame_boards: Boards
) -> None:
    two_sided = BearoffEvaluator(endgame_evaluator.two_sided).evaluate_many(endgame_boards)
    is_bearoff = two_sided.sources == EXACT
    assert is_bearoff.sum() == 27 * 27, "one or two checkers on six points, twice"
    chances = endgame_evaluator.evaluate_many(endgame_boards[is_bearoff]).chances
    tolerance = (TWO_SIDED_BOUND + ENDGAME_BOUND) / 2
    assert chances[:, 0] == pytest.approx(two_sided.chances[is_bearoff, 0], rel=0, abs=tolerance)


def test_two_sided_table_answers_for_more_checkers(endgame_evaluator: BearoffEvaluator) -> None:
    boards = board_of({1: 3, 24: -3})[None]
    evaluations = endgame_evaluator.evaluate_many(boards)
    assert evaluations.sources.tolist() == [EXACT]
    expected = BearoffEvaluator(endgame_evaluator.two_sided).evaluate_many(boards).chances
    assert evaluations.chances.tolist() == expected.tolist()


def test_contact_endgames_have_cubeful_equities(
    endgame_table: EndgameTable, endgame_evaluator: BearoffEvaluator, endgame_boards: Boards
) -> None:
    for board in np.random.default_rng(2).choice(endgame_boards, 200):
        expected = probe_board(endgame_table, board)
        decision = exact_equities(endgame_evaluator.arrays, board, CENTERED)
        assert decision.no_double == pytest.approx(expected.centered, abs=1e-7)
        assert decision.double_take == pytest.approx(2 * expected.opponent_owned, abs=1e-7)


def test_player_answers_from_contact_endgames(
    endgame_table: EndgameTable, player: LookaheadPlayer, contact_boards: Boards
) -> None:
    name = endgame_table.table.name
    position = Position(contact_boards[0])
    evaluation = player.evaluate(position)
    assert evaluation.source is AnswerSource.EXACT
    assert f"; with at most 2 checkers a side {name}: cubeless equity within 7e-06" in evaluation.accuracy
    decision = player.decide_cube(position)
    assert decision.accuracy == f"exact, {name}: each equity within 1.4e-05"
    expected = probe_board(endgame_table, contact_boards[0]).centered
    assert decision.equities.no_double == pytest.approx(expected, abs=1e-7)


def test_plays_are_ranked_by_contact_endgames(
    endgame_table: EndgameTable, player: LookaheadPlayer, contact_boards: Boards
) -> None:
    for board in np.random.default_rng(3).choice(contact_boards, 20):
        for ranked in player.rank_plays(Position(board), "21"):
            after = Position(board).play(str(ranked.play), "21")
            if any(after.rows[0]) and any(after.rows[1]):
                expected = -probe_board(endgame_table, np.array(after.board, np.int8)).cubeless
                assert ranked.evaluation.cubeless_equity == pytest.approx(expected, abs=2e-7)


def test_player_version_includes_contact_endgames(
    root: Path, endgame_evaluator: BearoffEvaluator, player: LookaheadPlayer
) -> None:
    assert endgame_evaluator.endgame
    assert endgame_evaluator.endgame.name in repr(endgame_evaluator)
    assert open_named_player("network", 0, bgdata.open_warehouse(root)).version != player.version
