"""Match files in the Jellyfish format (.mat), as gnubg writes them, and as others do with slight differences.

A game is two columns of turns: the left one is player 0's. `32: 24/22 13/10` is a roll and its checker moves, the bar
is 25 or `bar`, off is 0 or `off`, `*` hits, `(2)` moves two checkers. A roll with nothing behind it had no legal play,
or was followed by a resignation: only the board tells. Who wins is told by the column of `Wins`. gnubg does not write
the take behind a beaver.
Source: files that gnubg 1.07 writes and reads, and their description; no program text was used.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest

from bgdata.errors import UsageError, shown
from bgdata.formats.lines import Ledger, decoded_text, read_bytes, split_lines, write_bytes
from bgdata.formats.matches import BAR_POINT, OFF_POINT, Game, Match, MatchFile, RecordedMove, Turn, TurnKind

_DOS_END = b"\x1a"
_MOST_BYTES = 500  # of a line that makes sense
_MOST_INFO_BYTES = 1 << 16  # of one with a comment or info
_LEFT_WIDTH, _NAME_WIDTH = 27, 31
_LEFT_END = 15  # with one roll in a line, the left column ends at the first gap from here on
_RIGHT_BEGIN = 20  # a result from here on stands in the right column
_INFO = re.compile(r';\s*\[([^"\]\s][^"\]]*)"(.*)"\]\s*')
_LENGTH = re.compile(r"\s*(\d{1,5}) point match\s*", re.IGNORECASE)
_GAME = re.compile(r"\s*Game (\d{1,5})\s*", re.IGNORECASE)
_NAMES_APART = re.compile(r"\s*([^\s:][^:]*?)\s*:\s*(\d{1,5})\s+([^\s:][^:]*?)\s*:\s*(\d{1,5})\s*")
_NAMES_TOUCHING = re.compile(r"\s*([^\s:][^:]*?)\s*:\s*(\d{1,5})([^\s:\d][^:]*?)\s*:\s*(\d{1,5})\s*")
_TURNS = re.compile(r"\s*\d{1,5}\)")
_DICE_COLON = re.compile(r"(?<!\d)\d\d:")
_GAP = re.compile(r"  |(?<=\S) (?=Wins )")  # a result may follow a long play without a gap
_WINS = re.compile(r"\s*Wins (\d{1,9}) points?(?: and the match)?\s*", re.IGNORECASE)
_ROLL = re.compile(r"([1-6])([1-6]):\s*(.*)")
_NO_PLAY = re.compile(r"(?:cannot move|\?{2,})?", re.IGNORECASE)
_STEPS = re.compile(r"(bar|\d{1,2})((?:/(?:off|\d{1,2})\*?)+)(?:\(([1-4])\))?", re.IGNORECASE)
_CUBE = re.compile(r"(doubles|redoubles|beavers|raccoons) => (\d{1,9})", re.IGNORECASE)
_ANSWERS = {
    "takes": TurnKind.TAKE,
    "drops": TurnKind.PASS,
    "passes": TurnKind.PASS,
    "resigns": TurnKind.RESIGN,
}


def read_mat(path: str | os.PathLike[str]) -> MatchFile:
    """Read a .mat file, plain, .gz or .bz2; bad lines are quarantined. Errors as in `lines.read_bytes`."""
    return parse_mat(read_bytes(path))


def parse_mat(data: bytes) -> MatchFile:
    """The matches of a .mat file's content; lines that are not understood, or stand where they cannot, are quarantined.

    Each line is text as `decoded_text` reads it; names cannot have colons, and what is not printable in them becomes a
    blank. Headings, info lines (`; [Name "value"]`), turns and results are rows; blank lines and others that begin with
    `;` or `#` are comments. Info lines belong to the match that follows, or to the one whose heading stands before them
    without a game yet. The mark of DOS at the end of a text is dropped.
    """
    return _Reader(data.rstrip(_DOS_END)).file()


class _Reader:
    """Goes through the lines once; what is open are the last match and its last game."""

    def __init__(self, data: bytes) -> None:
        self.lines = split_lines(data)
        self.ledger = Ledger(self.lines)
        self.matches: list[Match] = []
        self.games: list[Game] = []  # of the open match
        self.info: list[tuple[str, str]] = []  # for the match that follows
        self.heading: tuple[int, int] | None = None  # number and line index of a game whose names come next
        self.is_open = False  # the last game has no result yet

    def file(self) -> MatchFile:
        for index in range(len(self.lines)):
            try:
                self._read(index, _text(self.lines[index]))
            except ValueError as error:
                self.ledger.reject([index], str(error))
                if self.games and self.is_open:
                    self.games[-1] = replace(self.games[-1], bad_lines=self.games[-1].bad_lines + 1)
        self._close_match()
        return MatchFile(self.ledger, tuple(self.matches))

    def _read(self, index: int, text: str) -> None:
        """One line; ValueError says what was expected."""
        if found := _INFO.fullmatch(_without_unprintable(text)):
            self._add_info((found[1].rstrip(), found[2]))
        elif not text.strip() or text.lstrip()[0] in ";#":
            self.ledger.set_aside([index])
        else:  # behind the number of a game come names
            self._read_row(index, _without_unprintable(text) if self.heading else text)

    def _read_row(self, index: int, text: str) -> None:
        """A line that is no info or comment: it must be printable."""
        self._expect(text.isprintable(), "printable text")
        if found := _LENGTH.fullmatch(text):
            self._close_match()
            self.matches.append(Match(("", ""), int(found[1]), (), tuple(self.info)))
            self.info = []
        elif found := _GAME.fullmatch(text):
            self._expect(bool(self.matches), "a line 'N point match' before a game")
            self.heading, self.is_open = (int(found[1]), index), False
        elif _TURNS.match(text) or _WINS.fullmatch(text):
            self._expect(self.is_open, "a game without a result before turns and results")
            self._add_turns(index, text)
        else:
            self._open_game(index, text)

    @staticmethod
    def _expect(is_so: bool, words: str) -> None:
        if not is_so:
            raise ValueError(f"expected {words}")

    def _add_info(self, pair: tuple[str, str]) -> None:
        """To the match whose heading stands before it, if no game has begun; else to the one that follows."""
        if self.matches and not self.games:
            self.matches[-1] = replace(self.matches[-1], info=(*self.matches[-1].info, pair))
        else:
            self.info.append(pair)

    def _open_game(self, index: int, text: str) -> None:
        """The line of names and scores below the number of a game."""
        found = _names(text)
        if self.heading is None or found is None:
            raise ValueError(
                "expected a heading, turns, a result, or 'NAME : SCORE   NAME : SCORE' below a game's number"
            )
        players, score = found
        self._expect(not self.games or players == self.matches[-1].players, "the players of the match")
        self.matches[-1] = replace(self.matches[-1], players=players)
        number, first = self.heading
        self.games.append(Game(number, score, units=range(first, index + 1)))
        self.heading, self.is_open = None, True

    def _add_turns(self, index: int, text: str) -> None:
        """A line of turns, of a result, or of both."""
        game, turns, result = self.games[-1], [], None
        for player, cell in _cells(text):
            self._expect(result is None, "nothing behind a result")
            if found := _WINS.fullmatch(cell):
                result = player, int(found[1])
            else:
                turns.append(replace(_turn(cell, player), line=index + 1))
        winner, points = result or (None, None)
        units = range(game.units.start, index + 1)
        self.games[-1] = replace(game, turns=(*game.turns, *turns), winner=winner, points=points, units=units)
        self.is_open = result is None

    def _close_match(self) -> None:
        if self.matches:
            self.matches[-1] = replace(self.matches[-1], games=tuple(self.games))
        self.games, self.heading, self.is_open = [], None, False


def _text(line: bytes) -> str:
    """The line without tabs; ValueError if it is too long."""
    most = _MOST_INFO_BYTES if line[:1] == b";" else _MOST_BYTES
    if len(line) > most:
        raise ValueError(f"expected at most {most} bytes in a line")
    return decoded_text(line).expandtabs()


def _without_unprintable(text: str) -> str:
    """The text with a blank for each character that is not printable, such as a no-break space."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _names(text: str) -> tuple[tuple[str, str], tuple[int, int]] | None:
    """(players, scores) of the line below the number of a game; long names run into the second column."""
    found = _NAMES_APART.fullmatch(text) or _NAMES_TOUCHING.fullmatch(text)
    return ((found[1], found[3]), (int(found[2]), int(found[4]))) if found else None


def _cells(text: str) -> list[tuple[int, str]]:
    """(player, text) of the cells of a line that are not empty."""
    if _WINS.fullmatch(text):
        return [(int(len(text) - len(text.lstrip()) >= _RIGHT_BEGIN), text)]
    number = _TURNS.match(text)
    begin = number.end() if number else 0
    rolls = [found.start() for found in _DICE_COLON.finditer(text, begin)]
    gap = _GAP.search(text, max(begin, _LEFT_END))
    gap_or_end = gap.start() if gap else len(text)
    end = rolls[1] if len(rolls) > 1 else gap_or_end
    cells = text[begin:end].strip(), text[end:].strip()
    return [(player, cell) for player, cell in enumerate(cells) if cell]


def _turn(cell: str, player: int) -> Turn:
    """The turn of one cell; ValueError says what was expected."""
    if found := _ROLL.fullmatch(cell):
        dice, rest = (int(found[1]), int(found[2])), found[3].strip()
        if _NO_PLAY.fullmatch(rest):
            return Turn(player, TurnKind.PLAY, dice, text=rest)
        return Turn(player, TurnKind.PLAY, dice, _checker_moves(rest))
    if found := _CUBE.fullmatch(cell):
        kind = TurnKind.DOUBLE if found[1].lower().endswith("doubles") else TurnKind.BEAVER
        return Turn(player, kind, cube_value=int(found[2]))
    if answer := _ANSWERS.get(cell.lower()):
        return Turn(player, answer)
    raise ValueError("expected a roll with checker moves, or Doubles => N, Takes, Drops, Beavers => N in a column")


def _checker_moves(text: str) -> tuple[RecordedMove, ...]:
    """The checker moves of a play; ValueError says what was expected."""
    moves: list[RecordedMove] = []
    for part in text.split():
        found = _STEPS.fullmatch(part)
        if found is None:
            raise ValueError("expected checker moves such as 24/18, bar/21* or 6/off(2)")
        steps = _steps(found[1], found[2])
        moves += steps
        for _ in range(1, int(found[3] or 1)):  # the checkers behind the first find nobody left to hit
            moves += [step._replace(is_hit=False) for step in steps]
    if len(moves) > 4:
        raise ValueError("expected at most 4 checker moves")
    return tuple(moves)


def _steps(start: str, steps: str) -> list[RecordedMove]:
    """The steps of one checker: 24/20*/18 are two."""
    points = [_point(start), *(_point(step.rstrip("*")) for step in steps[1:].split("/"))]
    hits = [step.endswith("*") for step in steps[1:].split("/")]
    if points[0] == OFF_POINT or max(points) > BAR_POINT or sorted(set(points), reverse=True) != points:
        raise ValueError("expected checker moves from a higher point to a lower one")
    return [RecordedMove(*move) for move in zip(points, points[1:], hits, strict=False)]


def _point(text: str) -> int:
    return {"bar": BAR_POINT, "off": OFF_POINT}.get(text.lower()) or int(text if text.isdigit() else 0)


def write_mat(path: str | os.PathLike[str], match: Match) -> None:
    """Write one match as a .mat file; compressed if the name ends in .gz or .bz2. Raises StorageError where it
    cannot."""
    write_bytes(path, format_mat(match))


def format_mat(match: Match) -> Iterator[bytes]:
    """The lines of a .mat file, laid out as gnubg does; what gnubg wrote of finished games comes out byte for byte.

    Turns are put into the column of their player; acts that the format has no words for (ROLL is a roll without a play)
    are left out: set-ups, and resignations, which show by the result alone; so is a winner of unknown points. Info is
    cut where it would make a line that is not read again. Raises UsageError for names of players that could not be read
    again, such as those with colons or none, and for a game that begins with a cube above 1, which the format cannot
    say.
    """
    if match.games or any(match.players):
        _check_names(match.players)
    _check_cubes(match)
    for name, value in match.info:
        yield _info_line(name, " ".join(value.splitlines()))
    yield f"{_NEW_LINE * bool(match.info)} {match.length} point match\n\n".encode()
    for game in match.games:
        yield _game_text(match.players, game).encode()


def _info_line(name: str, value: str) -> bytes:
    begin, end = f'; [{name} "'.encode(errors="replace"), b'"]\n'
    kept = value.encode(errors="replace")[: _MOST_INFO_BYTES - len(begin) - len(end)]
    return begin + kept.decode(errors="ignore").encode() + end  # no half of a letter


def _check_names(players: tuple[str, str]) -> None:
    text = f" 0 point match\n{_game_text(players, Game(1, (0, 0)))}"
    matches = parse_mat(text.encode(errors="replace")).matches
    read = [match.players for match in matches if match.games]
    if len(matches) > 1 or read != [(players[0].strip(), players[1].strip())]:
        raise UsageError(f"expected names of players that a .mat file can hold, got {players[0]!r} and {players[1]!r}")


def _check_cubes(match: Match) -> None:
    for game in match.games:
        if game.cube_value != 1:
            raise UsageError(
                "expected games that begin with a cube of 1, as a .mat file cannot say another, got "
                f"{game.cube_value} in game {game.number} of {shown(match.players[0])} and {shown(match.players[1])}"
            )


_NEW_LINE = "\n"
_BLANK = " "
_WORDS = {TurnKind.TAKE: " Takes", TurnKind.PASS: " Drops"}
_CUBE_WORDS = {TurnKind.DOUBLE: "Doubles", TurnKind.BEAVER: "Beavers"}


def _game_text(players: tuple[str, str], game: Game) -> str:
    """Heading, rows of two cells, result, blank line."""
    names = [f"{name} : {score}" for name, score in zip(players, game.score, strict=True)]
    gap = " " * (len(names[0]) >= _NAME_WIDTH and names[1][0].isdigit())  # else the score would run into the name
    text = f" Game {game.number}\n {names[0]:<{_NAME_WIDTH}}{gap}{names[1]}\n"
    turns = _written_turns(game)
    column, row = 1, 0  # of the last cell written
    for turn in turns:
        if turn.player <= column:
            row += 1
            text += f"{_NEW_LINE * (row > 1 and column == 0)}{row:3}) "
            text += f"{'':<{_LEFT_WIDTH}} " if turn.player else ""
        text += f"{_cell(turn):<{_LEFT_WIDTH}} " if turn.player == 0 else f"{_cell(turn)}\n"
        column = turn.player
    is_passed = bool(turns) and turns[-1].kind is TurnKind.PASS
    return f"{text}{_result(game, column, is_passed)}\n"


def _written_turns(game: Game) -> list[Turn]:
    """The turns that have a cell: also, as a blank, the take of a beaver that the one who doubled first has turned."""
    turns = [turn for turn in game.turns if turn.kind not in (TurnKind.SETUP, TurnKind.RESIGN)]
    written: list[Turn] = []
    doubler = None
    for turn, following in zip_longest(turns, turns[1:]):
        written.append(turn)
        doubler = turn.player if turn.kind is TurnKind.DOUBLE else doubler
        is_taken = following.player == turn.player if following else None not in (game.winner, game.points)
        if turn.kind is TurnKind.BEAVER and turn.player == doubler and is_taken:
            written.append(Turn(1 - turn.player, TurnKind.TAKE, text=_BLANK))
    return written


def _result(game: Game, column: int, is_passed: bool) -> str:
    """The result, behind a last cell in this column."""
    new_line = _NEW_LINE * (column == 0)
    if game.winner is None or game.points is None:
        return new_line
    words = f"Wins {game.points} point{'s' * (game.points != 1)}"
    if game.winner == 1 and column == 0:
        return f" {words} \n" if is_passed else f"{words}\n"
    return f"{new_line}{'':<{34 if game.winner else 6}}{words}\n"


def _cell(turn: Turn) -> str:
    if turn.text == _BLANK:
        return 2 * _BLANK * turn.player
    if turn.dice is None:
        word = _WORDS.get(turn.kind)
        return word if word else f" {_CUBE_WORDS[turn.kind]} => {turn.cube_value}"
    moves = "".join(f" {move.from_point}/{move.to_point}{'*' * bool(move.is_hit)}" for move in turn.checker_moves)
    return f"{turn.dice[0]}{turn.dice[1]}:{moves}{' ' * (len(turn.checker_moves) < 4)}"
