"""An exact referee of contact: what checker plays lose in endgames that are solved, hits included.

Games rarely come to so few checkers in contact, so decisions are drawn: pairs of layouts that have not passed each
other, all equally likely, with a roll that offers at least two different plays. Losses are as in `referee`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bgdata.endgames.layouts import Layouts, boards_of, layout_indexes
from bgdata.endgames.plays import DICE, WEIGHTS
from bgdata.endgames.solver import is_possible
from bgdata.errors import InvalidPositionError, UsageError
from bgdata.game.classes import PASSED_PIPS
from bgdata.game.codec import Boards, flip_boards
from bgdata.game.play_kernels import batch_plays, play_counts
from bgdata.kernel import Array
from bgdata.play.referee import Decisions, Verdicts

DRAWN = 4096  # pairs and rolls at a time


def is_in_contact(layouts: Layouts) -> NDArray[np.bool_]:
    """bool[on roll, opponent]: pairs that share no point, neither side empty, that can still hit or block."""
    rearmost = np.where(layouts.counts > 0, np.arange(1, layouts.counts.shape[1] + 1), 0).max(axis=1)
    found: NDArray[np.bool_] = is_possible(layouts) & (rearmost[:, None] + rearmost[None, :] > PASSED_PIPS)
    found[0], found[:, 0] = False, False
    return found


def contact_decisions(layouts: Layouts, count: int, seed: int) -> Decisions:
    """The first `count` decisions of a seed, drawn with the chances of rolls, each as if of a game of its own. Raises
    UsageError for a count below 1."""
    if count < 1:
        raise UsageError(f"expected at least 1 decision, got {count}")
    pairs = np.argwhere(is_in_contact(layouts))
    generator, found, missing = np.random.default_rng(seed), list[tuple[Boards, Boards]](), count
    while missing > 0:
        chosen = pairs[generator.integers(0, len(pairs), DRAWN)]
        rolls = DICE[generator.choice(len(DICE), DRAWN, p=WEIGHTS / WEIGHTS.sum())].astype(np.int8)
        boards = boards_of(layouts.counts[chosen[:, 0]], layouts.counts[chosen[:, 1]])
        rows = np.flatnonzero(play_counts(boards, rolls) > 1)[:missing]
        found.append((boards[rows], rolls[rows]))
        missing -= len(rows)
    boards, rolls = map(np.concatenate, zip(*found, strict=True))
    return Decisions(boards, rolls, np.arange(count))


def contact_verdicts(equities: Array, decisions: Decisions, chosen: Boards, tolerance: float) -> Verdicts:
    """What int8[n, 26] choices, positions after the play with the OPPONENT on roll, lose by cubeless equities
    [on roll, opponent, column]. Raises InvalidPositionError for a choice that no legal play leads to."""
    offsets, after = batch_plays(decisions.boards, decisions.rolls)
    turned = flip_boards(after)
    values = -np.asarray(equities[(*layout_indexes(turned), 0)], np.float64)
    counts = np.diff(offsets)
    best = np.maximum.reduceat(values, offsets[:-1])
    first = np.flatnonzero(values == np.repeat(best, counts))
    tops = first[np.searchsorted(first, offsets[:-1])]
    same = np.flatnonzero((turned == np.repeat(chosen, counts, axis=0)).all(axis=1))
    choices = np.append(same, len(values))[np.searchsorted(same, offsets[:-1])]
    wrong = np.flatnonzero(choices >= offsets[1:])
    if len(wrong):
        row = int(wrong[0])
        raise InvalidPositionError(
            f"expected a legal play of {decisions.rolls[row].tolist()} from {decisions.boards[row].tolist()}, "
            f"got {chosen[row].tolist()}"
        )
    is_better = values > np.repeat(values[choices], counts) + tolerance
    ranks = np.add.reduceat(is_better.astype(np.int16), offsets[:-1])
    return Verdicts(values[tops] - values[choices], ranks.astype(np.int16), counts.astype(np.int16), turned[tops])
