"""Slow reference implementation of the networks: inputs from their definitions, sums in Python integers, activations in
doubles."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from math import floor
from typing import Any, NamedTuple

from tests.reference import contact_inputs, race_inputs
from tests.reference.contact_inputs import sides

INPUT_SETS = ("tesauro-196", "tesauro-198", "race", "contact")  # in the order of their numbers
MAX_RECTIFIED = 8191 / 512  # largest output of a rectified unit
Chances = list[float]


def base_inputs(board: Sequence[int]) -> list[int]:
    """Tesauro's 196 inputs in units of 1/64."""
    own, other = sides(board)
    values = []
    for point in range(1, 25):
        for count in (own[point], other[25 - point]):
            values += [64 * (count >= 1), 64 * (count >= 2), 64 * (count >= 3), 32 * (count - 3) if count > 3 else 0]
    values += [32 * own[25], 32 * other[25]]
    return values + [round(64 * (15 - sum(row)) / 15) for row in (own, other)]


def inputs(input_set: str, board: Sequence[int]) -> list[int]:
    """All inputs of an input set in units of 1/64."""
    more = {
        "tesauro-196": lambda _: [],
        "tesauro-198": lambda _: [64, 0],  # the turn: always ours
        "race": race_inputs.inputs,
        "contact": contact_inputs.inputs,
    }
    return base_inputs(board) + more[input_set](board)


class Layers(NamedTuple):
    """One unpacked network, with integers, or with floats during learning."""

    input_set: str
    is_rectified: bool
    first: list[list[Any]]  # [input][unit]
    later: list[list[list[Any]]]  # [layer][unit][unit below]
    biases: list[list[Any]]  # [layer][unit]


def unpacked(arrays: Sequence[Any], which: int) -> Layers:
    """One network of (shapes, weights, biases) in the format described by the dataset."""
    shapes, weights, biases = (values.tolist() for values in arrays)
    input_set, n_inputs, place, bias, activation, n_layers, *sizes = shapes[which]
    packed, packed_biases = iter(weights[place:]), iter(biases[bias:])
    sizes = sizes[:n_layers]
    first = [[next(packed) for _ in range(sizes[0])] for _ in range(n_inputs)]
    later = [[[next(packed) for _ in range(below)] for _ in range(units)] for below, units in pairwise(sizes)]
    own_biases = [[next(packed_biases) for _ in range(units)] for units in sizes]
    return Layers(INPUT_SETS[input_set], activation == 1, first, later, own_biases)


def tangent(y: float) -> float:
    """Lambert's continued fraction of tanh (1761) with seven terms, with y limited to -4.97 to 4.97."""
    y = max(-4.97, min(4.97, y))
    below = 13.0
    for odd in (11, 9, 7, 5, 3, 1):
        below = odd + y * y / below
    return y / below


def logistic(x: float) -> float:
    """1 / (1 + e^-x), computed with `tangent`."""
    return 0.5 + 0.5 * tangent(x / 2)


def first_sums(layers: Layers, values: Sequence[int]) -> list[int]:
    """Sums of the first layer in units of 2^-18."""
    return [
        bias + sum(value * row[unit] for value, row in zip(values, layers.first, strict=True))
        for unit, bias in enumerate(layers.biases[0])
    ]


class Answer(NamedTuple):
    """Output of a network before the rules are applied, and the distance of a hidden unit, in its units, from being
    rounded differently: with single precision the kernel may then round the other way."""

    chances: Chances
    margin: float


def answer(layers: Layers, values: Sequence[int]) -> Answer:
    """The network's output for inputs in units of 1/64."""
    sums, unit, margin = first_sums(layers, values), 2.0**-18, 1.0
    for rows, biases in zip(layers.later, layers.biases[1:], strict=True):
        if layers.is_rectified:  # integers rounded half up: no kernel can differ
            hidden = [
                min(max(floor(Fraction(total) * Fraction(unit) * 2**9 + Fraction(1, 2)), 0), 8191) for total in sums
            ]
        else:
            exact = [2**13 * logistic(total * unit) for total in sums]
            hidden = [int(value + 0.5) for value in exact]
            margin = min(margin, *(abs((value % 1) - 0.5) for value in exact))
        sums = [
            bias + sum(weight * value for weight, value in zip(row, hidden, strict=True))
            for row, bias in zip(rows, biases, strict=True)
        ]
        unit = 2.0**-20 if layers.is_rectified else 2.0**-24
    return Answer([logistic(total * unit) for total in sums], margin)


def possible(board: Sequence[int]) -> list[bool]:
    """Which of win, win_gammon, win_backgammon, lose_gammon, lose_backgammon the rules allow."""
    own, other = sides(board)
    is_contact = any(own[p] and other[q] and p > 25 - q for p in range(1, 26) for q in range(1, 26))

    def lost(loser: Sequence[int]) -> list[bool]:
        has_all = sum(loser) == 15
        return [has_all, has_all and (is_contact or any(loser[19:]))]

    return [True, *lost(other), *lost(own)]


def limited(chances: Sequence[float], board: Sequence[int]) -> Chances:
    """Chances limited by the rules, and in order."""
    win, win_gammon, win_backgammon, lose_gammon, lose_backgammon = (
        chance * is_possible for chance, is_possible in zip(chances, possible(board), strict=True)
    )
    win_gammon, lose_gammon = min(win_gammon, win), min(lose_gammon, 1 - win)
    return [win, win_gammon, min(win_backgammon, win_gammon), lose_gammon, min(lose_backgammon, lose_gammon)]


def turned(chances: Sequence[float]) -> Chances:
    """The same chances from the other player's point of view."""
    win, win_gammon, win_backgammon, lose_gammon, lose_backgammon = chances
    return [1 - win, lose_gammon, lose_backgammon, win_gammon, win_backgammon]


def equity(chances: Sequence[float]) -> float:
    """Points per game with a cube of 1: every win and loss counts once, gammons and backgammons once more each."""
    win, win_gammon, win_backgammon, lose_gammon, lose_backgammon = chances
    return win - (1 - win) + win_gammon - lose_gammon + win_backgammon - lose_backgammon
