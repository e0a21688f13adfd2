"""Answers per second of gnubg by connections and scripts, and of our player by UBGI and in this process.

python -m tests.benchmarks.answers --ply 0 1
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import bgdata
from bgdata.evaluation.gnubg import GnubgPlayer
from bgdata.evaluation.ubgi_player import UbgiPlayer
from bgdata.game.codec import Boards
from bgdata.game.position import Position
from bgdata.kernel import thread_count
from tests.oracles import ask_gnubg
from tests.random_games import random_game_positions

SCRIPT = """
import gnubg, json
gnubg.command("new session")
info = gnubg.cubeinfo(1, -1, 1, 0, (0, 0), 0)
info['jacoby'] = 0
context = gnubg.evalcontext(0, PLY, 1, 0, 0.0)
for rows, dice in json.load(open("questions.json")):
    tell(json.dumps(ANSWER))
"""
CHANCES = "gnubg.evaluate(rows, info, context)[:5]"
PLAYS = "gnubg.findbestmove(rows, info, context, tuple(dice))"

Way = tuple[str, Callable[[], object], Callable[[], object]]  # (name, chances of all positions, plays of all rolls)


def per_second(count: int, work: Callable[[], object]) -> float:
    """Answers per second."""
    begin = time.perf_counter()
    work()
    return count / (time.perf_counter() - begin)


def by_scripts(answer: str, ply: int, boards: Boards, rolls: NDArray[np.int8]) -> None:
    """Evaluate with gnubg's own Python, in as many processes as there are connections."""
    questions = [
        ([list(row) for row in Position(board).rows], roll)
        for board, roll in zip(boards.tolist(), rolls.tolist(), strict=True)
    ]
    count = thread_count()

    def ask(part: int) -> None:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "questions.json").write_text(json.dumps(questions[part::count]))
            ask_gnubg(SCRIPT.replace("PLY", str(ply)).replace("ANSWER", answer), Path(folder))

    with ThreadPoolExecutor(count) as executor:
        list(executor.map(ask, range(count)))


def ways(ply: int, boards: Boards, rolls: NDArray[np.int8], folder: Path) -> list[Way]:
    """Every way to ask at a ply, already started."""
    (folder / "ours.ubgi").write_text(f"{sys.executable} -m bgdata ubgi\n")
    gnubg, engine = GnubgPlayer(ply), UbgiPlayer(str(folder / "ours.ubgi"), ply)
    ours = bgdata.open_player(os.environ.get("BGDATA_WAREHOUSE", "warehouse"), ply=ply)
    found: list[Way] = [
        ("gnubg, connections", lambda: gnubg.evaluate_many(boards), lambda: gnubg.choose_plays(boards, rolls)),
        (
            "gnubg, scripts",
            lambda: by_scripts(CHANCES, ply, boards, rolls),
            lambda: by_scripts(PLAYS, ply, boards, rolls),
        ),
        ("ours, UBGI", lambda: engine.evaluate_many(boards), lambda: engine.choose_plays(boards, rolls)),
        (
            "ours, one by one",
            lambda: [ours.evaluate_many(boards[row : row + 1]) for row in range(len(boards))],
            lambda: [ours.choose_plays(boards[row : row + 1], rolls[row : row + 1]) for row in range(len(boards))],
        ),
        ("ours, all at once", lambda: ours.evaluate_many(boards), lambda: ours.choose_plays(boards, rolls)),
    ]
    for player in (gnubg, engine, ours):
        player.evaluate_many(boards[: thread_count()])
        player.choose_plays(boards[:1], rolls[:1])
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--ply", type=int, nargs="*", default=[0])
    parser.add_argument("--questions", type=int, default=400)
    options = parser.parse_args()
    games = random_game_positions(20, seed=1)
    boards, rolls = (np.ascontiguousarray(each[: options.questions]) for each in (games.boards, games.rolls))
    print(f"| a second, {thread_count()} processes or threads | chances | plays |\n| - | - | - |", flush=True)
    for ply in options.ply:
        with tempfile.TemporaryDirectory() as folder:
            for name, chances, plays in ways(ply, boards, rolls, Path(folder)):
                found = [f"{per_second(len(boards), ask):,.0f}" for ask in (chances, plays)]
                print(f"| {ply}-ply {name} | {found[0]} | {found[1]} |", flush=True)


if __name__ == "__main__":
    main()
