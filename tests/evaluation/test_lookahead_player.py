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

import bgdata
from bgdata.errors import (
    InvalidPositionError,
    InvalidRollError,
    MissingTableError,
    UsageError,
)
from bgdata.evaluation.chances import AnswerSource
from bgdata.evaluation.lookahead import FILTERS, EvaluationCache, PlayFilter, evaluate_ahead
from bgdata.evaluation.lookahead_player import Evaluation, LookaheadPlayer
from bgdata.evaluation.networks.player import NetworkPlayer, map_player
from bgdata.evaluation.player import PubEval, RandomPlayer
from bgdata.game.dice import roll_of
from bgdata.game.identifiers import possible_identifiers
from bgdata.game.plays import legal_plays
from bgdata.game.position import START, Position
from bgdata.kernel import threads
from tests.command_line import POSITION
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
def player(player_root: Path) -> LookaheadPlayer:
    """The player with network/random and small bearoff tables, at 0-ply."""
    return bgdata.open_player(player_root, "random")


@pytest.fixture(scope="module")
def evaluator(player: LookaheadPlayer) -> NetworkPlayer:
    """The evaluator of `player`."""
    assert isinstance(player.evaluator, NetworkPlayer)
    return player.evaluator


def test_player_states_the_accuracy_of_each_source(player: LookaheadPlayer) -> None:
    assert player.label == "random-0ply"
    assert repr(player) == "LookaheadPlayer(random-0ply)"
    networks = {AnswerSource.RACE_NETWORK, AnswerSource.CRASHED_NETWORK, AnswerSource.CONTACT_NETWORK}
    assert set(player.accuracy) == {AnswerSource.EXACT, AnswerSource.COMBINED} | networks
    assert len(player.accuracy) == len(dict(player.accuracy)) == 5


def test_accuracy_only_names_present_tables(player_root: Path, tmp_path: Path) -> None:
    shutil.copytree(player_root / "network", tmp_path / "network")
    player = bgdata.open_player(tmp_path, "random")
    assert len(dict(player.accuracy)) == 3
    assert player.evaluate(BEAROFF).source is AnswerSource.RACE_NETWORK
    with pytest.raises(KeyError):
        player.accuracy[AnswerSource.EXACT]


def test_choices_equal_those_of_the_kernel(evaluator: NetworkPlayer) -> None:
    """The player evaluates all plays in full; the kernel updates its sums from play to play."""
    boards, rolls = sample_games().boards[:6000], sample_games().rolls[:6000]
    assert set(evaluator.evaluate_many(boards).sources.tolist()) == set(range(1, 6)), "every class of positions"
    expected = evaluator.choose_plays(boards, rolls)
    player = LookaheadPlayer(evaluator)
    for count in (1, 2):
        with threads(count):
            assert np.array_equal(player.choose_plays(boards, rolls), expected)
    assert player.choose_plays(boards[:0], rolls[:0]).shape == (0, 26)


def test_choices_ahead_are_the_first_of_the_ranking(evaluator: NetworkPlayer) -> None:
    player = LookaheadPlayer(evaluator, 1)
    boards, rolls = sample_games().boards[:6000:251], sample_games().rolls[:6000:251]  # 24 decisions
    after_play = player.choose_plays(boards, rolls)
    assert (after_play != evaluator.choose_plays(boards, rolls)).any()
    for board, dice, after in zip(boards.tolist(), rolls.tolist(), after_play.tolist(), strict=True):
        best = player.best_play(Position(board), roll_of(*dice))
        assert list(best.play.next_position.board) == after
        assert best.loss == 0


@pytest.mark.parametrize("ply", [0, 1, 2])
def test_plays_are_ranked_best_first(evaluator: NetworkPlayer, ply: int) -> None:
    player = LookaheadPlayer(evaluator, ply)
    ranked = player.rank_plays(START, "41")
    assert {row.play for row in ranked} == set(legal_plays(START, roll_of(4, 1)))
    assert len(ranked) == len(legal_plays(START, roll_of(4, 1)))
    assert {row.evaluation.ply for row in ranked} == set(range(ply + 1))
    order = [(-row.evaluation.ply, row.loss) for row in ranked]
    assert order == sorted(order)
    assert ranked[0].loss == 0
    assert player.best_play(START.id, "14") == ranked[0]
    for row in ranked:
        # the best play of a ply stays in its line, or goes on to the next ply
        same_ply = [other.evaluation for other in ranked if other.evaluation.ply == row.evaluation.ply]
        best = max(evaluation.cubeless_equity for evaluation in same_ply)
        assert row.loss >= best - row.evaluation.cubeless_equity - 1e-6


@pytest.mark.parametrize("ply", [0, 1, 2])
def test_ranked_plays_have_the_chances_of_their_ply(evaluator: NetworkPlayer, ply: int) -> None:
    for row in LookaheadPlayer(evaluator, ply).rank_plays(START, "41"):
        after = np.array([row.play.next_position.board], np.int8)
        win, _, win_backgammon, lose_gammon, _ = evaluate_ahead(evaluator, after, row.evaluation.ply).chances[0]
        evaluation = row.evaluation
        assert evaluation.win == 1 - win, "chances after the play are the opponent's"
        assert evaluation.win_gammon == lose_gammon
        assert evaluation.lose_backgammon == win_backgammon
        gammons = evaluation.win_gammon + evaluation.win_backgammon
        lost_gammons = evaluation.lose_gammon + evaluation.lose_backgammon
        expected = 2 * evaluation.win - 1 + gammons - lost_gammons
        assert evaluation.cubeless_equity == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("ply", [0, 1])
def test_player_without_a_legal_play_passes(evaluator: NetworkPlayer, ply: int) -> None:
    player = LookaheadPlayer(evaluator, ply)
    (dance,) = player.rank_plays(CLOSED_OUT, "65")
    assert str(dance.play) == "no play"
    assert dance.loss == 0
    assert dance.evaluation.ply == ply
    of_opponent = player.evaluate(CLOSED_OUT.flip())
    assert dance.evaluation.win == pytest.approx(1 - of_opponent.win, abs=1e-7)
    assert dance.evaluation.lose_gammon == of_opponent.win_gammon


def test_finished_game_has_no_play(evaluator: NetworkPlayer) -> None:
    """Arrays of games may contain some."""
    after_play = LookaheadPlayer(evaluator).choose_plays(np.array([WON.board], np.int8), np.array([[6, 5]], np.int8))
    assert after_play.tolist() == [list(WON.flip().board)]


@pytest.mark.parametrize("position", [BEAROFF, RACE, WON], ids=["two-sided", "one-sided", "finished"])
def test_final_answers_do_not_depend_on_the_ply(evaluator: NetworkPlayer, position: str | Position) -> None:
    at_2_ply = LookaheadPlayer(evaluator, 2).evaluate(position)
    assert at_2_ply == LookaheadPlayer(evaluator, 0).evaluate(position)
    assert at_2_ply.ply == 0


def test_cached_answers_equal_fresh_ones(evaluator: NetworkPlayer) -> None:
    """To the last bit, also if a board is twice in a batch."""
    boards = sample_games().boards[::700]
    fresh = evaluate_ahead(evaluator, boards, 1)
    player = LookaheadPlayer(evaluator, 1)
    for _ in range(2):
        evaluations = player.evaluate_many(np.concatenate([boards, boards[::-1]]))
        assert evaluations.chances.tobytes() == np.concatenate([fresh.chances, fresh.chances[::-1]]).tobytes()
        assert evaluations.sources.tolist() == [*fresh.sources, *fresh.sources[::-1]]
    for row, board in enumerate(boards):
        assert player.evaluate(Position(board.tolist())).win == fresh.chances[row, 0]
    assert player.evaluate_many(np.asfortranarray(boards)[1::2]).chances.tobytes() == fresh.chances[1::2].tobytes()


def test_cache_keeps_answers_by_board_and_ply() -> None:
    evaluator = Scrambled()
    cache = EvaluationCache(evaluator, 50)
    boards = sample_games().boards[:120:4]
    cache(boards, 0)
    assert len(cache) == 0, "static evaluations are not kept"
    cache(boards, 1)
    assert len(cache) == 30
    n_evaluated = evaluator.n_evaluated
    cache(boards[::-1], 1)
    assert evaluator.n_evaluated == n_evaluated
    cache(boards[:2], 2)
    assert len(cache) == 32
    assert evaluator.n_evaluated > n_evaluated
    assert cache(boards[:0], 1).chances.shape == (0, 5)


def test_cache_is_emptied_when_full() -> None:
    cache = EvaluationCache(Scrambled(), 50)
    boards = sample_games().boards[:400:4]
    expected = evaluate_ahead(Scrambled(), boards, 1)
    for rows in (slice(20, 60), slice(0, 100), slice(0, 30), slice(40, 100)):
        assert cache(boards[rows], 1).chances.tobytes() == expected.chances[rows].tobytes()
        assert 0 < len(cache) <= 50


@pytest.mark.parametrize("ply", [0, 1])
def test_no_boards_have_no_chances(evaluator: NetworkPlayer, ply: int) -> None:
    evaluations = LookaheadPlayer(evaluator, ply).evaluate_many(sample_games().boards[:0])
    assert evaluations.chances.shape == (0, 5)
    assert evaluations.chances.dtype == np.float32
    assert evaluations.sources.shape == (0,)
    assert evaluations.sources.dtype == np.int8


@pytest.mark.parametrize("ply", [0, 1])
def test_invalid_arrays_are_refused(evaluator: NetworkPlayer, ply: int) -> None:
    player = LookaheadPlayer(evaluator, ply)
    boards, rolls = sample_games().boards[:3], sample_games().rolls[:3]
    with pytest.raises(InvalidPositionError, match="expected boards as int8"):
        player.evaluate_many(boards[:, :25])
    with pytest.raises(InvalidPositionError, match="expected boards as int8"):
        player.choose_plays(boards[:, :25], rolls)
    too_many_checkers = np.zeros((1, 26), np.int8)
    too_many_checkers[0, 3] = 127
    with pytest.raises(InvalidPositionError, match="in row 0"):
        player.evaluate_many(too_many_checkers)
    with pytest.raises(InvalidRollError, match="expected rolls as integers"):
        player.choose_plays(boards, rolls[:2])
    with pytest.raises(InvalidRollError, match="expected dice from 1 to 6"):
        player.choose_plays(boards, rolls + np.int8(6))


def test_versions_change_with_settings(evaluator: NetworkPlayer) -> None:
    assert LookaheadPlayer(evaluator).version == evaluator.version
    versions = [LookaheadPlayer(evaluator, 1, filters).version for filters in (FILTERS, (PlayFilter(2, 0.1),))]
    assert len({evaluator.version, *versions}) == 3
    assert LookaheadPlayer(evaluator, 1).version == versions[0]


@pytest.mark.parametrize("ply", [-1, 4, 1.0, "1", True, None])
def test_invalid_ply_is_refused(player_root: Path, ply: Any) -> None:
    with pytest.raises(UsageError, match=f"expected a ply from 0 to 3, got {ply!r}"):
        bgdata.open_player(player_root, "random", ply)


@pytest.mark.parametrize("chooser", [PubEval(), RandomPlayer()], ids=repr)
def test_player_that_only_chooses_plays_is_refused(chooser: Any) -> None:
    message = f"expected an evaluator of positions, got {chooser.label}, which only chooses plays"
    with pytest.raises(UsageError, match=message):
        LookaheadPlayer(chooser)


def test_files_are_mapped_not_copied(player_root: Path) -> None:
    evaluator = map_player(bgdata.open_warehouse(player_root), "random").evaluator
    assert isinstance(evaluator, NetworkPlayer)
    fields = (*evaluator.networks, *evaluator.tables)
    arrays = [value for value in fields if isinstance(value, np.ndarray) and value.size]
    assert len(arrays) == 3 + 1 + 3 + 3, "of the network, the two-sided, one-sided and gammon table"
    for array in arrays:
        assert is_mapped(array)
        assert not array.flags.owndata
        assert not array.flags.writeable


PROGRAM = """
import json, sys
import bgdata
assert "numba" not in sys.modules
player = bgdata.open_player(sys.argv[1], "random", ply=1)
evaluation = player.evaluate("4HPwATDgc/ABMA")
best = player.best_play("4HPwATDgc/ABMA", "31")
print(json.dumps([evaluation.win.hex(), evaluation.cubeless_equity.hex(), str(best.play)]))
print(json.dumps(sorted(sys.modules)))
"""


def test_another_process_gives_the_same_answers_and_loads_no_database(player_root: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(player_root)]
    answers, modules = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    player = bgdata.open_player(player_root, "random", ply=1)
    evaluation, best = player.evaluate(START), player.best_play(START, "31")
    assert json.loads(answers) == [evaluation.win.hex(), evaluation.cubeless_equity.hex(), str(best.play)]
    packages = {name.partition(".")[0] for name in json.loads(modules)}
    assert packages.isdisjoint({"duckdb", "pyarrow", "prefect", "pandas"})


def test_unknown_public_name_is_refused() -> None:
    assert "open_player" in dir(bgdata)
    with pytest.raises(AttributeError, match="module 'bgdata' has no attribute 'open_players'"):
        _ = bgdata.open_players


def test_finished_games_and_empty_boards_are_refused(small_root: Path) -> None:
    player = bgdata.open_player(small_root)
    with pytest.raises(InvalidPositionError, match="expected a game in progress"):
        player.rank_plays(WON, "31")
    with pytest.raises(InvalidPositionError, match="expected a game in progress"):
        player.decide_cube(WON)
    with pytest.raises(InvalidPositionError, match="expected a position with checkers"):
        player.evaluate([0] * 26)


@pytest.mark.parametrize("notation", sorted(possible_identifiers(START).keys() - {"match_id"}))
def test_every_notation_gets_the_same_answer(small_root: Path, notation: str) -> None:
    player = bgdata.open_player(small_root)
    identifier = possible_identifiers(START)[notation]
    assert player.evaluate(identifier) == player.evaluate("start")
    assert player.rank_plays(identifier, "31") == player.rank_plays("start", "31")
    assert player.decide_cube(identifier) == player.decide_cube("start")


MAX_BYTES = 4096


def evaluate_start_and_bearoff(player: LookaheadPlayer) -> list[Evaluation]:
    """Evaluations for use in a separate process."""
    return [player.evaluate(START), player.evaluate(POSITION)]


@pytest.mark.parametrize("ply", [0, 1])
def test_pickled_player_contains_only_paths(small_root: Path, ply: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(small_root.parent)
    player = bgdata.open_player(small_root.name, ply=ply)
    evaluations = evaluate_start_and_bearoff(player)
    pickled = pickle.dumps(player)
    assert len(pickled) < MAX_BYTES, "without its cache"
    monkeypatch.chdir("/")
    copy = pickle.loads(pickled)
    assert copy.label == player.label
    assert copy.version == player.version
    assert copy.filters == player.filters
    assert evaluate_start_and_bearoff(copy) == evaluations
    assert copy.decide_cube(POSITION) == player.decide_cube(POSITION)
    assert copy.rank_plays(START, "31") == player.rank_plays(START, "31")


# slow: a new process loads Numba
@pytest.mark.slow
def test_player_answers_in_a_spawned_process(small_root: Path) -> None:
    player = bgdata.open_player(small_root)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as executor:
        assert executor.submit(evaluate_start_and_bearoff, player).result() == evaluate_start_and_bearoff(player)


@pytest.mark.parametrize(
    "open_table",
    [
        lambda root: bgdata.open_two_sided(root, 3, 3),
        lambda root: bgdata.open_one_sided(root, 3),
        lambda root: bgdata.open_gammon(root, 3),
        bgdata.open_player,
    ],
    ids=["two-sided", "one-sided", "gammon", "player"],
)
def test_pickle_of_a_deleted_version_is_refused(
    small_root: Path, tmp_path: Path, open_table: Callable[[Path], object]
) -> None:
    root = tmp_path / "warehouse"
    shutil.copytree(small_root, root)
    pickled = pickle.dumps(open_table(root))
    assert len(pickled) < MAX_BYTES
    assert type(pickle.loads(pickled)) is type(open_table(root))
    shutil.rmtree(root)
    with pytest.raises(MissingTableError, match=r"expected the version bearoff_.*/r.* found no such folder; try: bgd"):
        pickle.loads(pickled)


def test_pickled_table_is_equal(small_root: Path) -> None:
    two_sided, one_sided = bgdata.open_two_sided(small_root, 3, 3), bgdata.open_one_sided(small_root, 3)
    assert pickle.loads(pickle.dumps(two_sided)).probe(5, 7) == two_sided.probe(5, 7)
    assert pickle.loads(pickle.dumps(one_sided)).probe_chances(5).tolist() == one_sided.probe_chances(5).tolist()
