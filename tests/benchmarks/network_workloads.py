"""The work of the network that comes with bgdata, and that of gnubg and bgsage beside it; compilation not counted."""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import bgdata
from bgdata.evaluation.chances import cubeless_equities
from bgdata.evaluation.networks.player import NetworkPlayer, open_network_player
from bgdata.evaluation.player import open_named_evaluator
from bgdata.evaluation.players import NETWORK
from bgdata.game.codec import Boards
from bgdata.game.position import Position
from bgdata.kernel import thread_count
from bgdata.measures.kinds.reference_positions import published_references
from bgdata.measures.steps.sets import positions_per_second, spread
from bgdata.selfplay.games import self_play
from bgdata.selfplay.rollout import RolloutSettings, roll_out
from bgdata.store.table import Table
from tests.benchmarks.measure import WAREHOUSE, best_of
from tests.oracles import ask_gnubg

START, CONTACT = "4HPwATDgc/ABMA", "2K6JAyDYbgcDEA"  # what is rolled out
GAMES = 1296  # of a rollout
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
    """int8[n, 26] and float64[n]: the reference positions that come with bgdata, equally many of every theme, spread
    evenly, and their cubeless equities by rollouts."""
    (folder,) = published_references().values()
    table = Table(folder)
    return spread(table.array("boards")), spread(cubeless_equities(table.array("chances")).astype(np.float64))


def played_boards(player: NetworkPlayer) -> Boards:
    """int8[n, 26]: the positions of games of a network against itself, spread evenly."""
    return spread(self_play(player.chooser, 100, 1).boards)


def values(name: str, ply: int) -> float:
    """Mixed positions, evaluated at a ply by a player of this name; seconds a position."""
    return 1 / positions_per_second(
        open_named_evaluator(name, ply, bgdata.open_warehouse(WAREHOUSE)), mixed_positions()[0]
    )


def likely_and_all(player: NetworkPlayer, boards: Boards) -> NDArray[np.float64]:
    """float64[2, 2, n]: cubeless equities at 1-ply and at 2-ply, of each from the likely plays of each roll and from
    all plays."""
    return np.array(
        [
            [cubeless_equities(each.evaluate_ahead(boards, ply).chances) for each in (player, player.seeing_all())]
            for ply in (1, 2)
        ],
        np.float64,
    )


def rms(values: NDArray[np.float64]) -> list[float]:
    """The root mean squares over the last axis, in the order of the others."""
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
