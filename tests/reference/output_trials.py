"""Slow reference implementation of networks with conditional outputs: one game after the other, in double precision."""

from collections.abc import Sequence

from numpy.typing import NDArray

from bgdata.game.dice import roll_of
from bgdata.game.plays import legal_plays
from bgdata.game.position import START, Position
from tests.reference.games import Board, dice, points_lost
from tests.reference.networks import equity, turned
from tests.reference.turn_input import MAX_TURNS, Floats, Network, flipped

TRIALS = ("gammon", "backgammon", "weighted", "weighted after", "zeroed", "chances")


class TrialNetwork(Network):
    """One hidden layer and five outputs, conditional unless the trial is "chances"."""

    def __init__(self, trial: str, *numbers: NDArray) -> None:  # type: ignore[type-arg]
        super().__init__("dice passed", *numbers)
        self.trial = trial

    def mask(self, board: Board, side: int) -> list[float]:
        """1 for each output that the trial has on a board as `side` sees it, else 0."""
        if self.trial == "gammon":
            return [1.0, 1.0, 0.0, 1.0, 0.0]
        return [1.0, *excluded(board if side == 0 else flipped(board))] if self.trial == "zeroed" else [1.0] * 5

    def chances(self, outputs: Sequence[float], mask: Sequence[float]) -> list[float]:
        """The five chances of player 0."""
        win, gammon, backgammon, lost, lost_twice = (each * at for each, at in zip(outputs, mask, strict=True))
        if self.trial == "chances":
            return [win, gammon, backgammon, lost, lost_twice]
        return [
            win,
            win * gammon,
            win * gammon * backgammon,
            (1 - win) * lost,
            (1 - win) * lost * lost_twice,
        ]

    def after(self, board: Board, side: int) -> tuple[list[float], list[float], bool]:
        """(outputs to learn from, chances of player 0, whether the game is over) after a play of `side`."""
        if not any(count > 0 for count in board[1:]):
            points = points_lost(board)
            won = [1.0, float(points > 1), float(points > 2), 0.0, 0.0]
            result = won if side == 0 else turned(won)
            return result, result, True
        outputs = [float(each) for each in self.answer(self.inputs(board, side, 1 - side))[1]]
        mask = self.mask(board, side)
        return [each * at for each, at in zip(outputs, mask, strict=True)], self.chances(outputs, mask), False

    def play_trial(self, seed: int, game: int, rate: float) -> tuple[int, int]:
        """Play a game and learn from each turn. Returns (points, turns)."""
        board, side = list(START.board), game % 2
        for turn in range(MAX_TURNS):
            roll = roll_of(*dice(seed, 2 * game, turn))
            boards = [list(play.after_play.board) for play in legal_plays(Position(board), roll)]
            seen = [self.after(each, side) for each in boards]
            signs = [equity(found[1] if side == 0 else turned(found[1])) for found in seen]
            best = max(range(len(boards)), key=lambda row: signs[row])
            target, after, is_over = seen[best]
            self.learn_trial(board, side, target, after, is_over, rate)
            if is_over:
                return points_lost(boards[best]), turn + 1
            board, side = flipped(boards[best]), 1 - side
        return 0, MAX_TURNS

    def learn_trial(
        self, board: Board, side: int, target: Sequence[float], after: Sequence[float], is_over: bool, rate: float
    ) -> None:
        """One step towards the outputs after the play, by how much each of them counts."""
        inputs = self.inputs(board, side, side)
        outputs = [float(each) for each in self.answer(inputs)[1]]
        known = self.mask(board, side)
        weights = []
        if self.trial == "weighted":
            weights.append(self.chances(outputs, known))
        if self.trial == "weighted after" or (is_over and self.trial != "chances"):
            weights.append(list(after))
        for win, gammon, _, lost, _ in weights:
            condition = [1.0, win, gammon, 1 - win, lost]
            known = [each * weight for each, weight in zip(known, condition, strict=True)]
        moved = [at + weight * (to - at) for at, weight, to in zip(outputs, known, target, strict=True)]
        self.learn(inputs, moved, rate)


def excluded(board: Board) -> list[float]:
    """0 for each of a gammon and a backgammon, won and lost, that the rules exclude on a board, else 1."""
    found = []
    for seen in (board, flipped(board)):  # by the winner; the opponent's checkers on the bar are seen[0]
        theirs = {point: -count for point, count in enumerate(seen) if count < 0} | {0: seen[0]}
        rearmost = max(25 - point for point, count in theirs.items() if count)
        ours = max(point for point, count in enumerate(seen) if point and count > 0)
        is_gammon = sum(theirs.values()) == 15
        found += [float(is_gammon), float(is_gammon and (rearmost + ours > 24 or rearmost > 18))]
    return found


def numbers_of(weights: Floats, biases: Floats, units: int) -> list[Floats]:
    """Weights [input, unit] and [output, unit], and biases of units and outputs."""
    end = 198 * units
    return [weights[:end].reshape(198, units), weights[end:].reshape(5, units), biases[:units], biases[units:]]
