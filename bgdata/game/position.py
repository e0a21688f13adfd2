"""A backgammon position, for the player on roll, and its forms as a string: Position ID, 10-byte key and 20-letter key.

The canonical form is the *26-integer board*: `board[1..24]` are the points of the player on roll (positive: own
checkers, negative: the opponent's), `board[25]` is the own bar and `board[0]` the opponent's, both as positive counts.
Checkers borne off are not stored. Pure Python; `codec` converts millions of positions at a time.
"""

from __future__ import annotations

import base64
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from bgdata.errors import InvalidPositionError, cite
from bgdata.game.board import BAR, BASE64_LETTERS, CHECKERS, LAST_LETTERS, OPPONENT_BAR, Flaw
from bgdata.game.integers import plain_integers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bgdata.game.dice import RollLike
    from bgdata.game.match import Stakes
    from bgdata.game.plays import Play

PositionLike: TypeAlias = "Position | str | Sequence[int] | NDArray[np.integer[Any]]"  # what `Position` accepts

_ID_PATTERN = re.compile(f"[{re.escape(BASE64_LETTERS)}]{{13}}[{LAST_LETTERS}]", re.ASCII)
_HEX_TO_KEY20 = str.maketrans("0123456789abcdef", "ABCDEFGHIJKLMNOP")
_KEY20_TO_HEX = str.maketrans("ABCDEFGHIJKLMNOP", "0123456789abcdef")
_reads_text: list[Callable[[str], Position]] = []  # see `set_text_reader`
_UNARY = ["1" * count + "0" for count in range(CHECKERS + 1)]


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Position:
    """The checkers of both sides as a 26-integer board, for the player on roll. Positions with the same board are
    equal.

    >>> Position("4HPwATDgc/ABMA").pip_count
    167
    >>> Position("start") == Position("XGID=-b----E-C---eE---c-e----B-:0:0:1:00:0:0:0:0:10")
    True

    Accepts text in any notation that `identifiers.parse_identifier` reads (Position ID, gnubg ID, XGID, 20-letter key,
    26 integers, `start`), 26 integers in any sequence (a list, a tuple, an array row), or another position. Raises
    InvalidPositionError, which names the broken rule.
    """

    board: tuple[int, ...]

    def __init__(self, position: PositionLike) -> None:
        if isinstance(position, Position):
            board = position.board
        elif isinstance(position, str):
            board = _reads_text[-1](position).board
        else:
            try:
                board = plain_integers(position)
            except TypeError:
                expected = "26 integers or the text of a position"
                raise InvalidPositionError(f"expected {expected}, got {cite(position)}") from None
            flaw = board_flaw(board)
            if flaw:
                raise InvalidPositionError(f"{flaw.rule}, got {cite(list(board))}")
        object.__setattr__(self, "board", board)

    @classmethod
    def start(cls) -> Position:
        """The starting position.

        >>> Position.start()
        Position('4HPwATDgc/ABMA')
        """
        return START

    @classmethod
    def from_rows(cls, opponent: Sequence[int], on_roll: Sequence[int]) -> Position:
        """Make a position from two rows of 25 counts in gnubg's order: each side's own points 1 to 24, then its bar."""
        rows = (list(opponent), list(on_roll))
        if len(rows[0]) != 25 or len(rows[1]) != 25:
            raise InvalidPositionError(f"expected two rows of 25 counts, got {len(rows[0])} and {len(rows[1])}")
        if min(rows[0]) < 0 or min(rows[1]) < 0:
            raise InvalidPositionError(f"expected no negative count in a row, got {rows}")
        for point, (theirs, ours) in enumerate(zip(rows[0][23::-1], rows[1][:24], strict=True), start=1):
            if theirs and ours:
                raise InvalidPositionError(f"{Flaw.SHARED_POINT.rule}, got both on point {point} of {rows}")
        return cls([rows[0][24], *map(operator.sub, rows[1][:24], rows[0][23::-1]), rows[1][24]])

    @property
    def rows(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The checkers of the opponent, then of the player on roll: 25 counts each, on own points 1 to 24 and the
        bar."""
        board = self.board
        opponent = [-count if count < 0 else 0 for count in board[24:0:-1]]
        on_roll = [count if count > 0 else 0 for count in board[1:25]]
        return (*opponent, board[OPPONENT_BAR]), (*on_roll, board[BAR])

    @property
    def key(self) -> bytes:
        """The 10-byte key: the opponent's counts, then ours, lowest bit first. A count of n is n 1 bits and a 0 bit."""
        opponent, on_roll = self.rows
        bits = "".join([_UNARY[count] for count in opponent + on_roll])
        return int(bits[::-1], 2).to_bytes(10, "little")

    @property
    def id(self) -> str:
        """The 14-character Position ID, as gnubg prints it."""
        return base64.b64encode(self.key)[:14].decode()

    @property
    def pip_count(self) -> int:
        """The pips that the player on roll needs to bear off all checkers; a checker on the bar needs 25."""
        return sum(count * point for point, count in enumerate(self.board) if count > 0 and point)

    @property
    def opponent_pip_count(self) -> int:
        """The pips that the opponent needs to bear off all checkers."""
        return self.flip().pip_count

    @property
    def off(self) -> int:
        """The number of checkers that the player on roll has borne off: 15 minus those on the board."""
        return CHECKERS - _checkers(self.board)

    @property
    def opponent_off(self) -> int:
        """The number of checkers that the opponent has borne off."""
        return CHECKERS - _checkers(_flip(self.board))

    def flip(self) -> Position:
        """Return the position as the other player sees it, who is then on roll."""
        return trusted_position(_flip(self.board))

    def with_board(self, board: tuple[int, ...]) -> Position:
        """Make a position from a board that is known to be legal, for modules that this one imports."""
        return trusted_position(board)

    def legal_plays(self, roll: RollLike) -> list[Play]:
        """List every legal play of a roll such as "31" or (3, 1), at least one; see `plays.legal_plays`.

        >>> print(*Position.start().legal_plays("66"), sep=", ")
        24/18(2) 13/7(2), 24/18(2) 13/7 8/2, ..., 13/7 8/2(3)

        Raises InvalidRollError."""
        from bgdata.game.plays import legal_plays

        return legal_plays(self, roll)

    def play(self, play: Play | str, roll: RollLike | None = None) -> Position:
        """Return the position after a play, with the OPPONENT on roll: the board is turned.

        `play` is one of `legal_plays`, or a string in the usual notation, with moves in any order. It must be legal for
        the roll, or for any roll if none is given. Raises IllegalPlayError if it is illegal.

        >>> Position.start().play("8/5 6/5", "31")
        Position('sGfwATDgc/ABMA')
        """
        return self._legal(play, roll).next_position

    def svg(
        self,
        play: Play | str | None = None,
        roll: RollLike | None = None,
        *,
        stakes: Stakes | None = None,
        width: int = 660,
    ) -> str:
        """Draw the board as an SVG picture, `width` pixels wide, with the roll, the play as arrows, and the cube and
        score of `stakes`. Notebooks display positions this way. Raises UsageError unless width is positive, and
        IllegalPlayError or InvalidRollError for an illegal play or an invalid roll."""
        from bgdata.game.board_svg import format_board_svg
        from bgdata.game.dice import to_roll

        drawn = None if play is None else self._legal(play, roll)
        dice = None if roll is None else to_roll(roll)
        return format_board_svg(self, roll=dice, play=drawn, stakes=stakes, width=width)

    def _repr_svg_(self) -> str:
        return self.svg()

    def _legal(self, play: Play | str, roll: RollLike | None) -> Play:
        """Convert a play or its notation to a legal play. Raises IllegalPlayError if it is illegal, and
        InvalidRollError for an invalid roll."""
        from bgdata.game.plays import check_play, parse_play

        return parse_play(play, self, roll) if isinstance(play, str) else check_play(play, self, roll)

    def __repr__(self) -> str:
        return f"Position({self.id!r})"

    def __str__(self) -> str:
        return self.id


def set_text_reader(reader: Callable[[str], Position]) -> None:
    """Set the function with which `Position(text)` parses text. `identifiers` calls this, because this module cannot
    import it."""
    _reads_text[:] = [reader]


def board_flaw(board: Sequence[int]) -> Flaw:
    """Return the first rule that a 26-integer board breaks, `Flaw.NONE` for a legal board. Raises InvalidPositionError
    unless there are 26 integers."""
    if len(board) != 26:
        raise InvalidPositionError(f"expected 26 integers, got {len(board)}")
    opponent_bar, bar = board[OPPONENT_BAR], board[BAR]
    if opponent_bar < 0 or bar < 0:
        return Flaw.NEGATIVE_BAR
    present, net = sum(map(abs, board)), sum(board) - 2 * opponent_bar
    if present + net > 2 * CHECKERS:
        return Flaw.CHECKERS
    if present - net > 2 * CHECKERS:
        return Flaw.OPPONENT_CHECKERS
    if bar and opponent_bar and min(board[1:7]) >= 2 and max(board[19:25]) <= -2:
        return Flaw.CLOSED_BOARDS
    return Flaw.NONE


def parse_position_id(text: str) -> Position:
    """Parse a 14-character Position ID. Raises InvalidPositionError, which names the invalid character or the rule that
    the position breaks."""
    if not _ID_PATTERN.fullmatch(text):
        raise InvalidPositionError(letter_error(text, "position id", 14, BASE64_LETTERS))
    return _position_of_key(base64.b64decode(text + "=="), text)


def parse_key20(text: str) -> Position:
    """Parse a 20-letter key, as in gnubg's training files: two letters A..P per byte, high nibble first. Raises
    InvalidPositionError, which names the invalid character or the rule that the position breaks."""
    if len(text) != 20 or not set(text) <= set("ABCDEFGHIJKLMNOP"):
        raise InvalidPositionError(letter_error(text, "20-letter key", 20, "ABCDEFGHIJKLMNOP"))
    return _position_of_key(bytes.fromhex(text.translate(_KEY20_TO_HEX)), text)


def format_key20(position: Position) -> str:
    """Write a position as a 20-letter key."""
    return position.key.hex().translate(_HEX_TO_KEY20)


def _position_of_key(key: bytes, text: str) -> Position:
    """Decode a 10-byte key; errors cite `text`, which the caller passed."""
    bits = int.from_bytes(key, "little")
    runs = f"{bits:080b}"[::-1].split("0", 50)
    if len(runs) < 51:  # fewer than 50 zeros, so too many checkers
        runs += [""] * (51 - len(runs))
    counts = list(map(len, runs))
    board = (counts[24], *map(operator.sub, counts[25:49], counts[23::-1]), counts[49])
    flaw = board_flaw(board)
    # the board has fewer checkers than 1 bits if both sides share a point or unused bits are set
    if flaw or sum(map(abs, board)) != bits.bit_count():
        opponent, on_roll = counts[:25], counts[25:50]
        broken = [  # in the order of `codec`
            (Flaw.UNUSED_BITS, "1" in runs[50]),
            (Flaw.CHECKERS, sum(on_roll) > CHECKERS),
            (Flaw.OPPONENT_CHECKERS, sum(opponent) > CHECKERS),
            (Flaw.SHARED_POINT, any(map(min, opponent[23::-1], on_roll))),
        ]
        flaw = next((rule for rule, is_broken in broken if is_broken), flaw)
        raise InvalidPositionError(f"{flaw.rule}, got {cite(text)}")
    return trusted_position(board)


def trusted_position(board: tuple[int, ...]) -> Position:
    """Make a position from a board that is known to be legal, without checks."""
    position = object.__new__(Position)
    object.__setattr__(position, "board", board)
    return position


def letter_error(text: str, name: str, length: int, letters: str) -> str:
    """Return the error message for a text that should be a `name` of `length` characters, all from `letters`."""
    for place, letter in enumerate(text, start=1):
        if letter not in letters:
            return f"expected letters of a {name}, got {letter!r} at character {place} of {cite(text)}"
    if len(text) != length:
        return f"expected {length} characters in a {name}, got {len(text)}: {cite(text)}"
    return f"{Flaw.LAST_CHARACTER.rule}, got {text[-1]!r} in {cite(text)}"


def _flip(board: tuple[int, ...]) -> tuple[int, ...]:
    return (board[BAR], *map(operator.neg, board[24:0:-1]), board[OPPONENT_BAR])


def _checkers(board: Sequence[int]) -> int:
    return sum(count for count in board[1:] if count > 0)


START = parse_position_id("4HPwATDgc/ABMA")
