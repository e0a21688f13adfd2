"""Samples positions theme by theme from games of many sources, so that the taste of no player decides.

Game g is of the sources in turn, and within a source of every `Start` in turn; every fourth game of a source has its
positions perturbed. Games are looked at in order. Of each theme that comes up in a game one position is drawn, by a
hash, and is taken unless

* its theme has enough of the game's half: as many positions are from games for validation as from games for test,
* its theme has twice the share of the game's source, or
* the position was taken before, or is one that was, seen by the other side.

Never drawn are bearoffs of at most six checkers a side, which exact tables know, and races and bearoffs that are
decided: all five chances within 0.05 of 0 or 1.

A perturbed position has one or two checkers of either side moved to random points: it resembles those of games and came
up in none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import UsageError
from bgdata.evaluation.chances import Chances
from bgdata.evaluation.choices import Chooser
from bgdata.game.board import BAR, CHECKERS, OPPONENT_BAR
from bgdata.game.board_kernels import position_classes
from bgdata.game.classes import PositionClass
from bgdata.game.codec import Boards
from bgdata.game.position_hash import position_hashes
from bgdata.game.random import mix_bits, random_bits, random_stream
from bgdata.game.themes import Theme, position_themes
from bgdata.kernel import in_threads, kernel
from bgdata.selfplay.games import Turns, new_game_scratch, nothing_recorded, play_game
from bgdata.selfplay.splits import SPLITS, game_hashes, halves_of_games
from bgdata.selfplay.training_games import Counter, Start, draw, fill_start

ROUND = 440  # games that are played at a time
PERTURBED = 4  # every so many games of a source
HALVES = 2
DECIDED = 0.05  # from a chance of 0 or 1
_KNOWN = int(PositionClass.BEAROFF_TWO_SIDED)
MOST_TURNS = 200  # of a game; what comes after is not looked at
_OPENING = int(Start.OPENING)
_SIDES, _PERTURBATIONS = 1 << 41, 1 << 42  # counters of a stream: who begins, and how positions are perturbed
_CHANGES = 64  # counters for one perturbation


class Sources(NamedTuple):
    """Where games come from."""

    players: Sequence[tuple[Chooser, Chooser]]  # of each source
    judge: Callable[[Boards], Chances]  # the five chances float32[n, 5] of int8[n, 26] boards of races and bearoffs


class GamePlan(NamedTuple):
    """What games are like."""

    sources: NDArray[np.int64]  # [n] places among the sources
    starts: NDArray[np.int8]  # [n] numbers of `Start`
    perturbed: NDArray[np.bool_]  # [n] whether checkers are moved in its positions


class Positions(NamedTuple):
    """Positions of games, ordered by game and theme, or by theme and game."""

    boards: Boards  # [n, 26]
    themes: NDArray[np.int8]  # [n] numbers of `Theme`
    games: NDArray[np.int64]  # [n]
    turns: NDArray[np.int64]  # [n] in that game, from 0

    def rows(self, chosen: NDArray[np.integer]) -> Positions:
        """The chosen rows, in the given order."""
        return Positions(*(values[chosen] for values in self))


class Room(NamedTuple):
    """What may still be taken."""

    places: NDArray[np.int64]  # [theme, half] positions
    shares: NDArray[np.int64]  # [theme, half, source] positions: twice the share of a source
    seen: set[int]  # hashes of positions that were taken


def game_plan(games: NDArray[np.int64], n_sources: int) -> GamePlan:
    """What games int64[n] of so many sources are like."""
    number = games // n_sources  # within the source
    return GamePlan(games % n_sources, (number % len(Start)).astype(np.int8), number % PERTURBED == PERTURBED - 1)


def all_positions(sources: Sources, seed: int, games: NDArray[np.int64]) -> Positions:
    """Every position of int64[n] games of a seed, ordered by source."""
    plan, parts = game_plan(games, len(sources.players)), []
    for source, pair in enumerate(sources.players):
        chosen = plan.sources == source
        found = source_games(pair, seed, games[chosen], plan.starts[chosen], plan.perturbed[chosen])
        counts = np.diff(found.offsets)
        turns = np.arange(len(found.boards)) - np.repeat(found.offsets[:-1], counts)
        parts.append(Positions(found.boards, position_themes(found.boards), np.repeat(games[chosen], counts), turns))
    return Positions(*map(np.concatenate, zip(*parts, strict=True)))


def may_be_drawn(sources: Sources, positions: Positions) -> NDArray[np.bool_]:
    """bool[n]: whether positions may be drawn."""
    is_race = np.isin(positions.themes, (Theme.RACE, Theme.BEAR_OFF))
    is_known = position_classes(positions.boards) == _KNOWN
    doubtful = np.flatnonzero(is_race & ~is_known)
    chances = sources.judge(positions.boards[doubtful])
    found = ~is_race
    found[doubtful] = (np.minimum(chances, 1 - chances) > DECIDED).any(axis=1)
    return found


def drawn_positions(sources: Sources, seed: int, games: NDArray[np.int64]) -> Positions:
    """One position for each theme that comes up in each of int64[n] games of a seed, ordered by game and theme."""
    every = all_positions(sources, seed, games)
    candidates = every.rows(np.flatnonzero(may_be_drawn(sources, every)))
    keys = mix_bits(position_hashes(candidates.boards) + game_hashes(seed, candidates.games))
    order = np.lexsort((candidates.turns, keys, candidates.themes, candidates.games))
    pairs = np.stack([candidates.games[order], candidates.themes[order]], axis=1)
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = (pairs[1:] != pairs[:-1]).any(axis=1)
    return candidates.rows(order[is_first])


def sample_positions(
    sources: Sources, count: int, seed: int, most_games: int, found: Callable[[int], None] = lambda _: None
) -> Positions:
    """`count` positions of every `Theme`, half of them for validation and half for test, ordered by theme and game, no
    two of them equal or the same seen by the other side; `found` is told after every round how many there are more.

    The sample depends on the sources, the seed and the count alone. Raises UsageError for a count that is not even,
    and, naming the theme, if `most_games` games have too few positions of one.
    """
    if count < HALVES or count % HALVES:
        raise UsageError(f"expected an even number of positions of each theme, at least {HALVES}, got {count}")
    n_sources = len(sources.players)
    room = Room(
        np.full((len(Theme), HALVES), count // HALVES),
        np.full((len(Theme), HALVES, n_sources), -(-count // n_sources)),
        set(),
    )
    parts = [drawn_positions(sources, seed, np.zeros(0, np.int64))]
    for first in range(0, most_games, ROUND):
        if not room.places.any():
            break
        drawn = drawn_positions(sources, seed, np.arange(first, min(first + ROUND, most_games)))
        parts.append(drawn.rows(taken_rows(drawn, seed, room)))
        found(len(parts[-1].themes))
    for theme in Theme:
        if room.places[theme].any():
            raise UsageError(
                f"expected {count:,} positions of the theme {theme.label} in {most_games:,} games, "
                f"found {count - room.places[theme].sum():,}; try more games, or fewer positions"
            )
    sample = Positions(*map(np.concatenate, zip(*parts, strict=True)))
    return sample.rows(np.lexsort((sample.games, sample.themes)))


def taken_rows(drawn: Positions, seed: int, room: Room) -> NDArray[np.int64]:
    """The rows of drawn positions that are taken, in order. What they take is taken from the room."""
    taken, halves = [], halves_of_games(seed, drawn.games) - SPLITS.index("validation")
    from_sources = game_plan(drawn.games, room.shares.shape[2]).sources
    columns = (drawn.themes.tolist(), halves.tolist(), from_sources.tolist(), position_hashes(drawn.boards).tolist())
    for row, (theme, half, source, hashed) in enumerate(zip(*columns, strict=True)):
        if room.places[theme, half] and room.shares[theme, half, source] and hashed not in room.seen:
            room.seen.add(hashed)
            room.places[theme, half] -= 1
            room.shares[theme, half, source] -= 1
            taken.append(row)
    return np.array(taken, np.int64)


class SourceGames(NamedTuple):
    """Games in order; game g has the rows offsets[g] to offsets[g + 1]."""

    offsets: NDArray[np.int64]  # [games + 1]
    boards: Boards  # [rows, 26] before the roll, seen by the player on roll; perturbed where that was asked for


def source_games(
    players: tuple[Chooser, Chooser],
    seed: int,
    numbers: NDArray[np.int64],
    starts: NDArray[np.int8],
    perturbed: NDArray[np.bool_],
) -> SourceGames:
    """Play games int64[n] `numbers` of a seed, each from a `Start` and up to MOST_TURNS turns long; which player begins
    is random. Where bool[n] `perturbed` is set, each recorded position has checkers moved; the game itself goes on as
    it was.

    Always the same for a seed and a number, on any number of threads and in any batch. Raises UsageError for numbers
    beyond 0 to 2^63 - 1.
    """
    n = len(numbers)
    if not 0 <= min(seed, int(numbers.min(initial=0))) <= max(seed, int(numbers.max(initial=0))) < 1 << 63:
        raise UsageError(f"expected numbers from 0 to 2^63 - 1, got seed {seed}")
    counts, boards = np.zeros(n, np.int64), np.empty((n, MOST_TURNS, 26), np.int8)
    in_threads(fill_games, n, *players, seed, numbers, starts, perturbed, counts, boards)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    return SourceGames(offsets, boards[np.arange(MOST_TURNS) < counts[:, None]])


@kernel()
def fill_games(
    begin: int,
    end: int,
    first_chooser: Chooser,
    second_chooser: Chooser,
    seed: int,
    numbers: NDArray[np.int64],
    starts: NDArray[np.int8],
    perturbed: NDArray[np.bool_],
    counts: NDArray[np.int64],
    boards: Boards,
) -> None:
    """Fills boards[row, turn, slot] and counts[row], how many turns, with game numbers[row], for the rows begin:end."""
    scratch, nothing = new_game_scratch(first_chooser, second_chooser), nothing_recorded()
    board, counter = np.empty(26, np.int8), np.empty(1, np.int64)
    for row in range(begin, end):
        stream, is_opening = random_stream(seed, numbers[row]), starts[row] == _OPENING
        fill_start(starts[row], stream, board, counter, scratch.after, scratch.notes)
        side = int(random_bits(stream, _SIDES) & np.uint64(1))
        record = Turns(boards[row], nothing.dice, nothing.after_play, nothing.chances, nothing.sources)
        _, counts[row] = play_game(
            first_chooser, second_chooser, stream, numbers[row], side, board, is_opening, MOST_TURNS, scratch, record
        )
        if perturbed[row]:
            for turn in range(counts[row]):
                counter[0] = _PERTURBATIONS + turn * _CHANGES
                perturb(stream, counter, boards[row, turn])


@kernel(borrows=True)
def perturb(stream: np.uint64, counter: Counter, board: Boards) -> None:
    """Fills board[slot] with itself after one or two checkers were taken from where they are, the bar included, and put
    on points where the other side has none. Nobody comes onto the bar or off it to bear off."""
    for _ in range(1 + draw(stream, counter, 2)):
        sign = 1 if draw(stream, counter, 2) == 0 else -1
        place = nth_checker(board, sign, draw(stream, counter, CHECKERS))
        target = 1 + draw(stream, counter, BAR - 1)
        if sign * board[target] >= 0:
            on_bar = place in (BAR, OPPONENT_BAR)
            board[place] -= 1 if on_bar else sign
            board[target] += sign


@kernel(borrows=True)
def nth_checker(board: Boards, sign: int, number: int) -> int:
    """The slot of a side's checker (1: on roll, -1: the opponent) of board[slot], counted from its ace point on and, if
    there are not so many, again from there."""
    while True:
        for step in range(1, BAR + 1):
            slot = step if sign > 0 else BAR - step
            number -= max(int(board[slot]) if step == BAR else sign * int(board[slot]), 0)
            if number < 0:
                return slot
