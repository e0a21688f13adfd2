"""Tests of the kind `rollout_decisions`: decisions, plays, digests, resuming, errors and export."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bgdata
from bgdata.errors import CheckFailedError, InvalidParameterError
from bgdata.evaluation.choices import Chooser
from bgdata.formats.gnubg_benchmark import parse_gnubg_benchmark
from bgdata.formats.lines import read_bytes
from bgdata.game.codec import flip_boards
from bgdata.game.plays import legal_plays
from bgdata.game.position import Position
from bgdata.imports.kinds.gnubg_benchmark import DATASET as IMPORTED
from bgdata.measures.kinds import rollout_decisions_compute as rollout_decisions
from bgdata.measures.kinds.benchmark_scores import ScoreParameters
from bgdata.measures.kinds.benchmark_scores_compute import decisions_of
from bgdata.measures.kinds.rollout_decisions import DATASET, DecisionParameters
from bgdata.selfplay.kinds.selfplay import DATASET as SELFPLAY
from bgdata.selfplay.kinds.shared.rollouts_compute import open_roller
from bgdata.selfplay.rollout import Limits, RolloutSettings
from bgdata.selfplay.rollout_decisions import Window, roll_out_decision
from bgdata.selfplay.splits import splits_of_games
from bgdata.store.dataset import Context
from bgdata.store.parameters import VersionRef
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse
from bgdata.warehouse.commands.export import write_text
from tests.kept import own
from tests.rechecking import check_sample, inputs_of

SMALLEST = DATASET.smallest
SLUG = DATASET.slug(SMALLEST)


def small_table(root: Path) -> Table:
    return bgdata.open_warehouse(root).open(DATASET.name, SLUG)


def network_chooser(warehouse: Warehouse) -> Chooser:
    return open_roller(Context(SMALLEST, inputs_of(warehouse, DATASET, SMALLEST), warehouse)).chooser


def test_decisions_are_turns_of_test_games(small_root: Path) -> None:
    """Each decision is a turn of a test game of the corpus, with its position, dice and line number in the file."""
    warehouse = bgdata.open_warehouse(small_root)
    with warehouse.connect() as connection:
        rows = connection.sql(
            "select d.position_id = t.position_id, d.class, d.die1 >= d.die2, "
            "list_sort([d.die1, d.die2]) = list_sort([t.die1, t.die2]), d.game, d.seed, d.line, d.network "
            f"from benchmark_decisions d join turns t using (game, turn) where d.variant = '{SLUG}' "
            "and t.dataset = 'selfplay' and t.variant = 'pubeval-20-seed-3' order by decision"
        ).fetchall()
    assert [row[:4] for row in rows] == [(True, "contact", True, True)] * 3
    assert set(splits_of_games(3, np.array([row[4] for row in rows])).tolist()) == {2}
    seeds = [row[5] for row in rows]
    assert seeds == sorted(set(seeds))
    assert [row[6] for row in rows] == [7, 13, 19]  # a comment, then a seed, four rollouts and the decision
    assert {row[7] for row in rows} == {f"network/tiny/{warehouse.open('network', 'tiny').folder.name}"}


def test_plays_equal_rollouts(small_root: Path) -> None:
    """The stored plays equal rollouts from the board, the roll and the seed alone."""
    warehouse = bgdata.open_warehouse(small_root)
    brain = network_chooser(warehouse)
    arrays = small_table(small_root).arrays()
    how = RolloutSettings("exact", 2)
    window = Window(0.16, 2, 4)
    limits = Limits(72, 0.02, 144)
    with warehouse.connect() as connection:
        for row in range(3):
            board = arrays["decisions_boards"][row]
            roll = arrays["decisions_dice"][row]
            seed = int(arrays["decisions_seeds"][row])
            expected = roll_out_decision(board, tuple(roll.tolist()), brain, seed, how, window, limits)
            plays = connection.sql(
                "select rank, p.position_id, p.equity, p.standard_error, p.loss, p.loss_standard_error, p.trials, "
                "win, win_gammon, win_backgammon, lose_gammon, lose_backgammon, n_plays, n_legal_plays "
                "from benchmark_plays p join benchmark_rollouts using (dataset, variant, decision, position_id) "
                "join benchmark_decisions using (dataset, variant, decision) "
                f"where variant = '{SLUG}' and decision = {row} order by rank"
            ).fetchall()
            assert len(plays) == len(expected.boards)
            for rank, found in enumerate(plays):
                assert found[:2] == (rank, Position(expected.boards[rank]).id)
                result = expected.result
                assert found[2] == pytest.approx(result.equities[rank], abs=5.1e-8)
                assert found[3] == result.equity_standard_errors[rank]
                assert found[4] == pytest.approx(expected.losses[rank], abs=1.1e-7)
                assert found[5:7] == (expected.loss_standard_errors[rank], result.trials[rank])
                win, *others = result.legal_chances()[rank].tolist()
                opponent = [1 - win, *others[2:], *others[:2]]
                assert found[7:12] == pytest.approx(opponent, abs=6e-7)
                assert found[12:] == (len(plays), expected.n_plays)


def test_plays_are_legal_and_counted_in_statistics(small_root: Path) -> None:
    """All rolled-out plays are legal, and the statistics count plays, games and legal plays."""
    table = small_table(small_root)
    arrays = table.arrays()
    found = table.manifest.statistics
    errors = table.array("plays_standard_errors")
    assert (found["plays"], found["games"]) == (len(errors), table.array("plays_trials").sum())
    assert found["mean_standard_error"] == pytest.approx(errors.mean())
    assert (found["largest_standard_error"], found["reached_share"]) == (errors.max(), (errors <= 0.02).mean())
    for row, count in enumerate(arrays["decisions_n_legal_plays"].tolist()):
        position = Position(arrays["decisions_boards"][row])
        roll = "".join(map(str, arrays["decisions_dice"][row].tolist()))
        legal = {tuple(play.after_play.board) for play in legal_plays(position, roll)}
        assert len(legal) == count
        plays = arrays["plays_boards"][arrays["plays_decisions"] == row]
        assert {tuple(board) for board in flip_boards(plays).tolist()} <= legal


def test_some_play_of_each_decision_loses(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    arrays = small_table(small_root).arrays()
    brain = network_chooser(warehouse)
    for board, roll in zip(arrays["decisions_boards"], arrays["decisions_dice"].tolist(), strict=True):
        decision = roll_out_decision(
            board, tuple(roll), brain, 0, RolloutSettings("exact", 1), Window(3, 1, 1000), Limits(72)
        )
        losses = decision.static_losses
        assert ((losses >= 0.001) & (losses <= 0.16)).any()


def test_larger_set_begins_with_the_smaller_one(warehouse: Warehouse) -> None:
    small = warehouse.open(DATASET.name, SLUG).arrays()
    large = warehouse.build(DATASET.name, replace(SMALLEST, decisions=4)).arrays()
    for name, values in small.items():
        assert np.array_equal(large[name][: len(values)], values), name
    other = warehouse.build(DATASET.name, replace(SMALLEST, sample_seed=1)).arrays()
    assert not set(other["decisions_seeds"].tolist()) & set(small["decisions_seeds"].tolist())
    assert not np.array_equal(other["decisions_boards"], small["decisions_boards"])


def test_unreached_standard_error_is_stored(warehouse: Warehouse) -> None:
    table = warehouse.build(DATASET.name, replace(SMALLEST, until=1e-30, decisions=1))
    assert table.array("plays_trials").tolist() == [144] * 4
    assert table.manifest.statistics["reached_share"] < 1


def test_one_per_game_takes_one_decision_of_each_game(warehouse: Warehouse) -> None:
    """With `one_per_game`, each decision is the first of its game; a corpus with too few games is refused."""
    corpus = inputs_of(warehouse, DATASET, SMALLEST)["games"]
    brain = network_chooser(warehouse)
    every = rollout_decisions.sample_turns(replace(SMALLEST, decisions=5000), corpus, brain)
    with pytest.raises(InvalidParameterError, match=rf"in the test games of {corpus.name}, found {len(every.seeds)};"):
        rollout_decisions.sample_of(replace(SMALLEST, decisions=len(every.seeds) + 1), corpus, brain)
    games = list(dict.fromkeys(every.games.tolist()))
    assert 2 <= len(games) < len(every.games)
    first = [every.games.tolist().index(game) for game in games]
    wanted = replace(SMALLEST, one_per_game=True, decisions=len(games))
    found = rollout_decisions.sample_of(wanted, corpus, brain)
    assert np.array_equal(found.seeds, every.seeds[first])
    fewer = rollout_decisions.sample_of(replace(wanted, decisions=len(games) - 1), corpus, brain)
    assert np.array_equal(fewer.seeds, found.seeds[:-1])
    with pytest.raises(
        InvalidParameterError, match=rf"in as many test games of .*, found {len(games)}; try more games"
    ):
        rollout_decisions.sample_of(replace(wanted, decisions=len(games) + 1), corpus, brain)


def test_verify_finds_two_decisions_of_one_game(warehouse: Warehouse) -> None:
    wanted = replace(SMALLEST, one_per_game=True, decisions=2)
    table = warehouse.build(DATASET.name, wanted)
    rollout_decisions.check_games(wanted, table)
    path = table.folder / "decisions_games.npy"
    path.chmod(0o644)
    np.save(own(path), np.full_like(np.load(path), 7))
    rollout_decisions.check_games(SMALLEST, Table(table.folder))
    message = rf"expected one decision of each game in {table.name}, found 2 of game 7"
    with pytest.raises(CheckFailedError, match=message):
        rollout_decisions.check_games(wanted, Table(table.folder))


def test_settled_plays_get_fewer_games(warehouse: Warehouse) -> None:
    """Plays that are clearly worse get fewer games, and `verify` reproduces them; a threshold that no play reaches
    changes nothing."""
    parameters = replace(SMALLEST, until=1e-30, most_trials=288, decisions=2)
    equal = warehouse.build(DATASET.name, parameters)
    found = warehouse.build(DATASET.name, replace(parameters, settled_at=15.0))
    assert set(equal.array("plays_trials").tolist()) == {288}
    trials = np.asarray(found.array("plays_trials"))
    assert set(trials.tolist()) == {72, 216, 288}
    losses, errors = (np.asarray(found.array(f"plays_{name}")) for name in ("losses", "loss_standard_errors"))
    assert ((losses > 10 * errors) | (losses == 0))[trials < 288].all()
    assert found.manifest.statistics["reached_share"] == (trials < 288).mean()
    check_sample(DATASET, found, inputs_of(warehouse, DATASET, SMALLEST), 2, np.random.default_rng(0))
    unsettled = warehouse.build(DATASET.name, replace(parameters, settled_at=1e9))
    assert unsettled.manifest.digest == equal.manifest.digest


def test_default_recipe_is_unchanged() -> None:
    """Stored parameters leave out newer ones at their defaults, so older versions keep their digests."""
    parameters = DecisionParameters()
    assert (parameters.until, parameters.position_class) == (0.005, "contact")
    assert not {"one_per_game", "settled_at"} & set(parameters.to_json())
    assert DATASET.inputs(parameters)["games"] == ("selfplay", SELFPLAY.defaults[0])
    assert "network" in DATASET.inputs(parameters)
    assert "network" not in DATASET.inputs(replace(parameters, network="mine", network_version="r1-00000000"))


def test_shipped_sets_are_large_and_independent() -> None:
    """Shipped benchmarks are large enough to distinguish players, and have one decision per game."""
    assert {each.position_class: each.decisions for each in DATASET.defaults} == {
        "contact": 500, "crashed": 150, "race": 150
    }  # fmt: skip
    assert all(each.one_per_game for each in DATASET.defaults)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        *(("plays_equities", 1), ("plays_boards", (1, 6)), ("plays_chances", (1, 0)), ("plays_trials", 1)),
        *(("decisions_boards", (1, 6)), ("decisions_dice", (1, 0)), ("decisions_seeds", 1)),
    ],
)
def test_verify_finds_changed_arrays(warehouse: Warehouse, name: str, place: Any) -> None:
    parameters = replace(SMALLEST, decisions=1) if name.startswith("plays") else SMALLEST
    table = warehouse.build(DATASET.name, parameters)
    rows = parameters.decisions
    inputs = inputs_of(warehouse, DATASET, SMALLEST)
    if name == "plays_equities":
        check_sample(DATASET, table, inputs, rows, np.random.default_rng(0))
    corrupt(table, name, place)
    with pytest.raises(CheckFailedError, match=rf"expected {name} of .* in row 1 of rollout_decisions/"):
        check_sample(DATASET, Table(table.folder), inputs, rows, np.random.default_rng(0))


def corrupt(table: Table, name: str, place: Any) -> None:
    """Change one number in the file of an array."""
    path = table.folder / f"{name}.npy"
    path.chmod(0o644)
    values = np.load(path)
    values[place] += 1
    np.save(own(path), values)


def test_exported_benchmark_file_imports_equal(warehouse: Warehouse, tmp_path: Path) -> None:
    """An exported benchmark file, imported again, has the same decisions, plays, losses and chances."""
    table = warehouse.open(DATASET.name, SLUG)
    path = tmp_path / "contact.bm"
    write_text(table, "gnubg-benchmark", path)
    arrays = table.arrays()
    found = parse_gnubg_benchmark(read_bytes(path))
    assert found.rejects == []
    assert np.array_equal(found.decisions.boards, arrays["decisions_boards"])
    assert np.array_equal(found.decisions.dice, arrays["decisions_dice"])
    assert np.array_equal(found.decisions.seeds, arrays["decisions_seeds"])
    assert np.array_equal(found.plays.boards, arrays["plays_boards"])
    assert np.array_equal(found.plays.losses, arrays["plays_losses"])
    assert found.plays.equities == pytest.approx(np.asarray(arrays["plays_equities"]), abs=1e-12)
    assert np.array_equal(found.plays.rollouts, np.arange(len(arrays["plays_boards"])))
    assert np.array_equal(found.rollouts.chances.astype(np.float32), arrays["plays_chances"])
    imported = warehouse.build(IMPORTED.name, IMPORTED.parameters("contact"), files=[path], strict=True)
    write_text(imported, "gnubg-benchmark", tmp_path / "again.bm")
    assert (tmp_path / "again.bm").read_bytes() == path.read_bytes()
    with warehouse.connect() as connection:
        columns = "decision, line, position_id, board, class, die1, die2, n_plays, seed"
        for query in (
            f"select {columns} from benchmark_decisions where variant = '{{}}' order by decision",
            "select decision, rank, position_id, board, loss from benchmark_plays where variant = '{}' order by all",
            "select * exclude (dataset, variant) from benchmark_rollouts where variant = '{}' order by line",
        ):
            assert connection.sql(query.format(SLUG)).fetchall() == connection.sql(query.format("contact")).fetchall()
        nulls = connection.sql(
            "select count(standard_error), count(loss_standard_error), count(trials), count(*) > 0 "
            "from benchmark_plays where dataset = 'gnubg_benchmark'"
        ).fetchall()
    assert nulls == [(0, 0, 0, True)]


def test_scores_equal_those_on_the_imported_file(warehouse: Warehouse) -> None:
    """A player is scored on a benchmark that was made here as on an imported one."""
    table = warehouse.open(DATASET.name, SLUG)
    own = ScoreParameters("pubeval", 0, VersionRef("rollout_decisions", SLUG, table.folder.name), "2")
    scores = warehouse.build("benchmark_scores", own)
    assert scores.folder.parent.name == f"pubeval-0ply-{SLUG}"
    decisions = decisions_of(table)
    assert decisions.first_plays.tolist() == [0, 4, 8, 12]
    assert scores.manifest.statistics["error_rate"] == pytest.approx(1000 * scores.array("losses").mean())
    kind = warehouse.kind("benchmark_scores")
    check_sample(kind, scores, {"benchmark": table}, 3, np.random.default_rng(0))
    with warehouse.connect() as connection:
        assert connection.sql(
            "select benchmark, class, decisions from benchmark_summary where benchmark like 'rollout_decisions/%'"
        ).fetchall() == [(f"rollout_decisions/{SLUG}", "contact", 3)]
    with pytest.raises(InvalidParameterError, match="expected version 2 of pubeval, as it plays here, got 1"):
        warehouse.build("benchmark_scores", replace(own, version="1"))
