"""Slow reference implementation of rollouts with the cube: one trial, in plain Python, directly from the rules."""

from collections.abc import Callable
from dataclasses import dataclass

from bgdata.game.dice import ROLLS, Roll, roll_of
from bgdata.game.plays import legal_plays
from bgdata.game.position import Position
from tests.reference.cubeful_games import Board, Model, Score, Value
from tests.reference.games import points_lost
from tests.reference.self_play import Evaluator, flipped

OWNERS = {-1: "centered", 0: "on_roll", 1: "opponent"}  # as player 0 sees them
TURNED = {"centered": "centered", "on_roll": "opponent", "opponent": "on_roll"}


def turned_score(score: Score) -> Score:
    """The score from the other player's point of view."""
    return Score(score.opponent_away, score.away, score.is_crawford)


@dataclass(frozen=True)
class Trials:
    """Settings of the trials: `score` as player 0, who is first on roll, sees it; `won` is the worth of points to their
    winner at the winner's score, and `worth` the value used to measure luck."""

    evaluate: Evaluator
    model: Model
    value: Value  # for choosing plays
    worth: Value
    won: Callable[[int, Score], float]
    score: Score
    is_jacoby: bool = False
    # (board, roll, cube, its owner, score; as the player sees them) -> board after the play; None: the best by `value`
    choose: Callable[[Board, Roll, int, str, Score], Board] | None = None
    # (board, cube, its owner, score; as the player on roll, who may double, sees them) -> its exact value, where known
    ending: Callable[[Board, int, str, Score], float | None] = lambda *_state: None

    def trial(self, board: Board, start: tuple[int, int, bool], place_of: Callable[[int], int]) -> tuple[float, float]:
        """(value, luck) of player 0. `start` is the cube, its owner and whether player 0 may double at once; `place_of`
        gives for each turn the index of its roll among all 36."""
        cube, owner, may_double = start
        player, turn, luck = 0, 0, 0.0
        while True:
            sign = 1 if player == 0 else -1
            mine = self.score if player == 0 else turned_score(self.score)
            whose = OWNERS[owner if player == 0 or owner < 0 else 1 - owner]
            known = self.ending(board, cube, whose, mine) if may_double else None
            if known is not None:
                return sign * known, luck
            if may_double and whose != "opponent" and cube < 64 and not self.score.is_crawford:
                (chances,), _ = self.evaluate([board])
                now, taken, passed = self.model(chances, cube, whose, mine)
                if min(taken, passed) >= now:
                    if passed <= taken:
                        return sign * self.won(cube, mine), luck
                    cube, owner, whose = 2 * cube, 1 - player, "opponent"
            place, may_double = place_of(turn), True
            theirs = turned_score(mine)
            best = {roll: self.best(board, roll, cube, TURNED[whose], theirs) for roll in ROLLS}
            values = {roll: -self.worth(*found, cube, TURNED[whose], theirs) for roll, found in best.items()}
            mean = sum(roll.weight * values[roll] for roll in ROLLS) / 36
            roll = roll_of(place // 6 + 1, place % 6 + 1)
            luck += sign * (values[roll] - mean)
            chosen = best[roll][0] if self.choose is None else flipped(self.choose(board, roll, cube, whose, mine))
            board, turn = chosen, turn + 1
            if not any(count < 0 for count in board[1:25]) and not board[0]:
                points = points_lost(flipped(board))
                points = 1 if self.is_jacoby and owner < 0 else points
                return sign * self.won(points * cube, mine), luck
            player = 1 - player

    def best(self, board: Board, roll: Roll, cube: int, whose: str, theirs: Score) -> tuple[Board, list[float]]:
        """(board after the best play, from the opponent's point of view; its chances)."""
        replies = [flipped(list(play.after_play.board)) for play in legal_plays(Position(board), roll)]
        chances, equities = self.evaluate(replies)
        values = [self.value(*reply, cube, whose, theirs) for reply in zip(replies, chances, strict=True)]
        place = min(range(len(replies)), key=lambda row: (values[row], equities[row]))
        return replies[place], chances[place]
