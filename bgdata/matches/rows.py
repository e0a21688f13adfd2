"""What the plays and cube actions of a game lost, by a player that judges them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bgdata.errors import BgdataError
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.plays import Board, parse_play
from bgdata.game.position import Position
from bgdata.matches.analysis.acts import NO_DOUBLE, CubeWorths

if TYPE_CHECKING:
    from bgdata.equity.cube import CubeDecision, CubeRules
    from bgdata.evaluation.chances import Evaluator
    from bgdata.evaluation.lookahead_player import LookaheadPlayer

CUBE_ACTIONS = ("double", "beaver", "take", "pass")


def crawford_games(games: Sequence[Mapping[str, Any]]) -> dict[int, bool]:
    """Whether each game of one match, by its number there, is the Crawford game, as `with_crawford` finds it. `games`
    are rows of the table of that name, in order, with `is_doubled`: whether somebody doubles in it."""
    from bgdata.formats.matches import Game, Match, Turn, TurnKind
    from bgdata.matches.steps import with_crawford

    double = Turn(0, TurnKind.DOUBLE)
    found = [
        Game(
            row["game_number"],
            (row["score_0"], row["score_1"]),
            (double,) if row["is_doubled"] else (),
            is_crawford=row["is_crawford"],
        )
        for row in games
    ]
    match = with_crawford(Match(("", ""), games[0]["match_length"], tuple(found)))
    return {game.number: bool(game.is_crawford) for game in match.games}


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
    """What is played for at a turn of a game, seen by the player on roll. `game` is a row of the table of games, with
    `is_jacoby`: whether the Jacoby rule holds. Raises InvalidScoreError for a score that there is not."""
    cube = Cube(turn["cube_value"], CubeOwner(turn["cube_owner"]))
    if not game["match_length"]:
        return Stakes(Money(game["is_jacoby"]), cube)
    sides = turn["on_roll"], 1 - turn["on_roll"]
    away, opponent_away = (game["match_length"] - game[f"score_{side}"] for side in sides)
    return Stakes(MatchScore(away, opponent_away, is_crawford=bool(game["is_crawford"])), cube)


@dataclass(frozen=True)
class CubeVerdict:
    """A cube action of a game beside the best one, in words; `NO_DOUBLE` is made where a player who could double
    rolled. `loss` is in mwc, or for money in points per unit cube, `size` the same in points of normalised equity; both
    are 0 for the best."""

    made: str
    best: str
    loss: float
    size: float

    @property
    def is_missed(self) -> bool:
        """Whether what was made is no row of its own: a double that was not made."""
        return self.made == NO_DOUBLE


def cube_verdicts(
    player: LookaheadPlayer, rules: CubeRules, game: Mapping[str, Any], turns: Sequence[Mapping[str, Any]]
) -> list[CubeVerdict | None]:
    """What each double, each take or pass of one, and each roll of a player who could double instead, lost against the
    best action; None for other turns. `turns` are those of one game that is played with the cube, in order; the player
    evaluates all positions at once. Raises InvalidScoreError and what `decide_cube` of the player raises."""
    from bgdata.kernel import threads

    verdicts: list[CubeVerdict | None] = [None] * len(turns)
    asked = [(place, stakes) for place in range(len(turns)) if (stakes := decided_stakes(game, turns, place))]
    if not asked:
        return verdicts
    boards = np.array([turns[place]["board"] for place, _ in asked], np.int8)
    with threads(1):  # for so little, threads would wait for one another longer than they compute
        chances = player.evaluate_many(boards).chances.tolist()
    for (place, stakes), own in zip(asked, chances, strict=True):
        decision = player.decide_cube(turns[place]["position_id"], stakes, rules, own)
        verdicts[place] = verdict_on(decision, turns[place]["action"], stakes, rules)
    return verdicts


def decided_stakes(game: Mapping[str, Any], turns: Sequence[Mapping[str, Any]], place: int) -> Stakes | None:
    """What is played for where a turn decided something about the cube; None for other turns. Nobody doubles before the
    first roll. Raises InvalidScoreError."""
    from bgdata.equity.cube import why_no_double

    row = turns[place]
    if row["action"] == "double" or (row["action"] in ("take", "pass") and turns[place - 1]["action"] == "double"):
        return game_stakes(game, row)
    if place == 0 or row["action"] not in ("play", "roll") or row["player"] != row["on_roll"]:
        return None
    stakes = game_stakes(game, row)
    return None if why_no_double(stakes) else stakes


def verdict_on(decision: CubeDecision, action: str, stakes: Stakes, rules: CubeRules) -> CubeVerdict:
    """An action beside the best one. A double that could gain nothing lost nothing."""
    from bgdata.equity.cube import Unit, normalised_point

    made = action if action in CUBE_ACTIONS else NO_DOUBLE
    if decision.double_take is None or decision.double_pass is None:
        return CubeVerdict(made, made, 0.0, 0.0)
    gain = decision.take_gain if action in ("take", "pass") else decision.double_gain
    best = CubeWorths(decision.no_double, decision.double_take, decision.double_pass).best_action
    if action in ("take", "pass"):
        best = "take" if gain >= 0 else "pass"
    loss = max(0.0, gain if made in ("pass", NO_DOUBLE) else -gain)
    point = normalised_point(stakes, rules) if decision.unit is Unit.MWC else 1.0
    return CubeVerdict(made, best, loss, loss / point)
