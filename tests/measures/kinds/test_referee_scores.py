"""Tests of the exact referee: its decisions, losses against a recursive reference, and the kind `referee_scores`."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.endgames.kinds.contact_endgame import EndgameParameters
from bgdata.endgames.layouts import all_layouts
from bgdata.endgames.tables import EndgameTable
from bgdata.errors import InvalidPositionError, UsageError
from bgdata.evaluation.bearoff import map_tables
from bgdata.evaluation.bearoff_kernels import NO_TABLES, BearoffArrays
from bgdata.evaluation.player import PubEval, RandomPlayer, open_named_player
from bgdata.game.codec import flip_boards, format_position_ids
from bgdata.game.play_kernels import batch_plays, play_counts
from bgdata.game.plays import legal_plays
from bgdata.game.position import Position
from bgdata.kernel import Array, threads
from bgdata.measures.kinds import referee_scores_compute as referee
from bgdata.measures.kinds.referee_scores import DATASET
from bgdata.measures.kinds.referee_scores_compute import Decisions, contact_decisions, exact_decisions
from bgdata.selfplay.games import self_play
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse
from tests.reference.bearoff_chances import EXACT, covered_by
from tests.reference.referee import exact_values, verdict

SMALLEST = DATASET.smallest
POINTS, CHECKERS = 5, 3
COUNT = 100
TOLERANCE = 1e-5


def judge_bearoff_choices(tables: BearoffArrays, decisions: Decisions, chosen: Array) -> dict[str, Array]:
    return referee.judge_choices(partial(referee.bearoff_equities, tables), decisions, chosen, TOLERANCE)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> BearoffArrays:
    warehouse = bgdata.open_warehouse(tmp_path_factory.mktemp("referee"))
    return map_tables(warehouse.build("bearoff_two_sided", TwoSidedParameters(POINTS, CHECKERS)), None, None)


@pytest.fixture(scope="module")
def decisions(tables: BearoffArrays) -> Decisions:
    return exact_decisions(tables, COUNT, seed=5)


def test_decisions_are_all_covered_turns_of_games(
    tables: BearoffArrays, decisions: Decisions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decisions are all turns that the table covers, in the order of the games, for any number of games played at a
    time."""
    games = self_play(PubEval().chooser, 400, seed=5)  # more than the decisions need
    has_choice = play_counts(games.boards, games.dice) > 1
    covered = [covered_by(board, (POINTS, CHECKERS), 0, 0) == EXACT for board in games.boards.tolist()]
    rows = np.flatnonzero(has_choice & np.array(covered))
    assert len(rows) > 5
    assert np.array_equal(decisions.boards[: len(rows)], games.boards[rows])
    assert np.array_equal(decisions.rolls[: len(rows)], games.dice[rows])
    assert np.array_equal(decisions.games[: len(rows)], np.repeat(np.arange(400), np.diff(games.offsets))[rows])
    assert len(decisions.boards) == len(decisions.rolls) == len(decisions.games) == COUNT
    monkeypatch.setattr(referee, "GAMES", 137)
    for count in (1, 2):
        with threads(count):
            first_decisions = exact_decisions(tables, 10, seed=5)
            for name, values in first_decisions._asdict().items():
                assert np.array_equal(values, getattr(decisions, name)[:10])
    assert not np.array_equal(exact_decisions(tables, 10, seed=6).boards, decisions.boards[:10])


@pytest.mark.parametrize("player", [RandomPlayer(3), PubEval()])
def test_losses_match_the_reference(
    tables: BearoffArrays, decisions: Decisions, player: RandomPlayer | PubEval
) -> None:
    """The loss, the rank and the best play of each choice equal those of a recursive reference."""
    chosen = player.choose_plays(decisions.boards, decisions.rolls)
    judged = judge_bearoff_choices(tables, decisions, chosen)
    wrong_choices = 0
    for row, (board, roll) in enumerate(zip(decisions.boards.tolist(), decisions.rolls.tolist(), strict=True)):
        values = exact_values(board, roll[0], roll[1], POINTS)
        loss, better, best = verdict(values, tuple(chosen[row].tolist()))
        assert judged["losses"][row] == pytest.approx(loss, abs=4e-6)
        assert judged["ranks"][row] == better
        assert judged["n_plays"][row] == len(values)
        assert tuple(judged["best"][row].tolist()) in best
        wrong_choices += better > 0
    assert 0 < wrong_choices < COUNT / 2


def test_only_best_plays_lose_nothing(tables: BearoffArrays, decisions: Decisions) -> None:
    """The ranks of all plays of every decision follow from the losses of the reference; only best plays lose
    nothing."""
    offsets, after_play = batch_plays(decisions.boards, decisions.rolls)
    decision_of_play = np.repeat(np.arange(COUNT), np.diff(offsets))
    all_plays = Decisions(
        decisions.boards[decision_of_play], decisions.rolls[decision_of_play], decisions.games[decision_of_play]
    )
    judged_plays = judge_bearoff_choices(tables, all_plays, flip_boards(after_play))
    for decision in range(COUNT):
        losses = judged_plays["losses"][offsets[decision] : offsets[decision + 1]]
        ranks = judged_plays["ranks"][offsets[decision] : offsets[decision + 1]]
        assert losses.min() == 0
        assert ranks.tolist() == [int((losses < loss - 1e-5).sum()) for loss in losses]
    judged_best = judge_bearoff_choices(tables, decisions, judged_plays["best"][offsets[:-1]])
    assert not judged_best["losses"].any()
    assert not judged_best["ranks"].any()


def test_bearing_off_the_last_checker_is_judged(tables: BearoffArrays) -> None:
    """With 6 and 1 and checkers on points 4 and 1, bearing off both wins at once and loses nothing."""
    board = np.zeros((1, 26), np.int8)
    board[0, [1, 4, 24]] = 1, 1, -1
    roll = np.array([[6, 1]], np.int8)
    _, after = batch_plays(board, roll)
    judged = judge_bearoff_choices(
        tables, Decisions(board.repeat(2, 0), roll.repeat(2, 0), np.arange(2)), flip_boards(after)
    )
    assert sorted(judged["losses"]) == [0, 2]  # the opponent bears off with any roll
    assert not judged["best"].clip(max=0).any()  # no checker of the player is left


def test_invalid_choices_and_counts_raise(tables: BearoffArrays, decisions: Decisions) -> None:
    """An illegal choice, wrong numbers, and a table that no game reaches raise."""
    chosen = PubEval().choose_plays(decisions.boards, decisions.rolls)
    chosen[7] = decisions.boards[7]
    with pytest.raises(InvalidPositionError, match=r"expected a legal play of \[\d, \d\] from \[.*\], got \[.*\]"):
        judge_bearoff_choices(tables, decisions, chosen)
    for count in (0, -1):
        with pytest.raises(UsageError, match=f"expected at least 1 decision, got {count}"):
            exact_decisions(tables, count, seed=1)
    with pytest.raises(UsageError, match="expected numbers from 0 to"):
        exact_decisions(tables, 5, seed=-1)
    with pytest.raises(
        UsageError, match="expected a table that covers 1 decisions of 1000 games, found one that covers 0"
    ):
        exact_decisions(NO_TABLES, 1, seed=1)


def test_contact_decisions_have_contact_and_a_choice() -> None:
    """Random contact decisions have contact, at most two checkers and more than one legal play, by the seed."""
    decisions = contact_decisions(all_layouts(2), 500, seed=7)
    assert len(decisions.boards) == len(decisions.rolls) == 500
    for board, roll in zip(decisions.boards.tolist(), decisions.rolls.tolist(), strict=True):
        points = [point for point in range(1, 26) if board[point] > 0]
        opponent_points = [25 - point for point in range(1, 25) if board[point] < 0] + [25] * (board[0] > 0)
        assert max(points) + max(opponent_points) > 24
        assert 1 <= sum(board[point] for point in points) <= 2
        assert len(legal_plays(Position(board), roll)) > 1
    doubles = (decisions.rolls[:, 0] == decisions.rolls[:, 1]).mean()
    assert 0.5 / 6 < doubles < 2 / 6
    assert np.array_equal(contact_decisions(all_layouts(2), 10, seed=7).boards, decisions.boards[:10])
    assert not np.array_equal(contact_decisions(all_layouts(2), 10, seed=8).boards, decisions.boards[:10])
    with pytest.raises(UsageError, match="expected at least 1 decision, got 0"):
        contact_decisions(all_layouts(2), 0, seed=7)


def test_layouts_that_passed_are_not_in_contact() -> None:
    layouts = all_layouts(1)
    in_contact = referee.is_in_contact(layouts)
    assert in_contact[13, 13]
    assert not in_contact[12, 12]  # the midpoints have passed each other
    assert in_contact[25, 1]
    assert not in_contact[0].any()
    assert not in_contact[:, 0].any()


def test_contact_losses_equal_those_of_legal_plays(tmp_path: Path) -> None:
    """The losses, ranks and best plays in contact endgames equal those over all legal plays."""
    warehouse = bgdata.open_warehouse(tmp_path)
    table = EndgameTable(warehouse.build("contact_endgame", EndgameParameters(2)))
    decisions = contact_decisions(all_layouts(2), 200, seed=3)
    chosen = PubEval().choose_plays(decisions.boards, decisions.rolls)
    judged = referee.judge_choices(partial(referee.contact_equities, table.stored), decisions, chosen, TOLERANCE)
    for row, (board, roll) in enumerate(zip(decisions.boards.tolist(), decisions.rolls.tolist(), strict=True)):
        values = {}
        for play in legal_plays(Position(board), roll):
            opponent, on_roll = (list(side) for side in play.next_position.rows)
            values[play.next_position.id] = 1.0 if not any(opponent) else -table.probe(on_roll, opponent).cubeless
        choice, best = (format_position_ids(boards[row : row + 1])[0].decode() for boards in (chosen, judged["best"]))
        assert judged["losses"][row] == pytest.approx(max(values.values()) - values[choice], abs=1e-9)
        assert values[best] == max(values.values())
        assert judged["n_plays"][row] == len(values)
        assert judged["ranks"][row] == sum(value > values[choice] + TOLERANCE for value in values.values())


def test_illegal_choice_in_contact_is_refused(tmp_path: Path) -> None:
    warehouse = bgdata.open_warehouse(tmp_path)
    equities = warehouse.build("contact_endgame", EndgameParameters(1)).array("equities")
    decisions = contact_decisions(all_layouts(1), 3, seed=3)
    with pytest.raises(InvalidPositionError, match="expected a legal play of "):
        referee.judge_choices(partial(referee.contact_equities, equities), decisions, decisions.boards, TOLERANCE)


def small_scores(warehouse: Warehouse) -> Table:
    return warehouse.open(DATASET.name, "pubeval-0ply-3x3-20-seed-1")


def test_rows_equal_the_arrays(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    table = small_scores(warehouse)
    chosen = open_named_player("pubeval").choose_plays(table.array("boards"), table.array("rolls"))
    assert np.array_equal(table.array("chosen"), chosen)
    rows = warehouse.rows("from referee_scores order by decision")
    for column, array in (("position_id", "boards"), ("next_position_id", "chosen"), ("best_position_id", "best")):
        ids = [letters.decode() for letters in format_position_ids(table.array(array)).tolist()]
        assert [row[column] for row in rows] == ids
    assert [[row["die1"], row["die2"]] for row in rows] == table.array("rolls").tolist()
    for column, array in (("rank", "ranks"), ("loss", "losses"), ("n_plays", "n_plays")):
        assert [row[column] for row in rows] == table.array(array).tolist()


def test_summary_equals_the_losses(small_root: Path) -> None:
    """The standard error treats games as clusters."""
    warehouse = bgdata.open_warehouse(small_root)
    table = small_scores(warehouse)
    (summary,) = warehouse.rows("from referee_summary")
    losses = table.array("losses")
    assert summary["mean_loss"] == pytest.approx(losses.mean())
    games = table.array("games")
    sums = np.array([(losses[games == game] - losses.mean()).sum() for game in set(games.tolist())])
    assert 2 < len(sums) < 20
    assert summary["standard_error"] == pytest.approx(np.sqrt(len(sums) / (len(sums) - 1) * (sums**2).sum()) / 20)
    assert summary["error_share"] == (table.array("ranks") > 0).mean()
    assert summary["largest_loss"] == summary["loss_of_worst_thousandth"] == losses.max()
    assert (losses >= summary["loss_of_worst_tenth"]).sum() >= 2
    names = {"player": "pubeval", "ply": 0, "player_version": "2", "has_tables": True, "referee": "3x3"}
    assert {**names, "seed": 1, "decisions": 20}.items() <= summary.items()
