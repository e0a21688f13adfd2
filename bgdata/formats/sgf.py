"""Match files in the Smart Game Format (.sgf), game 6, as gnubg saves them: one game tree for each game.

White is player 0, and black is player 1. A turn is a property `W` or `B`: dice and letter pairs such as `42qusu` (from,
to), `double`, `take` or `drop`. Letters are points: `a` is white's 1-point, `x` white's 24-point, `y` the bar, `z` off.
A `double` that answers a double is a beaver. A resignation is shown only by the result. `sgf_analysis` reads the
analysis. Source: files that gnubg 1.07 saves, and their description; no program text was used.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

import numpy as np

from bgdata.formats.lines import Ledger, Lines, decode_text, plain_text
from bgdata.formats.matches import (
    BAR_POINT,
    JACOBY,
    OFF_POINT,
    VARIATION,
    Game,
    Match,
    MatchFile,
    RecordedMove,
    Turn,
    TurnKind,
)
from bgdata.formats.sgf_analysis import Node, analyses_of

_VALUE = rb"\[(?:[^\]\\]|\\.)*+\]"
_PIECE = re.compile(rb"(?P<value>" + _VALUE + rb")|(?P<other>[^()\[\s]++)|[()\[]", re.DOTALL)
_NEXT = re.compile(rb"\n\(\s*+;\s*+(?:FF|GM)\[")  # games begin at a line start; variations lack these properties
_INTO_NEXT = re.compile(_NEXT.pattern + rb"[^\]]*+\]\Z")  # a value that runs into the next game
# the values are not possessive: in Python 3.11.2 the beginning of an unfinished value would match as another value
_TOKEN = re.compile(
    rb"[\s(]++|(?P<node>;)|(?P<end>\))|(?P<name>[A-Za-z]++)(?P<values>(?:\s*+" + _VALUE + rb")+)", re.DOTALL
)
_VALUES = re.compile(_VALUE, re.DOTALL)
_ESCAPE = re.compile(r"\\(\n|.)", re.DOTALL)
_PLAY = re.compile(r"([1-6])([1-6])((?:[a-y][a-xz]){0,4})")
_RESULT = re.compile(r"([WB])\+(\d{1,9})(R?)")
_RESIGNED = re.compile(r"([WB])\+R(?:esign)?")  # a resignation of unknown points
_UNKNOWN_RESULTS = ("", "?", "Void")
_GNUBG = "GNU Backgammon"
_PLAYERS = {"W": 0, "B": 1, "w": 0, "b": 1}
_SETUP = ("AE", "AW", "AB", "PL", "DI", "CV", "CP")
_NOT_INFO = {"FF", "GM", "CA", "AP", "MI", "PW", "PB", "RU", "RE", "CV", "GS", *_SETUP}


def parse_sgf(data: bytes) -> MatchFile:
    """Parse the matches in an .sgf file from the main line of each game tree. The ledger counts game trees, not lines.

    A tree is quarantined if it is not closed, is not a game of backgammon, or has an invalid node or turn. Text between
    trees is quarantined too. Consecutive trees with the same players, length and Jacoby rule and ascending game numbers
    are one match. Text is decoded by `plain_text`."""
    trees = _split_trees(plain_text(data))
    ledger = Ledger(trees)
    matches: list[Match] = []
    for index in range(len(trees)):
        try:
            match = _match(parse_sgf_nodes(trees[index]), index, trees.number(index))
        except ValueError as error:  # raised here, or by Python's decoding and parsing
            ledger.reject([index], str(error))
            continue
        before = matches[-1] if matches else None
        if (
            before
            and (before.players, before.length, before.is_jacoby) == (match.players, match.length, match.is_jacoby)
            and before.games[-1].number < match.games[0].number
        ):
            matches[-1] = replace(before, games=before.games + match.games)
        else:
            matches.append(match)
    return MatchFile(ledger, tuple(matches))


def _split_trees(data: bytes) -> Lines:
    """Split a file into game trees, numbered by their first lines, and the pieces of text between them. A tree that is
    not closed ends where the next game begins at the start of a line, even inside an unfinished value."""
    spans: list[tuple[int, int]] = []
    depth, start = 0, 0
    place = 3 if data.startswith(b"\xef\xbb\xbf") else 0
    while piece := _PIECE.search(data, place):
        place = piece.end()
        into_next = _INTO_NEXT.search(piece["value"] or b"")
        if into_next:
            place = piece.start() + into_next.start()
        elif depth and piece[0] == b"(" and _NEXT.match(data, piece.start() - 1):
            place = piece.start()
        if place != piece.end():
            spans.append((start if depth else piece.start(), place))
            depth = 0
            continue
        if depth == 0:
            start = piece.start()
        if piece[0] == b"[":  # an unfinished value: the rest is not closed either
            depth = 1
            break
        if piece[0] == b"(":
            depth += 1
        elif piece[0] == b")" and depth:
            depth -= 1
        if depth == 0:
            spans.append((start, piece.end()))
    if depth:
        spans.append((start, len(data)))
    starts, ends = np.array(spans, np.int64).reshape(-1, 2).T
    line_ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
    return Lines(data, starts, ends, np.searchsorted(line_ends, starts) + 1)


def parse_sgf_nodes(tree: bytes) -> list[Node]:
    """Parse the nodes on the main line of a game tree. Raises ValueError, whose message says what was expected."""
    if not tree.startswith(b"("):
        raise ValueError("expected a game tree that begins with (")
    nodes: list[Node] = []
    place = 1
    while True:
        token = _TOKEN.match(tree, place)
        if token is None:
            raise ValueError("expected nodes of properties such as ;B[31hefe] and ) at the end of the tree")
        place = token.end()
        if token["end"]:
            return nodes
        if token["node"]:
            nodes.append({})
        elif token["name"]:
            if not nodes:
                raise ValueError("expected a ; before the first property")
            values = nodes[-1].setdefault(token["name"].decode(), [])
            for value in _VALUES.findall(token["values"]):
                values.append(_ESCAPE.sub(lambda found: found[1].strip("\n"), decode_text(value[1:-1])))


def _match(nodes: list[Node], index: int, line: int) -> Match:
    """Make a match with one game from the nodes of its tree; `index` is the tree's index in the ledger. Raises
    ValueError, whose message says what was expected."""
    root = nodes[0] if nodes else {}
    if root.get("GM") != ["6"]:
        raise ValueError("expected a game of backgammon, GM[6]")
    numbers = dict(value.partition(":")[::2] for value in root.get("MI", []))
    length, number, white, black = (_integer(numbers.get(name, "0")) for name in ("length", "game", "ws", "bs"))
    turns = _Turns(line, length)
    turns.cube_value = first_cube = _integer(root.get("CV", ["1"])[0])
    for node in nodes:
        turns.add(node, is_root=node is root)
    winner, points = turns.result(root.get("RE"))
    is_told = "RU" in root or root.get("AP", [""])[0].startswith(_GNUBG)  # gnubg leaves out RU if no rule applies
    rules = ":".join(root.get("RU", [])).split(":")
    is_crawford = "CrawfordGame" in rules if is_told else None
    game = Game(
        number + 1, (white, black), tuple(turns.turns), winner, points, is_crawford, range(index, index + 1),
        cube_value=first_cube, line=line, result_line=line,
    )  # fmt: skip
    players = (root.get("PW", [""])[0], root.get("PB", [""])[0])
    info = [(name, value) for name, values in root.items() if name not in _NOT_INFO for value in values]
    if not length and JACOBY[0] in rules:
        info.append(JACOBY)
    info += [(VARIATION, rule) for rule in rules if "gammon" in rule.lower()]
    return Match(players, length, (game,), tuple(info))


def _integer(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise ValueError("expected whole numbers as match length, game, scores and cube")
    return int(text)


class _Turns:
    """Collects the turns of a game, node by node; `cube_value` and `offered` are the stakes so far."""

    def __init__(self, line: int, length: int) -> None:
        self.turns: list[Turn] = []
        self.line, self.length = line, length
        self.cube_value = 1
        self.offered: int | None = None  # the stake that an unanswered double offers

    def add(self, node: Node, *, is_root: bool) -> None:
        """Add the turn of a node, if it has one."""
        for name in ("W", "B"):
            for value in node.get(name, []):
                player = _PLAYERS[name]
                said = analyses_of(node, partial(checker_moves, player), is_match=self.length > 0)
                self.turns.append(replace(self._turn(player, value), line=self.line, analyses=said))
        setup = {name: node[name] for name in _SETUP if name in node and not (is_root and name == "CV")}
        if not setup:
            return
        player = _PLAYERS.get(setup.get("PL", ["W"])[0], 0)
        if set(setup) == {"PL", "DI"} and (found := _PLAY.fullmatch(setup["DI"][0])):  # a roll that was not played
            self.turns.append(Turn(player, TurnKind.ROLL, (int(found[1]), int(found[2])), line=self.line))
            return
        if "CV" in setup:
            self.cube_value = _integer(setup["CV"][0])
        text = "".join(name + "".join(f"[{value}]" for value in values) for name, values in setup.items())
        self.turns.append(Turn(player, TurnKind.SETUP, text=text, line=self.line))

    def _turn(self, player: int, value: str) -> Turn:
        if found := _PLAY.fullmatch(value):
            return Turn(player, TurnKind.PLAY, (int(found[1]), int(found[2])), checker_moves(player, found[3]))
        if value == "double":
            kind = TurnKind.DOUBLE if self.offered is None else TurnKind.BEAVER
            self.offered = 2 * (self.offered or self.cube_value)
            return Turn(player, kind, cube_value=self.offered)
        if value == "take":
            self.cube_value, self.offered = self.offered or self.cube_value, None
            return Turn(player, TurnKind.TAKE)
        if value == "drop":
            return Turn(player, TurnKind.PASS)
        raise ValueError("expected turns such as 31hefe, double, take and drop")

    def result(self, values: list[str] | None) -> tuple[int | None, int | None]:
        """Parse the result of a game. Returns who won, and how many points, each None if it is unknown. If the result
        is a resignation, it is added as the loser's last turn."""
        if values is None or values[0] in _UNKNOWN_RESULTS:
            return None, None
        resigned, found = _RESIGNED.fullmatch(values[0]), _RESULT.fullmatch(values[0])
        if not (resigned or found):
            raise ValueError("expected a result such as W+2 or B+4R")
        winner = _PLAYERS[values[0][0]]
        if resigned or (found and found[3]):
            self.turns.append(Turn(1 - winner, TurnKind.RESIGN, line=self.line))
        return winner, int(found[2]) if found else None


def checker_moves(player: int, letters: str) -> tuple[RecordedMove, ...]:
    """Parse checker moves from pairs of letters, on the points of the player."""
    ends, places = {"y": BAR_POINT, "z": OFF_POINT}, [ord(letter) - ord("a") for letter in letters]
    points = [
        ends.get(letter, 24 - place if player else place + 1) for letter, place in zip(letters, places, strict=True)
    ]
    moves = tuple(RecordedMove(*pair) for pair in zip(points[::2], points[1::2], strict=True))
    if any(move.from_point <= move.to_point for move in moves):
        raise ValueError("expected checker moves from a higher point to a lower one")
    return moves
