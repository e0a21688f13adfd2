"""What the plays and cube actions of a game lost, by a player that judges them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bgdata.errors import BgdataError
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.plays import Board, parse_play
from bgdata.game.position import Position

if TYPE_CHECKING:
    from bgdata.equity.cube import CubeDecision, CubeRules
    from bgdata.evaluation.evaluator import Evaluator
    from bgdata.evaluation.lookahead_player import LookaheadPlayer

CUBE_ACTIONS = ("double", "beaver", "take", "pass")


def play_losses(evaluator: Evaluator, turns: Sequence[Mapping[str, Any]]) -> list[float | None]:
    """Points that each turn of a game lost against its best play: static, without a cube, 0 for the best. None for what
    is no play, and where the record does not say which board it led to. `turns` are rows of the table of that name, one
    game in order."""
    from bgdata.evaluation.chances import cubeless_equities
    from bgdata.game.codec import flip_boards
    from bgdata.game.play_kernels import batch_plays
    from bgdata.kernel import threads

    losses: list[float | None] = [None] * len(turns)
    places = [place for place, row in enumerate(turns) if row["action"] == "play" and row["die1"]]
    if not places:
        return losses
    boards = np.array([turns[place]["board"] for place in places], np.int8)
    dice = np.array([(turns[place]["die1"], turns[place]["die2"]) for place in places], np.int8)
    with threads(1):  # for so little, threads would wait for one another longer than they compute
        offsets, after = batch_plays(boards, dice)
        theirs = flip_boards(after)
        values = -cubeless_equities(evaluator.evaluate_many(theirs).chances).astype(np.float64)
    best = np.maximum.reduceat(values, offsets[:-1])
    for number, place in enumerate(places):
        span = slice(offsets[number], offsets[number + 1])
        led_to = board_after(turns, place)
        if led_to is not None:
            played = np.flatnonzero((theirs[span] == np.array(led_to, np.int8)).all(axis=1))
            losses[place] = float(best[number] - values[span][played[0]]) if len(played) else None
    return losses


def board_after(turns: Sequence[Mapping[str, Any]], place: int) -> Board | None:
    """The board that a play led to, as the opponent sees it: that of the next turn, or of the play itself at the end of
    the game; None if it cannot be read."""
    row = turns[place]
    if place + 1 < len(turns) and turns[place + 1]["on_roll"] != row["on_roll"]:
        return tuple(turns[place + 1]["board"])
    try:
        return parse_play(row["play"], Position(row["position_id"]), f"{row['die1']}{row['die2']}").next_position.board
    except BgdataError:
        return None


def game_stakes(game: Mapping[str, Any], turn: Mapping[str, Any]) -> Stakes:
    """What is played for at a turn of a game, seen by the player on roll; money without the Jacoby rule, of which
    records say nothing. Raises InvalidScoreError for a score that there is not."""
    cube = Cube(turn["cube_value"], CubeOwner(turn["cube_owner"]))
    if not game["match_length"]:
        return Stakes(Money(is_jacoby=False), cube)
    sides = turn["on_roll"], 1 - turn["on_roll"]
    away, opponent_away = (game["match_length"] - game[f"score_{side}"] for side in sides)
    return Stakes(MatchScore(away, opponent_away, is_crawford=bool(game["is_crawford"])), cube)


def cube_losses(
    player: LookaheadPlayer, rules: CubeRules, game: Mapping[str, Any], turns: Sequence[Mapping[str, Any]]
) -> list[float | None]:
    """What each double, and each take or pass of one, lost against the best action: in `mwc`, or for money in points
    per unit cube; 0 for the best. None for other turns: what was not doubled is not judged. Raises InvalidScoreError
    and what `decide_cube` of the player raises."""
    losses: list[float | None] = [None] * len(turns)
    for place, row in enumerate(turns):
        if row["action"] == "double" or (row["action"] in ("take", "pass") and turns[place - 1]["action"] == "double"):
            decision = player.decide_cube(Position(row["position_id"]), game_stakes(game, row), rules)
            losses[place] = action_loss(decision, row["action"])
    return losses


def action_loss(decision: CubeDecision, action: str) -> float:
    """What a double, take or pass loses against the best action, in the unit of the decision."""
    gains = {"double": decision.double_gain, "take": decision.take_gain, "pass": -decision.take_gain}
    return max(0.0, -gains[action])
