"""Cubeless rollouts of plays by gnubg and bgsage, for money without the Jacoby rule, to the end of every game.

A rollout plays the same number of games after each play, with the same dice (one seed), and subtracts luck.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import ExternalProgramError
from bgdata.evaluation.cube_answers import answers_of_gnubg, bgsage_analyzer
from bgdata.evaluation.programs import SEEDS, check_program_ply
from bgdata.game.codec import Boards
from bgdata.game.dice import roll_of
from bgdata.game.plays import legal_plays
from bgdata.game.position import Position

Values = NDArray[np.float64]
RollOutPlays = Callable[[Boards, tuple[int, int], Boards, int, int, int], tuple[Values, Values]]
"""float64[k] equities of the player who moves, and their standard errors, from an int8[26] board, a roll, int8[k, 26]
boards after the plays of the SAME player, the ply of both sides, the number of games, and a seed."""

ROLLED_OUT = """
def after(move):
    theirs, own = map(list, gnubg.board())
    for start, end in move:
        own[start - 1] -= 1
        if end > 0:
            own[end - 1] += 1
            if theirs[24 - end]:
                theirs[24 - end] -= 1
                theirs[24] += 1
    points = [own[point] - theirs[23 - point] for point in range(24)]
    return [theirs[24], *points, own[24]]
def listed():
    return gnubg.match(1, 1, 0, 1)["games"][0]["game"][-1]["analysis"]["moves"]
for command in ["set jacoby off", "set rollout cubeful off", "set rollout varredn on", "set rollout quasirandom on",
                "set rollout truncation enable off", "set rollout limit enable off", "set rollout jsd stop off",
                "set analysis chequerplay evaluation plies 0"]:
    gnubg.command(command)
for position, dice, play, boards, ply, games, seed in questions:
    for command in [f"set rollout seed {seed}", f"set rollout trials {games}", f"set rollout chequerplay plies {ply}",
                    "set board " + position, "set dice {} {}".format(*dice), "move " + play, "previous",
                    "analyse move"]:
        gnubg.command(command)
    places = [after(move["move"]) for move in listed()]
    numbers = [str(places.index(board) + 1) for board in boards]
    gnubg.command("analyse rollout move " + " ".join(numbers))
    found = [(after(move["move"]), move) for move in listed() if move["type"] == "rollout"]
    moves = [next(move for place, move in found if place == board) for board in boards]
    tell(json.dumps([[move[name] for name in ("match-eq", "match-eq-std", "trials")] for move in moves]))
"""


def roll_out_plays_by_gnubg(
    board: Boards, roll: tuple[int, int], after: Boards, ply: int, games: int, seed: int
) -> tuple[Values, Values]:
    """Roll out plays with gnubg: see RollOutPlays. First rolls are stratified. Raises UnknownPlayerError if gnubg is
    not installed or does not look as far ahead, and ExternalProgramError if it does not answer as expected."""
    check_program_ply("gnubg", ply)
    position = Position(board.tolist())
    play = str(legal_plays(position, roll_of(*roll))[0])
    question = (position.id, roll, play, after.tolist(), ply, games, seed % SEEDS)
    (rows,) = answers_of_gnubg(ROLLED_OUT, [question])
    equities, errors, trials = np.array(rows, np.float64).reshape(-1, 3).T
    if len(rows) != len(after) or (trials != games).any():
        raise ExternalProgramError(f"expected {games} games of {len(after)} plays of {position.id}, got {rows}")
    return equities, errors


def roll_out_plays_by_bgsage(
    board: Boards,  # noqa: ARG001
    roll: tuple[int, int],  # noqa: ARG001
    after: Boards,
    ply: int,
    games: int,
    seed: int,
) -> tuple[Values, Values]:
    """Roll out plays with bgsage: see RollOutPlays. Raises UnknownPlayerError if bgsage is not installed or does not
    look as far ahead."""
    check_program_ply("bgsage", ply)
    settings: dict[str, Any] = {"n_trials": games, "truncation_depth": 0, "decision_ply": ply + 1}
    analyzer = bgsage_analyzer(
        eval_level="rollout", cubeful=False, cubeful_trial_moves=False, parallel_threads=1, **settings
    )
    rows = list[tuple[float, float]]()
    for place in after.tolist():
        analyzer.set_seed(seed % SEEDS)
        found = analyzer.post_move_analytics(place, jacoby=False)
        rows.append((found.cubeless_equity, found.cubeless_se or 0.0))  # no error if a table covers the position
    equities, errors = np.array(rows, np.float64).reshape(-1, 2).T
    return equities, errors
