"""The opening book: rows, replies to sensible plays, digests, resuming, invalid parameters, and verification."""

from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.errors import InvalidParameterError, MissingTableError
from bgdata.game.plays import parse_play
from bgdata.game.position import START, Position
from bgdata.openings.candidates import Objective, candidates_of, roll_out_candidates
from bgdata.openings.kinds import openings_compute as openings
from bgdata.openings.kinds.openings import (
    DATASET,
    FIRST_ROLLS,
    MAX_SENSIBLE,
    OBJECTIVES,
    REPLY_ROLLS,
    OpeningParameters,
    first_roll_of,
)
from bgdata.openings.kinds.openings_compute import Slot, open_chooser, slots_of
from bgdata.store import job
from bgdata.store.dataset import Context
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse
from tests.rechecking import check_sample, inputs_of

SMALLEST = DATASET.smallest
WITHOUT_REPLIES = replace(SMALLEST, sensible_plays=0)
QUICK_ROLLOUTS = replace(SMALLEST, turns=1, until=9.0, most_plays=3, reply_until=9.0)


def small_table(warehouse: Warehouse) -> Table:
    return warehouse.open(DATASET.name, DATASET.slug(SMALLEST))


def test_objectives_match_the_enum() -> None:
    assert tuple(Objective) == OBJECTIVES


@pytest.fixture(scope="module")
def decisions(small_root: Path) -> list[list[dict[str, Any]]]:
    """The rows of the smallest book, by decision and rank."""
    with bgdata.open_warehouse(small_root).connect() as connection:
        relation = connection.sql("from openings order by decision, rank")
        rows = [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]
    return [list(group) for _, group in groupby(rows, key=lambda row: row["decision"])]


@pytest.mark.parametrize(("number", "reply"), list(enumerate(("", *REPLY_ROLLS))))
def test_decisions_are_the_first_roll_and_the_replies_to_its_best_play(
    decisions: list[list[dict[str, Any]]], number: int, reply: str
) -> None:
    best = decisions[0][0]["play"]
    position = parse_play(best, START, "31").next_position if reply else START
    limit = SMALLEST.target(is_reply=bool(reply)).limits.until
    assert len(decisions) == 1 + len(REPLY_ROLLS)
    for row in decisions[number]:
        assert row["decision"] == number
        assert row["first_roll"] == "31"
        assert row["reply_roll"] == (reply or None)
        assert row["first_play"] == (best if reply else None)
        assert row["position_id"] == position.id
        assert parse_play(row["play"], position, reply or "31").next_position.id == row["next_position_id"]
        assert row["is_reached"] == (row["standard_error"] <= limit)


@pytest.mark.parametrize(("number", "reply"), list(enumerate(("", *REPLY_ROLLS))))
def test_rows_are_rollouts_of_candidates(
    small_root: Path, decisions: list[list[dict[str, Any]]], number: int, reply: str
) -> None:
    """With dice of the decision."""
    warehouse, rows = bgdata.open_warehouse(small_root), decisions[number]
    board, dice, item = np.array(Position(rows[0]["position_id"]).board, np.int8), (3, 1), FIRST_ROLLS.index("31")
    if reply:
        dice, item = (int(reply[0]), int(reply[1])), Slot("31", 0, reply).item
    target = SMALLEST.target(is_reply=bool(reply))
    chooser = open_chooser(Context(SMALLEST, inputs_of(warehouse, DATASET, SMALLEST), warehouse))
    boards, n_legal = candidates_of(board, dice, chooser, Objective.GAME, target.within + SMALLEST.margin, 3)
    expected = roll_out_candidates(boards, chooser, Objective.GAME, target, SMALLEST.how(), 0, item)
    assert {row["n_legal_plays"] for row in rows} == {n_legal}
    assert [row["next_position_id"] for row in rows] == [Position(after).id for after in expected.boards]
    assert [row["equity"] for row in rows] == expected.result.equities.tolist()
    assert [row["standard_error"] for row in rows] == expected.result.equity_standard_errors.tolist()
    assert [row["loss"] for row in rows] == expected.losses.tolist()
    assert [row["loss_standard_error"] for row in rows] == expected.loss_standard_errors.tolist()
    assert [row["trials"] for row in rows] == expected.result.trials.tolist()
    assert [row["win"] for row in rows] == pytest.approx(expected.result.chances[:, 0], abs=1e-6)


def test_some_candidates_need_a_second_round(small_root: Path) -> None:
    trials = small_table(bgdata.open_warehouse(small_root)).array("plays_trials")
    assert set(np.asarray(trials).tolist()) == {72, 144}


def test_decisions_have_different_dice() -> None:
    longest = OpeningParameters(sensible_plays=MAX_SENSIBLE)
    items = [slot.item for roll in FIRST_ROLLS for slot in slots_of(replace(longest, first_roll=roll))]
    assert sorted(items) == list(range(15 * (1 + MAX_SENSIBLE * 21)))
    assert Slot("21", 0, "21").item == 15
    assert {slot.item for slot in slots_of(replace(SMALLEST, sensible_plays=2))} <= set(items)


def test_sensible_plays_are_answered(warehouse: Warehouse) -> None:
    losses = np.asarray(warehouse.build(DATASET.name, replace(QUICK_ROLLOUTS, sensible_plays=0)).array("plays_losses"))
    loss_of_second = float(losses[1])
    assert loss_of_second > 0
    for sensible, most, n_answered in ((loss_of_second, 3, 2), (0.99 * loss_of_second, 3, 1), (1.0, 2, 2)):
        table = warehouse.build(DATASET.name, replace(QUICK_ROLLOUTS, sensible=sensible, sensible_plays=most))
        answered = np.repeat(np.arange(n_answered), 21)
        assert table.array("decisions_answered").tolist() == [-1, *answered]
        assert np.array_equal(table.array("plays_losses")[: len(losses)], losses)
        assert table.manifest.statistics["replies"] == 21 * n_answered
        assert np.array_equal(table.array("boards_before")[-1], table.array("boards_after")[n_answered - 1])


def test_objectives_give_different_books(warehouse: Warehouse) -> None:
    money = warehouse.build(DATASET.name, replace(WITHOUT_REPLIES, objective="money"))
    game = warehouse.build(DATASET.name, WITHOUT_REPLIES)
    assert money.folder.parent.name == "money-by-tiny-seed-0-31"
    chances = np.asarray(game.array("plays_chances"), np.float64)
    assert game.array("plays_equities") == pytest.approx(2 * chances[:, 0] - 1, abs=1e-6)
    win, win_gammon, win_backgammon, lose_gammon, lose_backgammon = np.asarray(money.array("plays_chances"), float).T
    equities = 2 * win - 1 + win_gammon + win_backgammon - lose_gammon - lose_backgammon
    assert money.array("plays_equities") == pytest.approx(equities, abs=1e-5)


def test_statistics_summarise_the_arrays(small_root: Path) -> None:
    table = small_table(bgdata.open_warehouse(small_root))
    statistics = table.manifest.statistics
    errors = np.asarray(table.array("plays_standard_errors"))
    assert statistics["decisions"] == 22
    assert statistics["replies"] == 21
    assert statistics["games"] == table.array("plays_trials").sum()
    assert statistics["mean_standard_error"] == errors.mean()
    assert statistics["largest_standard_error"] == errors.max()
    assert 0 < statistics["known_share"] == (errors <= 0.00002).mean() < 1, "no candidate is 0.05 points behind"


def test_killed_build_resumes_at_its_decision(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = small_table(warehouse).manifest.digest
    original = openings.rollout_arrays
    rolled_out = []

    def interrupted_at_the_fourth(*arguments: Any) -> Any:
        rolled_out.append(arguments[3])
        if len(rolled_out) == 4:
            raise KeyboardInterrupt
        return original(*arguments)

    monkeypatch.setattr(job, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(openings, "rollout_arrays", interrupted_at_the_fourth)
    with pytest.raises(KeyboardInterrupt):
        warehouse.build(DATASET.name, SMALLEST, force=True)
    assert warehouse.build(DATASET.name, SMALLEST, force=True).manifest.digest == digest
    slots = slots_of(SMALLEST)
    assert rolled_out == [*slots[:4], *slots[3:]]


@pytest.mark.parametrize(("n_rows", "seed"), [(1, 0), (1, 1), (8, 0), (8, 1)])
def test_verify_rolls_out_the_requested_number_of_games(
    small_root: Path, monkeypatch: pytest.MonkeyPatch, n_rows: int, seed: int
) -> None:
    """Of a random sample of decisions those with the fewest games, at least one."""
    warehouse = bgdata.open_warehouse(small_root)
    table, inputs = small_table(warehouse), inputs_of(warehouse, DATASET, SMALLEST)
    checked = []
    monkeypatch.setattr(openings, "check_decision", lambda *arguments: checked.append(arguments[2]))
    summary = check_sample(DATASET, table, inputs, n_rows, np.random.default_rng(seed))
    games = np.bincount(np.asarray(table.array("plays_decisions")), np.asarray(table.array("plays_trials"))).tolist()
    sample = np.random.default_rng(seed).permutation(len(games))[:n_rows].tolist()
    fewest_games_first = sorted(sample, key=lambda decision: games[decision])
    totals = np.cumsum([games[decision] for decision in fewest_games_first])
    assert checked == fewest_games_first[: max(1, (totals <= 64 * n_rows).sum())]
    assert summary == f"{len(checked)} of {len(games)} decisions rolled out again"


def test_verify_rolls_out_every_decision_of_enough_games(small_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    monkeypatch.setattr(openings, "check_decision", lambda *_: None)
    inputs = inputs_of(warehouse, DATASET, SMALLEST)
    summary = check_sample(DATASET, small_table(warehouse), inputs, 528, np.random.default_rng(0))
    assert summary.startswith("22 of 22")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"objective": "points"}, "expected an objective of money, double-match-point, got 'points'"),
        ({"first_roll": ""}, "expected two dice such as '31', got ''"),
        ({"first_roll": "33"}, "expected a first roll of two different dice, got 33"),
        ({"first_roll": "13"}, "expected the higher die first, got 13"),
        ({"first_roll": "71"}, "expected two dice such as '31', got '71'"),
        ({"within": -0.1}, "expected within, margin, sensible and reply_within of 0 points or more"),
        ({"sensible": float("nan")}, "expected within, margin, sensible and reply_within of 0 points or more"),
        ({"most_plays": 0}, "expected 1 to 30 plays of a roll, of which 0 to 10 are answered, got 0 and 1"),
        ({"sensible_plays": 11}, "expected 1 to 30 plays of a roll, of which 0 to 10 are answered, got 3 and 11"),
        ({"until": -0.002}, "expected a standard error above 0, got -0.002"),
        ({"reply_until": 0.0}, "expected a standard error above 0, got 0.0"),
        ({"trials": 100}, "expected a multiple of 36 trials"),
        ({"seed": -1}, "expected a seed from 0 to"),
        ({"network": "../x"}, "expected the name of a network"),
    ],
)
def test_invalid_parameters_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        DATASET.check_parameters(replace(SMALLEST, **changes))


def test_missing_network_is_refused(warehouse: Warehouse) -> None:
    with pytest.raises(MissingTableError, match="no network/none/r1-00000000 in"):
        warehouse.build(DATASET.name, replace(SMALLEST, network="none", network_version="r1-00000000"))


def test_default_parameters_are_valid() -> None:
    parameters = OpeningParameters()
    DATASET.check_parameters(parameters)
    assert parameters.until == 0.002
    assert parameters.reply_until == 0.005
    assert len(FIRST_ROLLS) == 15
    assert DATASET.slug(parameters) == f"money-by-{parameters.network}-seed-0-21"
    assert "network" in DATASET.inputs(parameters)
    assert first_roll_of("1-3") == "31"
