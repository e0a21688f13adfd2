"""Games of a player against itself, with every position, roll and play, and optionally the luck of every roll.

The luck-adjusted result is the points won, less the luck of both sides. The luck of each roll is 0 on average, however
well the sides play and however good the estimates are. So the mean stays the same, and most of the noise of the dice is
gone (Zare, "Hedging toward skill", GammonVillage 2000).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.answers import fill_chances
from bgdata.evaluation.chances import equity_of
from bgdata.evaluation.choices import NETWORK, Chooser, networks_of, require_networks, tables_of
from bgdata.evaluation.roll_values import (
    OF_LUCK,
    LikelyPlays,
    fill_roll_values,
    likely_plays,
    mean_equity,
    new_roll_scratch,
    roll_place,
)
from bgdata.game.codec import Boards
from bgdata.game.random import random_stream
from bgdata.kernel import in_threads, kernel
from bgdata.play.games import (
    MOST_TURNS,
    START,
    Turns,
    check_numbers,
    dice_at,
    new_game_scratch,
    nothing_recorded,
    play_game,
)

Values = NDArray[np.float32]
Dice = NDArray[np.int8]
ROOM = 96  # turns of a game that are kept while it is played; the few longer games are played twice


class Corpus(NamedTuple):
    """Games first, first + 1, ...; game g has the turns offsets[g] to offsets[g + 1], with the sides in turn."""

    outcomes: NDArray[np.int8]  # [games] points to player 0, -3 to 3
    begins: NDArray[np.int8]  # [games] who rolls first: 0 or 1
    offsets: NDArray[np.int64]  # [games + 1]
    boards: Boards  # [turns, 26] before the roll, seen by the player on roll
    dice: Dice  # [turns, 2]
    after_play: Boards  # [turns, 26] still seen by the player who moved
    equities: Values  # [turns] static cubeless equity before the roll, of the player on roll; NaN without networks
    lucks: Values  # [turns] luck of the roll for the player on roll; NaN where it was not asked for


class Pages(NamedTuple):
    """Games as they are played, with the same room for each: the turns beyond it are played and not kept."""

    outcomes: NDArray[np.int8]  # [games] as in a `Corpus`
    begins: NDArray[np.int8]  # [games]
    turns: NDArray[np.int64]  # [games] how many there were
    boards: Boards  # [games, room, 26]
    dice: Dice  # [games, room, 2]
    after_play: Boards  # [games, room, 26]


def self_play(
    chooser: Chooser,
    count: int,
    seed: int,
    first: int = 0,
    *,
    with_luck: bool = False,
    estimator: Chooser | None = None,
) -> Corpus:
    """Play games first, first + 1, ... of a seed, without the cube. Player 0 begins if the first die is higher.

    Game g of a seed is always the same, on any number of threads and in any batch. The estimator, a chooser with
    networks, values positions and rolls; by default it is the player itself. Raises UsageError for luck without
    networks, and for numbers beyond 0 to 2^63 - 1.
    """
    check_numbers(count, seed, first)
    estimator = chooser if estimator is None else estimator
    if with_luck:
        require_networks(estimator, "to estimate luck")
    pages = played_pages(chooser, seed, first + np.arange(count), ROOM)
    long = np.flatnonzero(pages.turns > ROOM)
    long_pages = played_pages(chooser, seed, first + long, int(pages.turns.max(initial=0)))
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(pages.turns)])
    n = int(offsets[-1])
    turns = np.empty((n, 26), np.int8), np.empty((n, 2), np.int8), np.empty((n, 26), np.int8)
    fill_turns(np.arange(count), pages.turns, offsets, *pages[3:], *turns)
    fill_turns(long, long_pages.turns, offsets, *long_pages[3:], *turns)
    values = np.full((2, n), np.nan, np.float32)
    if estimator.kind == NETWORK:
        likely = likely_plays(OF_LUCK)
        in_threads(fill_values, count, estimator, likely, with_luck, offsets, *turns[:2], values)
    return Corpus(pages.outcomes, pages.begins, offsets, *turns, values[0], values[1])


def played_pages(chooser: Chooser, seed: int, games: NDArray[np.int64], room: int) -> Pages:
    """Games of a seed, with room for so many turns each."""
    n = len(games)
    boards, dice, after_play = (np.empty((n, room, width), np.int8) for width in (26, 2, 26))
    pages = Pages(np.empty(n, np.int8), np.empty(n, np.int8), np.empty(n, np.int64), boards, dice, after_play)
    in_threads(fill_games, n, chooser, seed, games, *pages)
    return pages


def net_lucks(begins: NDArray[np.integer], offsets: NDArray[np.int64], lucks: Values) -> NDArray[np.float64]:
    """float64[games]: net luck of player 0 in points: its own luck less that of player 1; NaN where luck was not
    measured.

    Sums are in the order of the turns, so that all machines agree. The luck-adjusted result of player 0 is its points
    less its net luck.
    """
    games = np.repeat(np.arange(len(begins)), np.diff(offsets))
    is_player_0 = (begins[games] + np.arange(len(games)) - offsets[games]) % 2 == 0
    signed = np.where(is_player_0, lucks, -lucks).astype(np.float64)
    return np.bincount(games, signed, minlength=len(begins)).astype(np.float64)


@kernel()
def fill_games(
    begin: int,
    end: int,
    chooser: Chooser,
    seed: int,
    games: NDArray[np.int64],
    outcomes: NDArray[np.int8],
    begins: NDArray[np.int8],
    turns: NDArray[np.int64],
    boards: Boards,
    dice: Dice,
    after_play: Boards,
) -> None:
    """Fills outcomes[row], begins[row], turns[row] and, as far as there is room, boards[row, turn, slot],
    dice[row, turn, 0:2] and after_play[row, turn, slot] with game games[row] of a seed, for the rows begin:end."""
    for row in range(begin, end):
        outcomes[row], begins[row], turns[row] = fill_game(
            chooser, seed, games[row], boards[row], dice[row], after_play[row]
        )


@kernel()
def fill_turns(
    rows: NDArray[np.int64],
    turns: NDArray[np.int64],
    offsets: NDArray[np.int64],
    paged_boards: Boards,
    paged_dice: Dice,
    paged_after: Boards,
    boards: Boards,
    dice: Dice,
    after: Boards,
) -> None:
    """Fills boards[turn, slot], dice[turn, 0:2] and after[turn, slot], from the turn offsets[rows[page]] on, with the
    turns of a page as far as it has them."""
    for page in range(len(rows)):
        begin, n = offsets[rows[page]], min(turns[page], paged_boards.shape[1])
        boards[begin : begin + n] = paged_boards[page, :n]
        dice[begin : begin + n] = paged_dice[page, :n]
        after[begin : begin + n] = paged_after[page, :n]


@kernel()
def fill_game(
    chooser: Chooser, seed: int, game: int, boards: Boards, dice: Dice, after_play: Boards
) -> tuple[int, int, int]:
    """Fills boards[turn, slot], dice[turn, 0:2] and after_play[turn, slot], as far as there is room; returns (points to
    player 0, who begins, turns)."""
    stream = random_stream(seed, game)
    die, other_die = dice_at(stream, 0)
    begins, nothing = int(die < other_die), nothing_recorded()
    record = Turns(boards, dice, after_play, nothing.chances, nothing.sources)
    scratch = new_game_scratch(chooser, chooser)
    outcome, turns = play_game(chooser, chooser, stream, game, begins, START.copy(), True, MOST_TURNS, scratch, record)
    return outcome, begins, turns


@kernel()
def fill_values(
    begin: int,
    end: int,
    estimator: Chooser,
    likely: LikelyPlays,
    with_luck: bool,
    offsets: NDArray[np.int64],
    boards: Boards,
    dice: Dice,
    values: Values,
) -> None:
    """Fills values[0, turn] with the static equity of boards[turn, slot], and values[1, turn] with the luck of
    dice[turn, 0:2] if asked, for the games begin:end; a game has the turns offsets[row]:offsets[row + 1]."""
    networks, tables = networks_of(estimator), tables_of(estimator)
    scratch = new_roll_scratch(networks)
    for row in range(begin, end):
        for turn in range(offsets[row], offsets[row + 1]):
            fill_chances(networks, tables, boards[turn], scratch.evaluation, scratch.evaluation.chances[0])
            values[0, turn] = equity_of(scratch.evaluation.chances[0])
            if with_luck:
                fill_roll_values(networks, tables, likely, boards[turn], scratch)
                best = equity_of(scratch.values[roll_place(dice[turn, 0], dice[turn, 1])])
                values[1, turn] = best - mean_equity(scratch, turn == offsets[row])
