"""Random numbers for kernels. They are a hash of (seed, item, counter) without shared state, so threads do not change
them.

Each item, such as a game, has its own splitmix64 generator (Steele, Lea and Flood, 2014), which can start at any
counter.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bgdata.kernel import kernel

GAMMA = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_U27, _U30, _U31, _U32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
_LOW_HALF = np.uint64(0xFFFFFFFF)


def mix_bits(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix the bits of each number in an array with the finalizer of splitmix64, a bijection. Each input bit changes
    about half of the output bits."""
    with np.errstate(over="ignore"):
        bits = (bits ^ (bits >> _U30)) * _FIRST
        bits = (bits ^ (bits >> _U27)) * _SECOND
    return bits ^ (bits >> _U31)


@kernel()
def random_bits(stream: np.uint64, counter: int) -> np.uint64:
    """Return number `counter`, from 0, of a stream of random 64-bit numbers: the output of splitmix64 seeded with
    `stream`."""
    bits = stream + (np.uint64(counter) + np.uint64(1)) * GAMMA
    bits = (bits ^ (bits >> _U30)) * _FIRST
    bits = (bits ^ (bits >> _U27)) * _SECOND
    return bits ^ (bits >> _U31)


@kernel()
def random_stream(seed: int, item: int) -> np.uint64:
    """Return the stream of random numbers for one item: a seed for `random_bits`, far from the streams of other items
    and seeds."""
    return random_bits(random_bits(np.uint64(seed), 0), item)


@kernel()
def high_below(bits: np.uint64, count: int) -> int:
    """Return a random number from 0 to count - 1, from the upper 32 of 64 random bits. The chances of two numbers
    differ by less than 2^-32."""
    return int(((bits >> _U32) * np.uint64(count)) >> _U32)


@kernel()
def low_below(bits: np.uint64, count: int) -> int:
    """Return a random number from 0 to count - 1, from the lower 32 of 64 random bits, independent of `high_below`."""
    return int(((bits & _LOW_HALF) * np.uint64(count)) >> _U32)


@kernel()
def dice_of(bits: np.uint64) -> tuple[int, int]:
    """Roll two dice, from the upper 32 of 64 random bits."""
    roll = high_below(bits, 36)
    return roll // 6 + 1, roll % 6 + 1


@kernel()
def opening_dice_of(bits: np.uint64) -> tuple[int, int]:
    """Roll two different dice for the first roll of a game, from the upper 32 of 64 random bits."""
    roll = high_below(bits, 30)
    die, other_die = roll // 5 + 1, roll % 5 + 1
    return die, other_die + (other_die >= die)
