"""Slow reference implementation of rollouts: one block of 36 trials, from the definitions."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from bgdata.game.dice import ROLLS, Roll, roll_of
from bgdata.game.plays import legal_plays
from bgdata.game.position import Position
from tests.reference.networks import Chances, turned
from tests.reference.pubeval import likely_boards
from tests.reference.self_play import Board, flipped

# boards of a player on roll -> chances of each, and their source: 0 the rules, 1 an exact table, 2 any, others more
Evaluator = Callable[[Sequence[Board]], tuple[list[Chances], list[int]]]
Bits = Callable[[int, int], int]  # (stream, counter) -> 64 random bits


class Best(NamedTuple):
    """The best play of a roll."""

    board: Board  # after the best play, for the opponent
    chances: Chances  # chances of the player who has moved


class ReferenceRollouts:
    """Plays rollouts. Results for a position are cached.

    Luck uses the `likely` plays with the best PubEval scores, 0 for all plays.
    """

    def __init__(self, evaluate: Evaluator, bits: Bits, stop: int, turns: int, likely: int) -> None:
        self.evaluate, self.bits, self.stop, self.turns, self.likely = evaluate, bits, stop, turns, likely
        self.found: dict[tuple[int, ...], dict[Roll, Best]] = {}

    def stream(self, seed: int, item: int) -> int:
        """The stream of an item of a seed, or of a stream."""
        return self.bits(self.bits(seed, 0), item)

    def best_plays(self, board: Board) -> dict[Roll, Best]:
        """The plays of every roll that luck treats as best."""
        key = tuple(board)
        if key not in self.found:
            self.found[key] = {roll: self.best_play(board, roll, self.likely) for roll in ROLLS}
        return self.found[key]

    def best_play(self, board: Board, roll: Roll, likely: int = 0) -> Best:
        """The play, among all or the likely ones, that leaves the opponent the lowest equity. Ties go to the first
        play."""
        boards = [play.after_play.board for play in legal_plays(Position(board), roll)]
        after = [flipped(each) for each in likely_boards(board, boards, likely)]
        chances = self.evaluate(after)[0]
        equities = [2 * win - 1 + gammon + bg - lost - lost_bg for win, gammon, bg, lost, lost_bg in chances]
        best = equities.index(min(equities))
        return Best(after[best], turned(chances[best]))

    def order(self, stream: int) -> list[int]:
        """0 to 35, shuffled from the last place down: each is exchanged with one of the places up to it."""
        order = list(range(36))
        for place in range(35, 0, -1):
            other = (self.bits(stream, place) >> 32) * (place + 1) >> 32
            order[place], order[other] = order[other], order[place]
        return order

    def block(self, board: Board, seed: int, item: int, number: int) -> tuple[list[Chances], list[Chances]]:
        """(final chances, luck) of the 36 trials of a block, for the first player on roll."""
        stream = self.stream(seed, item)
        order = self.order(self.stream(stream, (1 << 40) + number // 36))
        ends, lucks = [], []
        for first in range(36):
            trial = self.stream(stream, 36 * number + first)
            end, luck = self.trial(board, trial, (first, order[(first + number) % 36]))
            ends.append(end)
            lucks.append(luck)
        return ends, lucks

    def trial(self, board: Board, stream: int, rolls: tuple[int, int]) -> tuple[Chances, Chances]:
        """(final chances, luck) of one game."""
        luck = [0.0] * 5
        for turn in range(self.turns or 10_000):
            if 0 <= self.evaluate([board])[1][0] <= self.stop:
                break
            place = rolls[turn] if turn < 2 else (self.bits(stream, turn) >> 32) * 36 >> 32
            best = self.best_plays(board)
            roll = roll_of(place // 6 + 1, place % 6 + 1)
            mean = [sum(r.weight * best[r].chances[k] for r in ROLLS) / 36 for k in range(5)]
            gained = [value - average for value, average in zip(best[roll].chances, mean, strict=True)]
            win, gammon, backgammon, lost_gammon, lost_backgammon = gained
            other = [-win, lost_gammon, lost_backgammon, gammon, backgammon]
            luck = [old + new for old, new in zip(luck, gained if turn % 2 == 0 else other, strict=True)]
            board = self.best_play(board, roll).board
        else:
            turn += 1
        end = self.evaluate([board])[0][0]
        return (end if turn % 2 == 0 else turned(end)), luck
