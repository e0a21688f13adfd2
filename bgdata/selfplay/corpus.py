"""Games of a player against itself, with every position, roll and play, and the luck of the dice in games.

The luck-adjusted result is the points won, less the luck of every roll. The luck of each roll is 0 on average, however
well the sides play and however good the estimates are. So the mean stays the same, and most of the noise of the dice is
gone (Zare, "Hedging toward skill", GammonVillage 2000). The same dice for both sides, in a pair of `games`, remove
little luck once the two games differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.evaluation.answers import fill_chances
from bgdata.evaluation.chances import equity_of
from bgdata.evaluation.choices import NETWORK, Chooser, require_networks
from bgdata.evaluation.roll_values import (
    ALL_PLAYS,
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
from bgdata.selfplay.games import (
    LOCKSTEP,
    MOST_TURNS,
    START,
    Games,
    LockstepTurn,
    Turns,
    check_numbers,
    dice_at,
    fill_results,
    new_game_scratch,
    nothing_recorded,
    play_game,
    turns_in_lockstep,
)

if TYPE_CHECKING:
    from bgdata.evaluation.player import Player

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
    numbers = first + np.arange(count)
    outcomes, begins, n_turns, *short = _play_pages(chooser, seed, numbers, ROOM)
    is_long = n_turns > ROOM
    _, _, _, *long = _play_pages(chooser, seed, numbers[is_long], int(n_turns.max(initial=0)))
    of_long, turns = np.repeat(is_long, n_turns), []
    for page, longer in zip(short, long, strict=True):
        values = np.empty((len(of_long), page.shape[2]), np.int8)
        values[~of_long] = page[np.arange(ROOM) < np.where(is_long, 0, n_turns)[:, None]]
        values[of_long] = longer[np.arange(longer.shape[1]) < n_turns[is_long, None]]
        turns.append(values)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(n_turns)])
    found = np.full((2, len(of_long)), np.nan, np.float32)
    if estimator.kind == NETWORK:
        likely = likely_plays(OF_LUCK)
        in_threads(fill_values, count, estimator, likely, with_luck, offsets, *turns[:2], found)
    boards, dice, after_play = turns
    return Corpus(outcomes, begins, offsets, boards, dice, after_play, found[0], found[1])


def _play_pages(chooser: Chooser, seed: int, games: NDArray[np.int64], room: int) -> tuple[NDArray[Any], ...]:
    """(outcomes, who begins, number of turns; boards, dice and boards after the play [game, turn, ...]) of games of a
    seed. Turns beyond the room, which is the same for each game, are played and not kept."""
    n = len(games)
    boards, dice, after_play = (np.empty((n, room, width), np.int8) for width in (26, 2, 26))
    pages = np.empty(n, np.int8), np.empty(n, np.int8), np.empty(n, np.int64), boards, dice, after_play
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


def play_games_with_luck(
    first_player: Player, second_player: Player, estimator: Chooser, count: int, seed: int, first: int = 0
) -> tuple[Games, NDArray[np.float64]]:
    """The games of `games.play_games`, and the net luck float64[count] of the player named first, in points: its luck
    less that of the other player.

    Results are the same on any number of threads and in any batch. Estimating luck takes most of the time: about 20
    times as long as the games of kernel players. Raises UsageError for an estimator without networks, and what
    `play_games` raises.
    """
    check_numbers(count, seed, first)
    require_networks(estimator, "to estimate luck")
    numbers = np.arange(first, first + count, dtype=np.int64)
    games = Games(numbers, np.empty(count, np.int8), np.empty(count, np.int32), numbers % 2 == 0)
    lucks = np.empty(count)
    for start in range(0, count, LOCKSTEP):
        rows = slice(start, start + LOCKSTEP)
        turns = list(turns_in_lockstep((first_player, second_player), seed, numbers[rows]))
        fill_results(turns, games.outcomes[rows], games.turns[rows])
        lucks[rows] = _net_lucks_of_turns(estimator, numbers[rows], games.turns[rows], turns)
    return games, lucks


def _net_lucks_of_turns(
    estimator: Chooser, numbers: NDArray[np.int64], n_turns: NDArray[np.int32], turns: list[LockstepTurn]
) -> NDArray[np.float64]:
    """float64[games] from their turns, put in order of games first, as `fill_values` takes them."""
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(n_turns, dtype=np.int64)])
    boards, dice = np.empty((offsets[-1], 26), np.int8), np.empty((offsets[-1], 2), np.int8)
    for number, turn in enumerate(turns):
        places = offsets[turn.rows] + number
        boards[places], dice[places] = turn.boards, turn.rolls
    values = np.empty((2, len(boards)), np.float32)
    in_threads(fill_values, len(numbers), estimator, ALL_PLAYS, True, offsets, boards, dice, values)
    return net_lucks(numbers % 2, offsets, values[1])


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
    scratch, nothing = new_game_scratch(chooser, chooser), nothing_recorded()
    for row in range(begin, end):
        stream, board = random_stream(seed, games[row]), START.copy()
        die, other_die = dice_at(stream, 0)
        side = int(die < other_die)
        record = Turns(boards[row], dice[row], after_play[row], nothing.chances, nothing.sources)
        begins[row] = side
        outcomes[row], turns[row] = play_game(
            chooser, chooser, stream, games[row], side, board, True, MOST_TURNS, scratch, record
        )


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
    networks, tables = estimator.networks, estimator.tables
    scratch = new_roll_scratch(networks)
    for row in range(begin, end):
        for turn in range(offsets[row], offsets[row + 1]):
            fill_chances(networks, tables, boards[turn], scratch.evaluation, scratch.evaluation.chances[0])
            values[0, turn] = equity_of(scratch.evaluation.chances[0])
            if with_luck:
                fill_roll_values(networks, tables, likely, boards[turn], scratch)
                best = equity_of(scratch.values[roll_place(dice[turn, 0], dice[turn, 1])])
                values[1, turn] = best - mean_equity(scratch, turn == offsets[row])
