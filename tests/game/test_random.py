"""Counter-based random numbers: published values of splitmix64, fair dice, distinct streams."""

from collections import Counter

import numpy as np

from bgdata.game.random import dice_of, high_below, low_below, opening_dice_of, random_bits, random_stream

# first numbers of splitmix64 with seed 1234567, printed by other implementations
PUBLISHED = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821]


def test_numbers_match_published_ones() -> None:
    assert [random_bits(np.uint64(1234567), counter) for counter in range(5)] == PUBLISHED


def test_dice_are_fair() -> None:
    counts = Counter(map(dice_of, numbers(7, 36_000)))
    assert len(counts) == 36
    assert chi_squared(counts, 1000) < 80  # 35 degrees of freedom: above 80 once in 50,000 streams


def test_opening_dice_are_never_double() -> None:
    counts = Counter(map(opening_dice_of, numbers(8, 30_000)))
    assert len(counts) == 30
    assert not any(die == other_die for die, other_die in counts)
    assert chi_squared(counts, 1000) < 70


def test_dice_and_choices_are_independent() -> None:
    counts = Counter((high_below(bits, 6), low_below(bits, 5)) for bits in numbers(9, 30_000))
    assert len(counts) == 30
    assert chi_squared(counts, 1000) < 70


def test_streams_differ() -> None:
    assert len({int(random_stream(seed, item)) for seed in range(30) for item in range(30)}) == 900


def numbers(seed: int, count: int) -> list[np.uint64]:
    """The first numbers of stream 0 as uint64; kernels return Python integers."""
    stream = np.uint64(random_stream(seed, 0))
    return [np.uint64(random_bits(stream, counter)) for counter in range(count)]


def chi_squared(counts: Counter[tuple[int, int]], expected: int) -> float:
    return sum((count - expected) ** 2 / expected for count in counts.values())
