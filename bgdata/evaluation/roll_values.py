"""The value of each of the 21 rolls. It is used for luck, rollouts with variance reduction, networks that look ahead in
a kernel, and local volatility.

The value of a roll is the value of the position after the best play. The luck of a roll is its value minus the mean
over all 21 rolls, by the same player at the same ply. So luck is exactly zero on average, however well the player plays
(Zare, "A Measure of Luck" and "Hedging toward skill", GammonVillage 2000). The first roll of a game is never a double,
so its mean is over the other 15 rolls.

Luck is also zero on average if only some plays are evaluated. Most plays of a roll need no network: PubEval, with its
weights for contact or for races, selects the likely plays in a fraction of the time. Values at 1-ply and 2-ply from 18
plays differ from the values from all plays by 0.0007 and 0.0010 points in positions of self-play (root mean square). In
reference positions they differ by 0.0037 and 0.0042, mostly in races where a side must save a backgammon. From 12 plays
they differ by 0.0016 in self-play, and from 8 plays by 0.004. Rollouts are most accurate for their time with 6 to 12
plays."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import UsageError
from bgdata.evaluation.answers import CubeStakes, Scratch, fill_all_chances, fill_chances, lowest_play, new_scratch
from bgdata.evaluation.bearoff_kernels import BearoffArrays
from bgdata.evaluation.chances import LAST_FINAL, Chances, Evaluations, Evaluator, equity_of, fill_turned
from bgdata.evaluation.lookahead import LIKELY, best_replies, evaluate_ahead
from bgdata.evaluation.networks.inference import Networks
from bgdata.evaluation.pubeval import NO_SCORES, ScoreTables, is_nearly_off, is_off, published_tables, score
from bgdata.game.board import CHECKERS
from bgdata.game.board_kernels import class_of, game_outcomes, outcome_of
from bgdata.game.classes import PositionClass, check_in_progress
from bgdata.game.codec import Boards, flip_into
from bgdata.game.dice import ROLLS
from bgdata.game.play_kernels import MAX_NOTES, MAX_PLAYS, Notes, fill_plays
from bgdata.game.position import Position
from bgdata.game.position_hash import Hashes, board_hash
from bgdata.game.rolls import CHANCES, DICE, WAYS
from bgdata.kernel import in_threads, kernel

OF_LUCK = 8  # number of likely plays for the luck of rolls in games
BUCKETS = 4096  # buckets in the hash table of positions that several rolls reach
FULL = 2048  # positions after which the table is no longer searched
MAX_LIKELY = 21  # greatest number of likely plays in the parameters of a dataset
_LOWEST, _HIGHEST, _RACE = -(1 << 62), 1 << 62, int(PositionClass.RACE)
# by high * 6 + low - 7: the index in ROLLS
_PLACES = np.zeros(36, np.int64)
for _place, _roll in enumerate(ROLLS):
    _PLACES[_roll.high * 6 + _roll.low - 7] = _PLACES[_roll.low * 6 + _roll.high - 7] = _place


class LikelyPlays(NamedTuple):
    """Which plays of a roll to evaluate: the `most` plays with the highest PubEval scores, or all plays if `most` is
    0."""

    most: int
    scores: ScoreTables


ALL_PLAYS = LikelyPlays(0, NO_SCORES)


class Sight(NamedTuple):
    """The data for looking ahead: the networks and tables that evaluate, and the plays that are considered."""

    networks: Networks
    tables: BearoffArrays
    likely: LikelyPlays


def likely_plays(most: int = LIKELY) -> LikelyPlays:
    """Make a `LikelyPlays` of the `most` plays of a roll, 0 for all. Raises UsageError for a number out of range."""
    if not 0 <= most <= MAX_LIKELY:
        raise UsageError(f"expected 1 to {MAX_LIKELY} likely plays of a roll, or 0 for all, got {most}")
    return LikelyPlays(most, published_tables())


class RollScratch(NamedTuple):
    """Scratch memory for one thread, and the results for one position."""

    evaluation: Scratch
    after: Boards  # [MAX_PLAYS, 26] boards after the plays of one roll
    notes: Notes
    scores: NDArray[np.int64]  # [MAX_PLAYS] PubEval scores
    picked: NDArray[np.int64]  # [MAX_PLAYS] rows of the likely plays of one roll
    plays: Boards  # [21 * MAX_PLAYS, 26] positions to evaluate, each once
    hashes: Hashes  # [21 * MAX_PLAYS] hashes of `plays`
    chances: Chances  # [21 * MAX_PLAYS, 5] chances of the OPPONENT in each of `plays`
    sources: NDArray[np.int8]  # [21 * MAX_PLAYS]
    buckets: NDArray[np.int16]  # [BUCKETS] by hash: 1 plus the row of a position, or 0
    rows: NDArray[np.int64]  # [22 * MAX_PLAYS] rows of each roll's likely plays; then of all plays of the played roll
    ends: NDArray[np.int64]  # [22] end of each roll in `rows`
    best: Boards  # [21, 26] boards after the best play of each roll, for the player who moved
    values: Chances  # [21, 5] chances of that player after the best play
    mean: NDArray[np.float64]  # [5] mean of the chances over all rolls
    played: Boards  # [26] board after the best play of the played roll, for the player who moved
    after_played: Chances  # [5] chances of the OPPONENT after `played`


class PlayArrays(NamedTuple):
    """The arrays of `RollScratch` that `find_or_add_row` needs. That function is called often, and each array argument
    takes time."""

    plays: Boards  # [21 * MAX_PLAYS, 26]
    hashes: Hashes  # [21 * MAX_PLAYS]
    buckets: NDArray[np.int16]  # [BUCKETS]


@kernel()
def new_roll_scratch(networks: Networks) -> RollScratch:
    """Allocate scratch memory for one thread."""
    most = len(DICE) * MAX_PLAYS
    return RollScratch(
        new_scratch(networks),
        np.empty((MAX_PLAYS, 26), np.int8),
        np.empty(MAX_NOTES, np.int64),
        np.empty(MAX_PLAYS, np.int64),
        np.empty(MAX_PLAYS, np.int64),
        np.empty((most, 26), np.int8),
        np.empty(most, np.uint64),
        np.empty((most, 5), np.float32),
        np.empty(most, np.int8),
        np.empty(BUCKETS, np.int16),
        np.empty(most + MAX_PLAYS, np.int64),
        np.empty(len(DICE) + 1, np.int64),
        np.empty((len(DICE), 26), np.int8),
        np.empty((len(DICE), 5), np.float32),
        np.empty(5, np.float64),
        np.empty(26, np.int8),
        np.empty(5, np.float32),
    )


@kernel(borrows=True)
def roll_place(die: int, other_die: int) -> int:
    """The index in `dice.ROLLS` of the roll with these dice."""
    return int(_PLACES[die * 6 + other_die - 7])


@kernel(borrows=True)
def fill_roll_values(
    networks: Networks,
    tables: BearoffArrays,
    likely: LikelyPlays,
    board: Boards,
    scratch: RollScratch,
    stakes: CubeStakes | None = None,
    played: int = -1,
) -> None:
    """Compute the value of each of the 21 rolls for a board before the roll, from all plays or the likely plays. Fills
    scratch.best[roll], scratch.values[roll, 0:5] and scratch.mean[0:5].

    The best play is the one that `answers.choose_by_chances` chooses at these stakes. If `played` is the index of a
    roll, scratch.played and scratch.after_played[0:5] are filled with the best of all plays of that roll."""
    n = collect_plays(likely, board, scratch, played)
    plays, chances, sources = scratch.plays, scratch.chances, scratch.sources
    fill_all_chances(networks, tables, plays, 0, n, True, scratch.evaluation, chances, sources)
    begin = 0
    for item in range(5):
        scratch.mean[item] = 0.0
    for roll in range(len(scratch.ends)):
        end = scratch.ends[roll]
        if begin == end:
            continue  # the last iteration, if no roll is played
        rows = scratch.rows[begin:end]
        best = lowest_play(tables, plays, rows, chances, sources, scratch.evaluation.board, stakes)
        begin = end
        if roll == len(DICE):
            for slot in range(26):
                scratch.played[slot] = plays[best, slot]
            for item in range(5):
                scratch.after_played[item] = chances[best, item]
            continue
        for slot in range(26):
            scratch.best[roll, slot] = plays[best, slot]
        fill_turned(chances[best], scratch.values[roll])
        for item in range(5):
            scratch.mean[item] += CHANCES[roll] * scratch.values[roll, item]


@kernel(borrows=True)
def collect_plays(likely: LikelyPlays, board: Boards, scratch: RollScratch, played: int) -> int:
    """Collect the positions to evaluate after all rolls from a board. Fills scratch.plays[0:n] with the positions, and
    scratch.rows and scratch.ends with the rows of each roll. Returns n."""
    for bucket in range(BUCKETS):
        scratch.buckets[bucket] = 0
    kind, can_finish, n, end, of_played = int(class_of(board) <= _RACE), is_nearly_off(board), 0, 0, 0
    after, all_rows = scratch.after, scratch.rows[len(DICE) * MAX_PLAYS :]
    found = PlayArrays(scratch.plays, scratch.hashes, scratch.buckets)
    for roll in range(len(DICE)):
        count = fill_plays(board, DICE[roll, 0], DICE[roll, 1], after, scratch.notes)
        picked = pick_likely(likely, kind, can_finish, after, count, scratch.scores, scratch.picked)
        for place in range(picked):
            scratch.rows[end + place], n = find_or_add_row(after[scratch.picked[place]], found, n)
        end += picked
        scratch.ends[roll] = end
        if roll == played:
            of_played = count
            for play in range(count):
                all_rows[play], n = find_or_add_row(after[play], found, n)
    for play in range(of_played):
        scratch.rows[end + play] = all_rows[play]
    scratch.ends[len(DICE)] = end + of_played
    return n


@kernel(borrows=True)
def find_or_add_row(board: Boards, found: PlayArrays, n: int) -> tuple[int, int]:
    """Find the row of `board` among the first n of found.plays, and return it with the new number of rows. A missing
    board is added. If there are many rows, the board is added without searching."""
    its_hash = board_hash(board)
    bucket = int(np.int64(its_hash % np.uint64(BUCKETS)))
    while n < FULL and found.buckets[bucket] > 0:
        row = int(found.buckets[bucket]) - 1
        if found.hashes[row] == its_hash and are_equal_boards(found.plays[row], board):
            return row, n
        bucket = (bucket + 1) % BUCKETS
    if n < FULL:
        found.buckets[bucket] = n + 1
    found.hashes[n] = its_hash
    for slot in range(26):
        found.plays[n, slot] = board[slot]
    return n, n + 1


@kernel(borrows=True)
def are_equal_boards(board: Boards, other: Boards) -> bool:
    """Whether two boards are equal."""
    difference = 0
    for slot in range(26):
        difference |= board[slot] ^ other[slot]
    return difference == 0


@kernel(borrows=True)
def pick_likely(
    likely: LikelyPlays,
    kind: int,
    can_finish: bool,
    after: Boards,
    n: int,
    scores: NDArray[np.int64],
    picked: NDArray[np.int64],
) -> int:
    """Pick plays among after[0:n], the boards after each play. Fills picked[0:k] with their rows, and returns k.

    All plays are picked if likely.most is 0 or at least n. Otherwise the plays with the highest PubEval scores for
    contact (kind 0) or a race (kind 1) are picked, the highest first. Equal plays keep their order. If `can_finish`, a
    play that ends the game has the highest score."""
    most = likely.most
    if not 0 < most < n:
        for play in range(n):
            picked[play] = play
        return n
    for play in range(n):
        scores[play] = _HIGHEST if can_finish and is_off(after, play) else score(likely.scores, kind, after, play)
    for place in range(most):
        highest = 0
        for play in range(1, n):
            if scores[play] > scores[highest]:
                highest = play
        scores[highest] = _LOWEST
        picked[place] = highest
    return most


@kernel(borrows=True)
def mean_equity(scratch: RollScratch, is_opening: bool) -> float:
    """Return the mean equity over all rolls in scratch.values, which `fill_roll_values` fills. Before the first roll of
    a game, the mean is over the rolls that are not doubles."""
    total, n = 0.0, 0
    for roll in range(len(DICE)):
        is_double = DICE[roll, 0] == DICE[roll, 1]
        if not (is_double and is_opening):
            ways = 1 if is_double else 2
            total += ways * equity_of(scratch.values[roll])
            n += ways
    return total / n


class TreeScratch(NamedTuple):
    """Scratch memory for one thread. A depth is the number of rolls from the root position."""

    rolls: RollScratch
    replies: Boards  # [depth, 21, 26] boards after the best play of each roll, the opponent on roll
    places: NDArray[np.int64]  # [depth] number of finished rolls
    totals: NDArray[np.float64]  # [depth, 5] 36 times the mean chances of the player on roll, for those rolls
    turned: Chances  # [5]


@kernel()
def new_tree_scratch(networks: Networks, ply: int) -> TreeScratch:
    """Allocate scratch memory for one thread that looks `ply` rolls ahead."""
    return TreeScratch(
        new_roll_scratch(networks),
        np.empty((ply, len(WAYS), 26), np.int8),
        np.empty(ply, np.int64),
        np.empty((ply, 5), np.float64),
        np.empty(5, np.float32),
    )


def evaluations_ahead(
    networks: Networks, tables: BearoffArrays, boards: Boards, ply: int, likely: LikelyPlays = ALL_PLAYS
) -> Evaluations:
    """Evaluate legal int8[n, 26] boards before the roll at a ply of 1 or more, from all plays or the `likely` plays.
    The sources are those of the static evaluations. From all plays, evaluations equal those of
    `lookahead.evaluate_ahead` with any evaluator, to the last bit, whatever the number of threads. Raises UsageError
    for a lower ply."""
    if ply < 1:
        raise UsageError(f"expected a ply of 1 or more to look ahead, got {ply}")
    found = Evaluations(np.empty((len(boards), 5), np.float32), np.empty(len(boards), np.int8))
    in_threads(fill_evaluations_ahead, len(boards), Sight(networks, tables, likely), ply, boards, *found)
    return found


@kernel()
def fill_evaluations_ahead(
    begin: int, end: int, sight: Sight, ply: int, boards: Boards, chances: Chances, sources: NDArray[np.int8]
) -> None:
    """Fill chances[row] and sources[row] of boards[row] at a ply, for the rows begin to end - 1."""
    scratch = new_tree_scratch(sight.networks, ply)
    for row in range(begin, end):
        sources[row] = fill_chances_at(sight, ply, boards[row], scratch, chances[row])


@kernel(borrows=True)
def fill_chances_at(sight: Sight, ply: int, board: Boards, scratch: TreeScratch, chances: Chances) -> int:
    """Fill chances[0:5] of a board at a ply of 0 or more, and return the `AnswerSource` number of the static
    evaluation."""
    source = fill_chances(sight.networks, sight.tables, board, scratch.rolls.evaluation, chances)
    if ply > 0 and source > LAST_FINAL:
        fill_ahead(sight, ply, board, scratch, chances)
    return source


@kernel(borrows=True)
def fill_ahead(sight: Sight, ply: int, board: Boards, scratch: TreeScratch, chances: Chances) -> None:
    """Fill chances[0:5] of a board whose static evaluation is not final, by looking `ply` rolls ahead: depth first,
    without recursion."""
    enter_position(sight, board, 0, ply, scratch)
    depth = 0
    while True:
        if scratch.places[depth] == len(WAYS):
            for item in range(5):
                chances[item] = np.float32(scratch.totals[depth, item] / 36)
            if depth == 0:
                return
            depth -= 1
            add_reply(chances, depth, scratch)
            continue
        reply = scratch.replies[depth, scratch.places[depth]]
        if fill_chances(sight.networks, sight.tables, reply, scratch.rolls.evaluation, chances) <= LAST_FINAL:
            add_reply(chances, depth, scratch)
        else:
            depth += 1
            enter_position(sight, reply, depth, ply, scratch)


@kernel(borrows=True)
def enter_position(sight: Sight, board: Boards, depth: int, ply: int, scratch: TreeScratch) -> None:
    """Begin with a position at a depth: fill scratch.replies[depth] with the boards after the best play of each roll,
    and reset the count of finished rolls. At the last depth also fill scratch.totals[depth, 0:5] for all rolls."""
    rolls, total = scratch.rolls, scratch.totals[depth]
    fill_roll_values(sight.networks, sight.tables, sight.likely, board, rolls)
    for item in range(5):
        total[item] = 0.0
    scratch.places[depth] = len(WAYS) if depth == ply - 1 else 0
    for roll in range(len(WAYS)):
        if depth == ply - 1:
            for item in range(5):
                total[item] += WAYS[roll] * rolls.values[roll, item]
        else:
            flip_into(rolls.best[roll], scratch.replies[depth, roll])


@kernel(borrows=True)
def add_reply(chances: Chances, depth: int, scratch: TreeScratch) -> None:
    """Add the value of the next roll to scratch.totals[depth, 0:5] and count the roll as finished. chances[0:5] are
    those of the opponent after the roll."""
    fill_turned(chances, scratch.turned)
    ways = WAYS[scratch.places[depth]]
    for item in range(5):
        scratch.totals[depth, item] += ways * scratch.turned[item]
    scratch.places[depth] += 1


def chances_in_two_rolls(evaluator: Evaluator, position: Position) -> NDArray[np.float64]:
    """Compute the winning chance of the player on roll after each of its 21 rolls and each of the opponent's next
    rolls, by static evaluations, as float64[21, 21]. Both sides choose plays by cubeless equity. A game that ends
    before the second roll keeps its result. Raises InvalidPositionError for a finished game."""
    board = np.array([check_in_progress(position).board], np.int8)
    look = partial(evaluate_ahead, evaluator)
    replies, chances = best_replies(look, board)
    open_rows = np.flatnonzero(game_outcomes(replies) == 0)
    wins = np.repeat(1 - chances[:, :1].astype(np.float64), len(DICE), axis=1)
    if len(open_rows):
        _, after = best_replies(look, replies[open_rows])
        wins[open_rows] = 1 - (1 - after[:, 0].astype(np.float64)).reshape(-1, len(DICE))
    return wins


def local_volatility_by(evaluator: Evaluator, position: Position) -> float:
    """The local volatility of a position, from static evaluations: the mean absolute jump of the winning chance until
    the player is on roll again, two rolls later. Jumps are differences from the mean over all pairs of rolls, so they
    are zero on average, as in the jump model (`equity.doubling.jump`). Raises InvalidPositionError for a finished
    game."""
    wins, weights = chances_in_two_rolls(evaluator, position), np.outer(CHANCES, CHANCES)
    return float((weights * np.abs(wins - (weights * wins).sum())).sum())


class VolatilityScratch(NamedTuple):
    """Scratch memory for one thread."""

    first: RollScratch
    second: RollScratch
    reply: Boards  # [26]
    wins: NDArray[np.float64]  # [21, 21] as in `chances_in_two_rolls`


@kernel()
def new_volatility_scratch(networks: Networks) -> VolatilityScratch:
    """Allocate scratch memory for one thread."""
    n = len(CHANCES)
    rolls = new_roll_scratch(networks), new_roll_scratch(networks)
    return VolatilityScratch(rolls[0], rolls[1], np.empty(26, np.int8), np.empty((n, n), np.float64))


@kernel(borrows=True)
def local_volatility(
    networks: Networks, tables: BearoffArrays, likely: LikelyPlays, board: Boards, scratch: VolatilityScratch
) -> float:
    """Return the local volatility of a board before the roll, by networks, from all plays or the likely plays: see
    `local_volatility_by`."""
    n, first, second, reply, wins = len(CHANCES), scratch.first, scratch.second, scratch.reply, scratch.wins
    fill_roll_values(networks, tables, likely, board, first)
    mean = 0.0
    for roll in range(n):
        is_over = outcome_of(first.best[roll], CHECKERS) != 0
        if not is_over:
            flip_into(first.best[roll], reply)
            fill_roll_values(networks, tables, likely, reply, second)
        for answer in range(n):
            wins[roll, answer] = first.values[roll, 0] if is_over else 1.0 - second.values[answer, 0]
            mean += CHANCES[roll] * CHANCES[answer] * wins[roll, answer]
    found = 0.0
    for roll in range(n):
        for answer in range(n):
            found += CHANCES[roll] * CHANCES[answer] * abs(wins[roll, answer] - mean)
    return found
