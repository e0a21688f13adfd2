"""An exact referee: what checker plays lose in bearoffs that a two-sided table has solved, or in solved endgames.

The decisions in bearoffs are those of games that PubEval plays against itself, in the order in which they occur, so
that common ones count more: every position that the table covers, where its roll offers at least two different plays.
The loss of a choice is the cubeless equity after the best play less that after the choice, both from the table: nothing
is rolled out, so the only noise is the choice of decisions.

Games rarely come to so few checkers in contact as contact endgames have. So decisions in these are drawn: pairs of
layouts that have not passed each other, all equally likely, with a roll that offers at least two different plays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.endgames.layouts import Layouts, boards_of, layout_indexes
from bgdata.endgames.plays import DICE, WEIGHTS
from bgdata.endgames.solver import is_possible
from bgdata.errors import InvalidPositionError, UsageError
from bgdata.evaluation.bearoff_kernels import BearoffArrays, BearoffSource, bearoff_source, exact_cell, exact_equity
from bgdata.evaluation.player import PubEval
from bgdata.game.board import CHECKERS
from bgdata.game.board_kernels import outcome_of
from bgdata.game.classes import PASSED_PIPS
from bgdata.game.codec import Boards, flip_boards, flip_into
from bgdata.game.play_kernels import MOST_NOTES, MOST_PLAYS, batch_plays, fill_plays, play_counts
from bgdata.kernel import Array, kernel, prange
from bgdata.selfplay.games import self_play

GAMES = 512  # games played at a time
DRAWN = 4096  # pairs of layouts and rolls that are drawn at a time
MOST_GAMES = 1000  # games for each wanted decision: a table of few positions is rarely reached
_EXACT = int(BearoffSource.EXACT)


class Decisions(NamedTuple):
    """One row a decision; a position and roll may occur again."""

    boards: Boards  # [n, 26] before the roll, seen by the player on roll
    rolls: NDArray[np.int8]  # [n, 2]
    games: NDArray[np.int64]  # [n] that they are from: losses in one depend on one another


class Verdicts(NamedTuple):
    """One row a decision."""

    losses: NDArray[np.float64]  # [n] points behind the best play, 0 and up
    ranks: NDArray[np.int16]  # [n] plays that are better than the choice by more than the tolerance
    n_plays: NDArray[np.int16]  # [n] different plays of the roll
    best: Boards  # [n, 26] after the best play, the first of equals, the OPPONENT on roll


def exact_decisions(tables: BearoffArrays, count: int, seed: int) -> Decisions:
    """The first `count` decisions that the two-sided table covers, in games 0, 1, ... of a seed.

    They are the same on any number of threads. Raises UsageError for a count below 1, for numbers beyond 2^63 - 1, and
    if the table covers so few positions that MOST_GAMES games a decision do not reach them.
    """
    if count < 1:
        raise UsageError(f"expected at least 1 decision, got {count}")
    found: list[Decisions] = []
    missing, most = count, MOST_GAMES * count
    for first in range(0, most, GAMES):
        games = self_play(PubEval().chooser, min(GAMES, most - first), seed, first)
        is_covered = np.empty(len(games.boards), np.bool_)
        fill_covered(tables, games.boards, games.dice, is_covered)
        rows = np.flatnonzero(is_covered)[:missing]
        numbers = first + np.searchsorted(games.offsets, rows, side="right") - 1
        found.append(Decisions(games.boards[rows], games.dice[rows], numbers))
        missing -= len(rows)
        if missing == 0:
            return Decisions(*map(np.concatenate, zip(*found, strict=True)))
    raise UsageError(
        f"expected a table that covers {count} decisions of {most} games, found one that covers {count - missing}"
    )


def verdicts(tables: BearoffArrays, decisions: Decisions, chosen: Boards, tolerance: float) -> Verdicts:
    """What int8[n, 26] choices, positions after the play with the OPPONENT on roll, lose in covered decisions.

    Plays within `tolerance` points, the table's rounding, are equally good for ranks. Raises InvalidPositionError for a
    choice that no legal play leads to.
    """
    count = len(decisions.boards)
    losses, ranks, n_plays = np.empty(count, np.float64), np.empty(count, np.int16), np.empty(count, np.int16)
    found = Verdicts(losses, ranks, n_plays, np.empty((count, 26), np.int8))
    choices = np.ascontiguousarray(chosen)
    fill_verdicts(tables, decisions.boards, decisions.rolls, choices, tolerance, losses, ranks, n_plays, found.best)
    _check_legal(decisions, chosen, found.ranks >= 0)
    return found


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
    _check_legal(decisions, chosen, choices < offsets[1:])
    is_better = values > np.repeat(values[choices], counts) + tolerance
    ranks = np.add.reduceat(is_better.astype(np.int16), offsets[:-1])
    return Verdicts(values[tops] - values[choices], ranks.astype(np.int16), counts.astype(np.int16), turned[tops])


def _check_legal(decisions: Decisions, chosen: Boards, is_legal: NDArray[np.bool_]) -> None:
    """Raise InvalidPositionError for the first choice that no legal play leads to."""
    if not is_legal.all():
        row = int(is_legal.argmin())
        raise InvalidPositionError(
            f"expected a legal play of {decisions.rolls[row].tolist()} from {decisions.boards[row].tolist()}, "
            f"got {chosen[row].tolist()}"
        )


@kernel(parallel=True)
def fill_covered(tables: BearoffArrays, boards: Boards, dice: NDArray[np.int8], is_covered: NDArray[np.bool_]) -> None:
    """Fills is_covered[row]: whether the table covers boards[row, slot] and dice[row, 0:2] offer two plays."""
    block = 64  # rows that share one scratch array
    for part in prange((len(boards) + block - 1) // block):
        notes, nowhere = np.empty(MOST_NOTES, np.int64), np.empty((0, 26), np.int8)
        for row in range(part * block, min(len(boards), (part + 1) * block)):
            is_covered[row] = False
            if bearoff_source(tables, boards[row]) == _EXACT:
                is_covered[row] = fill_plays(boards[row], dice[row, 0], dice[row, 1], nowhere, notes) > 1


@kernel(parallel=True)
def fill_verdicts(
    tables: BearoffArrays,
    boards: Boards,
    dice: NDArray[np.int8],
    chosen: Boards,
    tolerance: float,
    losses: NDArray[np.float64],
    ranks: NDArray[np.int16],
    n_plays: NDArray[np.int16],
    best: Boards,
) -> None:
    """Fills losses[row], ranks[row] (-1: no play leads to chosen[row, slot]), n_plays[row] and best[row, slot]."""
    block = 64
    for part in prange((len(boards) + block - 1) // block):
        after, notes = np.empty((MOST_PLAYS, 26), np.int8), np.empty(MOST_NOTES, np.int64)
        values = np.empty(MOST_PLAYS, np.float64)
        for row in range(part * block, min(len(boards), (part + 1) * block)):
            n = fill_plays(boards[row], dice[row, 0], dice[row, 1], after, notes)
            fill_exact_values(tables, after[:n], values)
            top, choice = 0, -1
            for play in range(n):
                if values[play] > values[top]:
                    top = play
                if choice < 0 and is_turned(after[play], chosen[row]):
                    choice = play
            n_plays[row], ranks[row], losses[row] = n, -1, np.nan
            flip_into(after[top], best[row])
            if choice >= 0:
                losses[row] = values[top] - values[choice]
                ranks[row] = (values[:n] > values[choice] + tolerance).sum()


@kernel()
def fill_exact_values(tables: BearoffArrays, after: Boards, values: NDArray[np.float64]) -> None:
    """Fills values[play] with the exact equity of the player who moved to after[play, slot], which it still sees."""
    turned = np.empty(26, np.int8)
    for play in range(len(after)):
        values[play] = outcome_of(after[play], CHECKERS)
        if values[play] == 0:
            flip_into(after[play], turned)
            values[play] = -exact_equity(tables, exact_cell(tables, turned))


@kernel()
def is_turned(board: Boards, turned: Boards) -> bool:
    """Whether turned[slot] is board[slot] seen by the other player."""
    is_same: bool = turned[0] == board[25] and turned[25] == board[0]
    for point in range(1, 25):
        is_same &= turned[point] == -board[25 - point]
    return is_same
