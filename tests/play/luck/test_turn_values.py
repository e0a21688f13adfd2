"""What turns are worth: the kernel and any evaluator against a twin that knows no arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import pytest

from bgdata.errors import UsageError
from bgdata.evaluation.chances import cubeless_equities
from bgdata.evaluation.evaluator import AnswerSource, Evaluations
from bgdata.evaluation.pubeval import PubEval
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.play_kernels import batch_plays
from bgdata.kernel import threads
from bgdata.play.luck.turn_values import turn_values
from bgdata.play.random_games import GamePositions, random_game_positions
from tests.evaluation.sample_networks import random_player
from tests.reference.luck import values_of_turn


@cache
def random_games() -> GamePositions:
    return random_game_positions(3, seed=8)


@cache
def last_plays() -> Boards:
    """Of every roll, the last one of the list."""
    offsets, plays = batch_plays(random_games().boards, random_games().rolls)
    return plays[offsets[1:] - 1]


class Asked:
    """The same answers from somebody that no kernel knows."""

    label = version = "asked"

    @property
    def accuracy(self) -> Mapping[AnswerSource, str]:
        return {}

    def evaluate_many(self, boards: Boards) -> Evaluations:
        return random_player(0).evaluate_many(boards)


def equities(boards: Sequence[Sequence[int]]) -> list[float]:
    found: list[float] = cubeless_equities(random_player(0).evaluate_many(np.array(boards, np.int8)).chances).tolist()
    return found


def test_values_are_those_of_the_twin() -> None:
    found = turn_values(random_player(0), random_games().boards, random_games().rolls, last_plays())
    rows = range(0, len(random_games().boards), 17)
    assert len(rows) > 10
    for row in [*rows, len(random_games().boards) - 1]:  # the last turn ends a game
        board, dice, after = (
            array[row].tolist() for array in (random_games().boards, random_games().rolls, last_plays())
        )
        expected = values_of_turn(equities, board, dice, after)
        assert [values[row] for values in found] == pytest.approx(expected, abs=1e-6)
    assert (found.after <= found.best).all()
    assert (found.after < found.best).sum() > 20


def test_who_says_what_plays_are_worth_makes_no_errors() -> None:
    boards, rolls = random_games().boards[:200], random_games().rolls[:200]
    found = turn_values(random_player(0), boards, rolls, flip_boards(random_player(0).choose_plays(boards, rolls)))
    assert np.array_equal(found.after, found.best)


def test_any_evaluator_finds_the_same() -> None:
    rows = slice(len(random_games().boards) - 12, None)
    boards, rolls, after = random_games().boards[rows], random_games().rolls[rows], last_plays()[rows].copy()
    after[3] = boards[3]  # nothing was played
    by_kernel, asked = (turn_values(player, boards, rolls, after) for player in (random_player(0), Asked()))
    for found, expected in zip(asked, by_kernel, strict=True):
        assert found == pytest.approx(expected, abs=1e-6)
    assert by_kernel.after[3] == by_kernel.best[3]
    assert asked.after[3] == asked.best[3]


def test_threads_do_not_matter() -> None:
    expected = turn_values(random_player(0), random_games().boards[:40], random_games().rolls[:40], last_plays()[:40])
    with threads(1):
        found = turn_values(random_player(0), random_games().boards[:40], random_games().rolls[:40], last_plays()[:40])
    assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))


def test_a_player_who_only_chooses() -> None:
    player: object = PubEval()
    message = "^expected a player that evaluates positions, got pubeval, which only chooses plays$"
    with pytest.raises(UsageError, match=message):
        turn_values(player, random_games().boards[:1], random_games().rolls[:1], last_plays()[:1])  # type: ignore[arg-type]
