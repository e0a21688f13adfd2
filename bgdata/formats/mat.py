"""Match files in the Jellyfish format (.mat), as written by gnubg and, with slight differences, by other programs.

A game is two columns of turns. The left column is player 0's. `32: 24/22 13/10` is a roll and its checker moves; the
bar is 25 or `bar`, off is 0 or `off`, `*` hits, `(2)` moves two checkers. A roll without moves had no legal play, or a
resignation followed: only the board shows which. The winner is the player in whose column `Wins` is. gnubg leaves out
the take after a beaver. Source: files that gnubg 1.07 writes and reads, and their description; no program text was
used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import NamedTuple

from bgdata.errors import UsageError, cite
from bgdata.formats.lines import Ledger, decode_text, is_utf8, plain_text, split_lines, without_unprintable
from bgdata.formats.matches import (
    BAR_POINT,
    BY_HAND,
    NO_CRAWFORD,
    OFF_POINT,
    Flaw,
    Game,
    Match,
    MatchFile,
    Note,
    RecordedMove,
    Turn,
    TurnKind,
)

_DOS_END = b"\x1a"
_MAX_BYTES = 500  # longest line
_MAX_INFO_BYTES = 1 << 16  # longest comment or info line
_LEFT_WIDTH, _NAME_WIDTH = 27, 31
_LEFT_END = 15  # in a line with one roll, the left column ends at the first gap from here on
_RIGHT_BEGIN = 20  # a result from here on is in the right column
_INFO = re.compile(r';\s*\[([^"\]\s][^"\]]*)"(.*)"\]\s*')
_LENGTH = re.compile(r"\s*(?:(\d{1,5})\s+points?\s+match|match\s+(?:of|to)\s+(\d{1,5})\s+points?)\s*", re.IGNORECASE)
_GAME = re.compile(r"\s*Game\s+(\d{1,5})\s*", re.IGNORECASE)
_NAMES_APART = re.compile(r"([^:]*?)\s*:\s*(\d{1,5})\s+([^:]*?)\s*:\s*(\d{1,5})")
_NAMES_TOUCHING = re.compile(r"([^:]*?)\s*:\s*(\d{1,5})([^\s:\d][^:]*?)\s*:\s*(\d{1,5})")
_RATING = re.compile(r",\s*\d+(?:\.\d*)?$")  # some servers write a rating after a name
_SET_BY_HAND = re.compile(r"\s*;\s*Set\s+\w+\s*=", re.IGNORECASE)
_TURNS = re.compile(r"\s*\d{1,9}\)")
_DICE_COLON = re.compile(r"(?<!\d)\d\d:")
_BARE_DICE = re.compile(r"(?<![\w/*:)])([1-6][1-6])(?=\s+(?:\d{1,2}|bar)/)", re.IGNORECASE)  # old exports: no colon
_SPOKEN = "wins|losses|loses|doubles|redoubles|takes|drops|passes|beavers"
_GAP = re.compile(rf"  |(?<=\S) (?=(?:{_SPOKEN})\b)", re.IGNORECASE)  # words may follow a long play without a gap
_RESULT = re.compile(
    r"\s*(wins|losses|loses)\s+(\d{1,9})\s+points?(?:\s+with\s+a\s+(?:single|gammon|backgammon))?"
    r"(\s+and\s+the\s+match)?\s*",
    re.IGNORECASE,
)
_ROLL = re.compile(r"([1-6])([1-6]):\s*(.*)")
_NO_ROLL = re.compile(r"00:\s*\?*|\?{2,}")  # written in place of a roll before a resignation
_NO_PLAY = re.compile(
    r"(?:can(?:no|')?t\s+move|can\s+not\s+move|no\s+(?:legal\s+)?(?:moves?|plays?)|\?{2,})?", re.IGNORECASE
)
_ILLEGAL = re.compile(r"illegal\s+(?:play|move)\s*\((.*)\)", re.IGNORECASE)
_STEPS = re.compile(r"(bar|\d{1,2})((?:/(?:off|\d{1,2})\*?)+)(?:\(([1-4])\))?", re.IGNORECASE)
_CUBE = re.compile(r"(doubles|redoubles|beavers|raccoons)(?:\s*=+>\s*(\d{1,9}))?", re.IGNORECASE)
_ANSWERS = dict.fromkeys(("takes", "accepts"), TurnKind.TAKE) | dict.fromkeys(
    ("drops", "passes", "rejects"), TurnKind.PASS
)
_RESIGNED = re.compile(
    r"(?:resign(?:s|ed)?|concede[sd]?)(?:\s+(?:an?\s+|the\s+)?(?:game|single|gammon|backgammon|match))?", re.IGNORECASE
)
_FORFEITED = re.compile(r"forfeit(?:s|ed)|(?:lost|loses)\s+on\s+time", re.IGNORECASE)


def parse_mat(data: bytes) -> MatchFile:
    """Parse the matches in a .mat file. Unknown or misplaced lines are quarantined.

    Text is decoded by `plain_text` and `decode_text`; names cannot have colons, and their unprintable characters become
    blanks. Headings, info lines (`; [Name "value"]`), turns and results are rows. Comments are blank lines, numbers of
    rows without a turn, and other lines that begin with `;` or `#`. Lines such as `; Set Pos=` are no comments, because
    they change the game. Info lines belong to the next match, or to the last match if it has no game yet. The
    end-of-file mark of DOS is dropped.

    The players of a match are those of its first game. If a later game swaps the columns, its turns, score and result
    are swapped back. If a player is renamed, the first name stays. Notes record this."""
    return _Reader(plain_text(data).rstrip(_DOS_END)).read()


@dataclass
class _OpenGame:
    """A game whose lines are being read; `claim` is the result stated so far."""

    number: int
    first: int  # index of its first line
    last: int
    score: tuple[int, int] = (0, 0)
    is_swapped: bool = False
    turns: list[Turn] = field(default_factory=list)
    claim: _StatedResult | None = None
    flaw: Flaw | None = None
    notes: list[Note] = field(default_factory=list)

    def close(self) -> Game:
        """Make the finished game."""
        claim, line, units = self.claim, self.first + 1, range(self.first, self.last + 1)
        winner, points = (claim.winner, claim.points) if claim else (None, None)
        return Game(
            self.number, self.score, tuple(self.turns), winner, points, units=units, flaw=self.flaw, line=line,
            wins_match=claim is not None and claim.wins_match, result_line=claim.line if claim else line,
            notes=tuple(self.notes),
        )  # fmt: skip


class _StatedResult(NamedTuple):
    """The result in a cell: who won, how many points, and whether the cell is the loser's."""

    line: int
    winner: int
    points: int
    wins_match: bool
    is_loss: bool


class _Reader:
    """Reads the lines of a .mat file in order; the last match and its last game stay open."""

    def __init__(self, data: bytes) -> None:
        self.lines = split_lines(data)
        self.ledger = Ledger(self.lines)
        self.matches: list[Match] = []
        self.games: list[Game] = []  # games of the open match
        self.players: tuple[str, str] | None = None  # players of the open match, with the names of its first game
        self.info: list[tuple[str, str]] = []  # info of the next match
        self.heading: tuple[int, int] | None = None  # (number, line index) of a game whose names are expected next
        self.game: _OpenGame | None = None
        self.flaw: Flaw | None = None  # flaw of the next game

    def read(self) -> MatchFile:
        for index in range(len(self.lines)):
            try:
                line = self.lines[index]
                most = _MAX_INFO_BYTES if line[:1] == b";" else _MAX_BYTES
                _expect(len(line) <= most, f"at most {most} bytes in a line")
                self._read(index, decode_text(line).expandtabs())
            except ValueError as error:  # raised here, or by Python's decoding and parsing
                self._reject(index, str(error))
        self._close_match()
        return MatchFile(self.ledger, tuple(self.matches))

    def _reject(self, index: int, reason: str) -> None:
        """Quarantine a line and its game. A line after a result belongs to no game."""
        self.ledger.reject([index], reason)
        flaw = Flaw(index + 1, reason)
        if self.heading:  # this line should have contained its names
            number, first = self.heading
            self._open_game(_OpenGame(number, first, index, flaw=flaw))
            return
        if self.game and self.game.claim is None:
            self.game.flaw = self.game.flaw or flaw
            self.game.last = index
        if reason == BY_HAND:  # it may belong to the next game, unless turns of this game follow
            self.flaw = flaw

    def _read(self, index: int, text: str) -> None:
        """Read one line. Raises ValueError, whose message says what was expected."""
        if found := _INFO.fullmatch(without_unprintable(text)):
            pair = found[1].rstrip(), found[2]
            if self.matches and not (self.games or self.game):  # the line is after the heading of its match
                self.matches[-1] = replace(self.matches[-1], info=(*self.matches[-1].info, pair))
            else:
                self.info.append(pair)
        elif _SET_BY_HAND.match(text):
            raise ValueError(BY_HAND)
        elif not text.strip() or text.lstrip()[0] in ";#":
            self.ledger.set_aside([index])
        else:  # names follow the number of a game
            self._read_row(index, without_unprintable(text) if self.heading else text)

    def _read_row(self, index: int, text: str) -> None:
        """Read a line that is neither info nor a comment. It must be printable."""
        _expect(text.isprintable(), "printable text")
        if found := _LENGTH.fullmatch(text):
            self._close_match()
            self.matches.append(Match(("", ""), int(found[1] or found[2]), (), tuple(self.info)))
            self.info = []
        elif found := _GAME.fullmatch(text):
            _expect(bool(self.matches), "a line 'N point match' before a game")
            self._close_game()
            self.heading = int(found[1]), index
        elif _TURNS.match(text) or _RESULT.fullmatch(text):
            self._add_cells(index, _cells(text))
        else:
            self._read_names(index, text)

    def _read_names(self, index: int, text: str) -> None:
        """Read the names and scores in the line below a game's number. Long names may extend into the second column."""
        found = _NAMES_APART.fullmatch(text.strip()) or _NAMES_TOUCHING.fullmatch(text.strip())
        if self.heading is None or found is None:
            raise ValueError(
                "expected a heading, turns, a result, or 'NAME : SCORE   NAME : SCORE' below a game's number"
            )
        names, score = (found[1], found[3]), (int(found[2]), int(found[4]))
        number, first = self.heading
        is_swapped, notes = self._seats(names, number)
        if is_swapped:
            score = score[1], score[0]
        if self.players is None:
            self.players = names
            if not is_utf8(self.lines[index]):
                notes.append("the names are not in UTF-8: they were read as text of Windows, code page 1252")
        found_notes = [Note(index + 1, note) for note in notes]
        self._open_game(_OpenGame(number, first, index, score, is_swapped, notes=found_notes))

    def _seats(self, names: tuple[str, str], number: int) -> tuple[bool, list[str]]:
        """Compare the names in the heading of a game with the match's players. Returns whether the columns are swapped,
        and notes about it. Raises ValueError if the names are not those of the players."""
        if self.players is None or all(map(_is_same_name, names, self.players)):
            return False, []
        players = " and ".join(map(cite, self.players))
        swapped = names[1], names[0]
        if all(map(_is_same_name, swapped, self.players)):
            return True, [f"the columns of {players} are swapped in this game"]
        numbers = [game.number for game in self.games]
        if not numbers or number > max(numbers):  # the next game of one of the players: the other was renamed
            for is_swapped, pair in ((False, names), (True, swapped)):
                for player in (0, 1):
                    if _is_same_name(pair[player], self.players[player]):
                        other = 1 - player
                        note = f"{cite(self.players[other])} is called {cite(pair[other])} in this game"
                        return is_swapped, [note + (", and the columns are swapped" if is_swapped else "")]
        raise ValueError(f"expected the players of the match, {players}")

    def _open_game(self, game: _OpenGame) -> None:
        self._close_game()
        game.flaw = self.flaw or game.flaw
        self.game, self.heading, self.flaw = game, None, None

    def _add_cells(self, index: int, cells: list[tuple[int, str]]) -> None:
        """Add a line with turns, a result, or both. A row number without cells counts as a blank line."""
        if not cells:
            self.ledger.set_aside([index])
            return
        game = self.game
        if game is None or (game.claim and not all(_RESULT.fullmatch(cell) for _, cell in cells)):
            raise ValueError("expected a game without a result before turns and results")
        turns: list[Turn] = []
        claim = game.claim
        notes: list[str] = []
        for column, cell in cells:
            player = column ^ game.is_swapped
            if found := _RESULT.fullmatch(cell):
                is_loss = found[1].lower() != "wins"
                new = _StatedResult(index + 1, player ^ is_loss, int(found[2]), bool(found[3]), is_loss)
                claim = new if claim is None else _merge_claims(claim, new, notes)
                continue
            _expect(claim is None, "nothing behind a result")
            turns += [replace(turn, line=index + 1) for turn in _turns(cell, player, notes)]
        game.turns += turns
        game.claim, game.last, self.flaw = claim, index, None
        game.notes += [Note(index + 1, note) for note in notes]

    def _close_game(self) -> None:
        if self.game:
            self.games.append(self.game.close())
        self.game = None

    def _close_match(self) -> None:
        self._close_game()
        if self.matches:
            match = self.matches[-1]
            games = self.games
            if match.length and NO_CRAWFORD in [(name, value.capitalize()) for name, value in match.info]:
                games = [replace(game, is_crawford=False) for game in games]
            self.matches[-1] = replace(match, players=self.players or ("", ""), games=tuple(games))
        self.games, self.players, self.heading = [], None, None


def _expect(is_so: bool, words: str) -> None:
    if not is_so:
        raise ValueError(f"expected {words}")


def _merge_claims(before: _StatedResult, new: _StatedResult, notes: list[str]) -> _StatedResult:
    """Combine the results of two cells. If only the points differ, the winner's cell counts. Raises ValueError if they
    contradict each other."""
    is_same = before.points == new.points
    if before.winner != new.winner or not (is_same or before.is_loss != new.is_loss):
        raise ValueError(f"expected one result of the game, that of line {before.line}")
    loss, win = (before, new) if before.is_loss else (new, before)
    if not is_same:
        notes.append(f"the loser loses {loss.points} points and the winner wins {win.points}: the latter are kept")
    return win._replace(wins_match=before.wins_match or new.wins_match)


def _is_same_name(name: str, player: str) -> bool:
    """Whether a name is that of a player, ignoring case and ratings."""
    return _RATING.sub("", name).casefold() == _RATING.sub("", player).casefold()


def _cells(text: str) -> list[tuple[int, str]]:
    """Split a line into its nonempty cells. Returns the column where each begins, and its text."""
    if _RESULT.fullmatch(text):
        return [(int(len(text) - len(text.lstrip()) >= _RIGHT_BEGIN), text)]
    number = _TURNS.match(text)
    begin = number.end() if number else 0
    text = _BARE_DICE.sub(r"\1:", text)
    rolls = [found.start() for found in _DICE_COLON.finditer(text, begin)]
    gap = _GAP.search(text, max(begin, _LEFT_END))
    end = gap.start() if gap else len(text)
    if len(rolls) > 1:
        end = rolls[1]
    elif rolls and text[begin : rolls[0]].strip():  # a word before the roll
        end = rolls[0]
    cells = text[begin:end].strip(), text[end:].strip()
    return [(column, cell) for column, cell in enumerate(cells) if cell]


def _turns(cell: str, player: int, notes: list[str]) -> list[Turn]:
    """Parse the turns in a cell: one turn, and perhaps a resignation after it. Raises ValueError if the cell cannot be
    read."""
    if found := _ROLL.fullmatch(cell):
        dice, rest = (int(found[1]), int(found[2])), found[3].strip()
        if _NO_PLAY.fullmatch(rest):
            return [Turn(player, TurnKind.PLAY, dice, text=rest)]
        if _RESIGNED.fullmatch(rest):
            return [Turn(player, TurnKind.ROLL, dice), Turn(player, TurnKind.RESIGN)]
        if illegal := _ILLEGAL.fullmatch(rest):
            return [Turn(player, TurnKind.PLAY, dice, parse_checker_moves(illegal[1]), text=rest)]
        return [Turn(player, TurnKind.PLAY, dice, parse_checker_moves(rest))]
    if found := _CUBE.fullmatch(cell):
        kind = TurnKind.DOUBLE if found[1].lower().endswith("doubles") else TurnKind.BEAVER
        return [Turn(player, kind, cube_value=int(found[2]) if found[2] else None)]
    if answer := _ANSWERS.get(cell.lower()):
        return [Turn(player, answer)]
    if _FORFEITED.fullmatch(cell):
        notes.append(f"{cite(cell)} is kept as a resignation")
    elif not (_RESIGNED.fullmatch(cell) or _NO_ROLL.fullmatch(cell)):
        raise ValueError("expected a roll with checker moves, or Doubles => N, Takes, Drops, Beavers => N in a column")
    return [Turn(player, TurnKind.RESIGN)]


def parse_checker_moves(text: str) -> tuple[RecordedMove, ...]:
    """Parse the checker moves in a play such as `24/18 13/11*(2)`. Raises ValueError if it cannot be read."""
    moves: list[RecordedMove] = []
    for part in text.split():
        found = _STEPS.fullmatch(part)
        if found is None:
            raise ValueError("expected checker moves such as 24/18, bar/21* or 6/off(2)")
        texts = found[2][1:].split("/")  # the steps of one checker: 24/20*/18 has two
        points = [_point(found[1]), *(_point(text.rstrip("*")) for text in texts)]
        if points[0] == OFF_POINT or max(points) > BAR_POINT or sorted(set(points), reverse=True) != points:
            raise ValueError("expected checker moves from a higher point to a lower one")
        hits = [text.endswith("*") for text in texts]
        steps = [RecordedMove(*move) for move in zip(points, points[1:], hits, strict=False)]
        moves += steps
        for _ in range(1, int(found[3] or 1)):  # only the first checker hits
            moves += [step._replace(is_hit=False) for step in steps]
    if len(moves) > 4:
        raise ValueError("expected at most 4 checker moves")
    return tuple(moves)


def _point(text: str) -> int:
    return {"bar": BAR_POINT, "off": OFF_POINT}.get(text.lower()) or int(text if text.isdigit() else 0)


def format_mat(match: Match) -> Iterator[bytes]:
    """Yield the lines of a .mat file in gnubg's layout. Finished games that gnubg wrote are reproduced byte for byte.

    The format cannot express set-ups, resignations, and winners of unknown points, so these are left out. A ROLL
    becomes a roll without a play. Info is cut to a length that can be read. Raises UsageError for player names that
    could not be read again, such as an empty name or a name with a colon, and for a game that begins with a cube above
    1.
    """
    if match.games or any(match.players):
        _check_names(match.players)
    for game in match.games:
        if game.cube_value != 1:
            raise UsageError(
                "expected games that begin with a cube of 1, as a .mat file cannot say another, got "
                f"{game.cube_value} in game {game.number} of {cite(match.players[0])} and {cite(match.players[1])}"
            )
    for name, value in match.info:
        begin, end = f'; [{name} "'.encode(errors="replace"), b'"]\n'
        whole = " ".join(value.splitlines()).encode(errors="replace")
        cut = whole[: _MAX_INFO_BYTES - len(begin) - len(end)]
        yield begin + cut.decode(errors="ignore").encode() + end  # not cut inside a letter
    yield ("\n" * bool(match.info) + f" {match.length} point match\n\n").encode()
    for game in match.games:
        yield _game_text(match.players, game).encode()


def _check_names(players: tuple[str, str]) -> None:
    text = f" 0 point match\n{_game_text(players, Game(1, (0, 0)))}"
    matches = parse_mat(text.encode(errors="replace")).matches
    read = [match.players for match in matches if match.games]
    is_named = all(name.strip() for name in players)  # gnubg needs names
    if not is_named or len(matches) > 1 or read != [(players[0].strip(), players[1].strip())]:
        raise UsageError(f"expected names of players that a .mat file can hold, got {players[0]!r} and {players[1]!r}")


_BLANK = " "
_WORDS = {TurnKind.TAKE: " Takes", TurnKind.PASS: " Drops"}
_CUBE_WORDS = {TurnKind.DOUBLE: "Doubles", TurnKind.BEAVER: "Beavers"}


def _game_text(players: tuple[str, str], game: Game) -> str:
    """Return the text of a game: heading, rows of two cells, result, and a blank line."""
    names = [f"{name} : {score}" for name, score in zip(players, game.score, strict=True)]
    gap = " " * (len(names[0]) >= _NAME_WIDTH and names[1][0].isdigit())  # otherwise the score would run into the name
    text = f" Game {game.number}\n {names[0]:<{_NAME_WIDTH}}{gap}{names[1]}\n"
    turns = _written_turns(game)
    column, row = 1, 0  # place of the last cell written
    for turn in turns:
        if turn.player <= column:
            row += 1
            text += "\n" * (row > 1 and column == 0) + f"{row:3}) "
            text += f"{'':<{_LEFT_WIDTH}} " if turn.player else ""
        text += f"{_cell(turn):<{_LEFT_WIDTH}} " if turn.player == 0 else f"{_cell(turn)}\n"
        column = turn.player
    is_passed = bool(turns) and turns[-1].kind is TurnKind.PASS
    return f"{text}{_result(game, column, is_passed)}\n"


def _written_turns(game: Game) -> list[Turn]:
    """Return the turns of a game that have a cell. The cell of the player who doubled first and takes a beaver is
    blank."""
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
    """The line with the result of a game; `column` is the column of the last cell, and `is_passed` says that the game
    ended with a pass."""
    new_line = "\n" * (column == 0)
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
