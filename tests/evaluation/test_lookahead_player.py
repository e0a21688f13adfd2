"""The mapped player: sources and accuracy, choices, rankings, its cache, and use in other processes."""

import json
import multiprocessing
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import bgdata
from bgdata.errors import (
    CorruptFileError,
    InvalidPositionError,
    InvalidRollError,
    MissingTableError,
    MissingWarehouseError,
    UsageError,
)
from bgdata.evaluation.chances import AnswerSource
from bgdata.evaluation.lookahead import FILTERS, EvaluationCache, PlayFilter, evaluate_ahead
from bgdata.evaluation.lookahead_player import Evaluation, LookaheadPlayer
from bgdata.evaluation.networks.player import NetworkPlayer, map_player
from bgdata.evaluation.player import PubEval, RandomPlayer
from bgdata.game.dice import roll_of
from bgdata.game.identifiers import identify
from bgdata.game.plays import legal_plays
from bgdata.game.position import START, Position
from bgdata.kernel import threads
from tests.command_line import POSITION
from tests.evaluation.network_versions import random_networks, write_network
from tests.evaluation.networks.test_player import is_mapped
from tests.evaluation.sample_evaluators import Scrambled
from tests.random_games import GamePositions, random_game_positions

BEAROFF = "CgAAEAEAAAAAAA"  # two checkers a side
RACE = Position([0, 2, 3, 3, 3, 2, 2, *[0] * 12, -2, -2, -3, -3, -3, -2, 0])
CLOSED_OUT = Position([0, 0, 0, 0, 0, 0, 2, *[0] * 12, -2, -2, -2, -2, -2, -2, 1])
WON = Position([0] * 18 + [-15] + [0] * 7)


@cache
def sample_games() -> GamePositions:
    return random_game_positions(80, seed=29)


@pytest.fixture(scope="module")
def evaluator(player_root: Path) -> NetworkPlayer:
    opened = bgdata.open_player(player_root, "random").evaluator
    assert isinstance(opened, NetworkPlayer)
    return opened


def test_contact_is_evaluated_by_the_network(player_root: Path) -> None:
    start = bgdata.open_player(player_root, "random").evaluate("4HPwATDgc/ABMA")
    assert start.source == AnswerSource.CONTACT_NETWORK
    assert start.ply == 0
    assert start.accuracy == "network/random/r1-0123abcd: +0.250 +/- 0.013 points per game against PubEval in training"
    assert 0 <= start.win_backgammon <= start.win_gammon <= start.win <= 1


def test_small_bearoff_is_looked_up(player_root: Path) -> None:
    exact = bgdata.open_player(player_root, "random").evaluate(BEAROFF)
    expected = bgdata.open_two_sided(player_root, 6, 3).probe([0, 1, 0, 0, 1, 0], [0, 1, 1, 0, 0, 0])
    assert exact.source is AnswerSource.EXACT
    assert exact.cubeless_equity == pytest.approx(expected.cubeless, abs=1e-6)
    assert exact.accuracy.startswith("exact, bearoff_two_sided/6x3/")


def test_large_bearoff_is_combined_from_one_sided_tables(player_root: Path) -> None:
    combined = bgdata.open_player(player_root, "random").evaluate(RACE)
    assert combined.source is AnswerSource.COMBINED
    assert "as if each side just raced; over all pairs of 6x9 the error " in combined.accuracy


def test_finished_game_has_its_result(player_root: Path) -> None:
    over = bgdata.open_player(player_root, "random").evaluate(WON)
    assert over.win_gammon == 1
    assert over.cubeless_equity == 2
    assert over.source == AnswerSource.OVER
    assert over.accuracy == "the game is over"


def test_player_states_the_accuracy_of_each_source(player_root: Path) -> None:
    player = bgdata.open_player(player_root, "random")
    assert player.label == "random-0ply"
    assert repr(player) == "LookaheadPlayer(random-0ply)"
    assert set(player.accuracy) == {
        AnswerSource.EXACT,
        AnswerSource.COMBINED,
        AnswerSource.RACE_NETWORK,
        AnswerSource.CRASHED_NETWORK,
        AnswerSource.CONTACT_NETWORK,
    }
    assert len(player.accuracy) == len(dict(player.accuracy)) == 5


def test_accuracy_only_names_present_tables(player_root: Path, tmp_path: Path) -> None:
    shutil.copytree(player_root / "network", tmp_path / "network")
    player = bgdata.open_player(tmp_path, "random")
    assert len(dict(player.accuracy)) == 3
    assert player.evaluate(BEAROFF).source is AnswerSource.RACE_NETWORK
    with pytest.raises(KeyError):
        player.accuracy[AnswerSource.EXACT]


def test_choices_equal_those_of_the_kernel(evaluator: NetworkPlayer) -> None:
    """Full evaluations in Python choose the same plays as incremental ones in a kernel, in thousands of decisions of
    every class."""
    boards, rolls = sample_games().boards[:6000], sample_games().rolls[:6000]
    assert set(evaluator.evaluate_many(boards).sources.tolist()) == set(range(1, 6))
    expected = evaluator.choose_plays(boards, rolls)
    player = LookaheadPlayer(evaluator)
    for count in (1, 2):
        with threads(count):
            assert np.array_equal(player.choose_plays(boards, rolls), expected)
    assert player.choose_plays(boards[:0], rolls[:0]).shape == (0, 26)


def test_choices_ahead_are_the_first_of_the_ranking(evaluator: NetworkPlayer) -> None:
    player = LookaheadPlayer(evaluator, 1)
    rows = slice(0, 6000, 251)
    boards, rolls = sample_games().boards[rows], sample_games().rolls[rows]
    chosen = player.choose_plays(boards, rolls)
    for board, dice, found in zip(boards.tolist(), rolls.tolist(), chosen.tolist(), strict=True):
        best = player.best_play(Position(board), roll_of(*dice))
        assert best.play.next_position.board == tuple(found)
        assert best.loss == 0
    assert (chosen != evaluator.choose_plays(boards, rolls)).any()


@pytest.mark.parametrize("ply", [0, 1, 2])
def test_plays_are_ranked_best_first(evaluator: NetworkPlayer, ply: int) -> None:
    player = LookaheadPlayer(evaluator, ply)
    roll = roll_of(4, 1)
    ranked = player.rank_plays(START, roll)
    assert {row.play for row in ranked} == set(legal_plays(START, roll))
    assert len(ranked) == len(legal_plays(START, roll))
    order = [(-row.evaluation.ply, row.loss) for row in ranked]
    assert order == sorted(order)
    assert {row.evaluation.ply for row in ranked} == set(range(ply + 1))
    best_at: dict[int, float] = {}
    for row in ranked:
        after = np.array([row.play.next_position.board], np.int8)
        found = row.evaluation
        expected = evaluate_ahead(evaluator, after, found.ply)
        assert found.win == 1 - expected.chances[0, 0]
        assert (found.win_gammon, found.lose_backgammon) == (expected.chances[0, 3], expected.chances[0, 2])
        assert found.cubeless_equity == pytest.approx(
            2 * found.win - 1 + found.win_gammon + found.win_backgammon - found.lose_gammon - found.lose_backgammon,
            abs=1e-6,
        )
        best_at[found.ply] = max(found.cubeless_equity, best_at.get(found.ply, -3))
    # the best play of a ply stays in its line, or goes on to the next ply
    assert all(row.loss >= best_at[row.evaluation.ply] - row.evaluation.cubeless_equity - 1e-6 for row in ranked)
    assert ranked[0].loss == 0
    assert player.best_play(START.id, "14") == ranked[0]


@pytest.mark.parametrize("ply", [0, 1])
def test_player_without_a_legal_play_passes(evaluator: NetworkPlayer, ply: int) -> None:
    player = LookaheadPlayer(evaluator, ply)
    (only,) = player.rank_plays(CLOSED_OUT, "65")
    assert str(only.play) == "no play"
    assert only.loss == 0
    assert only.evaluation.ply == ply
    after = player.evaluate(CLOSED_OUT.flip())
    assert only.evaluation.win == pytest.approx(1 - after.win, abs=1e-7)
    assert only.evaluation.lose_gammon == after.win_gammon


def test_finished_game_is_left_as_it_is(evaluator: NetworkPlayer) -> None:
    """A finished game among other boards stays unchanged, because arrays of games may contain some."""
    chosen = LookaheadPlayer(evaluator).choose_plays(np.array([WON.board], np.int8), np.array([[6, 5]], np.int8))
    assert chosen.tolist() == [list(WON.flip().board)]


def test_final_answers_do_not_depend_on_the_ply(evaluator: NetworkPlayer) -> None:
    for position in (BEAROFF, RACE, WON):
        static, ahead = (LookaheadPlayer(evaluator, ply).evaluate(position) for ply in (0, 2))
        assert static == ahead
        assert ahead.ply == 0


def test_cached_answers_equal_fresh_ones(evaluator: NetworkPlayer) -> None:
    """Cached answers equal new ones to the last bit, if they are repeated, asked one by one or twice in a batch, or
    after the cache was full."""
    boards = sample_games().boards[::700]
    fresh = evaluate_ahead(evaluator, boards, 1)
    player = LookaheadPlayer(evaluator, 1)
    twice = np.concatenate([boards, boards[::-1]])
    for _ in range(2):
        found = player.evaluate_many(twice)
        assert found.chances.tobytes() == np.concatenate([fresh.chances, fresh.chances[::-1]]).tobytes()
        assert found.sources.tolist() == [*fresh.sources.tolist(), *fresh.sources.tolist()[::-1]]
    for row, board in enumerate(boards):
        assert player.evaluate(Position(board.tolist())).win == fresh.chances[row, 0]
    assert player.evaluate_many(np.asfortranarray(boards)[1::2]).chances.tobytes() == fresh.chances[1::2].tobytes()


def test_cache_is_emptied_when_full() -> None:
    evaluator = Scrambled()
    look = EvaluationCache(evaluator, 50)
    boards = sample_games().boards[:400:4]
    open_rows = boards[:30]
    look(open_rows, 0)
    assert len(look) == 0
    assert evaluator.asked == 30
    look(open_rows, 1)
    assert len(look) == 30
    asked = evaluator.asked
    look(open_rows[::-1], 1)
    assert evaluator.asked == asked
    look(open_rows[:2], 2)
    assert len(look) == 32
    assert evaluator.asked > asked
    expected = evaluate_ahead(Scrambled(), boards, 1)
    for rows in (slice(20, 60), slice(0, 100), slice(0, 30), slice(40, 100)):
        assert look(boards[rows], 1).chances.tobytes() == expected.chances[rows].tobytes()
        assert 0 < len(look) <= 50
    assert look(boards[:0], 1).chances.shape == (0, 5)


def test_invalid_arrays_are_refused(evaluator: NetworkPlayer) -> None:
    for ply in (0, 1):
        player = LookaheadPlayer(evaluator, ply)
        nothing = player.evaluate_many(sample_games().boards[:0])
        assert (nothing.chances.shape, nothing.chances.dtype) == ((0, 5), np.float32)
        assert (nothing.sources.shape, nothing.sources.dtype) == ((0,), np.int8)
        shapes: tuple[NDArray[Any], ...] = np.zeros((2, 25), np.int8), np.zeros(26, np.int8), np.zeros((2, 26))
        for wrong in shapes:
            with pytest.raises(InvalidPositionError, match="expected boards as int8"):
                player.evaluate_many(wrong)
            with pytest.raises(InvalidPositionError, match="expected boards as int8"):
                player.choose_plays(wrong, np.ones((len(wrong), 2), np.int8))
        sixteen = np.zeros((1, 26), np.int8)
        sixteen[0, 3] = 127
        with pytest.raises(InvalidPositionError, match="in row 0"):
            player.evaluate_many(sixteen)
        with pytest.raises(InvalidRollError, match="expected rolls as integers"):
            player.choose_plays(sample_games().boards[:3], sample_games().rolls[:2])
        with pytest.raises(InvalidRollError, match="expected dice from 1 to 6"):
            player.choose_plays(sample_games().boards[:3], sample_games().rolls[:3] + np.int8(6))


def test_versions_change_with_settings(evaluator: NetworkPlayer) -> None:
    assert LookaheadPlayer(evaluator).version == evaluator.version
    versions = [LookaheadPlayer(evaluator, 1, filters).version for filters in (FILTERS, (PlayFilter(2, 0.1),))]
    assert len({evaluator.version, *versions}) == 3
    assert LookaheadPlayer(evaluator, 1).version == versions[0]


def test_invalid_settings_positions_and_rolls_are_refused(player_root: Path) -> None:
    for ply in (-1, 4, 1.0, "1", True, None):
        with pytest.raises(UsageError, match=f"expected a ply from 0 to 3, got {ply!r}"):
            bgdata.open_player(player_root, "random", ply)  # type: ignore[arg-type]
    for chooser in (PubEval(), RandomPlayer()):
        message = f"expected an evaluator of positions, got {chooser.label}, which only chooses plays"
        with pytest.raises(UsageError, match=message):
            LookaheadPlayer(chooser)  # type: ignore[arg-type]
    player = bgdata.open_player(player_root, "random")
    with pytest.raises(InvalidPositionError, match="expected 14 characters in a position id"):
        player.evaluate("4HPwATDgc")
    with pytest.raises(InvalidRollError, match="expected two dice such as '31', got '71'"):
        player.best_play(START, "71")


def test_invalid_warehouses_are_refused(player_root: Path, tmp_path: Path) -> None:
    with pytest.raises(MissingWarehouseError, match=r"expected a warehouse in .*none, found no such folder"):
        bgdata.open_player(tmp_path / "none")
    with pytest.raises(MissingTableError, match=r"no network/other in .* \(have: random\)"):
        bgdata.open_player(player_root, "other")
    networks = random_networks(1)
    write_network(tmp_path, "cut", networks._replace(weights=networks.weights[:-1]))
    with pytest.raises(CorruptFileError, match="expected networks that bgdata can read in network/cut/"):
        bgdata.open_player(tmp_path, "cut")


def test_files_are_mapped_not_copied(player_root: Path) -> None:
    evaluator = map_player(bgdata.open_warehouse(player_root), "random").evaluator
    assert isinstance(evaluator, NetworkPlayer)
    arrays = [
        value for value in (*evaluator.networks, *evaluator.tables) if isinstance(value, np.ndarray) and value.size
    ]
    assert len(arrays) == 3 + 1 + 3 + 3
    for array in arrays:
        assert is_mapped(array)
        assert not array.flags.owndata
        assert not array.flags.writeable


PROGRAM = """
import json, sys
import bgdata
assert "numba" not in sys.modules
player = bgdata.open_player(sys.argv[1], "random", ply=1)
found = player.evaluate("4HPwATDgc/ABMA")
best = player.best_play("4HPwATDgc/ABMA", "31")
print(json.dumps([found.win.hex(), found.cubeless_equity.hex(), str(best.play), sorted(sys.modules)]))
"""


def test_processes_share_answers_and_load_no_database(player_root: Path) -> None:
    """Two other processes give the same answers as this one, and import neither DuckDB nor Prefect."""
    command = [sys.executable, "-c", PROGRAM, str(player_root)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    answers = [json.loads(process.communicate(timeout=600)[0]) for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert answers[0][:3] == answers[1][:3]
    player = bgdata.open_player(player_root, "random", ply=1)
    found = player.evaluate("4HPwATDgc/ABMA")
    assert answers[0][:3] == [
        found.win.hex(), found.cubeless_equity.hex(), str(player.best_play("4HPwATDgc/ABMA", "31").play)
    ]  # fmt: skip
    for _, _, _, loaded in answers:
        assert {name.partition(".")[0] for name in loaded} & {"duckdb", "pyarrow", "prefect", "pandas"} == set()


def test_unknown_public_name_is_refused() -> None:
    assert "open_player" in dir(bgdata)
    with pytest.raises(AttributeError, match="module 'bgdata' has no attribute 'open_players'"):
        _ = bgdata.open_players


def test_finished_games_and_empty_boards_are_refused(small_root: Path) -> None:
    player = bgdata.open_player(small_root)
    for ask in (lambda: player.rank_plays(WON, "31"), lambda: player.decide_cube(WON)):
        with pytest.raises(InvalidPositionError, match="expected a game in progress"):
            ask()
    with pytest.raises(InvalidPositionError, match="expected a position with checkers"):
        player.evaluate([0] * 26)


def test_every_notation_gets_the_same_answer(small_root: Path) -> None:
    player = bgdata.open_player(small_root)
    expected = player.evaluate("start"), player.rank_plays("start", "31"), player.decide_cube("start")
    for text in [*identify(START).values()][2:]:
        assert (player.evaluate(text), player.rank_plays(text, "31"), player.decide_cube(text)) == expected


MAX_BYTES = 4096
QUESTIONS = ("start", POSITION)


def answers(player: LookaheadPlayer) -> list[Evaluation]:
    """Answers for use in a separate process."""
    return [player.evaluate(position) for position in QUESTIONS]


@pytest.mark.parametrize("ply", [0, 1])
def test_pickle_only_has_paths(small_root: Path, ply: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(small_root.parent)
    player = bgdata.open_player(small_root.name, ply=ply)
    expected = answers(player), player.decide_cube(POSITION), player.rank_plays(START, "31")
    sent = pickle.dumps(player)  # without its cache
    assert len(sent) < MAX_BYTES
    monkeypatch.chdir("/")
    found = pickle.loads(sent)
    assert (found.label, found.version, found.filters) == (player.label, player.version, player.filters)
    assert (answers(found), found.decide_cube(POSITION), found.rank_plays(START, "31")) == expected


# slow: a new process loads Numba
@pytest.mark.slow
def test_player_answers_in_a_spawned_process(small_root: Path) -> None:
    player = bgdata.open_player(small_root)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as executor:
        assert executor.submit(answers, player).result() == answers(player)


OPENERS: list[Callable[[Path], object]] = [
    lambda root: bgdata.open_two_sided(root, 3, 3),
    lambda root: bgdata.open_one_sided(root, 3),
    lambda root: bgdata.open_gammon(root, 3),
    bgdata.open_player,
]


@pytest.mark.parametrize("opened", OPENERS)
def test_missing_version_is_refused(small_root: Path, tmp_path: Path, opened: Callable[[Path], object]) -> None:
    root = tmp_path / "warehouse"
    shutil.copytree(small_root, root)
    sent = pickle.dumps(opened(root))
    assert len(sent) < MAX_BYTES
    assert type(pickle.loads(sent)) is type(opened(root))
    shutil.rmtree(root)
    with pytest.raises(MissingTableError, match=r"expected the version bearoff_.*/r.* found no such folder; try: bgd"):
        pickle.loads(sent)


def test_pickled_table_is_equal(small_root: Path) -> None:
    two_sided, one_sided = bgdata.open_two_sided(small_root, 3, 3), bgdata.open_one_sided(small_root, 3)
    assert pickle.loads(pickle.dumps(two_sided)).probe(5, 7) == two_sided.probe(5, 7)
    assert pickle.loads(pickle.dumps(one_sided)).probe_chances(5).tolist() == one_sided.probe_chances(5).tolist()
