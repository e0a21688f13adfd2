"""Samples positions theme by theme from games of many sources, so that the taste of no player decides.

Game g is of the sources in turn, and within a source of every `Start` in turn; every fourth game of a source has its
positions perturbed. Games are looked at in order. Of each theme that comes up in a game one position is drawn, by a
hash, and is taken unless

* its theme has enough of the game's half: as many positions are from games for validation as from games for test,
* its theme has twice the share of the game's source, or
* the position was taken before, or is one that was, seen by the other side.

Never drawn are bearoffs of at most six checkers a side, which exact tables know, and races and bearoffs that are
decided: all five chances within 0.05 of 0 or 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bgdata.errors import UsageError
from bgdata.evaluation.chances import Chances
from bgdata.evaluation.choices import Chooser
from bgdata.game.board_kernels import position_classes
from bgdata.game.classes import PositionClass
from bgdata.game.codec import Boards
from bgdata.game.position_hash import position_hashes
from bgdata.game.random import mix_bits
from bgdata.game.themes import Theme, position_themes
from bgdata.play.source_games import source_games
from bgdata.play.splits import SPLITS, game_hashes, halves_of_games
from bgdata.play.starts import Start

ROUND = 440  # games that are played at a time
PERTURBED = 4  # every so many games of a source
HALVES = 2
DECIDED = 0.05  # from a chance of 0 or 1
_KNOWN = int(PositionClass.BEAROFF_TWO_SIDED)


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


def are_asked(sources: Sources, positions: Positions) -> NDArray[np.bool_]:
    """bool[n]: whether positions may be drawn."""
    is_race = np.isin(positions.themes, (Theme.RACE, Theme.BEAR_OFF))
    is_known = position_classes(positions.boards) == _KNOWN
    doubtful = np.flatnonzero(is_race & ~is_known)
    chances = sources.judge(positions.boards[doubtful])
    asked = ~is_race
    asked[doubtful] = (np.minimum(chances, 1 - chances) > DECIDED).any(axis=1)
    return asked


def drawn_positions(sources: Sources, seed: int, games: NDArray[np.int64]) -> Positions:
    """One position for each theme that comes up in each of int64[n] games of a seed, ordered by game and theme."""
    every = all_positions(sources, seed, games)
    asked = every.rows(np.flatnonzero(are_asked(sources, every)))
    keys = mix_bits(position_hashes(asked.boards) + game_hashes(seed, asked.games))
    order = np.lexsort((asked.turns, keys, asked.themes, asked.games))
    pairs = np.stack([asked.games[order], asked.themes[order]], axis=1)
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = (pairs[1:] != pairs[:-1]).any(axis=1)
    return asked.rows(order[is_first])


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
