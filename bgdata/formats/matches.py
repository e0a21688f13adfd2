"""Recorded matches as they are in .mat, .sgf and other files, before they are replayed.

Player 0 is the left column of a .mat file, the top side in gnubg, and white in .sgf; player 1 is the other player.
Points are numbered as the player who moves sees them: 1 to 24, 25 is the bar, 0 is off. Records have no boards, so
illegal plays are found only by replaying a game. `MatchFile.quarantine_games` then removes it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

from bgdata.formats.lines import Intake

BAR_POINT = 25
OFF_POINT = 0
BY_HAND = "expected a game from the start position without changes by hand"


class TurnKind(StrEnum):
    """The action of a player in a turn. BEAVER stands for every immediate redouble: beavers and raccoons."""

    PLAY = "play"
    ROLL = "roll"  # rolled, and the game ended without a play
    DOUBLE = "double"
    BEAVER = "beaver"
    TAKE = "take"
    PASS = "pass"
    RESIGN = "resign"
    SETUP = "setup"  # position, dice or cube changed by hand


class RecordedMove(NamedTuple):
    """The move of a checker, on the points of the player who moves; `is_hit` is None if the format does not say."""

    from_point: int
    to_point: int
    is_hit: bool | None = None


class Choice(NamedTuple):
    """A play or cube action, and its values in a file: its `equity` for the player on roll, and the five cumulative
    chances after it. They are None if the file has no value. A play has `moves` if they are known, otherwise only its
    text. `level` says how deep the program looked, if that differs from the level of the analysis."""

    text: str
    equity: float | None
    chances: tuple[float, ...] | None = None
    is_made: bool | None = None
    moves: tuple[RecordedMove, ...] | None = None
    level: str = ""


@dataclass(frozen=True, slots=True)
class Analysis:
    """The analysis of a part of a turn in a file. Its `subject` is the choice of a `play`, the `cube` before it, the
    `luck` of the roll (one choice, whose text is empty), or a `comment` (one choice, which has no values).

    `analyst` is the program, as far as it is known, and `level` says how deep it looked, in the program's words. Values
    are points of normalised equity, or mwc if `is_mwc`."""

    subject: str
    analyst: str
    level: str
    choices: tuple[Choice, ...]
    is_mwc: bool = False


SUBJECTS = ("play", "cube", "luck", "comment")
CUBE_CHOICES = ("no double", "double, take", "double, pass")


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn of one player.

    A PLAY or ROLL has `dice` in the order of the file. `checker_moves` are in the order of the file too, which has no
    meaning; one of them may contain several steps of a checker. If there are no moves, there was no legal play, or in
    .mat files perhaps a resignation after the roll. `cube_value` is the stake that a DOUBLE or BEAVER offers, if known.
    `text` is the rest of the text, and `line` counts from 1. `analyses` are the analyses of the turn in the file."""

    player: int
    kind: TurnKind
    dice: tuple[int, int] | None = None
    checker_moves: tuple[RecordedMove, ...] = ()
    cube_value: int | None = None
    text: str = ""
    line: int = field(default=0, compare=False)
    analyses: tuple[Analysis, ...] = field(default=(), compare=False)


class Flaw(NamedTuple):
    """The reason why a game cannot be replayed, and the line of the fault, from 1 (0 if it is not a line of a turn)."""

    line: int
    reason: str


class Note(NamedTuple):
    """A remark about a line that was repaired or read leniently, and its number, from 1."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Game:
    """A recorded game. `number` counts from 1, and `score` contains the points of player 0 and player 1 before the
    game.

    `winner` and `points` (which include the cube) are None for an unfinished game. Only `points` is None for a
    resignation of unknown size. `is_crawford` is None if the format does not say. `units` are the indexes of the game's
    lines in the ledger of its file (for .sgf: of its game tree). `flaw` is the first invalid line of the game, which
    then cannot be replayed. `cube_value` is the value before the first turn, above 1 after automatic doubles. `line` is
    the first line of the game, `result_line` the line of the result; `wins_match` says whether the game decides the
    match according to the record. `notes` are about lines that were read leniently."""

    number: int
    score: tuple[int, int]
    turns: tuple[Turn, ...] = ()
    winner: int | None = None
    points: int | None = None
    is_crawford: bool | None = None
    units: range = field(default=range(0), compare=False)
    flaw: Flaw | None = None
    cube_value: int = 1
    wins_match: bool = field(default=False, compare=False)
    line: int = field(default=0, compare=False)
    result_line: int = field(default=0, compare=False)
    notes: tuple[Note, ...] = field(default=(), compare=False)

    @property
    def has_result(self) -> bool:
        """Whether winner and points are known."""
        return self.winner is not None and self.points is not None


JACOBY = ("Jacoby", "On")  # entry of `info`, as in info lines of XG's .mat files
NO_CRAWFORD = ("Crawford", "Off")
VARIATION = "Variation"  # name in `info`, as in info lines of gnubg


@dataclass(frozen=True, slots=True)
class Match:
    """A recorded match: games between the same two players. `length` 0 is a money session. `info` contains (name,
    value) pairs of the file, and `JACOBY` if the file states that rule in another way. `form` is the format of the
    file, such as mat or xg."""

    players: tuple[str, str]
    length: int
    games: tuple[Game, ...] = ()
    info: tuple[tuple[str, str], ...] = ()
    form: str = field(default="", compare=False)

    @property
    def is_jacoby(self) -> bool:
        """Whether the record says that the Jacoby rule applies, in money play."""
        return not self.length and any((name, value.capitalize()) == JACOBY for name, value in self.info)

    @property
    def variation(self) -> str | None:
        """The name of the variant of backgammon that is played, such as Nackgammon, None for backgammon itself."""
        named = [value.strip() for name, value in self.info if name.lower() == VARIATION.lower()]
        return next((name for name in named if name.lower() not in ("", "backgammon")), None)


def missing_parts(match: Match) -> list[tuple[Note, ...]]:
    """List what is missing in a match, as notes by game: games before or after it, a result, points between scores, the
    end of the match. If there are any notes, the match is more than its recorded games. If all games of a session begin
    at 0-0, no points are missing, because it has no running score."""
    found: list[tuple[Note, ...]] = []
    before: Game | None = None
    for game in match.games:
        text = _break_before(match, before, game)
        found.append((Note(game.line, text),) if text else ())
        before = game
    if before and not before.has_result:
        found[-1] += (Note(before.result_line, f"game {before.number} has no result: the record ends in it"),)
    elif before and max(score_after(before)) < match.length:
        own, other = score_after(before)
        text = f"the record ends at {own}-{other}, before anybody has {match.length} points"
        found[-1] += (Note(before.result_line, text),)
    return found


def _break_before(match: Match, before: Game | None, game: Game) -> str | None:
    at = f"game {game.number} begins at {game.score[0]}-{game.score[1]}"
    if before is None:
        return f"{at}: games before it are missing" if match.length and any(game.score) else None
    if not before.has_result:
        return f"game {before.number} has no result, and {at}"
    own, other = score_after(before)
    if before.number + 1 < game.number:
        first, last = before.number + 1, game.number - 1
        missing = f"game {first} is" if first == last else f"games {first} to {last} are"
        return f"{missing} missing: {at}, and game {before.number} ends at {own}-{other}"
    if game.score == (own, other) or not (match.length or any(game.score)):
        return None
    return f"{at}, where game {before.number} ends at {own}-{other}"


def score_after(game: Game) -> tuple[int, int]:
    """The score after a game with a known result."""
    own, other = game.score
    points = game.points or 0
    return (own, other + points) if game.winner else (own + points, other)


@dataclass(frozen=True)
class MatchFile(Intake):
    """The matches in a file, and the ledger of its lines (for .sgf: of its game trees)."""

    matches: tuple[Match, ...]

    def quarantine_games(self, check: Callable[[Match, Game], Game | Flaw]) -> MatchFile:
        """Return a copy with the games that `check` returns. If it returns a flaw, the line of the flaw is quarantined
        with its reason, and the other lines of the game refer to that line. This is for rules that need the board, such
        as legal play. See also `Game.flaw`."""
        ledger, matches = self.ledger.copy(), []
        for match in self.matches:
            kept = []
            for game in match.games:
                found = check(match, game)
                if isinstance(found, Game):
                    kept.append(found)
                    continue
                place = found.line - 1 if found.line - 1 in game.units else game.units.start
                ledger.reject([place], found.reason)
                ledger.reject(list(game.units), f"expected a whole game, see line {ledger.lines.number(place)}")
            matches.append(replace(match, games=tuple(kept)))
        return MatchFile(ledger, tuple(matches))
