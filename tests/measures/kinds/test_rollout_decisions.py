"""Tests of the kind `rollout_decisions`: decisions, plays, digests, resuming, errors and export."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import bgdata
from bgdata.errors import CheckFailedError, InvalidParameterError
from bgdata.evaluation.chances import CHANCES
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
from bgdata.selfplay.splits import SPLITS, splits_of_games
from bgdata.store.dataset import Context
from bgdata.store.parameters import VersionRef
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse
from bgdata.warehouse.commands.export import write_text
from tests.contract.kinds import smallest_version
from tests.kept import own
from tests.rechecking import check_sample, inputs_of

SMALLEST = DATASET.smallest
SLUG = DATASET.slug(SMALLEST)


def network_chooser(warehouse: Warehouse) -> Chooser:
    return open_roller(Context(SMALLEST, inputs_of(warehouse, DATASET, SMALLEST), warehouse)).chooser


def test_decisions_are_turns_of_test_games(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    decisions = warehouse.rows(f"from benchmark_decisions where variant = '{SLUG}' order by decision")
    assert len(decisions) == 3
    for decision in decisions:
        (turn,) = warehouse.rows(
            "from turns where dataset = 'selfplay' and variant = 'pubeval-20-seed-3' "
            f"and game = {decision['game']} and turn = {decision['turn']}"
        )
        assert decision["position_id"] == turn["position_id"]
        assert decision["class"] == "contact"
        dice = sorted([turn["die1"], turn["die2"]], reverse=True)
        assert [decision["die1"], decision["die2"]] == dice
        assert decision["network"] == f"network/tiny/{warehouse.open('network', 'tiny').folder.name}"
    splits = splits_of_games(3, np.array([decision["game"] for decision in decisions]))
    assert set(splits.tolist()) == {SPLITS.index("test")}
    seeds = [decision["seed"] for decision in decisions]
    assert seeds == sorted(set(seeds))
    # in a file: a comment, then a seed, four rollouts and the decision
    assert [decision["line"] for decision in decisions] == [7, 13, 19]


def test_plays_equal_rollouts(small_root: Path) -> None:
    """The stored plays equal rollouts from the board, the roll and the seed alone."""
    warehouse = bgdata.open_warehouse(small_root)
    player = network_chooser(warehouse)
    arrays = smallest_version(small_root, DATASET).arrays()
    settings = RolloutSettings("exact", 2)
    window = Window(0.16, 2, 4)
    limits = Limits(72, 0.02, 144)
    for decision in range(3):
        expected = roll_out_decision(
            arrays["decisions_boards"][decision],
            tuple(arrays["decisions_dice"][decision].tolist()),
            player,
            int(arrays["decisions_seeds"][decision]),
            settings,
            window,
            limits,
        )
        plays = warehouse.rows(
            f"select p.*, {', '.join(CHANCES)}, n_plays, n_legal_plays from benchmark_plays p "
            "join benchmark_rollouts using (dataset, variant, decision, position_id) "
            "join benchmark_decisions using (dataset, variant, decision) "
            f"where variant = '{SLUG}' and decision = {decision} order by rank"
        )
        assert len(plays) == len(expected.boards)
        result = expected.result
        for rank, play in enumerate(plays):
            assert play["rank"] == rank
            assert play["position_id"] == Position(expected.boards[rank]).id
            assert play["equity"] == pytest.approx(result.equities[rank], abs=5.1e-8)
            assert play["standard_error"] == result.equity_standard_errors[rank]
            assert play["loss"] == pytest.approx(expected.losses[rank], abs=1.1e-7)
            assert play["loss_standard_error"] == expected.loss_standard_errors[rank]
            assert play["trials"] == result.trials[rank]
            win, win_gammon, win_backgammon, lose_gammon, lose_backgammon = result.legal_chances()[rank].tolist()
            opponent = [1 - win, lose_gammon, lose_backgammon, win_gammon, win_backgammon]
            assert [play[name] for name in CHANCES] == pytest.approx(opponent, abs=6e-7)
            assert play["n_plays"] == len(plays)
            assert play["n_legal_plays"] == expected.n_plays


def test_plays_are_legal_and_counted_in_statistics(small_root: Path) -> None:
    """All rolled-out plays are legal, and the statistics count plays, games and legal plays."""
    table = smallest_version(small_root, DATASET)
    arrays = table.arrays()
    statistics = table.manifest.statistics
    errors = table.array("plays_standard_errors")
    assert (statistics["plays"], statistics["games"]) == (len(errors), table.array("plays_trials").sum())
    assert statistics["mean_standard_error"] == pytest.approx(errors.mean())
    assert (statistics["largest_standard_error"], statistics["reached_share"]) == (
        errors.max(),
        (errors <= 0.02).mean(),
    )
    for row, count in enumerate(arrays["decisions_n_legal_plays"].tolist()):
        position = Position(arrays["decisions_boards"][row])
        roll = "".join(map(str, arrays["decisions_dice"][row].tolist()))
        legal = {tuple(play.after_play.board) for play in legal_plays(position, roll)}
        assert len(legal) == count
        plays = arrays["plays_boards"][arrays["plays_decisions"] == row]
        assert {tuple(board) for board in flip_boards(plays).tolist()} <= legal


def test_some_play_of_each_decision_loses(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    arrays = smallest_version(small_root, DATASET).arrays()
    player = network_chooser(warehouse)
    for board, roll in zip(arrays["decisions_boards"], arrays["decisions_dice"].tolist(), strict=True):
        decision = roll_out_decision(
            board, tuple(roll), player, 0, RolloutSettings("exact", 1), Window(3, 1, 1000), Limits(72)
        )
        losses = decision.static_losses
        assert ((losses >= 0.001) & (losses <= 0.16)).any()


def test_larger_set_begins_with_the_smaller_one(warehouse: Warehouse) -> None:
    small = warehouse.open(DATASET.name, SLUG).arrays()
    large = warehouse.build(DATASET.name, replace(SMALLEST, decisions=4)).arrays()
    for name, values in small.items():
        assert np.array_equal(large[name][: len(values)], values), name


def test_another_sample_seed_draws_other_decisions(warehouse: Warehouse) -> None:
    small = warehouse.open(DATASET.name, SLUG).arrays()
    other = warehouse.build(DATASET.name, replace(SMALLEST, sample_seed=1)).arrays()
    assert not set(other["decisions_seeds"].tolist()) & set(small["decisions_seeds"].tolist())
    assert not np.array_equal(other["decisions_boards"], small["decisions_boards"])


def test_unreached_standard_error_is_stored(warehouse: Warehouse) -> None:
    table = warehouse.build(DATASET.name, replace(SMALLEST, until=1e-30, decisions=1))
    assert table.array("plays_trials").tolist() == [144] * 4
    assert table.manifest.statistics["reached_share"] < 1


def test_one_per_game_takes_the_first_decision_of_each_game(warehouse: Warehouse) -> None:
    corpus = inputs_of(warehouse, DATASET, SMALLEST)["games"]
    player = network_chooser(warehouse)
    turns = rollout_decisions.sample_turns(replace(SMALLEST, decisions=5000), corpus, player)
    games = list(dict.fromkeys(turns.games.tolist()))
    assert 2 <= len(games) < len(turns.games)
    first_turns = [turns.games.tolist().index(game) for game in games]
    parameters = replace(SMALLEST, one_per_game=True, decisions=len(games))
    sample = rollout_decisions.sample_of(parameters, corpus, player)
    assert np.array_equal(sample.seeds, turns.seeds[first_turns])
    smaller_sample = rollout_decisions.sample_of(replace(parameters, decisions=len(games) - 1), corpus, player)
    assert np.array_equal(smaller_sample.seeds, sample.seeds[:-1])


def test_corpus_with_too_few_decisions_is_refused(warehouse: Warehouse) -> None:
    corpus = inputs_of(warehouse, DATASET, SMALLEST)["games"]
    player = network_chooser(warehouse)
    turns = rollout_decisions.sample_turns(replace(SMALLEST, decisions=5000), corpus, player)
    with pytest.raises(InvalidParameterError, match=rf"in the test games of {corpus.name}, found {len(turns.seeds)};"):
        rollout_decisions.sample_of(replace(SMALLEST, decisions=len(turns.seeds) + 1), corpus, player)
    games = len(set(turns.games.tolist()))
    one_per_game = replace(SMALLEST, one_per_game=True, decisions=games + 1)
    with pytest.raises(InvalidParameterError, match=rf"in as many test games of .*, found {games}; try more games"):
        rollout_decisions.sample_of(one_per_game, corpus, player)


def test_verify_finds_two_decisions_of_one_game(warehouse: Warehouse) -> None:
    parameters = replace(SMALLEST, one_per_game=True, decisions=2)
    table = warehouse.build(DATASET.name, parameters)
    rollout_decisions.check_games(parameters, table)
    path = table.folder / "decisions_games.npy"
    path.chmod(0o644)
    np.save(own(path), np.full_like(np.load(path), 7))
    rollout_decisions.check_games(SMALLEST, Table(table.folder))
    message = rf"expected one decision of each game in {table.name}, found 2 of game 7"
    with pytest.raises(CheckFailedError, match=message):
        rollout_decisions.check_games(parameters, Table(table.folder))


def test_settled_plays_get_fewer_games(warehouse: Warehouse) -> None:
    """Plays that are clearly worse get fewer games, and `verify` reproduces them; a threshold that no play reaches
    changes nothing."""
    parameters = replace(SMALLEST, until=1e-30, most_trials=288, decisions=2)
    with_equal_games = warehouse.build(DATASET.name, parameters)
    settled = warehouse.build(DATASET.name, replace(parameters, settled_at=15.0))
    assert set(with_equal_games.array("plays_trials").tolist()) == {288}
    trials = np.asarray(settled.array("plays_trials"))
    assert set(trials.tolist()) == {72, 216, 288}
    losses, errors = (np.asarray(settled.array(f"plays_{name}")) for name in ("losses", "loss_standard_errors"))
    assert ((losses > 10 * errors) | (losses == 0))[trials < 288].all()
    assert settled.manifest.statistics["reached_share"] == (trials < 288).mean()
    check_sample(DATASET, settled, inputs_of(warehouse, DATASET, SMALLEST), 2, np.random.default_rng(0))
    never_settled = warehouse.build(DATASET.name, replace(parameters, settled_at=1e9))
    assert never_settled.manifest.digest == with_equal_games.manifest.digest


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
    decisions = {parameters.position_class: parameters.decisions for parameters in DATASET.defaults}
    assert decisions == {"contact": 500, "crashed": 150, "race": 150}
    for parameters in DATASET.defaults:
        assert parameters.one_per_game


def test_exported_benchmark_file_imports_equal(warehouse: Warehouse, tmp_path: Path) -> None:
    """An exported benchmark file, imported again, has the same decisions, plays, losses and chances."""
    table = warehouse.open(DATASET.name, SLUG)
    path = tmp_path / "contact.bm"
    write_text(table, "gnubg-benchmark", path)
    arrays = table.arrays()
    parsed = parse_gnubg_benchmark(read_bytes(path))
    assert parsed.rejects == []
    assert np.array_equal(parsed.decisions.boards, arrays["decisions_boards"])
    assert np.array_equal(parsed.decisions.dice, arrays["decisions_dice"])
    assert np.array_equal(parsed.decisions.seeds, arrays["decisions_seeds"])
    assert np.array_equal(parsed.plays.boards, arrays["plays_boards"])
    assert np.array_equal(parsed.plays.losses, arrays["plays_losses"])
    assert parsed.plays.equities == pytest.approx(np.asarray(arrays["plays_equities"]), abs=1e-12)
    assert np.array_equal(parsed.plays.rollouts, np.arange(len(arrays["plays_boards"])))
    assert np.array_equal(parsed.rollouts.chances.astype(np.float32), arrays["plays_chances"])
    imported = warehouse.build(IMPORTED.name, IMPORTED.parameters("contact"), files=[path], strict=True)
    write_text(imported, "gnubg-benchmark", tmp_path / "again.bm")
    assert (tmp_path / "again.bm").read_bytes() == path.read_bytes()
    for query in (
        "select decision, line, position_id, board, class, die1, die2, n_plays, seed from benchmark_decisions "
        "where variant = '{}' order by decision",
        "select decision, rank, position_id, board, loss from benchmark_plays where variant = '{}' order by all",
        "select * exclude (dataset, variant) from benchmark_rollouts where variant = '{}' order by line",
    ):
        assert warehouse.rows(query.format("contact")) == warehouse.rows(query.format(SLUG))
    imported_plays = warehouse.rows("from benchmark_plays where dataset = 'gnubg_benchmark'")
    assert len(imported_plays) == len(arrays["plays_boards"])
    for play in imported_plays:
        for column in ("standard_error", "loss_standard_error", "trials"):
            assert play[column] is None


def test_player_is_scored_on_rolled_out_decisions(warehouse: Warehouse) -> None:
    table = warehouse.open(DATASET.name, SLUG)
    parameters = ScoreParameters("pubeval", 0, VersionRef("rollout_decisions", SLUG, table.folder.name), "2")
    scores = warehouse.build("benchmark_scores", parameters)
    assert scores.folder.parent.name == f"pubeval-0ply-{SLUG}"
    decisions = decisions_of(table)
    assert decisions.first_plays.tolist() == [0, 4, 8, 12]
    assert scores.manifest.statistics["error_rate"] == pytest.approx(1000 * scores.array("losses").mean())
    kind = warehouse.kind("benchmark_scores")
    check_sample(kind, scores, {"benchmark": table}, 3, np.random.default_rng(0))
    (row,) = warehouse.rows(f"from benchmark_summary where benchmark = 'rollout_decisions/{SLUG}'")
    assert row["class"] == "contact"
    assert row["decisions"] == 3
    with pytest.raises(InvalidParameterError, match="expected version 2 of pubeval, as it plays here, got 1"):
        warehouse.build("benchmark_scores", replace(parameters, version="1"))
