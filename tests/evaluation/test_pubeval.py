"""PubEval against its slow twin, and its weights against the published ones."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import pytest

from bgdata.evaluation import player, pubeval
from bgdata.evaluation.pubeval import PubEval, weights
from bgdata.game.codec import flip_boards
from bgdata.game.outcome import game_outcome
from bgdata.game.play_kernels import batch_plays
from bgdata.game.plays import legal_plays
from bgdata.game.position import START, Position
from bgdata.kernel import threads
from bgdata.play.random_games import random_game_positions
from tests.formats.samples import shared_file
from tests.reference.pubeval import best_plays, integer_weights, is_race, score

GAMES = random_game_positions(60, seed=31)
TEXTS = [(files("bgdata.evaluation") / "weights" / f"pubeval_{name}.txt").read_text() for name in ("contact", "race")]
CONTACT, RACE = map(integer_weights, TEXTS)


def choose(board: list[int], roll: tuple[int, int]) -> Position:
    chosen = PubEval().choose_plays(np.array([board], np.int8), np.array([roll], np.int8))
    return Position.from_board(chosen[0].tolist())


def test_weights() -> None:
    assert weights().shape == (2, 122)
    assert (weights() * 100_000).round().astype(int).tolist() == [CONTACT, RACE]
    # the ends of the published files
    assert weights()[:, 0].tolist() == [0.25696, 0]
    assert weights()[:, -1].tolist() == [-2.75800, 3.42040]


@pytest.mark.parametrize("row", [0, 1])
def test_weights_are_the_published_ones(row: int) -> None:
    path = shared_file("pubeval", f"{('contact', 'race')[row]}.txt")
    assert weights()[row].tolist() == [float(word) for word in path.read_text().split()]


def test_every_choice_in_random_games() -> None:
    """No play beats it by the twin's exact score; ties are rare, and then any of the best will do."""
    boards, rolls = GAMES.boards, GAMES.rolls
    assert len(boards) > 5000
    offsets, after_play = batch_plays(boards, rolls)
    chosen = flip_boards(PubEval().choose_plays(boards, rolls)).tolist()
    candidates, ties, races = after_play.tolist(), 0, 0
    for row, before in enumerate(boards.tolist()):
        best = best_plays(before, candidates[offsets[row] : offsets[row + 1]], CONTACT, RACE)
        assert chosen[row] in best
        ties += len(best) > 1
        races += is_race(before)
    assert ties < 100
    assert races > 300


def test_scores() -> None:
    """To the last of their digits, and the race weights only where nobody can be hit any more."""
    for row in range(0, len(GAMES.boards), 10):
        board = GAMES.boards[row]
        if (board[1:] > 0).any():
            for used, exact in zip(weights(), (CONTACT, RACE), strict=True):
                assert pubeval.score(board, used) == pytest.approx(score(board.tolist(), exact) / 3e6, abs=1e-12)


def test_choices_by_hand() -> None:
    assert (
        choose(list(START.board), (3, 1))
        == Position.from_board(
            [0, -2, 0, 0, 0, 2, 4, 0, 2, 0, 0, 0, -5, 5, 0, 0, 0, -3, 0, -5, 0, 0, 0, 0, 2, 0]
        ).flip()
    )
    # the last checkers go off
    last = Position.from_board([0, 1, 0, 0, 0, 0, 1, *[0] * 17, -15, 0])
    assert [str(play) for play in legal_plays(last, "61")] == ["6/off 1/off", "6/off"]
    assert game_outcome(choose(list(last.board), (6, 1))) == -2
    # nothing can be moved
    closed_out = [0, 0, 0, 0, 0, 0, 2, *[0] * 12, -2, -2, -2, -2, -2, -2, 1]
    assert choose(closed_out, (6, 5)) == Position.from_board(closed_out).flip()


def test_batches_and_threads_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    boards, rolls = GAMES.boards[:1000], GAMES.rolls[:1000]
    expected = PubEval().choose_plays(boards, rolls)
    for count in (1, 2):
        with threads(count):
            assert np.array_equal(PubEval().choose_plays(boards, rolls), expected)
    monkeypatch.setattr(pubeval, "BATCH", 7)
    assert np.array_equal(PubEval().choose_plays(boards, rolls), expected)
    assert PubEval().choose_plays(boards[:0], rolls[:0]).shape == (0, 26)
    assert player.BATCH > 7
