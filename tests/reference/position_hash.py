"""Slow reference implementations of `game.position_hash` and of the feed's shuffling, with Python integers."""

from collections.abc import Sequence

MASK = (1 << 64) - 1


def splitmix(seed: int, number: int) -> int:
    """Output `number`, from 0, of the generator splitmix64 with this seed."""
    bits = (seed + (number + 1) * 0x9E3779B97F4A7C15) & MASK
    bits = ((bits ^ bits >> 30) * 0xBF58476D1CE4E5B9) & MASK
    bits = ((bits ^ bits >> 27) * 0x94D049BB133111EB) & MASK
    return bits ^ bits >> 31


def flipped(board: Sequence[int]) -> list[int]:
    """The board from the other player's point of view."""
    return [board[25], *(-board[25 - point] for point in range(1, 25)), board[0]]


def position_hash(board: Sequence[int]) -> int:
    """The hash of a board and of its flip."""
    sums = [sum(count * splitmix(0, slot) for slot, count in enumerate(seen)) for seen in (board, flipped(board))]
    return splitmix(sum(splitmix(value & MASK, 0) for value in sums) & MASK, 0)


def shuffled(key: Sequence[int], count: int) -> list[int]:
    """0 to count - 1, shuffled by the Fisher-Yates method with the random numbers of a key."""
    stream = 0
    for part in key:
        stream = splitmix(splitmix((stream + part) & MASK, 0), 0)
    places = list(range(count))
    for last in range(count - 1, 0, -1):
        other = (splitmix(stream, last) >> 32) * (last + 1) >> 32
        places[last], places[other] = places[other], places[last]
    return places
