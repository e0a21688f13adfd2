"""Players that answer from contact endgames: exact in every way of asking, and only where a table covers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.bearoff.tables import Equities
from bgdata.endgames.kinds.contact_endgame import EndgameParameters
from bgdata.endgames.layouts import all_layouts, boards_of
from bgdata.endgames.tables import EndgameTable
from bgdata.equity.curves import CENTERED
from bgdata.errors import CorruptFileError
from bgdata.evaluation.answers import exact_equities
from bgdata.evaluation.bearoff import BearoffEvaluator, open_bearoff
from bgdata.evaluation.bearoff_kernels import BearoffSource
from bgdata.evaluation.chances import AnswerSource
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.player import open_named_player
from bgdata.game.codec import Boards
from bgdata.game.position import Position

CHECKERS = 2
TWO_SIDED_BOUND, ENDGAME_BOUND = 3.2e-5, 7e-6


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a warehouse with contact endgames of one and two checkers, and the bearoff table 6x3."""
    folder = tmp_path_factory.mktemp("endgames")
    warehouse = bgdata.open_warehouse(folder)
    for checkers in (1, CHECKERS):
        warehouse.build("contact_endgame", EndgameParameters(checkers))
    warehouse.build("bearoff_two_sided", TwoSidedParameters(6, 3))
    return folder


@pytest.fixture(scope="module")
def table(root: Path) -> EndgameTable:
    """The larger table."""
    return EndgameTable(bgdata.open_warehouse(root).open("contact_endgame", str(CHECKERS)))


@pytest.fixture(scope="module")
def evaluator(root: Path) -> BearoffEvaluator:
    """What the player has."""
    return open_bearoff(bgdata.open_warehouse(root), with_endgames=True)


@pytest.fixture(scope="module")
def player(root: Path) -> LookaheadPlayer:
    """The player that comes with bgdata, and these tables."""
    return bgdata.open_player(root)


@pytest.fixture(scope="module", name="pairs")
def all_pairs(table: EndgameTable) -> Boards:
    """Every position of the table."""
    counts = all_layouts(CHECKERS).counts
    ours, theirs = np.nonzero(~np.isnan(np.asarray(table.stored)[..., 0]))
    boards = boards_of(counts[ours], counts[theirs])
    some = (ours > 0) & (theirs > 0)
    return np.ascontiguousarray(boards[some])


def probed(table: EndgameTable, position: Position) -> Equities:
    """The equities of a position, by its rows."""
    opponent, on_roll = position.rows
    return table.probe(on_roll, opponent)


def test_every_position_of_the_table_is_exact(table: EndgameTable, evaluator: BearoffEvaluator, pairs: Boards) -> None:
    found = evaluator.evaluate_many(pairs)
    assert (found.sources == BearoffSource.EXACT).all()
    assert (found.chances[:, 1:] == 0).all()
    for row in np.random.default_rng(1).integers(0, len(pairs), 500):
        expected = probed(table, Position(pairs[row])).cubeless
        assert found.chances[row, 0] == pytest.approx(0.5 + 0.5 * expected, abs=1e-7)


def test_bearoffs_are_those_of_the_two_sided_table(root: Path, evaluator: BearoffEvaluator, pairs: Boards) -> None:
    without = open_bearoff(bgdata.open_warehouse(root))
    assert without.endgame is None
    found, expected = evaluator.evaluate_many(pairs), without.evaluate_many(pairs)
    is_bearoff = expected.sources == BearoffSource.EXACT
    assert is_bearoff.sum() == 27 * 27, "one or two checkers on six points, twice"
    difference = np.abs(found.chances[is_bearoff, 0] - expected.chances[is_bearoff, 0]).max()
    assert difference <= (TWO_SIDED_BOUND + ENDGAME_BOUND) / 2


BEARING_OFF_3 = [0] * 26
BEARING_OFF_3[1], BEARING_OFF_3[24] = 3, -3


def test_more_checkers_are_answered_by_the_two_sided_table(root: Path, evaluator: BearoffEvaluator) -> None:
    boards = np.array([BEARING_OFF_3], np.int8)
    found = evaluator.evaluate_many(boards)
    assert found.sources.tolist() == [BearoffSource.EXACT]
    assert found.chances.tolist() == open_bearoff(bgdata.open_warehouse(root)).evaluate_many(boards).chances.tolist()


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({20: 3}, {3: 1}),  # one checker more than in the table
        ({20: 1}, {3: 2, 25: 1}),
        ({25: 3}, {25: 1}),
        ({20: 1}, {}),  # over
        ({20: 1, 25: -1}, {3: 1}),  # not legal
        ({20: 1}, {3: 1, 25: -1}),
        ({20: 15}, {3: 1}),
    ],
)
def test_uncovered_positions(evaluator: BearoffEvaluator, ours: dict[int, int], theirs: dict[int, int]) -> None:
    board = np.zeros((1, 26), np.int8)
    for point, count in ours.items():
        board[0, point] += count
    for point, count in theirs.items():
        board[0, 25 - point] += count if point == 25 else -count
    found = evaluator.evaluate_many(board)
    assert found.sources.tolist() == [BearoffSource.NONE]
    assert np.isnan(found.chances).all()


def test_equities_with_the_cube(table: EndgameTable, evaluator: BearoffEvaluator, pairs: Boards) -> None:
    for row in np.random.default_rng(2).integers(0, len(pairs), 200):
        expected, found = probed(table, Position(pairs[row])), exact_equities(evaluator.arrays, pairs[row], CENTERED)
        assert found.no_double == pytest.approx(expected.centered, abs=1e-7)
        assert found.double_take == pytest.approx(2 * expected.opponent_owned, abs=1e-7)


def test_a_player_answers_from_it_and_says_so(table: EndgameTable, player: LookaheadPlayer, pairs: Boards) -> None:
    is_contact = np.abs(player.evaluate_many(pairs).chances[:, 0] - 0.5) < 0.3
    position = Position(pairs[np.flatnonzero(is_contact)[0]])
    evaluation = player.evaluate(position)
    assert evaluation.source is AnswerSource.EXACT
    assert f"; with at most 2 checkers a side {table.table.name}: cubeless equity within 7e-06" in evaluation.accuracy
    decision = player.decide_cube(position)
    assert decision.accuracy == f"exact, {table.table.name}: each equity within 1.4e-05"
    assert decision.equities.no_double == pytest.approx(probed(table, position).centered, abs=1e-7)


def test_plays_are_ranked_by_it(table: EndgameTable, player: LookaheadPlayer, pairs: Boards) -> None:
    is_open = np.abs(player.evaluate_many(pairs).chances[:, 0] - 0.5) < 0.3
    for row in np.random.default_rng(3).choice(np.flatnonzero(is_open), 20):
        position = Position(pairs[row])
        for ranked in player.rank_plays(position, "21"):
            after = position.play(str(ranked.play), "21")
            if any(after.rows[0]) and any(after.rows[1]):
                expected = -probed(table, after).cubeless
                assert ranked.evaluation.cubeless_equity == pytest.approx(expected, abs=2e-7)


def test_its_version_is_part_of_the_players(root: Path, evaluator: BearoffEvaluator, player: LookaheadPlayer) -> None:
    assert evaluator.endgame
    assert evaluator.endgame.name in repr(evaluator)
    assert open_named_player("network", 0, bgdata.open_warehouse(root)).version != player.version


def test_a_table_of_another_size_is_refused(tmp_path: Path, table: EndgameTable) -> None:
    folder = tmp_path / "contact_endgame" / "3"
    folder.parent.mkdir()
    folder.symlink_to(table.table.folder.parent, target_is_directory=True)
    with pytest.raises(CorruptFileError, match=r"expected the array equities of contact_endgame/3/.* found float32"):
        open_bearoff(bgdata.open_warehouse(tmp_path), with_endgames=True)
