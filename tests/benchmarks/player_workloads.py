"""Timed workloads of players: games, evaluations and learning, without compilation."""

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import bgdata
from bgdata.evaluation.bearoff import BearoffEvaluator, open_bearoff
from bgdata.evaluation.bearoff_kernels import NO_TABLES
from bgdata.evaluation.chances import cubeless_equities
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.networks.input_sets import InputSet, input_set_named
from bgdata.evaluation.networks.player import NetworkPlayer, open_network_player
from bgdata.evaluation.player import PubEval, open_named_evaluator
from bgdata.evaluation.players import NETWORK
from bgdata.game.codec import Boards
from bgdata.game.dice import ROLLS
from bgdata.game.play_kernels import play_counts
from bgdata.game.position import START as START_POSITION
from bgdata.game.position import Position
from bgdata.kernel import thread_count
from bgdata.measures.kinds.reference_positions import published_references
from bgdata.measures.steps.sets import positions_per_second, spread_evenly
from bgdata.selfplay.games import play_games, self_play
from bgdata.selfplay.rollout import RolloutSettings, roll_out
from bgdata.selfplay.series import CubefulRules, CubeSide, cubeful_results
from bgdata.store.table import Table
from bgdata.training.feed.rows import Batch
from bgdata.training.networks import new_networks, rounded_networks
from bgdata.training.recipes import SupervisedRecipe, TemporalDifferenceRecipe
from bgdata.training.supervised.run import FEED_BATCH_ROWS, SupervisedRun
from bgdata.training.temporal_difference import Trainer
from tests.benchmarks.measure import WAREHOUSE, best_of
from tests.benchmarks.workloads import import_labels, training_file
from tests.oracles import ask_gnubg
from tests.random_games import random_game_positions

START, CONTACT = "4HPwATDgc/ABMA", "2K6JAyDYbgcDEA"  # what is rolled out
GAMES = 1296  # games of a rollout
GNUBG_ROLLOUT = """
import time
for command in ["set player 0 human", "set player 1 human", "set automatic game off", "set automatic roll off",
                "set automatic move off", "set automatic bearoff off", "new session", "set jacoby off",
                "set rollout trials GAMES", "set rollout varredn LUCK", "set rollout cubeful off",
                "set rollout truncation enable off", "set rollout chequerplay plies 0",
                "set rollout cubedecision plies 0", "set rollout chequerplay cubeful off", "set turn 1",
                "set board POSITION"]:
    gnubg.command(command)
begin = time.perf_counter()
gnubg.command("rollout")
tell(time.perf_counter() - begin)
"""


def shipped_player() -> NetworkPlayer:
    """The networks of the package at ply 0, with the tables of the warehouse."""
    player = open_network_player(NETWORK, 0, bgdata.open_warehouse(WAREHOUSE))
    assert isinstance(player, NetworkPlayer)
    return player


def mixed_positions() -> tuple[Boards, NDArray[np.float64]]:
    """(int8[n, 26], float64[n]): the reference positions of bgdata, evenly mixed, and their rolled-out equities."""
    (folder,) = published_references().values()
    table = Table(folder)
    return spread_evenly(table.array("boards")), spread_evenly(
        cubeless_equities(table.array("chances")).astype(np.float64)
    )


def played_boards(player: NetworkPlayer) -> Boards:
    """int8[n, 26]: positions of games of a network against itself, evenly mixed."""
    return spread_evenly(self_play(player.chooser, 100, 1).boards)


def values(name: str, ply: int) -> float:
    """Evaluate mixed positions with a player at a ply; seconds per position."""
    return 1 / positions_per_second(
        open_named_evaluator(name, ply, bgdata.open_warehouse(WAREHOUSE)), mixed_positions()[0]
    )


def likely_and_all(player: NetworkPlayer, boards: Boards) -> NDArray[np.float64]:
    """float64[ply 1 or 2, likely or all plays, n]: cubeless equities."""
    return np.array(
        [
            [cubeless_equities(each.evaluate_ahead(boards, ply).chances) for each in (player, player.with_all_plays())]
            for ply in (1, 2)
        ],
        np.float64,
    )


def rms(values: NDArray[np.float64]) -> list[float]:
    """The root mean squares over the last axis, as a flat list."""
    return np.sqrt((values**2).mean(axis=-1)).ravel().tolist()


def self_playing(with_luck: bool, games: int, repeats: int) -> float:
    """Games of the networks of the package against themselves, every turn and its equity kept; seconds a game."""
    player = shipped_player()
    self_play(player.chooser, 2, 1, with_luck=with_luck)
    return best_of(repeats, lambda: self_play(player.chooser, games, 2, with_luck=with_luck)) / games


def rollout(with_luck: bool, repeats: int) -> float:
    """A contact position rolled out by the networks of the package to an exact table or the end; seconds a game."""
    player, settings = shipped_player(), RolloutSettings(with_luck=with_luck)
    boards = np.array([Position(CONTACT).board], np.int8)
    roll_out(boards, player.chooser, 72, settings=RolloutSettings(turns=1))
    return best_of(repeats, lambda: roll_out(boards, player.chooser, GAMES, settings=settings)) / GAMES


def gnubg_rollout(position_id: str, with_luck: bool, repeats: int) -> float:
    """A position rolled out by gnubg at 0-ply and cubeless, in as many processes as we have threads; seconds a game."""
    games, processes = 72 if with_luck else 720, thread_count()
    script = GNUBG_ROLLOUT.replace("POSITION", position_id).replace("LUCK", "on" if with_luck else "off")

    def seconds(_process: int) -> float:
        with tempfile.TemporaryDirectory() as folder:
            (told,) = ask_gnubg(script.replace("GAMES", str(games)), Path(folder))
        return float(told)

    with ThreadPoolExecutor(processes) as executor:
        slowest = [max(executor.map(seconds, range(processes))) for _ in range(repeats)]
    return min(slowest) / (games * processes)


def player_games(games: int, repeats: int) -> float:
    """Complete games of PubEval against PubEval; seconds a game."""
    play_games(PubEval(), PubEval(), 1, seed=1)
    return best_of(repeats, lambda: play_games(PubEval(), PubEval(), games, seed=1)) / games


def network_plays(inputs: str, hidden: int, repeats: int) -> float:
    """Every play of 20,000 positions of random games evaluated to choose the best; seconds an evaluation."""
    race = InputSet.RACE if inputs == "contact" else input_set_named(inputs)
    input_sets = (race, input_set_named(inputs), input_set_named(inputs))
    player = NetworkPlayer(rounded_networks(new_networks(input_sets, ((hidden,),) * 3, 1)), NO_TABLES)
    _, boards, rolls = random_game_positions(220, seed=3)
    evaluations = int(play_counts(boards, rolls).sum())
    player.choose_plays(boards[:1], rolls[:1])
    return best_of(repeats, lambda: player.choose_plays(boards, rolls)) / evaluations


def bearoff_bulk(is_two_sided: bool, repeats: int) -> float:
    """Five chances of a million random bearoff positions, from boards; seconds a position."""
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
    """Rank the plays of the 15 opening rolls by a player with an empty cache; seconds per roll."""
    rolls = [roll for roll in ROLLS if not roll.is_double]
    players = [bgdata.open_player(WAREHOUSE, ply=ply) for _ in range(repeats + 1)]
    players.pop().rank_plays(START_POSITION, rolls[0])

    def rank_rolls(player: LookaheadPlayer) -> None:
        for roll in rolls:
            player.rank_plays(START_POSITION, roll)

    return best_of(repeats, lambda: rank_rolls(players.pop())) / len(rolls)


def feed(features: str, from_parquet: bool, repeats: int) -> float:
    """An epoch of 1.2 million labelled positions, in batches of 4,096 to NumPy; seconds a row."""
    with tempfile.TemporaryDirectory() as folder:
        warehouse = import_labels(training_file(Path(folder), 1_500_000))
        opened = warehouse.batches("gnubg_training", seed=1, features=features, from_parquet=from_parquet)
        opened.batch(0, 0)

        def epoch() -> list[Batch]:
            return [batch for batch in opened if batch.rows[0] < 0]

        return best_of(repeats, epoch) / opened.row_count
