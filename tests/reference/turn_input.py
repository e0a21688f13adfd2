"""Slow reference implementation of networks with the turn as input: one game after the other, in double precision."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bgdata.game.dice import roll_of
from bgdata.game.plays import legal_plays
from bgdata.game.position import START, Position
from tests.reference.games import Board, dice, points_lost
from tests.reference.networks import base_inputs, equity, logistic, turned

MAX_TURNS = 400
ARMS = ("dice kept", "dice passed", "no input")
squashed = np.vectorize(logistic)
Floats = NDArray[np.float64]


class Network:
    """One hidden layer, and the five chances of player 0."""

    def __init__(self, arm: str, *numbers: NDArray[np.floating]) -> None:
        """From weights [input, unit] and [output, unit], and biases of units and outputs."""
        self.arm = arm
        self.numbers = [values.astype(np.float64) for values in numbers]

    def inputs(self, board: Board, side: int, on_roll: int) -> Floats:
        """Tesauro's 198 inputs of a board as `side` sees it."""
        told = [0, 0] if self.arm == "no input" else [64 * (on_roll == player) for player in (0, 1)]
        return np.array(base_inputs(board if side == 0 else flipped(board)) + told) / 64

    def answer(self, inputs: Floats) -> tuple[Floats, Floats]:
        """(outputs of hidden units, chances)."""
        first, later, hidden, biases = self.numbers
        units = squashed(inputs @ first + hidden)
        return units, squashed(later @ units + biases)

    def learn(self, inputs: Floats, target: Sequence[float], rate: float) -> None:
        """One step of gradient descent for half the squared error."""
        first, later, hidden, biases = self.numbers
        units, chances = self.answer(inputs)
        delta = (np.array(target) - chances) * chances * (1 - chances)
        below = (later.T @ delta) * units * (1 - units)
        later += rate * np.outer(delta, units)
        biases += rate * delta
        first += rate * np.outer(inputs, below)
        hidden += rate * below

    def seen_after(self, board: Board, side: int) -> list[float]:
        """The chances of player 0 on a board, as `side` sees it, after a play of `side`."""
        if not any(count > 0 for count in board[1:]):
            points = points_lost(board)
            won = [1.0, float(points > 1), float(points > 2), 0.0, 0.0]
            return won if side == 0 else turned(won)
        on_roll = side if self.arm == "dice kept" else 1 - side
        return [float(chance) for chance in self.answer(self.inputs(board, side, on_roll))[1]]

    def play(self, seed: int, game: int, rate: float) -> tuple[int, int]:
        """Play a game and learn from each turn. Returns (points, turns). A game is stopped after MAX_TURNS with 0
        points."""
        board, side = list(START.board), game % 2
        for turn in range(MAX_TURNS):
            roll = roll_of(*dice(seed, 2 * game, turn))  # there pairs of games share dice, here they do not
            after = [list(play.after_play.board) for play in legal_plays(Position(board), roll)]
            seen = [self.seen_after(each, side) for each in after]
            best = max(range(len(after)), key=lambda row: equity(seen[row] if side == 0 else turned(seen[row])))
            self.learn(self.inputs(board, side, side), seen[best], rate)
            if not any(count > 0 for count in after[best][1:]):
                return points_lost(after[best]), turn + 1
            board, side = flipped(after[best]), 1 - side
        return 0, MAX_TURNS


def flipped(board: Board) -> Board:
    """The board as the other player sees it."""
    return [board[25], *(-count for count in board[24:0:-1]), board[0]]
