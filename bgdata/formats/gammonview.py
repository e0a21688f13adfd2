"""Binary match files of other programs, with their analysis: .xg (eXtreme Gammon), .bgf (BGBlitz), .ogxm and .gvab
(OpenGammon, HedgeHog, GammonView), and streams of them, .ogxms.

The package gammonview (extra `matches`) decodes these files into documents, which are converted here to matches, to be
replayed like all others. The files have no lines, so the ledger has a line for each turn of a document. Player 0 is
white in documents. The package does not read everything from .xg files: beavers, games from a set-up position,
unfinished games and ratings are read from their records here.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from bgdata.errors import CorruptFileError, needing
from bgdata.formats.lines import Ledger, split_lines
from bgdata.formats.matches import (
    BAR_POINT,
    BY_HAND,
    CUBE_CHOICES,
    JACOBY,
    OFF_POINT,
    VARIATION,
    Analysis,
    Choice,
    Flaw,
    Game,
    Match,
    MatchFile,
    RecordedMove,
    Turn,
    TurnKind,
)
from bgdata.formats.unpacking import BYTES_VARIABLE, limit
from bgdata.game.position import START

MAX_UNPACKED_BYTES = 1 << 27  # most bytes of a document in a file: the largest known have 2 MB
XG_RECORDS = 8232  # bytes before the picture of an .xg file, after which its packed records begin
XG_PICTURE = slice(20, 24)  # the size of the picture
XG_RECORD, XG_GAME, XG_GAME_END, XG_MATCH_END, XG_NONE = 2560, 1, 4, 5, 255  # size of a record, and kinds of records
XG_NO_END = bytes(8) + bytes([XG_GAME_END]) + bytes(XG_RECORD - 9)  # the end of a game without points
OGXM_SIZE = slice(12, 16)  # the size of an .ogxm file
_BGF = re.compile(rb'\{(?=[^\n]{0,300}"version")(?=[^\n]{0,300}"(?:compress|useSmile|compression)")')  # its first line
PROGRAMS = {"xg": "eXtreme Gammon", "bgf": "BGBlitz", "ogxm": "OpenGammon (OGXM)"}
PLAYS, SET_POSITION = range(21), 31  # actions of a document: rolls in order, and others
KINDS = {
    21: TurnKind.DOUBLE, 22: TurnKind.TAKE, 23: TurnKind.PASS, 27: TurnKind.RESIGN, 28: TurnKind.RESIGN,
    29: TurnKind.RESIGN, 32: TurnKind.BEAVER, 33: TurnKind.BEAVER,
}  # fmt: skip
ENDS = (24, 25, 26)  # marks of the end of a game or match
VARIANTS = {1: "Nackgammon", 2: "Hypergammon", 3: "Longgammon"}
CHANCE_NAMES = ("win", "gammon_win", "bg_win", "gammon_loss", "bg_loss")
CUBE_NAMES = ("no_double_equity", "double_take_equity", "double_pass_equity")
INFO_NAMES = {
    "event": "Event", "site": "Site", "platform": "Site", "city": "City", "country": "Country", "stage": "Stage",
    "round": "Round", "table": "Table", "match_ref": "Match ID", "event_url": "Event address",
}  # fmt: skip
PLAYER_NAMES = ("player_white", "player_black")
PROFILES = ("white_profile", "black_profile")


def binary_form(content: bytes) -> str | None:
    """Return the format of a binary match file, from its first bytes: xg, bgf or ogxm, or None if it is none of
    these."""
    if content.startswith(b"RGMH"):
        return "xg"
    if content.startswith(b"OGXM"):
        return "ogxm"
    return "bgf" if _BGF.match(content) else None


def parse_document(content: bytes, name: str) -> MatchFile:
    """Parse the match in a binary file, or the matches in a stream of .ogxm files, without replaying them. Damaged
    parts of a stream are quarantined. Raises CorruptFileError if the file is damaged or too large, and
    MissingExtraError if the package gammonview is not installed."""
    form = binary_form(content)
    parts = split_stream(content) if form == "ogxm" else [content]
    if len(parts) == 1:
        return _parse_one(content, name, form)
    found = []
    for number, part in enumerate(parts, 1):
        try:
            found.append(_parse_one(part, f"part {number} of {name}", form))
        except CorruptFileError as error:
            lines = split_lines(f"part {number}".encode())
            ledger = Ledger(lines)
            ledger.reject([0], str(error))
            found.append(MatchFile(ledger, ()))
    return join_files(found)


def split_stream(content: bytes) -> list[bytes]:
    """Split a stream (.ogxms) into its .ogxm files, which follow each other. The last file gets the rest of the
    content."""
    parts, place = [], 0
    while place < len(content):
        size = int.from_bytes(content[place + OGXM_SIZE.start : place + OGXM_SIZE.stop], "little")
        end = place + size if size >= OGXM_SIZE.stop else len(content)
        if not content.startswith(b"OGXM", end):
            end = len(content)
        parts.append(content[place:end])
        place = end
    return parts


def _parse_one(content: bytes, name: str, form: str | None) -> MatchFile:
    with needing("matches", f"to read {name}"):
        import gvformat
        from gvformat.xg import read_xg
    flaws: dict[int, _Ending] = {}
    try:
        if form == "xg":
            content = _with_ends(content)
            records = read_xg(content)
            document = gvformat.convert_xg(content)
            flaws = dict(enumerate(_endings(records)))
            _add_ratings(document, records)
        elif form == "bgf":
            begin = content.find(b"\n") + 1
            document = gvformat.convert_bgf(content[:begin] + _unpack(content, begin, form))
        else:
            document = gvformat.read_gvab(content)
        return match_file(document, flaws, form or "")
    except CorruptFileError:
        raise
    except Exception as error:  # the package has no error class for damaged files
        found = f"{type(error).__name__}: {error}"
        program = PROGRAMS[form or "ogxm"]
        raise CorruptFileError(f"expected a whole file of {program} in {name}, found damage ({found[:100]})") from error


def _unpack(content: bytes, begin: int, form: str) -> bytes:
    """Return the content from `begin` on, decompressed if it is compressed. Raises CorruptFileError if it is larger
    than any match, because the package gammonview would decompress all of it at once."""
    most = limit(BYTES_VARIABLE, MAX_UNPACKED_BYTES)
    try:
        unpacked = zlib.decompressobj(wbits=32 + zlib.MAX_WBITS).decompress(content[begin:], most + 1)
    except zlib.error:  # not packed; or damaged, which the package will report
        return content[begin:]
    if len(unpacked) > most:
        raise CorruptFileError(f"expected at most {most:,} bytes in a .{form} file, found more when it is unpacked")
    return unpacked


def _with_ends(content: bytes) -> bytes:
    """Decompress an .xg file, and add an end to each game that has none. The ends are missing in unfinished games, and
    the package gammonview needs them."""
    begin = XG_RECORDS + int.from_bytes(content[XG_PICTURE], "little")
    stream = _unpack(content, begin, "xg")
    found, is_open = [content[:begin]], False
    for place in range(0, len(stream), XG_RECORD):
        record = stream[place : place + XG_RECORD]
        kind = record[8] if len(record) == XG_RECORD else XG_NONE
        if is_open and kind in (XG_GAME, XG_MATCH_END, XG_NONE):
            found.append(XG_NO_END)
        is_open = kind == XG_GAME or (is_open and kind not in (XG_GAME_END, XG_MATCH_END, XG_NONE))
        found.append(record)
    return b"".join([*found, XG_NO_END] if is_open else found)


class _Ending(NamedTuple):
    """Facts about a game in the records of an .xg file: a flaw that the package gammonview overlooks, and whether the
    game has ended."""

    flaw: str | None
    is_over: bool


def _endings(records: list[tuple[str, dict[str, Any]]]) -> Iterator[_Ending]:
    """Yield the `_Ending` of each game from the records of an .xg file."""
    places = [place for place, (kind, _) in enumerate(records) if kind == "header_game"]
    for begin, end in zip(places, [*places[1:], len(records)], strict=True):
        game = records[begin:end]
        moves = [record for kind, record in game if kind == "move"]
        flaw = None
        if moves and tuple(moves[0]["pos_before"][1:25]) != START.board[1:25]:  # the same for both players
            flaw = BY_HAND
        if any(kind == "cube" and record["doubled"] == 1 and record["take"] > 1 for kind, record in game):
            flaw = "expected no beaver, which is not read from .xg files"
        yield _Ending(flaw, any(kind == "footer_game" and record["points"] > 0 for kind, record in game))


def _add_ratings(document: dict[str, Any], records: list[tuple[str, dict[str, Any]]]) -> None:
    header = next(record for kind, record in records if kind == "header_match")
    ratings = {header["player1"]: header["elo1"], header["player2"]: header["elo2"]}
    for player, profile in zip(PLAYER_NAMES, PROFILES, strict=True):
        if rating := ratings.get(document[player]):
            document[profile] = {"rating": round(rating, 1)}


def match_file(document: Mapping[str, Any], endings: Mapping[int, _Ending], form: str) -> MatchFile:
    """Convert a document of the package gammonview to a match, with a ledger of its turns. `endings` are further facts
    about its games, by number, and `form` is the format of the file."""
    white, black = (str(document[name] or "").strip() for name in PLAYER_NAMES)
    reader = _Reader((white or "white", black or "black"), _analysts(document))
    for number, game in enumerate(document["games"]):
        reader.add(number, game, endings.get(number, _Ending(None, is_over=True)))
    text = "\n".join(reader.lines) + "\n" * bool(reader.lines)
    match = Match(reader.players, document["match_length"] or 0, tuple(reader.games), tuple(_info(document)), form)
    return MatchFile(Ledger(split_lines(text.encode(errors="replace"))), (match,))


def join_files(files: Sequence[MatchFile]) -> MatchFile:
    """Join the matches of several files into one; the lines of each file follow those of the file before."""
    matches: list[Match] = []
    texts: list[bytes] = []
    rejects: list[tuple[int, str]] = []
    for file in files:
        first, lines = len(texts), file.ledger.lines
        texts += [lines[index] for index in range(len(lines))]
        rejects += [(first + bad.line - 1, bad.reason) for bad in file.rejects]
        for match in file.matches:
            matches.append(replace(match, games=tuple(_shift_lines(game, first) for game in match.games)))
    ledger = Ledger(split_lines(b"".join(line + b"\n" for line in texts)))
    for line, reason in rejects:
        ledger.reject([line], reason)
    return MatchFile(ledger, tuple(matches))


def _shift_lines(game: Game, by: int) -> Game:
    """Copy a game, and add `by` to all line numbers."""
    return replace(
        game,
        units=range(game.units.start + by, game.units.stop + by),
        line=game.line + by,
        result_line=game.result_line + by,
        flaw=game.flaw and Flaw(game.flaw.line + by, game.flaw.reason),
        turns=tuple(replace(turn, line=turn.line + by) for turn in game.turns),
    )


def _analysts(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the program and the level of each analysis in a document of the package gammonview."""
    one = document.get("analysis_info")
    found = document.get("analyses_info") or ([one] if one else [])
    unnamed = f"program {document.get('source', '')}".strip()
    return [
        (str(info.get("model_name") or info.get("model_id") or unnamed), str(info.get("eval_level") or ""))
        for info in found
    ]


def _info(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the facts about the match in a document, such as the event, as (name, value) pairs."""
    for key, name in INFO_NAMES.items():
        if document.get(key):
            yield name, str(document[key])
    if document.get("timestamp"):
        at = datetime.fromtimestamp(document["timestamp"], UTC)
        yield "EventDate", f"{at:%Y.%m.%d}"
    for player, profile in zip(PLAYER_NAMES, PROFILES, strict=True):
        if rating := (document.get(profile) or {}).get("rating"):
            yield "Rating", f"{document[player]}: {rating:g}"
    for note in document.get("annotations") or []:
        yield "Comment", str(note.get("value", ""))
    if document["match_length"] and not document.get("crawford", True):
        yield "Crawford", "Off"
    if not document["match_length"] and document.get("jacoby"):
        yield JACOBY
    if document.get("variant"):
        yield VARIATION, VARIANTS.get(document["variant"], f"variant {document['variant']}")


class _Reader:
    """Converts the games of a document to recorded games, and writes a line of text for each turn."""

    def __init__(self, players: tuple[str, str], analysts: list[tuple[str, str]]) -> None:
        self.players, self.analysts = players, analysts
        self.lines: list[str] = []
        self.games: list[Game] = []
        self.score = [0, 0]

    def add(self, number: int, game: Mapping[str, Any], ending: _Ending) -> None:
        """Add a game of the document."""
        first = len(self.lines)
        self.lines.append(f"game {number + 1}")
        plies = game["plies"]
        if plies and (score := _score_of(plies[0])):
            self.score = score
        turns, flaw = [], Flaw(first + 1, ending.flaw) if ending.flaw else None
        for ply in plies:
            if ply["action_id"] in ENDS:
                continue
            self.lines.append(f"game {number + 1}: {self.players[_player(ply)]} {_ply_text(ply)}")
            line = len(self.lines)
            if reason := _flaw_of(ply):
                flaw = flaw or Flaw(line, reason)
            else:
                turns.append(_turn(ply, line, tuple(self._analyses(ply))))
        has_result = ending.is_over and game.get("winner") in (0, 1) and bool(game.get("points_won"))
        winner, points = (game["winner"], game["points_won"]) if has_result else (None, None)
        self.games.append(
            Game(
                number + 1, (self.score[0], self.score[1]), tuple(turns), winner, points, bool(game.get("is_crawford")),
                range(first, len(self.lines)), flaw, int(game.get("initial_cube_value") or 1), line=first + 1,
                result_line=len(self.lines),
            )
        )  # fmt: skip
        if winner is not None:
            self.score[winner] += points or 0

    def _analyses(self, ply: Mapping[str, Any]) -> Iterator[Analysis]:
        """Yield the analyses that a document has for a turn."""
        one = ply.get("analysis")
        for said in ply.get("analyses") or ([one] if one else []):
            place = said.get("analysis_index", 0)
            analyst, level = self.analysts[place] if place < len(self.analysts) else ("", "")
            level = str(said.get("eval_level") or level)
            if said.get("alternatives"):
                choices = tuple(_choice(each, _player(ply)) for each in said["alternatives"])
                yield Analysis("play", analyst, level, choices)
            for cube in (said, said.get("cube_decision") or {}, said.get("missed_double") or {}):
                if all(cube.get(name) is not None for name in CUBE_NAMES):
                    chances = (_chances(cube.get("eval")), None, None)
                    values = (cube.get(name) for name in CUBE_NAMES)
                    found = tuple(map(Choice, CUBE_CHOICES, values, chances))
                    yield Analysis("cube", analyst, str(cube.get("eval_level") or level), found)
                    break  # a missed double is listed twice
            if said.get("luck") is not None:
                yield Analysis("luck", analyst, str(said.get("luck_eval_level") or level), (Choice("", said["luck"]),))
        for note in ply.get("annotations") or []:
            yield Analysis("comment", str(note.get("author", "")), "", (Choice(str(note.get("value", "")), None),))


def _player(ply: Mapping[str, Any]) -> int:
    return 0 if ply["color"] == 1 else 1


def _score_of(ply: Mapping[str, Any]) -> list[int] | None:
    """Return the scores of white and black in the OGID of a turn, None if it has no valid score."""
    fields = str(ply.get("ogid_before") or "").split(":")
    return [int(text) for text in fields[6:8]] if len(fields) > 8 and all(map(str.isdigit, fields[6:8])) else None


def _moves(steps: list[dict[str, int]], player: int) -> tuple[RecordedMove, ...]:
    """Convert the checker moves of a document, in which white's points ascend, to the points of the player who
    moves."""
    starts = [step["from"] if player else BAR_POINT - step["from"] for step in steps]
    return tuple(
        RecordedMove(start, max(start - step["pips"], OFF_POINT)) for start, step in zip(starts, steps, strict=True)
    )


def _ply_text(ply: Mapping[str, Any]) -> str:
    if ply["action_id"] in KINDS:
        return str(KINDS[ply["action_id"]])
    moves = " ".join(f"{move.from_point}/{move.to_point}" for move in _moves(ply.get("moves") or [], _player(ply)))
    if ply["action_id"] in PLAYS:
        return f"{ply['d1']}{ply['d2']}: {moves}"
    return json.dumps({name: ply[name] for name in ("action_id", "set_position", "d1", "d2") if name in ply})


def _flaw_of(ply: Mapping[str, Any]) -> str | None:
    """Return the reason why a turn cannot be replayed, None if it can."""
    action = ply["action_id"]
    if action == SET_POSITION:
        return "expected a legal play, got one that breaks the rules" if ply.get("d1") else BY_HAND
    return None if action in PLAYS or action in KINDS else f"expected a roll or a cube action, got action {action}"


def _turn(ply: Mapping[str, Any], line: int, analyses: tuple[Analysis, ...]) -> Turn:
    player = _player(ply)
    if ply["action_id"] in KINDS:
        return Turn(player, KINDS[ply["action_id"]], line=line, analyses=analyses)
    moves = _moves(ply.get("moves") or [], player)
    return Turn(player, TurnKind.PLAY, (ply["d1"], ply["d2"]), moves, line=line, analyses=analyses)


def _choice(said: Mapping[str, Any], player: int) -> Choice:
    """Convert a play or cube action in an analysis of a document, with its values."""
    moves = _moves(said["move"], player) if "move" in said else None
    chances, text = _chances(said.get("eval")), str(said.get("notation", ""))
    level = str(said.get("eval_level") or "")
    return Choice(text, said.get("equity"), chances, bool(said.get("is_played")), moves, level)


def _chances(said: Mapping[str, Any] | None) -> tuple[float, ...] | None:
    return tuple(float(said.get(name, 0.0)) for name in CHANCE_NAMES) if said else None
