"""Games that gnubg 1.07 exports as text or HTML (`export match text FILE`), with its analysis.

A file contains one game, because gnubg writes the games of a match into numbered files. `Move number 2: Bo to play 41`
begins a turn, `* Bo moves 13/9 6/5` says what the player did, and the analysis follows, in points or (with per cent
signs) in match winning chances. After a take or pass, the values of the analysis are for the player who answers.
Source: files that gnubg writes; no program text was used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser

from bgdata.formats.lines import Ledger, decode_text, plain_text, split_lines
from bgdata.formats.mat import parse_checker_moves
from bgdata.formats.matches import (
    BY_HAND,
    CUBE_CHOICES,
    JACOBY,
    Analysis,
    Choice,
    Flaw,
    Game,
    Match,
    MatchFile,
    Turn,
    TurnKind,
)
from bgdata.game.match_state import MatchState, parse_match_id
from bgdata.game.position import START

ANALYST = "gnubg"
_BEGIN = r"The score \(after (\d{1,5}) games?\) is: "
_TEXT = re.compile(rb"\s*" + _BEGIN.encode())
_HTML = re.compile(rb"\s*(?:<\?xml|<!doctype html|<html).*<title>\s*" + _BEGIN.encode(), re.DOTALL | re.IGNORECASE)
_SCORE = re.compile(_BEGIN + r"(.+) (\d{1,5}), (.+) (\d{1,5})(?: \(match to (\d{1,5}) points?[^()]*\).*)?")
_TURN = re.compile(r"Move number \d+:\s+(.*)")
_DICE = re.compile(r".* to play ([1-6])([1-6])")
_IDS = re.compile(r"(Position|Match) ID\s*: ([\w+/]+)")
_RESULT = re.compile(r"(.+) wins (\d{1,9}) points?(?: and the match)?!?")
_NUMBER = r"[+-]?\d+[.,]\d+"
_LUCK = re.compile(rf"(?:Rolled [1-6]{{2}}|Alert: .*lucky roll!) \(\s*({_NUMBER}%?)\)")  # HTML has only alerts
_PLAY = re.compile(
    r"(\*?)\s*(\d+\.|\?\?)\s+(?:(Cubeful|Cubeless) (\d)-ply|(Rollout))\s+(.*?)\s+"
    rf"(?:Eq\.|MWC):\s*({_NUMBER}%?)(?:\s.*)?"
)
_PLAY_CELLS = re.compile(rf"(\*?)\t(\d+|\?\?)\t(\d|R\w*)\t([^\t]+)\t({_NUMBER}%?)(?:\s.*)?")
_CHANCES = re.compile(
    rf"\s*({_NUMBER})\s+({_NUMBER})\s+({_NUMBER})\s+-\s+{_NUMBER}\s+({_NUMBER})\s+({_NUMBER})\s*(?:CL.*)?"
)
_CUBE_LEVEL = re.compile(r"(?:(\d)-ply|(Rollout)) cubeless (?:equity|MWC)\b.*")
_CUBE = re.compile(rf"[123]\. (No (?:re)?double|(?:Double|Redouble), (?:pass|take|beaver))\s+({_NUMBER}%?)(?:\s.*)?")
_TRIALS = re.compile(r"(\d+) games,.*")
_INFO = re.compile(r"([A-Z][^:]{0,60}|.{1,60}'s rating): (.*)")
_KINDS = {"doubles": TurnKind.DOUBLE, "redoubles": TurnKind.DOUBLE, "accepts": TurnKind.TAKE, "rejects": TurnKind.PASS}
_LATE = "??"  # in place of the number of a play that is not among the first
_BULLET = "\u2022"
_HIDDEN, _ROWS = ("style", "script", "title"), ("p", "tr", "div", "br", "h1", "h2", "h3", "hr", "table")


def is_text_export(content: bytes) -> bool:
    """Whether content, or its beginning, is a text export of gnubg."""
    return _TEXT.match(content) is not None


def is_html_export(content: bytes) -> bool:
    """Whether content, or its beginning, is an HTML export of gnubg."""
    return _HTML.match(content) is not None


def parse_gnubg_text(data: bytes) -> MatchFile:
    """Parse the game in a text export of gnubg. Lines of boards, statistics and remarks count as comments. If a turn
    cannot be read, the game is quarantined."""
    lines = split_lines(plain_text(data))
    texts = [decode_text(lines[index]).expandtabs() for index in range(len(lines))]
    return _read(Ledger(lines), list(enumerate(texts)))


def parse_gnubg_html(data: bytes) -> MatchFile:
    """Parse the game in an HTML export of gnubg. Comments and invalid turns are treated as in `parse_gnubg_text`."""
    content = plain_text(data)
    page = _Page()
    page.feed(decode_text(content))
    page.close()
    page.end_row()
    return _read(Ledger(split_lines(content)), page.rows)


class _Page(HTMLParser):
    """Converts an HTML export to the rows of text of a text export, each with its line number, from 0."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[tuple[int, str]] = []
        self.cells: list[str] = []
        self.first, self.is_hidden = 0, False

    def handle_starttag(self, tag: str, _attributes: list[tuple[str, str | None]]) -> None:
        if tag in _HIDDEN:
            self.is_hidden = True
        elif tag in ("td", "th"):
            self.first = self.first if self.cells else self.getpos()[0] - 1
            self.cells.append("")
        elif tag in _ROWS:
            self.end_row()

    def handle_endtag(self, tag: str) -> None:
        if tag in _HIDDEN:
            self.is_hidden = False
        elif tag in _ROWS:
            self.end_row()

    def handle_data(self, data: str) -> None:
        if self.is_hidden or not (self.cells or data.strip()):
            return
        if not self.cells:
            self.first = self.getpos()[0] - 1
            self.cells.append("")
        self.cells[-1] += data

    def end_row(self) -> None:
        """Add the text that was read since the last row to the rows."""
        cells = [" ".join(cell.split()).replace(_BULLET, "*") for cell in self.cells]
        self.cells = []
        if found := _PLAY_CELLS.fullmatch("\t".join(cells)):
            mark, number, level, play, equity = found.groups()
            by = f"Cubeful {level}-ply" if level.isdigit() else "Rollout"
            text = f"{mark} {number if number == _LATE else number + '.'} {by} {play}  Eq.: {equity}"
        elif len(cells) == 2 and cells[0]:
            text = ": ".join(cells)
        else:
            text = " ".join(filter(None, cells))
        if text:
            self.rows.append((self.first, text))


def _read(ledger: Ledger, rows: list[tuple[int, str]]) -> MatchFile:
    """Read the game in these rows of (line, text). All other lines are marked as comments."""
    reader = _Reader(rows)
    match = reader.read()
    is_row = {line for line, _ in (*reader.used, *reader.rejects)}
    ledger.set_aside([line for line in range(len(ledger.lines)) if line not in is_row])
    for line, reason in reader.rejects:
        ledger.reject([line], reason)
    return MatchFile(ledger, (match,) if match else ())


@dataclass
class _TurnAnalysis:
    """The analysis of one turn in the export."""

    plays: list[Choice] = field(default_factory=list)
    cube: list[tuple[str, float]] = field(default_factory=list)
    cube_chances: tuple[float, ...] | None = None
    cube_level: str = ""
    luck: float | None = None
    comments: list[str] = field(default_factory=list)
    is_mwc: bool = False


class _Reader:
    """Reads the rows of a game in their order."""

    def __init__(self, rows: list[tuple[int, str]]) -> None:
        self.rows = rows
        self.used: list[tuple[int, str]] = []  # rows that belong to the game
        self.rejects: list[tuple[int, str]] = []
        self.players, self.score, self.number, self.length = ("", ""), (0, 0), 0, 0
        self.turns: list[Turn] = []
        self.said = _TurnAnalysis()
        self.dice: tuple[int, int] | None = None  # dice of a roll for which no play was read yet
        self.is_told = False  # whether the action of this turn was read
        self.winner: int | None = None
        self.points: int | None = None
        self.result_line = 0
        self.info: list[tuple[str, str]] = []
        self.state: MatchState | None = None
        self.flaw: Flaw | None = None
        self.place = "info"  # part of the file: info, turns, comment or end

    def read(self) -> Match | None:
        """Read all rows. Returns the match with its one game, or None if the export has no heading."""
        for line, text in self.rows:
            if self.read_row(line, text.strip()):
                self.used.append((line, text))
        self.end_turn(0)
        if not self.used:
            return None
        first, last = self.used[0][0], self.used[-1][0]
        is_crawford = bool(self.length and self.state and self.state.is_crawford)
        game = Game(
            self.number, self.score, tuple(self.turns), self.winner, self.points, is_crawford,
            range(first, last + 1), self.flaw, line=first + 1, result_line=self.result_line or first + 1,
        )  # fmt: skip
        if not self.length and self.state and self.state.is_jacoby:
            self.info.append(JACOBY)
        return Match(self.players, self.length, (game,), tuple(self.info))

    def read_row(self, line: int, text: str) -> bool:
        """Read a row, and return whether it belongs to the game."""
        if found := _SCORE.fullmatch(text):
            return self.read_heading(found)
        if self.place == "end" or not any(self.players):
            return False
        if found := _TURN.fullmatch(text):
            self.end_turn(line)
            self.place, self.is_told = "turns", False
            roll = _DICE.fullmatch(found[1])
            self.dice = (int(roll[1]), int(roll[2])) if roll else None
            return True
        if (found := _RESULT.fullmatch(text)) and found[1] in self.players:
            self.end_turn(line)
            self.winner, self.points, self.result_line = self.players.index(found[1]), int(found[2]), line + 1
            self.place = "end"
            return True
        if text.startswith("Game statistics for game "):
            self.place = "end"
            return False
        if self.place == "info":
            if found := _INFO.fullmatch(text):
                self.info.append((found[1], found[2]))
            return found is not None
        return self.read_turn_row(line, text)

    def read_heading(self, found: re.Match[str]) -> bool:
        """Read the score, only once, because HTML exports repeat it."""
        if any(self.players):
            return False
        self.players, self.score = (found[2], found[4]), (int(found[3]), int(found[5]))
        self.number, self.length = int(found[1]) + 1, int(found[6] or 0)
        return True

    def read_turn_row(self, line: int, text: str) -> bool:
        """Read a row of a turn."""
        if text.startswith("* ") and not _PLAY.fullmatch(text) and not text.endswith("Cannot move"):
            self.read_act(line, text[2:])
            return True
        if self.place == "comment" and text and not text.startswith("Annotation"):
            self.said.comments.append(text)
            return True
        if self.place != "comment" and text.rstrip(":") == "Annotation":
            self.place = "comment"
            return True
        self.read_identifiers(line, text)
        return self.read_analysis(text)

    def read_act(self, line: int, text: str) -> None:
        """Read a row that says what a player did in a turn."""
        for player in sorted((0, 1), key=lambda each: -len(self.players[each])):
            if text.startswith(f"{self.players[player]} "):
                verb, _, rest = text[len(self.players[player]) + 1 :].partition(" ")
                break
        else:
            player, verb, rest = 0, "", ""
        try:
            if (verb, rest) == ("cannot", "move"):
                verb, rest = "moves", ""
            if verb == "moves" and self.dice:
                turn = Turn(player, TurnKind.PLAY, self.dice, parse_checker_moves(rest), line=line + 1)
            elif verb in _KINDS:
                is_answer = bool(self.turns) and self.turns[-1].kind in (TurnKind.DOUBLE, TurnKind.BEAVER)
                kind = TurnKind.BEAVER if is_answer and verb.endswith("doubles") else _KINDS[verb]
                turn = Turn(player, kind, line=line + 1)
            elif verb == "resigns":
                turn = Turn(player, TurnKind.RESIGN, line=line + 1)
            else:
                raise ValueError("expected a player who moves, doubles, accepts, rejects or resigns")
        except ValueError as error:
            self.reject(line, str(error))
            return
        self.turns.append(turn)
        self.is_told = True

    def read_identifiers(self, line: int, text: str) -> None:
        """Read the position before the first turn, and the rules."""
        for name, code in _IDS.findall(text):
            if name == "Position" and not self.turns and code != START.id:
                self.reject(line, BY_HAND)
            if name == "Match" and self.state is None:
                try:
                    self.state = parse_match_id(code)
                except ValueError as error:
                    self.reject(line, str(error))

    def reject(self, line: int, reason: str) -> None:
        """Quarantine the game. Only the first reason is kept."""
        if self.flaw is None:
            self.rejects.append((line, reason))
            self.flaw = Flaw(line + 1, reason)

    def read_analysis(self, text: str) -> bool:
        """Read a row of the analysis. Returns whether it is such a row."""
        said = self.said
        if found := _PLAY.fullmatch(text):
            mark, _, cubeful, ply, _, play, equity = found.groups()
            level = f"{ply}-ply{' cubeless' * (cubeful == 'Cubeless')}" if ply else "rollout"
            said.is_mwc |= equity.endswith("%")
            said.plays.append(_choice(play, _value(equity), bool(mark), level))
        elif found := _CHANCES.fullmatch(text):
            chances = _five_chances(found.groups())
            if said.plays:
                said.plays[-1] = said.plays[-1]._replace(chances=said.plays[-1].chances or chances)
            elif said.cube_level:
                said.cube_chances = said.cube_chances or chances
        elif found := _CUBE_LEVEL.fullmatch(text):
            said.cube_level = f"{found[1]}-ply" if found[1] else "rollout"
        elif found := _CUBE.fullmatch(text):
            said.is_mwc |= found[2].endswith("%")
            said.cube.append((found[1].lower().replace("redouble", "double"), _value(found[2])))
        elif found := _LUCK.match(text):
            said.is_mwc |= found[1].endswith("%")
            said.luck = _value(found[1])
        elif found := _TRIALS.fullmatch(text):
            level = f"rollout of {found[1]} trials"
            if said.plays:
                said.plays[-1] = said.plays[-1]._replace(level=level)
            elif said.cube_level == "rollout":
                said.cube_level = level
        else:
            return False
        return True

    def end_turn(self, line: int) -> None:
        """Add the analysis to the turn that was read. A roll without a play becomes a turn."""
        if self.place != "info" and not self.is_told and self.dice and self.flaw is None:
            first = 1 - self.turns[-1].player if self.turns else 0
            self.turns.append(Turn(first, TurnKind.ROLL, self.dice, line=line))
        elif self.turns and self.is_told:
            self.turns[-1] = replace(self.turns[-1], analyses=tuple(_analyses(self.said, self.turns[-1])))
        self.said, self.dice = _TurnAnalysis(), None


def _analyses(said: _TurnAnalysis, turn: Turn) -> Iterator[Analysis]:
    if said.plays:
        yield Analysis("play", ANALYST, said.plays[0].level, tuple(said.plays), said.is_mwc)
    by_name = {name.replace("beaver", "take"): value for name, value in said.cube}
    if set(by_name) == set(CUBE_CHOICES):
        values, chances = [by_name[name] for name in CUBE_CHOICES], said.cube_chances
        if turn.kind in (TurnKind.TAKE, TurnKind.PASS):  # the values are those of the player who answers
            values = [1 - value if said.is_mwc else -value for value in values]
            chances = _other_side(chances)
        cube = map(Choice, CUBE_CHOICES, values, (chances, None, None))
        yield Analysis("cube", ANALYST, said.cube_level, tuple(cube), said.is_mwc)
    if said.luck is not None:
        yield Analysis("luck", ANALYST, "", (Choice("", said.luck),), said.is_mwc)
    if said.comments:
        yield Analysis("comment", "", "", (Choice("\n".join(said.comments), None),))


def _choice(play: str, equity: float, is_made: bool, level: str) -> Choice:
    """Make a `Choice` from a play in an analysis. If the play cannot be read, its text is kept."""
    try:
        moves = () if play == "Cannot move" else parse_checker_moves(play)
    except ValueError:
        return Choice(play, equity, None, is_made, None, level)
    return Choice("", equity, None, is_made, moves, level)


def _value(text: str) -> float:
    """Parse a number. A percentage becomes a fraction."""
    number = float(text.rstrip("%").replace(",", "."))
    return round(number / 100, 6) if text.endswith("%") else number


def _five_chances(texts: tuple[str, ...]) -> tuple[float, ...]:
    """Parse the chances to win, win a gammon and a backgammon, lose a gammon and a backgammon. They may be
    percentages."""
    values = [float(text.replace(",", ".")) for text in texts]
    is_percent = any("." in text and len(text.partition(".")[2]) == 1 for text in texts)
    return tuple(round(value / 100, 6) if is_percent else value for value in values)


def _other_side(chances: tuple[float, ...] | None) -> tuple[float, ...] | None:
    if chances is None:
        return None
    win, gammon, backgammon, lose_gammon, lose_backgammon = chances
    return (round(1 - win, 6), lose_gammon, lose_backgammon, gammon, backgammon)
