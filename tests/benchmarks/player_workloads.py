"""The work of players that is timed: games, evaluations and learning; compilation not counted."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import bgdata
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.game.dice import ROLLS, Roll
from bgdata.game.position import START
from tests.benchmarks.measure import WAREHOUSE, best_of
from tests.benchmarks.network_workloads import shipped_player


def player_games(games: int, repeats: int) -> float:
    """Complete games of PubEval against PubEval; seconds a game."""
    from bgdata.evaluation.player import PubEval
    from bgdata.selfplay.games import play_games

    play_games(PubEval(), PubEval(), 1, seed=1)
    return best_of(repeats, lambda: play_games(PubEval(), PubEval(), games, seed=1)) / games


def network_plays(inputs: str, hidden: int, repeats: int) -> float:
    """Every play of 20,000 positions of random games evaluated to choose the best; seconds an evaluation."""
    from bgdata.evaluation.bearoff_kernels import NO_TABLES
    from bgdata.evaluation.networks.input_sets import InputSet, input_set_named
    from bgdata.evaluation.networks.player import NetworkPlayer
    from bgdata.game.play_kernels import play_counts
    from bgdata.training.networks import new_networks, rounded_networks
    from tests.random_games import random_game_positions

    race = InputSet.RACE if inputs == "contact" else input_set_named(inputs)
    input_sets = (race, input_set_named(inputs), input_set_named(inputs))
    player = NetworkPlayer(rounded_networks(new_networks(input_sets, ((hidden,),) * 3, 1)), NO_TABLES)
    _, boards, rolls = random_game_positions(220, seed=3)
    evaluations = int(play_counts(boards, rolls).sum())
    player.choose_plays(boards[:1], rolls[:1])
    return best_of(repeats, lambda: player.choose_plays(boards, rolls)) / evaluations


def bearoff_bulk(is_two_sided: bool, repeats: int) -> float:
    """Five chances of a million random bearoff positions, from boards; seconds a position."""
    from bgdata.evaluation.bearoff import BearoffEvaluator, open_bearoff

    evaluator = open_bearoff(bgdata.open_warehouse(WAREHOUSE))
    if not is_two_sided:
        evaluator = BearoffEvaluator(one_sided=evaluator.one_sided, gammon=evaluator.gammon)
    boards = bearoff_boards(1_000_000)
    evaluator.evaluate_many(boards[:1])
    return best_of(repeats, lambda: evaluator.evaluate_many(boards)) / len(boards)


def bearoff_boards(count: int) -> NDArray[np.int8]:
    """int8[count, 26]: random positions of the 6x9 table, either side with checkers."""
    layouts = np.array([bgdata.layout_at(index, 6) for index in range(1, 5005)], np.int8)
    sides = np.random.default_rng(0).integers(0, len(layouts), (2, count))
    boards = np.zeros((count, 26), np.int8)
    boards[:, 1:7] = layouts[sides[0]]
    boards[:, 24:18:-1] -= layouts[sides[1]]
    return boards


def learning(inputs: str, hidden: str, repeats: int) -> float:
    """Temporal-difference learning, whole games, after the first 10,000; seconds a game."""
    from bgdata.evaluation.bearoff_kernels import NO_TABLES
    from bgdata.training.recipes import TemporalDifferenceRecipe
    from bgdata.training.temporal_difference import Trainer

    race = "race" if inputs == "contact" else inputs
    recipe = TemporalDifferenceRecipe(
        inputs=inputs, race_inputs=race, hidden=hidden, crashed_hidden=hidden, race_hidden=hidden
    )
    trainer = Trainer(recipe, NO_TABLES)
    for number in range(50):
        trainer.play_round(number)
    rounds = iter(range(50, 50 + 10 * repeats))

    def ten_rounds() -> None:
        for _ in range(10):
            trainer.play_round(next(rounds))

    return best_of(repeats, ten_rounds) / (10 * recipe.round_games)


def training(inputs: str, hidden: str, repeats: int) -> float:
    """Supervised learning from the default self-play labels with the feed and Adam, all three networks, forward and
    backward; seconds a position."""
    from bgdata.training.networks import new_networks
    from bgdata.training.recipes import SupervisedRecipe, TemporalDifferenceRecipe
    from bgdata.training.supervised.run import FEED_BATCH_ROWS, SupervisedRun

    race = "race" if inputs == "contact" else inputs
    shape = TemporalDifferenceRecipe(
        inputs=inputs, race_inputs=race, hidden=hidden, crashed_hidden=hidden, race_hidden=hidden
    )
    networks = new_networks(shape.input_sets(), shape.layers(), seed=1)
    warehouse = bgdata.open_warehouse(WAREHOUSE)
    feeds = [
        warehouse.batches("selfplay_labels/network-10000-seed-1-6x9", split=split, seed=1, batch_size=FEED_BATCH_ROWS)
        for split in ("train", "validation")
    ]
    run = SupervisedRun(SupervisedRecipe(epochs=repeats + 1, batch_size=256), networks, *feeds)
    positions = sum(run.learn_epoch(0))  # compiles, and maps the labels
    epochs = iter(range(1, repeats + 1))
    return best_of(repeats, lambda: run.learn_epoch(next(epochs))) / positions


def cubeful_games(with_luck: bool, count: int, repeats: int) -> float:
    """Money games of the shipped network with a cube life index of 0.7; seconds a game."""
    from bgdata.selfplay.series import CubefulRules, CubeSide, cubeful_results

    chooser, sides = shipped_player().chooser, (CubeSide(), CubeSide())
    cubeful_results(chooser, sides, CubefulRules(), 2, 1, with_luck=with_luck)
    return (
        best_of(repeats, lambda: cubeful_results(chooser, sides, CubefulRules(), count, 1, with_luck=with_luck)) / count
    )


def open_player(repeats: int) -> float:
    """Map the tables of a warehouse and the networks of the package."""
    bgdata.open_player(WAREHOUSE)
    return best_of(repeats, lambda: bgdata.open_player(WAREHOUSE))


def look_ahead(ply: int, repeats: int) -> float:
    """The plays of the 15 opening rolls ranked, by a player who remembers nothing yet; seconds a roll."""
    rolls = [roll for roll in ROLLS if not roll.is_double]
    players = [bgdata.open_player(WAREHOUSE, ply=ply) for _ in range(repeats + 1)]
    players.pop().rank_plays(START, rolls[0])
    return best_of(repeats, lambda: rank_rolls(players.pop(), rolls)) / len(rolls)


def rank_rolls(player: LookaheadPlayer, rolls: list[Roll]) -> None:
    """The plays of each roll from the start."""
    for roll in rolls:
        player.rank_plays(START, roll)


def feed(features: str, from_parquet: bool, repeats: int) -> float:
    """An epoch of 1.2 million labelled positions, in batches of 4,096 to NumPy; seconds a row."""
    from bgdata.training.feed.rows import Batch
    from tests.benchmarks.workloads import import_labels, training_file

    with tempfile.TemporaryDirectory() as folder:
        warehouse = import_labels(training_file(Path(folder), 1_500_000))
        opened = warehouse.batches("gnubg_training", seed=1, features=features, from_parquet=from_parquet)
        opened.batch(0, 0)

        def epoch() -> list[Batch]:
            return [batch for batch in opened if batch.rows[0] < 0]

        return best_of(repeats, epoch) / opened.row_count
