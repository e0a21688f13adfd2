"""Compares rollouts with the cube, ours and gnubg's, of the same positions, in standard errors.

`python -m tests.selfplay.cubeful_rollouts_of_gnubg --positions 200` takes positions of self-play, one decision of each
game. gnubg plays at 0-ply and handles the cube by its own evaluation, so any difference beyond chance is a difference
in skill.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bgdata.equity.cube import CubeRules
from bgdata.game.classes import PositionClass, position_class
from bgdata.game.dice import roll_of
from bgdata.game.match import Money, Stakes
from bgdata.game.plays import legal_plays
from bgdata.game.position import Position
from bgdata.selfplay.cubeful_rollout import CubefulStart, roll_out_with_cube
from bgdata.selfplay.games import self_play
from bgdata.selfplay.rollout import Limits
from tests.evaluation.sample_networks import shipped_player
from tests.game.gnubg_rules import after_moves
from tests.oracles import ask_gnubg

SCRIPT = """
import gnubg, json
for command in ["set player 0 human", "set player 1 human", "set automatic game off", "set automatic roll off",
                "set automatic move off", "set automatic bearoff off", "set jacoby off", "new session",
                "set rollout trials TRIALS", "set rollout seed 1", "set rollout cubeful CUBEFUL",
                "set rollout chequerplay plies 0", "set rollout cubedecision plies 0",
                "set rollout chequerplay cubeful CUBEFUL", "set turn 1", "set board POSITION", "set dice DICE",
                "move PLAY", "previous", "analyse move", "analyse rollout move 1 2"]:
    gnubg.command(command)
moves = gnubg.match(1, 1, 0, 1)["games"][0]["game"][-1]["analysis"]["moves"]
names = ["cubeful-eq", "cubeful-eq-std"] if "CUBEFUL" == "on" else ["probs", "probs-std"]
tell(json.dumps([[move["move"], *(move[name] for name in names)] for move in moves if move["type"] == "rollout"]))
"""
# without "chequerplay cubeful off" cubeless rollouts choose plays with the cube, and win a quarter fewer gammons
MONEY = Stakes(Money(is_jacoby=False))


class Pair(NamedTuple):
    """The equity of a position after a play, for the player who moved, by our rollout and by gnubg's, with standard
    errors."""

    position: str
    ours: float
    error: float
    theirs: float
    their_error: float

    @property
    def z_score(self) -> float:
        """The difference of the two equities in standard errors."""
        return float((self.ours - self.theirs) / np.hypot(self.error, self.their_error))


def rollouts_of_gnubg(
    position: Position, dice: tuple[int, int], play: str, trials: int, folder: Path, *, cubeful: bool
) -> list[tuple[Position, Any, Any]]:
    """(position after the play, the opponent on roll; equity or chances of the player who moved; standard errors) of
    gnubg's best two plays."""
    values = {
        "POSITION": position.id, "DICE": f"{dice[0]} {dice[1]}", "PLAY": play, "TRIALS": str(trials),
        "CUBEFUL": "on" if cubeful else "off",
    }  # fmt: skip
    script = SCRIPT
    for name, value in values.items():
        script = script.replace(name, value)
    (told,) = ask_gnubg(script, folder)
    rolled = [
        (after_moves(position, list(chain.from_iterable(moves))).flip(), *rest) for moves, *rest in json.loads(told)
    ]
    assert len(rolled) == 2
    return rolled


def pairs_of(position: Position, dice: tuple[int, int], trials: tuple[int, int], folder: Path) -> Iterator[Pair]:
    """Yield both programs' rollouts after gnubg's best two plays of a money game with a centered cube. `trials` are
    ours and gnubg's. There must be two plays."""
    play = str(legal_plays(position, roll_of(*dice))[0])
    rolled = rollouts_of_gnubg(position, dice, play, trials[1], folder, cubeful=True)
    starts = [CubefulStart(np.array(after.board, np.int8), MONEY) for after, *_ in rolled]
    found = roll_out_with_cube(starts, shipped_player().chooser, CubeRules(), Limits(trials[0]), 1)
    for row, (after, equity, error) in enumerate(rolled):
        yield Pair(after.id, -float(found.values[row]), float(found.standard_errors[row]), equity, error)


def decisions(count: int, seed: int) -> Iterator[tuple[Position, tuple[int, int]]]:
    """Yield one contact decision of each of `count` games, at a random turn that `seed` determines."""
    games = self_play(shipped_player().chooser, 4 * count, seed)
    random = np.random.default_rng(seed)
    game = 0
    while count:
        row = int(random.integers(games.offsets[game], games.offsets[game + 1]))
        position = Position(games.boards[row].tolist())
        dice = games.dice[row].tolist()
        game += 1
        if position_class(position) == PositionClass.CONTACT and len(legal_plays(position, roll_of(*dice))) > 1:
            count -= 1
            yield position, (dice[0], dice[1])


def main() -> None:
    """Print every pair, and the spread of z-scores."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--positions", type=int, default=200)
    parser.add_argument("--trials", type=int, default=144, help="a multiple of 36; gnubg plays half as many")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    scores = []
    for position, dice in decisions(-(-arguments.positions // 2), arguments.seed):
        with tempfile.TemporaryDirectory() as folder:
            for pair in pairs_of(position, dice, (arguments.trials, arguments.trials // 2), Path(folder)):
                scores.append(pair.z_score)
                print(
                    f"{pair.position} {pair.ours:+.4f} +/- {pair.error:.4f}  gnubg {pair.theirs:+.4f} +/- "
                    f"{pair.their_error:.4f}  z {pair.z_score:+.2f}",
                    flush=True,
                )
    spread = np.array(scores)
    print(f"{len(scores)} positions: mean z {spread.mean():+.2f}, rms {np.sqrt((spread**2).mean()):.2f}, within 2: "
          f"{(np.abs(spread) < 2).mean():.0%}")  # fmt: skip


if __name__ == "__main__":
    main()
