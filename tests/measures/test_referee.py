"""The exact referee: which decisions it asks, and what choices lose, against a recursive twin."""

from __future__ import annotations

import numpy as np
import pytest

import bgdata
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.bearoff.layouts import NON_DOUBLES
from bgdata.endgames.kinds.contact_endgame import EndgameParameters
from bgdata.endgames.layouts import all_layouts
from bgdata.endgames.tables import EndgameTable
from bgdata.errors import InvalidPositionError, UsageError
from bgdata.evaluation.bearoff import map_tables
from bgdata.evaluation.bearoff_kernels import NO_TABLES, BearoffArrays
from bgdata.evaluation.player import PubEval, RandomPlayer
from bgdata.game.codec import flip_boards, format_position_ids
from bgdata.game.play_kernels import batch_plays, play_counts
from bgdata.game.plays import legal_plays
from bgdata.game.position import Position
from bgdata.kernel import threads
from bgdata.measures import referee
from bgdata.measures.referee import (
    Decisions,
    contact_decisions,
    contact_verdicts,
    exact_decisions,
    is_in_contact,
    verdicts,
)
from bgdata.selfplay.games import self_play
from tests.reference.bearoff_chances import EXACT, covered_by
from tests.reference.referee import exact_values, verdict

POINTS, CHECKERS = 5, 3
COUNT = 100


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> BearoffArrays:
    warehouse = bgdata.open_warehouse(tmp_path_factory.mktemp("referee"))
    return map_tables(warehouse.build("bearoff_two_sided", TwoSidedParameters(POINTS, CHECKERS)), None, None)


@pytest.fixture(scope="module")
def decisions(tables: BearoffArrays) -> Decisions:
    return exact_decisions(tables, COUNT, seed=5)


def test_decisions_are_all_that_games_reach(
    tables: BearoffArrays, decisions: Decisions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the order of the games, however many are played at a time."""
    games = self_play(PubEval().chooser, 400, seed=5)  # rarely as far as that
    several = play_counts(games.boards, games.dice) > 1
    covered = [covered_by(board, (POINTS, CHECKERS), 0, 0) == EXACT for board in games.boards.tolist()]
    rows = np.flatnonzero(several & np.array(covered))
    assert len(rows) > 5
    assert np.array_equal(decisions.boards[: len(rows)], games.boards[rows])
    assert np.array_equal(decisions.rolls[: len(rows)], games.dice[rows])
    assert np.array_equal(decisions.games[: len(rows)], np.repeat(np.arange(400), np.diff(games.offsets))[rows])
    assert len(decisions.boards) == len(decisions.rolls) == len(decisions.games) == COUNT
    monkeypatch.setattr(referee, "GAMES", 137)
    for count in (1, 2):
        with threads(count):
            found = exact_decisions(tables, 10, seed=5)
            for name, values in found._asdict().items():
                assert np.array_equal(values, getattr(decisions, name)[:10])
    assert not np.array_equal(exact_decisions(tables, 10, seed=6).boards, decisions.boards[:10])


@pytest.mark.parametrize("player", [RandomPlayer(3), PubEval()])
def test_losses_are_those_of_the_twin(
    tables: BearoffArrays, decisions: Decisions, player: RandomPlayer | PubEval
) -> None:
    chosen = player.choose_plays(decisions.boards, decisions.rolls)
    found = verdicts(tables, decisions, chosen, 1e-5)
    wrong = 0
    for row, (board, (die, other_die)) in enumerate(
        zip(decisions.boards.tolist(), decisions.rolls.tolist(), strict=True)
    ):
        values = exact_values(board, die, other_die, POINTS)
        loss, better, best = verdict(values, tuple(chosen[row].tolist()))
        assert found.losses[row] == pytest.approx(loss, abs=4e-6)
        assert found.ranks[row] == better
        assert found.n_plays[row] == len(values)
        assert tuple(found.best[row].tolist()) in best
        wrong += better > 0
    assert 0 < wrong < COUNT / 2


def test_the_best_plays_lose_nothing_and_the_others_something(tables: BearoffArrays, decisions: Decisions) -> None:
    """Every play of every decision: the twin's ranks follow from the losses."""
    offsets, after_play = batch_plays(decisions.boards, decisions.rolls)
    every = np.repeat(np.arange(COUNT), np.diff(offsets))
    asked = Decisions(decisions.boards[every], decisions.rolls[every], decisions.games[every])
    found = verdicts(tables, asked, flip_boards(after_play), 1e-5)
    for decision in range(COUNT):
        losses = found.losses[offsets[decision] : offsets[decision + 1]]
        ranks = found.ranks[offsets[decision] : offsets[decision + 1]]
        assert losses.min() == 0
        assert ranks.tolist() == [int((losses < loss - 1e-5).sum()) for loss in losses]
    judged = verdicts(tables, decisions, found.best[offsets[:-1]], 1e-5)
    assert not judged.losses.any()
    assert not judged.ranks.any()


def test_the_last_checker_goes_off(tables: BearoffArrays) -> None:
    """6 and 1 with checkers on points 4 and 1: off with both wins, off with one of them may not."""
    board = np.zeros((1, 26), np.int8)
    board[0, [1, 4, 24]] = 1, 1, -1
    roll = np.array([[6, 1]], np.int8)
    _, after = batch_plays(board, roll)
    found = verdicts(tables, Decisions(board.repeat(2, 0), roll.repeat(2, 0), np.arange(2)), flip_boards(after), 1e-5)
    assert sorted(found.losses) == [0, 2]  # the opponent is off with any roll
    assert not found.best.clip(max=0).any()  # nothing of his is left


def test_wrong_inputs(tables: BearoffArrays, decisions: Decisions) -> None:
    chosen = PubEval().choose_plays(decisions.boards, decisions.rolls)
    chosen[7] = decisions.boards[7]
    with pytest.raises(InvalidPositionError, match=r"expected a legal play of \[\d, \d\] from \[.*\], got \[.*\]"):
        verdicts(tables, decisions, chosen, 1e-5)
    for count in (0, -1):
        with pytest.raises(UsageError, match=f"expected at least 1 decision, got {count}"):
            exact_decisions(tables, count, seed=1)
    with pytest.raises(UsageError, match="expected numbers from 0 to"):
        exact_decisions(tables, 5, seed=-1)
    with pytest.raises(
        UsageError, match="expected a table that covers 1 decisions of 1000 games, found one that covers 0"
    ):
        exact_decisions(NO_TABLES, 1, seed=1)


TOLERANCE = 1e-5


def test_decisions_are_in_contact_and_have_a_choice() -> None:
    found = contact_decisions(all_layouts(2), 500, seed=7)
    assert len(found.boards) == len(found.rolls) == 500
    for board, roll in zip(found.boards.tolist(), found.rolls.tolist(), strict=True):
        own = [point for point in range(1, 26) if board[point] > 0]
        other = [25 - point for point in range(1, 25) if board[point] < 0] + [25] * (board[0] > 0)
        assert max(own) + max(other) > 24
        assert 1 <= sum(board[point] for point in own) <= 2
        assert len(legal_plays(Position(board), roll)) > 1
    doubles = (found.rolls[:, 0] == found.rolls[:, 1]).mean()
    assert 0.5 / 6 < doubles < 2 / 6, NON_DOUBLES
    assert np.array_equal(contact_decisions(all_layouts(2), 10, seed=7).boards, found.boards[:10])
    assert not np.array_equal(contact_decisions(all_layouts(2), 10, seed=8).boards, found.boards[:10])
    with pytest.raises(UsageError, match="expected at least 1 decision, got 0"):
        contact_decisions(all_layouts(2), 0, seed=7)


def test_passed_sides_are_no_contact() -> None:
    layouts = all_layouts(1)
    found = is_in_contact(layouts)
    assert found[13, 13]
    assert not found[12, 12]  # the midpoints have passed each other
    assert found[25, 1]
    assert not found[0].any()
    assert not found[:, 0].any()


def test_losses_in_contact_are_those_of_a_twin(tmp_path: object) -> None:
    warehouse = bgdata.open_warehouse(str(tmp_path))
    table = EndgameTable(warehouse.build("contact_endgame", EndgameParameters(2)))
    decisions = contact_decisions(all_layouts(2), 200, seed=3)
    chosen = PubEval().choose_plays(decisions.boards, decisions.rolls)
    found = contact_verdicts(table.stored, decisions, chosen, TOLERANCE)
    for row, (board, roll) in enumerate(zip(decisions.boards.tolist(), decisions.rolls.tolist(), strict=True)):
        values = {}
        for play in legal_plays(Position(board), roll):
            opponent, on_roll = (list(side) for side in play.next_position.rows)
            values[play.next_position.id] = 1.0 if not any(opponent) else -table.probe(on_roll, opponent).cubeless
        choice, best = (format_position_ids(boards[row : row + 1])[0].decode() for boards in (chosen, found.best))
        assert found.losses[row] == pytest.approx(max(values.values()) - values[choice], abs=1e-9)
        assert values[best] == max(values.values())
        assert found.n_plays[row] == len(values)
        assert found.ranks[row] == sum(value > values[choice] + TOLERANCE for value in values.values())


def test_illegal_choice_in_contact_is_refused(tmp_path: object) -> None:
    warehouse = bgdata.open_warehouse(str(tmp_path))
    equities = warehouse.build("contact_endgame", EndgameParameters(1)).array("equities")
    decisions = contact_decisions(all_layouts(1), 3, seed=3)
    with pytest.raises(InvalidPositionError, match="expected a legal play of "):
        contact_verdicts(equities, decisions, decisions.boards, TOLERANCE)
