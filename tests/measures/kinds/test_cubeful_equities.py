"""Tests of the kind `cubeful_equities` and its view `cube_index`: positions, models, rollouts, least squares, wrong
parameters."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.equity.cube import CubeRules, normalised_equity
from bgdata.errors import CheckFailedError, InvalidParameterError
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.position import Position
from bgdata.game.xgid import parse_xgid
from bgdata.kernel import threads
from bgdata.measures.kinds import cubeful_equities_compute
from bgdata.measures.kinds.cubeful_equities import DATASET
from bgdata.measures.kinds.cubeful_equities_compute import draw, earlier_in_group, spread
from bgdata.measures.kinds.shared.cube_corpora import MATCHES, MONEY_GAMES
from bgdata.measures.kinds.shared.cube_corpora_compute import Candidates, corpus_candidates
from bgdata.selfplay.cubeful_rollout import CubefulStart, roll_out_with_cube
from bgdata.selfplay.kinds.shared.rollouts_compute import open_roller
from bgdata.store.dataset import Context
from bgdata.warehouse import Warehouse
from tests.contract.kinds import Corrupted, smallest_version
from tests.equity.samples import match_reference, published_met
from tests.rechecking import check_sample, inputs_of
from tests.reference.cube import janowski_equity, mean_points
from tests.subtests import each

SMALLEST = DATASET.smallest
CHANCES = ("win", "win_gammon", "win_backgammon", "lose_gammon", "lose_backgammon")
INDEXES = {"dead": 0.0, "live": 1.0, "model": 0.7}


def small_rows(root: Path) -> list[dict[str, Any]]:
    return bgdata.open_warehouse(root).rows(
        f"from cubeful_equities where variant = '{DATASET.slug(SMALLEST)}' order by row"
    )


def small_context(warehouse: Warehouse, **changes: Any) -> Context[Any]:
    return Context(replace(SMALLEST, **changes), inputs_of(warehouse, DATASET, SMALLEST), warehouse)


def stakes_of(row: dict[str, Any]) -> Stakes:
    score = Money(is_jacoby=False) if row["away"] is None else MatchScore(row["away"], row["opponent_away"])
    return Stakes(score, Cube(row["cube_value"], CubeOwner(row["cube_owner"])))


def test_positions_are_turns_of_the_games(small_root: Path) -> None:
    """Each row has the position, the cube and the score of its turn, which is not the first of its game."""
    warehouse = bgdata.open_warehouse(small_root)
    inputs = inputs_of(warehouse, DATASET, SMALLEST)
    rows = small_rows(small_root)
    assert len(rows) == SMALLEST.positions
    assert sum(row["away"] is None for row in rows) == SMALLEST.positions // 2
    for row in rows:
        corpus = inputs[MONEY_GAMES if row["away"] is None else MATCHES].manifest.variant
        (turn,) = warehouse.rows(
            "select * from turns join games using (dataset, variant, game) where dataset = 'cubeful_selfplay' "
            f"and variant = '{corpus}' and game = {row['game']} and turn = {row['turn']}"
        )
        assert row["turn"] > 0
        assert turn["action"] in ("play", "roll", "double")
        for column in ("position_id", "cube_value", "cube_owner"):
            assert row[column] == turn[column]
        if row["away"] is not None:
            away = [turn["match_length"] - turn["score_0"], turn["match_length"] - turn["score_1"]]
            assert [row["away"], row["opponent_away"]] == (away if turn["on_roll"] == 0 else away[::-1])
        found = parse_xgid(row["xgid"])
        assert found.position.id == row["position_id"]
        assert found.match.stakes == stakes_of(row)


def test_models_equal_the_slow_reference(small_root: Path) -> None:
    """Each model mixes the dead and the live cube of the slow reference, in points of normalised equity."""
    owners = Counter[str]()
    for row in small_rows(small_root):
        chances = [row[name] for name in CHANCES]
        win, mean_win, mean_loss = mean_points(chances)
        owner = row["cube_owner"]
        for name, index in INDEXES.items():
            if row["away"] is None:
                expected = janowski_equity(win, mean_win, mean_loss, owner, (index, index))
            else:
                wins, losses = max(win, 1e-9), max(1 - win, 1e-9)
                shares = [share / total for share, total in zip(chances[1:], (wins, wins, losses, losses), strict=True)]
                reference = match_reference(row["away"], row["opponent_away"], shares)
                dead = reference.dead(row["cube_value"], win)
                live = reference.live(row["cube_value"], owner, win)
                mwc = dead + index * (live - dead)
                expected = normalised_equity(mwc, stakes_of(row), CubeRules(met=published_met()))
            assert row[name] == pytest.approx(expected, abs=2e-6)
        owners[owner] += 1
    assert set(owners) == {"centered", "on_roll", "opponent"}


def test_measured_values_are_those_of_rollouts(small_root: Path) -> None:
    """The value and the standard error of each row equal those of a rollout with its seed, without a double first."""
    warehouse = bgdata.open_warehouse(small_root)
    context = small_context(warehouse)
    rules, chooser = CubeRules(met=published_met()), open_roller(context).chooser
    seeds = np.asarray(smallest_version(small_root, DATASET).array("seeds")).tolist()
    for row, seed in zip(small_rows(small_root), seeds, strict=True):
        stakes = stakes_of(row)
        start = CubefulStart(np.array(row["board"], np.int8), stakes, may_double=False)
        result = roll_out_with_cube([start], chooser, rules, SMALLEST.limits(), seed)
        value = float(result.values[0])
        if isinstance(stakes.score, MatchScore):
            value = normalised_equity(value, stakes, rules)
        assert row["measured"] == pytest.approx(value, abs=1e-7)
        assert row["standard_error"] == pytest.approx(result.standard_errors[0] / result.point, abs=1e-7)
        assert row["trials"] == 72


def test_digest_does_not_depend_on_threads_and_parts(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    built = smallest_version(warehouse.root, DATASET)
    monkeypatch.setattr(cubeful_equities_compute, "PART_POSITIONS", 7)
    with threads(1):
        again = warehouse.build(DATASET.name, SMALLEST, force=True)
    assert again.manifest.digest == built.manifest.digest


def candidates(games: list[int], owners: list[int]) -> Candidates:
    """Opening positions at money play, in order of hashes, with these games and owners of the cube."""
    count = len(games)
    boards = np.tile(np.array(Position.start().board, np.int8), (count, 1))
    cubes = np.stack([np.ones(count, np.int32), np.array(owners, np.int32)], axis=1)
    zeros = np.zeros(count, np.int32)
    hashes = np.arange(count, dtype=np.uint64)
    return Candidates(boards, np.zeros((count, 2), np.int32), cubes, np.array(games), zeros, hashes, zeros)


def test_owners_get_equal_shares() -> None:
    """An owner that is rare gives all that it has, and the others share the rest."""
    found = candidates(games=list(range(20)), owners=[0] * 12 + [1] * 6 + [2] * 2)
    assert Counter(spread(found, 10).cubes[:, 1].tolist()) == {0: 4, 1: 4, 2: 2}


def test_each_game_gives_one_position_if_there_are_enough_games() -> None:
    """The rare owner takes its only game, and the frequent one avoids that game."""
    found = candidates(games=[0, 0, 1, 1, 2, 2, 0], owners=[0, 0, 0, 0, 0, 0, 1])
    chosen = spread(found, 3)
    assert sorted(chosen.games.tolist()) == [0, 1, 2]
    assert Counter(chosen.cubes[:, 1].tolist()) == {0: 2, 1: 1}
    assert Counter(spread(found, 6).games.tolist()) == {0: 2, 1: 2, 2: 2}


def test_earlier_rows_of_a_group_are_counted() -> None:
    assert earlier_in_group(np.array([3, 1, 3, 3, 1])).tolist() == [0, 0, 1, 2, 1]


def test_cubes_can_still_be_turned(small_root: Path) -> None:
    """In matches the owner of the cube still gains from a higher cube; both players need 2 points or more."""
    context = small_context(bgdata.open_warehouse(small_root))
    found = corpus_candidates(context.inputs[MATCHES], 0)
    owner_away = np.where(found.cubes[:, 1] == 2, found.away[:, 1], found.away[:, 0])
    assert (found.cubes[:, 0] > 1).any()
    assert (owner_away > found.cubes[:, 0]).all()
    assert found.away.min() == 2
    assert (found.turns > 0).all()


def test_another_sample_seed_draws_other_positions(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    first, second = (set(draw(small_context(warehouse, sample_seed=seed)).xgids()) for seed in (0, 1))
    assert first != second


def test_changed_values_are_found(small_root: Path) -> None:
    table = smallest_version(small_root, DATASET)
    inputs = inputs_of(bgdata.open_warehouse(small_root), DATASET, SMALLEST)
    assert check_sample(DATASET, table, inputs, 2, np.random.default_rng(0)).startswith("2 of 12 positions")
    for name in ("measured", "standard_errors", "trials", "models", "chances", "boards"):
        corrupted = Corrupted(table, name, np.asarray(table.array(name)) + 1)
        with pytest.raises(CheckFailedError, match=name):
            check_sample(DATASET, corrupted, inputs, 2, np.random.default_rng(0))


def test_too_few_positions_give_a_one_line_error(small_root: Path) -> None:
    context = small_context(bgdata.open_warehouse(small_root), positions=1_000_000)
    with pytest.raises(
        InvalidParameterError,
        match=r"^expected 500,000 positions before a roll in cubeful_selfplay/.*found [\d,]+; try more games$",
    ):
        draw(context)


@each(
    ("change", "message"),
    [
        ({"positions": 5}, "expected an even number of positions, from 2 on, got 5"),
        ({"positions": 0}, "expected an even number of positions, from 2 on, got 0"),
        ({"cube": "x"}, "expected cube models such as"),
        ({"length": 10}, "expected matches to 2 to 9 points, got 10"),
        ({"sample_seed": -1}, "expected a sample seed from 0 to"),
        ({"met": "mine"}, "expected own or published as met, got 'mine'"),
        ({"turns": 3}, "expected rollouts with the cube to end with the game, got stop=exact and turns=3"),
        ({"trials": 10}, "expected a multiple of 36 trials"),
        ({"network": "No"}, "expected the name of a network, got 'No'"),
    ],
)
def test_wrong_parameters_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        DATASET.check_parameters(replace(SMALLEST, **change))


def test_index_of_the_view_is_that_of_least_squares(small_root: Path) -> None:
    """Index, standard error, mean errors and rms of each group equal those of numpy."""
    rows, warehouse = small_rows(small_root), bgdata.open_warehouse(small_root)
    summary = warehouse.rows(f"from cube_index where variant = '{DATASET.slug(SMALLEST)}'")
    for group in summary:
        members = [row for row in rows if is_member(row, group)]
        assert len(members) == group["positions"]
        dead, live, measured, errors = (
            np.array([row[name] for row in members]) for name in ("dead", "live", "measured", "standard_error")
        )
        width, gain = live - dead, measured - dead
        (best,), *_ = np.linalg.lstsq(width[:, None], gain, rcond=None)
        residuals = best * width - gain
        assert group["best_index"] == pytest.approx(best, rel=1e-6, abs=1e-9)
        error = np.sqrt((width**2 * residuals**2).sum()) / (width**2).sum()
        assert group["standard_error"] == pytest.approx(error, rel=1e-4, abs=1e-4)
        for index, suffix in ((best, ""), (0.7, "_at_default"), (0.0, "_dead"), (1.0, "_live")):
            left = index * width - gain
            assert group[f"mean_error{suffix}"] == pytest.approx(left.mean(), abs=1e-9)
            assert group[f"rms{suffix}"] == pytest.approx(np.sqrt((left**2).mean()), rel=1e-6, abs=1e-7)
        assert group["noise"] == pytest.approx(np.sqrt((errors**2).mean()))
    scores = {group["score"] for group in summary}
    assert {"all", "money", "match"} < scores
    assert {group["cube_owner"] for group in summary} == {"all", "centered", "on_roll", "opponent"}


def is_member(row: dict[str, Any], group: dict[str, Any]) -> bool:
    """Whether a row of `cubeful_equities` belongs to a group of `cube_index`."""
    scores = ["all", "money"]
    if row["away"] is not None:
        least = min(row["away"], row["opponent_away"])
        band = "2-3" if least <= 3 else "4-5" if least <= 5 else "6-9"
        scores = ["all", "match", f"match, {band} away"]
    columns = ("class", "theme", "cube_owner")
    return group["score"] in scores and all(group[name] in ("all", row[name]) for name in columns)
