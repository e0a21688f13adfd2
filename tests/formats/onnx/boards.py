"""Boards for tests of graphs: from games, finished games, and crowded boards that are rare in games."""

import numpy as np

from bgdata.game.codec import Boards
from tests.random_games import random_game_positions


def crowded_boards(count: int, seed: int) -> Boards:
    """int8[count, 26]: random checkers of each side on a few points, the bar and off; some sides have no checkers
    left."""
    generator = np.random.default_rng(seed)
    boards = np.zeros((count, 26), np.int8)
    for board in boards:
        sides = generator.random(26) < generator.random()
        for sign, free, bar in ((1, sides, 25), (-1, ~sides, 0)):
            points = [*(point for point in range(1, 25) if free[point]), bar, -1]  # -1 is off
            chosen = generator.choice(points, generator.integers(1, 9))
            for place in generator.choice(chosen, 15).tolist():
                if place in (0, 25):
                    board[place] += 1
                elif place > 0:
                    board[place] += sign
    return boards


def all_boards(count: int, seed: int) -> Boards:
    """int8[n, 26]: positions of random games from the opening to the end, and `count` crowded boards."""
    return np.concatenate([random_game_positions(max(count // 80, 1), seed).boards, crowded_boards(count, seed)])
