"""The opening book: rows, replies to sensible plays, digests, resuming, invalid parameters, and verification."""

from dataclasses import replace
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
from tests.subtests import each

SMALLEST = DATASET.smallest
WITHOUT_REPLIES = replace(SMALLEST, sensible_plays=0)  # without replies
QUICK_ROLLOUTS = replace(SMALLEST, turns=1, until=9.0, most_plays=3, reply_until=9.0)


def small_table(warehouse: Warehouse) -> Table:
    return warehouse.open(DATASET.name, DATASET.slug(SMALLEST))


def test_objectives_match_the_enum() -> None:
    assert tuple(Objective) == OBJECTIVES


def test_rows_are_rollouts_of_candidates(small_root: Path) -> None:
    """Rows equal rollouts of the candidates of the first roll and of each reply to the best play, with dice of the
    decision."""
    warehouse = bgdata.open_warehouse(small_root)
    chooser = open_chooser(Context(SMALLEST, inputs_of(warehouse, DATASET, SMALLEST), warehouse))
    with warehouse.connect() as connection:
        relation = connection.sql("from openings order by decision, rank")
        rows = [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]
    for number, reply in enumerate(("", *REPLY_ROLLS)):
        found = [row for row in rows if row["decision"] == number]
        position = parse_play(rows[0]["play"], START, "31").next_position if reply else START
        roll = reply or "31"
        wanted = SMALLEST.target(is_reply=bool(reply))
        dice = int(roll[0]), int(roll[1])
        board = np.array(position.board, np.int8)
        boards, count = candidates_of(board, dice, chooser, Objective.GAME, wanted.within + SMALLEST.margin, 3)
        item = FIRST_ROLLS.index("31") if not reply else Slot("31", 0, reply).item
        expected = roll_out_candidates(boards, chooser, Objective.GAME, wanted, SMALLEST.how(), 0, item)
        assert [row["next_position_id"] for row in found] == [Position(after).id for after in expected.boards]
        assert [row["equity"] for row in found] == expected.result.equities.tolist()
        assert [row["standard_error"] for row in found] == expected.result.equity_standard_errors.tolist()
        assert [row["loss"] for row in found] == expected.losses.tolist()
        assert [row["loss_standard_error"] for row in found] == expected.loss_standard_errors.tolist()
        assert [row["trials"] for row in found] == expected.result.trials.tolist()
        assert [row["win"] for row in found] == pytest.approx(expected.result.chances[:, 0], abs=1e-6)
        for row in found:
            assert (row["first_roll"], row["reply_roll"]) == ("31", reply or None)
            assert row["first_play"] == (rows[0]["play"] if reply else None)
            assert (row["position_id"], row["n_legal_plays"]) == (position.id, count)
            assert parse_play(row["play"], position, roll).next_position.id == row["next_position_id"]
            assert row["is_reached"] == (row["standard_error"] <= wanted.limits.until)
    assert {row["decision"] for row in rows} == set(range(22))
    assert {row["trials"] for row in rows} == {72, 144}


def test_decisions_have_different_dice() -> None:
    most = OpeningParameters(sensible_plays=MAX_SENSIBLE)
    items = [slot.item for roll in FIRST_ROLLS for slot in slots_of(replace(most, first_roll=roll))]
    assert sorted(items) == list(range(15 * (1 + MAX_SENSIBLE * 21)))
    assert Slot("21", 0, "21").item == 15
    assert {slot.item for slot in slots_of(replace(SMALLEST, sensible_plays=2))} <= set(items)


def test_sensible_plays_are_answered(warehouse: Warehouse) -> None:
    first = warehouse.build(DATASET.name, replace(QUICK_ROLLOUTS, sensible_plays=0))
    losses = np.asarray(first.array("plays_losses"))
    assert losses[1] > 0
    for sensible, most, count in ((float(losses[1]), 3, 2), (float(losses[1]) * 0.99, 3, 1), (1.0, 2, 2)):
        table = warehouse.build(DATASET.name, replace(QUICK_ROLLOUTS, sensible=sensible, sensible_plays=most))
        assert table.array("decisions_answered").tolist() == [-1] + [rank for rank in range(count) for _ in range(21)]
        assert np.array_equal(table.array("plays_losses")[: len(losses)], losses)
        assert table.manifest.statistics["replies"] == 21 * count
        boards = np.asarray(table.array("boards_after"))
        assert np.array_equal(table.array("boards_before")[-1], boards[count - 1])


def test_objectives_give_different_books(warehouse: Warehouse) -> None:
    money = warehouse.build(DATASET.name, replace(WITHOUT_REPLIES, objective="money"))
    game = warehouse.build(DATASET.name, WITHOUT_REPLIES)
    assert money.folder.parent.name == "money-by-tiny-seed-0-31"
    chances = np.asarray(game.array("plays_chances"), np.float64)
    assert game.array("plays_equities") == pytest.approx(2 * chances[:, 0] - 1, abs=1e-6)
    chances = np.asarray(money.array("plays_chances"), np.float64)
    worth = 2 * chances[:, 0] - 1 + chances[:, 1] + chances[:, 2] - chances[:, 3] - chances[:, 4]
    assert money.array("plays_equities") == pytest.approx(worth, abs=1e-5)


def test_statistics_summarise_the_arrays(small_root: Path) -> None:
    table = small_table(bgdata.open_warehouse(small_root))
    found = table.manifest.statistics
    errors = np.asarray(table.array("plays_standard_errors"))
    assert (found["decisions"], found["replies"]) == (22, 21)
    assert found["games"] == table.array("plays_trials").sum()
    assert (found["mean_standard_error"], found["largest_standard_error"]) == (errors.mean(), errors.max())
    assert 0 < found["known_share"] == (errors <= 0.00002).mean() < 1  # no candidate is 0.05 points behind


def test_killed_build_resumes(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed build resumes at the decision where it stopped, and the digest is the same."""
    first = small_table(warehouse).manifest.digest
    whole = openings.rollout_arrays
    slots = []

    def rollout_arrays(*arguments: Any) -> Any:
        slots.append(arguments[3])
        if len(slots) == 4:
            raise KeyboardInterrupt
        return whole(*arguments)

    monkeypatch.setattr(job, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(openings, "rollout_arrays", rollout_arrays)
    with pytest.raises(KeyboardInterrupt):
        warehouse.build(DATASET.name, SMALLEST, force=True)
    assert warehouse.build(DATASET.name, SMALLEST, force=True).manifest.digest == first
    every = slots_of(SMALLEST)
    assert slots == [*every[:4], *every[3:]]


def test_verify_rolls_out_the_requested_number_of_games(small_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a random sample of decisions, `verify` rolls out those with the fewest games, at least one. Another seed draws
    others."""
    warehouse = bgdata.open_warehouse(small_root)
    rolled = []
    table = small_table(warehouse)
    inputs = inputs_of(warehouse, DATASET, SMALLEST)
    decisions, trials = table.array("plays_decisions"), table.array("plays_trials")
    games = np.bincount(np.asarray(decisions), np.asarray(trials)).tolist()
    monkeypatch.setattr(openings, "check_decision", lambda *arguments: rolled.append(arguments[2]))
    for rows, seed in ((1, 0), (1, 1), (8, 0), (8, 1)):
        rolled.clear()
        summary = check_sample(DATASET, table, inputs, rows, np.random.default_rng(seed))
        drawn = sorted(np.random.default_rng(seed).permutation(len(games))[:rows].tolist(), key=lambda row: games[row])
        totals = np.cumsum([games[row] for row in drawn])
        assert rolled == drawn[: max(1, (totals <= 64 * rows).sum())]
        assert summary == f"{len(rolled)} of {len(games)} decisions rolled out again"
    assert check_sample(DATASET, table, inputs, 528, np.random.default_rng(0)).startswith("22 of 22")


@each(
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
