"""Whole games between two players, with every position, roll and play, and optionally the luck of the dice.

In a pair each sequence of dice is played twice with the sides swapped. The dice of turn t are the same in games 2k and
2k + 1; the player named first begins game 2k, the other player begins game 2k + 1. A pair is one observation of skill
(`result_of`), and a player against itself scores exactly 0.

The luck-adjusted result is the points won minus the luck of every roll. The luck of each roll is 0 on average for any
players and any estimates. So the mean stays the same, and most of the noise of the dice is removed (Zare, "Hedging
toward skill", GammonVillage 2000). Equal dice for both sides alone remove little luck, because the two games of a pair
soon differ.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count as count_up
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import InvalidPositionError, UsageError
from bgdata.evaluation.answers import Scratch, choose_by_chances, fill_chances
from bgdata.evaluation.chances import Chances, equity_of
from bgdata.evaluation.choices import (
    NETWORK,
    Chooser,
    KernelPlayer,
    choice_scratch,
    choose,
    chosen_boards,
    require_networks,
)
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
from bgdata.game.board import CHECKERS, START_BOARD
from bgdata.game.board_kernels import game_outcomes, outcome_of
from bgdata.game.codec import Boards, check_legal_boards, flip_into
from bgdata.game.play_kernels import MAX_NOTES, MAX_PLAYS, Notes, fill_plays
from bgdata.game.random import dice_of, opening_dice_of, random_bits, random_stream
from bgdata.kernel import in_threads, kernel, read_only

if TYPE_CHECKING:
    from bgdata.evaluation.player import Player

Dice = NDArray[np.int8]
MAX_TURNS = 1 << 30  # more than any game has
LOCKSTEP = 1 << 14  # games played at the same time by players outside kernels; this limits the memory
ROOM = 96  # turns recorded while a game is played; the few longer games are played twice
START = read_only(np.array(START_BOARD, np.int8))


class Games(NamedTuple):
    """Results of games, one row for each game."""

    numbers: NDArray[np.int64]  # [n] number of the game in its seed; games 2k and 2k + 1 have the same dice
    outcomes: NDArray[np.int8]  # [n] points to the player named first, -3 to 3, never 0
    turns: NDArray[np.int32]  # [n] rolls of both players
    begins: NDArray[np.bool_]  # [n] whether the player named first began


def play_games(first_player: Player, second_player: Player, count: int, seed: int, first: int = 0) -> Games:
    """Play games first, first + 1, ... of a seed to the end, without the cube. The first roll of a game is never a
    double.

    Game g of a seed between the same players is always the same, on any number of threads and in any batch. A kernel
    plays the games if both players are `choices.KernelPlayer`. Otherwise all unfinished games advance turn by turn, and
    the player on roll chooses many plays at a time. Raises UsageError if a number is outside 0 to 2^63 - 1, and
    InvalidPositionError if a player returns boards that are not positions."""
    if not (isinstance(first_player, KernelPlayer) and isinstance(second_player, KernelPlayer)):
        return _play_in_lockstep((first_player, second_player), None, count, seed, first)[0]
    check_numbers(count, seed, first)
    numbers = np.arange(first, first + count, dtype=np.int64)
    outcomes, _, turns, *_ = _play_pages((first_player.chooser, second_player.chooser), True, seed, numbers, 0)
    return Games(numbers, outcomes, turns, numbers % 2 == 0)


def play_games_with_luck(
    first_player: Player, second_player: Player, estimator: Chooser, count: int, seed: int, first: int = 0
) -> tuple[Games, NDArray[np.float64]]:
    """Play the games of `play_games`, and estimate the luck of every roll. Returns the games and their net luck in
    points, as float64[count]: the luck of the player named first minus the luck of the other player.

    Results are the same on any number of threads and in any batch. Estimating luck takes about 20 times as long as
    games of kernel players. Raises UsageError if the estimator has no networks or a number is outside 0 to 2^63 - 1,
    and InvalidPositionError if a player returns boards that are not positions."""
    require_networks(estimator, "to estimate luck")
    return _play_in_lockstep((first_player, second_player), estimator, count, seed, first)


def _play_in_lockstep(
    players: tuple[Player, Player], estimator: Chooser | None, count: int, seed: int, first: int
) -> tuple[Games, NDArray[np.float64]]:
    """Play games turn by turn, all at the same time. Returns the games, and the net luck of the player named first, or
    0 if there is no estimator."""
    check_numbers(count, seed, first)
    numbers = np.arange(first, first + count, dtype=np.int64)
    games = Games(numbers, np.empty(count, np.int8), np.empty(count, np.int32), numbers % 2 == 0)
    lucks = np.zeros(count)
    for start in range(0, count, LOCKSTEP):
        rows, turns = slice(start, start + LOCKSTEP), []
        for number, turn in enumerate(turns_in_lockstep(players, seed, numbers[rows]), start=1):
            games.outcomes[rows][turn.rows], games.turns[rows][turn.rows] = turn.outcomes, number  # until the last turn
            if estimator is not None:
                turns.append(turn)
        if estimator is not None:
            lucks[rows] = _net_lucks_of_turns(estimator, numbers[rows], games.turns[rows], turns)
    return games, lucks


def check_numbers(count: int, seed: int, first: int) -> None:
    """Raise UsageError unless the count, the seed and the numbers of the first and last game are from 0 to 2^63 - 1."""
    if min(count, seed, first) < 0 or max(first + count, seed) >= 1 << 63:
        raise UsageError(f"expected numbers from 0 to 2^63 - 1, got count {count}, seed {seed}, first {first}")


class Corpus(NamedTuple):
    """Games first, first + 1, ... with every turn. Turns offsets[g]:offsets[g + 1] belong to game g; the two sides
    alternate."""

    outcomes: NDArray[np.int8]  # [games] points to player 0, -3 to 3
    begins: NDArray[np.int8]  # [games] who rolls first: 0 or 1
    offsets: NDArray[np.int64]  # [games + 1]
    boards: Boards  # [turns, 26] before the roll, for the player on roll
    dice: Dice  # [turns, 2]
    after_play: Boards  # [turns, 26] after the play, for the player who moved
    equities: NDArray[np.float32]  # [turns] static cubeless equity of the player on roll; NaN without networks
    lucks: NDArray[np.float32]  # [turns] luck of the roll for the player on roll; NaN unless measured


def self_play(
    chooser: Chooser,
    count: int,
    seed: int,
    first: int = 0,
    *,
    with_luck: bool = False,
    estimator: Chooser | None = None,
) -> Corpus:
    """Play games first, first + 1, ... of a seed between a player and itself, without the cube. Player 0 begins if the
    first die is higher.

    Game g of a seed is always the same, on any number of threads and in any batch. The estimator, a chooser with
    networks, evaluates positions and rolls; by default it is the player itself. Raises UsageError if `with_luck` is
    true but there are no networks, or if a number is outside 0 to 2^63 - 1."""
    check_numbers(count, seed, first)
    estimator = chooser if estimator is None else estimator
    if with_luck:
        require_networks(estimator, "to estimate luck")
    numbers = first + np.arange(count)
    outcomes, begins, n_turns, *short = _play_pages((chooser, chooser), False, seed, numbers, ROOM)
    is_long, room = n_turns > ROOM, int(n_turns.max(initial=0))
    _, _, _, *long = _play_pages((chooser, chooser), False, seed, numbers[is_long], room)
    of_long, turns = np.repeat(is_long, n_turns), []
    for page, longer in zip(short, long, strict=True):
        values = np.empty((len(of_long), page.shape[2]), np.int8)
        values[~of_long] = page[np.arange(ROOM) < np.where(is_long, 0, n_turns)[:, None]]
        values[of_long] = longer[np.arange(longer.shape[1]) < n_turns[is_long, None]]
        turns.append(values)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(n_turns, dtype=np.int64)])
    found = np.full((2, len(of_long)), np.nan, np.float32)
    if estimator.kind == NETWORK:
        likely = likely_plays(OF_LUCK)
        in_threads(fill_values, count, estimator, likely, with_luck, offsets, *turns[:2], found)
    boards, dice, after_play = turns
    return Corpus(outcomes, begins, offsets, boards, dice, after_play, found[0], found[1])


def _play_pages(
    choosers: tuple[Chooser, Chooser], is_paired: bool, seed: int, games: NDArray[np.int64], room: int
) -> tuple[NDArray[Any], ...]:
    """Play games of a seed. Returns the outcome, who begins and the number of turns of each game, and the board, the
    dice and the board after the play of each turn, [game, turn, ...]. At most `room` turns of a game are recorded;
    later turns are played but not recorded."""
    n = len(games)
    boards, dice, after_play = (np.empty((n, room, width), np.int8) for width in (26, 2, 26))
    pages = np.empty(n, np.int8), np.empty(n, np.int8), np.empty(n, np.int32), boards, dice, after_play
    in_threads(fill_games, n, *choosers, is_paired, seed, games, *pages)
    return pages


def net_lucks(
    begins: NDArray[np.integer], offsets: NDArray[np.int64], lucks: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Return the luck of player 0 minus the luck of player 1 in each game, in points, as float64[games]; NaN where luck
    was not measured. The points of player 0 minus this net luck are its luck-adjusted result. Luck is added in the
    order of turns, so that all machines agree."""
    games = np.repeat(np.arange(len(begins)), np.diff(offsets))
    is_player_0 = (begins[games] + np.arange(len(games)) - offsets[games]) % 2 == 0
    signed = np.where(is_player_0, lucks, -lucks).astype(np.float64)
    return np.bincount(games, signed, minlength=len(begins)).astype(np.float64)


def _net_lucks_of_turns(
    estimator: Chooser, numbers: NDArray[np.int64], n_turns: NDArray[np.int32], turns: list[LockstepTurn]
) -> NDArray[np.float64]:
    """Return the net luck of the player named first in each game, in points, as float64[games], from turns that were
    played in lockstep."""
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(n_turns, dtype=np.int64)])
    boards, dice = np.empty((offsets[-1], 26), np.int8), np.empty((offsets[-1], 2), np.int8)
    for number, turn in enumerate(turns):
        places = offsets[turn.rows] + number
        boards[places], dice[places] = turn.boards, turn.rolls
    values = np.empty((2, len(boards)), np.float32)
    in_threads(fill_values, len(numbers), estimator, ALL_PLAYS, True, offsets, boards, dice, values)
    return net_lucks(numbers % 2, offsets, values[1])


class Turns(NamedTuple):
    """Records of the turns of one game. Turns beyond the size of the arrays are not recorded."""

    boards: Boards  # [turn, 26] before the roll, for the player on roll
    dice: NDArray[np.int8]  # [turn, 2]
    after_play: Boards  # [turn, 26] after the play, for the player who moved
    chances: Chances  # [turn + 1, 5] of the opponent after the play of a turn, as evaluated by the player
    sources: NDArray[np.int8]  # [turn + 1] source of these chances: a number of `evaluator.AnswerSource`


class GameScratch(NamedTuple):
    """Scratch memory in which one thread plays games."""

    after: Boards  # [MAX_PLAYS, 26]
    notes: Notes  # [MAX_NOTES]
    first: Scratch  # scratch of the player named first
    second: Scratch


@kernel()
def new_game_scratch(first_chooser: Chooser, second_chooser: Chooser) -> GameScratch:
    """Allocate scratch memory in which one thread plays games between these two players."""
    after, notes = np.empty((MAX_PLAYS, 26), np.int8), np.empty(MAX_NOTES, np.int64)
    return GameScratch(after, notes, choice_scratch(first_chooser), choice_scratch(second_chooser))


@kernel()
def fill_games(
    begin: int,
    end: int,
    first_chooser: Chooser,
    second_chooser: Chooser,
    is_paired: bool,
    seed: int,
    numbers: NDArray[np.int64],
    outcomes: NDArray[np.int8],
    begins: NDArray[np.int8],
    turns: NDArray[np.int32],
    boards: Boards,
    dice: Dice,
    after_play: Boards,
) -> None:
    """Play games numbers[row] of a seed, for rows begin:end. Fills outcomes[row], begins[row], turns[row] and, as far
    as there is room, boards[row, turn, slot], dice[row, turn, 0:2] and after_play[row, turn, slot]. If `is_paired`,
    games 2k and 2k + 1 use the dice of pair k, and the players take turns to begin; else the player with the higher
    first die begins."""
    scratch, nothing = new_game_scratch(first_chooser, second_chooser), nothing_recorded()
    for row in range(begin, end):
        game = numbers[row]
        stream, board = random_stream(seed, game // 2 if is_paired else game), START.copy()
        die, other_die = dice_at(stream, 0)
        side = game % 2 if is_paired else int(die < other_die)
        begins[row] = side
        record = Turns(boards[row], dice[row], after_play[row], nothing.chances, nothing.sources)
        outcomes[row], turns[row] = play_game(
            first_chooser, second_chooser, stream, game, side, board, True, MAX_TURNS, scratch, record
        )


@kernel()
def nothing_recorded() -> Turns:
    """Return empty `Turns`, for games whose turns are not recorded."""
    boards, chances = np.empty((0, 26), np.int8), np.empty((0, 5), np.float32)
    return Turns(boards, np.empty((0, 2), np.int8), boards, chances, np.empty(0, np.int8))


@kernel()
def play_game(
    first_chooser: Chooser,
    second_chooser: Chooser,
    stream: np.uint64,
    game: int,
    side: int,
    board: Boards,
    is_opening: bool,
    most_turns: int,
    scratch: GameScratch,
    record: Turns,
) -> tuple[int, int]:
    """Play one game from board[0:26], which is overwritten, and record its turns in `record`. `side` begins: 0 for the
    player named first, 1 for the other player. If `is_opening`, the first roll of the game is not a double. Returns the
    points of the player named first, and the number of turns. A game that is longer than `most_turns` stops there, with
    0 points."""
    outcome, turn = 0, 0
    while outcome == 0 and turn < most_turns:
        die, other_die = dice_at(stream, turn) if is_opening else dice_of(random_bits(stream, turn))
        n = fill_plays(board, die, other_die, scratch.after, scratch.notes)
        if side == 0:
            play = choose_play(first_chooser, board, n, game, turn, scratch.after, scratch.first, record)
        else:
            play = choose_play(second_chooser, board, n, game, turn, scratch.after, scratch.second, record)
        chosen = scratch.after[play]
        if turn < len(record.boards):
            record.boards[turn] = board
        if turn < len(record.dice):
            record.dice[turn, 0], record.dice[turn, 1], record.after_play[turn] = die, other_die, chosen
        outcome = outcome_of(chosen, CHECKERS)
        flip_into(chosen, board)
        turn, side = turn + 1, 1 - side
    return (outcome if side == 1 else -outcome), turn


@kernel(borrows=True)
def choose_play(
    chooser: Chooser, board: Boards, n: int, game: int, turn: int, after: Boards, scratch: Scratch, record: Turns
) -> int:
    """Return the row of after[0:n, slot] that a player chooses; see `choices.choose`. If the record has a row for this
    turn, its chances and sources are filled; then even a forced play is evaluated."""
    if len(record.sources) == 0:
        return choose(chooser, board, after, n, game, turn, scratch)
    best, source = choose_by_chances(chooser.networks, chooser.tables, after, n, scratch)
    for item in range(5):
        record.chances[turn + 1, item] = scratch.chances[0, item]
    record.sources[turn + 1] = source
    return best


@kernel()
def dice_at(stream: np.uint64, turn: int) -> tuple[int, int]:
    """Return the dice of turn `turn` from a game's stream of random numbers. Turn 0 is never a double."""
    bits = random_bits(stream, turn)
    return dice_of(bits) if turn else opening_dice_of(bits)


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
    values: NDArray[np.float32],
) -> None:
    """Fill values[0, turn] with the static equity of boards[turn, slot], and, if `with_luck`, values[1, turn] with the
    luck of dice[turn, 0:2], for the games in rows begin:end. Turns offsets[row]:offsets[row + 1] belong to game
    `row`."""
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


class LockstepTurn(NamedTuple):
    """One turn of all unfinished games."""

    rows: NDArray[np.int64]  # [n] rows of these games among all games
    boards: Boards  # [n, 26] before the roll, for the player on roll
    rolls: Dice  # [n, 2]
    outcomes: NDArray[np.int8]  # [n] points to the player named first, 0 where the game goes on


def turns_in_lockstep(players: tuple[Player, Player], seed: int, numbers: NDArray[np.int64]) -> Iterator[LockstepTurn]:
    """Play the games of a seed whose numbers are int64[n] `numbers`, all at the same time. Yields turn 0, 1, ... of all
    unfinished games, until all are over."""
    rows, boards = np.arange(len(numbers)), np.tile(START, (len(numbers), 1))
    for turn in count_up():
        if not len(rows):
            return
        games = numbers[rows]
        rolls, chosen = np.empty((len(rows), 2), np.int8), np.empty_like(boards)
        fill_rolls(seed, games, turn, rolls)
        for side, player in enumerate(players):
            asked = np.flatnonzero((games + turn) % 2 == side)
            if len(asked):
                chosen[asked] = checked_choices(player, boards[asked], rolls[asked], games[asked], turn)
        found = game_outcomes(chosen)  # from the side of the opponent of the player who moved
        yield LockstepTurn(rows, boards, rolls, np.where((games + turn) % 2 == 0, -found, found).astype(np.int8))
        goes_on = found == 0
        rows, boards = rows[goes_on], chosen[goes_on]


def checked_choices(
    player: Player, boards: Boards, rolls: NDArray[np.int8], games: NDArray[np.int64], turn: int
) -> Boards:
    """Return the plays that `Player.choose_plays` returns for this turn of the games, after a check, as int8[n, 26]. A
    kernel player chooses by the number of the game and of the turn, as in `fill_games`. Raises InvalidPositionError if
    the player returns a board that is not a position."""
    if isinstance(player, KernelPlayer):
        return chosen_boards(player.chooser, boards, rolls, games, turn)
    chosen = player.choose_plays(boards, rolls)
    if chosen.shape != boards.shape:
        raise InvalidPositionError(
            f"expected {len(boards)} boards from player {player.label}, got {chosen.dtype}{list(chosen.shape)}"
        )
    return check_legal_boards(chosen)


@kernel()
def fill_rolls(seed: int, games: NDArray[np.int64], turn: int, rolls: NDArray[np.int8]) -> None:
    """Fill rolls[row, 0:2] with the dice of a turn of games[row]."""
    for row in range(len(games)):
        rolls[row, 0], rolls[row, 1] = dice_at(random_stream(seed, games[row] // 2), turn)


@dataclass(frozen=True)
class SeriesResult:
    """The result of a series of games, for the player named first."""

    games: int
    points_per_game: float
    standard_error: float  # standard error of points_per_game, in points; nan for fewer than two pairs of games
    win_share: float  # share of games won, 0 to 1
    mean_turns: float  # rolls of a game, of both players

    def __str__(self) -> str:
        """A line such as `+0.595 +/- 0.006 points per game in 40,000 games, 62.1 % won`."""
        points = f"{self.points_per_game:+.3f} +/- {self.standard_error:.3f} points per game"
        return f"{points} in {self.games:,} games, {100 * self.win_share:.1f} % won"


def result_of(games: Games) -> SeriesResult:
    """Return the result of a series of at least one game. The two games with the same dice (numbers 2k and 2k + 1) are
    one observation, because the luck of the dice cancels between them. A game without its partner is also one
    observation. Raises UsageError if there are no games."""
    count = len(games.outcomes)
    if count == 0:
        raise UsageError("expected at least one game, got none")
    mean, turns = (float(values.mean(dtype=np.float64)) for values in (games.outcomes, games.turns))
    error = pair_error(games.numbers, games.outcomes)
    return SeriesResult(count, mean, error, int((games.outcomes > 0).sum()) / count, turns)


def pair_error(numbers: NDArray[np.int64], points: NDArray[np.number]) -> float:
    """Return the standard error of the mean of points[0:n], the results of games with these numbers; NaN for fewer than
    two pairs. Games 2k and 2k + 1 are correlated, so this is the ratio estimator of cluster sampling."""
    _, place = np.unique(numbers // 2, return_inverse=True)
    sums, sizes = np.bincount(place, points), np.bincount(place)
    if len(sums) < 2:
        return float("nan")
    spread = sums - sizes * points.mean(dtype=np.float64)
    squares = float(np.cumsum(spread * spread)[-1])  # BLAS would add in an order that depends on the processor
    return math.sqrt(squares * len(sums) / (len(sums) - 1)) / len(points)
