"""Local volatility: by hand in a bearoff, by plain enumeration, and the kernel against what any evaluator says."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from bgdata.errors import InvalidPositionError
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.roll_values import (
    ALL_PLAYS,
    chances_in_two_rolls,
    likely_plays,
    local_volatility,
    local_volatility_by,
    new_volatility_scratch,
)
from bgdata.game.codec import Boards
from bgdata.game.dice import ROLLS, Roll
from bgdata.game.plays import legal_plays
from bgdata.game.position import Position
from bgdata.selfplay.corpus import self_play
from tests.evaluation.sample_evaluators import Scrambled, judge
from tests.evaluation.sample_networks import shipped_networks, shipped_player

LAST_ROLLS = Position([0, 0, 0, 0, 0, 0, 1, *[0] * 17, -1, 0])  # the opponent bears off next


@cache
def game_boards() -> Boards:
    return self_play(shipped_player().chooser, 6, 7).boards[::9]


def best_after(position: Position, roll: Roll) -> tuple[Position, Fraction]:
    """After the best play of a roll, the first of equals, seen by the opponent, whose chance of winning comes along."""

    def own_equity(after: Position) -> Fraction:
        (win, win_gammon, win_backgammon, lose_gammon, lose_backgammon), _ = judge(after.board)
        return -(2 * win - 1 + win_gammon + win_backgammon - lose_gammon - lose_backgammon)

    plays = [play.after_play.flip() for play in legal_plays(position, roll)]
    best = max(plays, key=own_equity)
    return best, Fraction(judge(best.board)[0][0])


def slow_chances(position: Position) -> list[list[Fraction]]:
    """The winning chance of the player on roll after each pair of rolls, by the made-up evaluator."""
    rows = []
    for roll in ROLLS:
        reply, theirs = best_after(position, roll)
        has_own = any(count > 0 for count in reply.board[1:])
        is_over = not has_own or not (reply.board[0] or any(count < 0 for count in reply.board))
        rows.append([1 - theirs if is_over else best_after(reply, answer)[1] for answer in ROLLS])
    return rows


def test_by_hand() -> None:
    """27 of 36 rolls bear the checker off; after the others the opponent, on its ace point, wins."""
    wins = chances_in_two_rolls(Scrambled(), LAST_ROLLS)
    assert set(wins.ravel().tolist()) == {0.0, 1.0}
    assert local_volatility_by(Scrambled(), LAST_ROLLS) == pytest.approx(2 * 0.75 * 0.25)


@pytest.mark.parametrize("checkers", [[0, 0, 2, 0, 1, 0], [1, 1, 0, 0, 0, 1]])
def test_by_plain_enumeration(checkers: list[int]) -> None:
    position = Position([0, *checkers, *[0] * 12, 0, 0, -1, 0, -1, -1, 0])
    check_by_plain_enumeration(position)


@pytest.mark.parametrize("count", [1, 2])
def test_a_side_with_all_its_checkers_on_the_bar_has_not_won(count: int) -> None:
    check_by_plain_enumeration(Position([0, *[0] * 18, *[-2] * 6, count]))


def check_by_plain_enumeration(position: Position) -> None:
    expected = slow_chances(position)
    assert chances_in_two_rolls(Scrambled(), position).tolist() == [[float(win) for win in row] for row in expected]
    weights = [[Fraction(a.weight * b.weight, 1296) for b in ROLLS] for a in ROLLS]
    pairs = [(w, p) for row, wins in zip(weights, expected, strict=True) for w, p in zip(row, wins, strict=True)]
    mean = sum(w * p for w, p in pairs)
    assert local_volatility_by(Scrambled(), position) == pytest.approx(float(sum(w * abs(p - mean) for w, p in pairs)))


def test_the_kernel_agrees() -> None:
    scratch = new_volatility_scratch(shipped_networks())
    on_the_bar = [0, *[0] * 17, 0, *[-2] * 6, 1]
    boards = [*game_boards(), np.array(on_the_bar, np.int8), np.array(LAST_ROLLS.board, np.int8)]
    slow = [local_volatility_by(shipped_player(), Position(board.tolist())) for board in boards]
    found = [local_volatility(shipped_networks(), NO_TABLES, ALL_PLAYS, board, scratch) for board in boards]
    assert found == pytest.approx(slow, abs=1e-6)
    likely = [local_volatility(shipped_networks(), NO_TABLES, likely_plays(6), board, scratch) for board in boards]
    assert likely == pytest.approx(slow, abs=0.02)
    assert max(slow[:-1]) > 1.5 * np.median(slow)
    assert slow[-1] == pytest.approx(2 * 0.75 * 0.25)


def test_a_finished_game_has_none() -> None:
    with pytest.raises(InvalidPositionError):
        local_volatility_by(shipped_player(), Position([0, -1, *[0] * 24]))
