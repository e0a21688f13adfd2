"""Recorded matches: what .mat, .sgf and other records have in common, as written, before they are replayed.

Player 0 is the left column of a .mat file, drawn on top by gnubg, white in .sgf; player 1 is the other. Points are
counted by the player who moves: 1 to 24, 25 is the bar, 0 is off. No board is known here, so illegal plays are found
when the game is replayed; `MatchFile.quarantine_games` then removes it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

from bgdata.formats.lines import Intake

BAR_POINT = 25
OFF_POINT = 0


class TurnKind(StrEnum):
    """What a player did. A beaver, raccoon and so on turns a double back at once: each is a BEAVER."""

    PLAY = "play"
    ROLL = "roll"  # rolled, and the game ended without a play
    DOUBLE = "double"
    BEAVER = "beaver"
    TAKE = "take"
    PASS = "pass"
    RESIGN = "resign"
    SETUP = "setup"  # somebody changed the position, dice or cube by hand


class RecordedMove(NamedTuple):
    """One checker, from a point to a point of the player who moves it; `is_hit` None where the format does not say."""

    from_point: int
    to_point: int
    is_hit: bool | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """One act of one player.

    `dice` in the order written, for a PLAY or ROLL; `checker_moves` in the order written, which has no meaning, several
    steps of one checker maybe as one (none: no legal play, or in .mat files perhaps a resignation after the roll);
    `cube_value` the stake that a DOUBLE or BEAVER offers, where known; `text` what else was written; `line` from 1.
    """

    player: int
    kind: TurnKind
    dice: tuple[int, int] | None = None
    checker_moves: tuple[RecordedMove, ...] = ()
    cube_value: int | None = None
    text: str = ""
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Game:
    """One game; `number` counts from 1, `score` is that before the game, of player 0 and player 1.

    `winner` and `points` (those won, cube included) are None for a game that was not finished, `points` alone for a
    resignation that does not say for how many; `is_crawford` is None where the format does not say. `units` are the
    indexes of the game's lines in the ledger of its file (for .sgf: of its game tree). `bad_lines` counts the
    quarantined lines in between: a game with any cannot be replayed.
    `cube_value` is that before the first turn, above 1 after automatic doubles.
    """

    number: int
    score: tuple[int, int]
    turns: tuple[Turn, ...] = ()
    winner: int | None = None
    points: int | None = None
    is_crawford: bool | None = None
    units: range = field(default=range(0), compare=False)
    bad_lines: int = 0
    cube_value: int = 1


JACOBY = ("Jacoby", "On")  # as XG writes it among the info lines of a .mat file


@dataclass(frozen=True, slots=True)
class Match:
    """Games of the same two players; `length` 0 is a money session. `info` has (name, value) pairs as written, and
    `JACOBY` where a file says that in a way of its own."""

    players: tuple[str, str]
    length: int
    games: tuple[Game, ...] = ()
    info: tuple[tuple[str, str], ...] = ()

    @property
    def is_jacoby(self) -> bool:
        """Whether the record says that the Jacoby rule is in force, in money play."""
        return not self.length and any((name, value.capitalize()) == JACOBY for name, value in self.info)


GameCheck = Callable[[Match, Game], str | None]


@dataclass(frozen=True)
class MatchFile(Intake):
    """The matches of a file, and the ledger of its lines (for .sgf: of its game trees)."""

    matches: tuple[Match, ...]

    def quarantine_games(self, check: GameCheck) -> MatchFile:
        """The file without the games for which `check` gives a reason: all their lines are quarantined for it.

        For rules that need the board, such as legal play; see `Game.bad_lines` too.
        """
        ledger, matches = self.ledger.copy(), []
        for match in self.matches:
            kept = []
            for game in match.games:
                reason = check(match, game)
                if reason is None:
                    kept.append(game)
                else:
                    ledger.reject(list(game.units), reason)
            matches.append(replace(match, games=tuple(kept)))
        return MatchFile(ledger, tuple(matches))
