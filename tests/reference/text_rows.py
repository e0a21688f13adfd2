"""Slow reference implementations of the text kernels: one line, field or number at a time, in plain Python."""

import math
import re

from bgdata.errors import InvalidPositionError
from bgdata.game.position import Position, parse_key20

NUMBER = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def lines_of(data: bytes) -> list[bytes]:
    """Lines without line endings."""
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if lines[-1] == b"" and not data.endswith(b"\xef\xbb\xbf"):
        lines.pop()
    return [line.removesuffix(b"\r") for line in lines]


def fields_of(line: bytes, separator: int) -> list[bytes]:
    """Fields between blanks or commas."""
    if not line.strip(b" \t"):
        return []
    if separator == 32:
        return [field for field in re.split(rb"[ \t]", line) if field]
    return [field.strip(b" \t") for field in line.split(b",")]


def number_of(text: bytes) -> float | None:
    """The value of a decimal number, None for anything else."""
    if not NUMBER.fullmatch(text):
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def breaks_chance_rules(board: tuple[int, ...], chances: list[float], range_: float, order: float) -> bool:
    """Whether five chances of the player to whom the board belongs break any rule."""
    win, win_gammon, win_backgammon, lose_gammon, lose_backgammon = chances
    position = Position(board)
    return (
        any(chance < -range_ or chance > 1 + range_ for chance in chances)
        or win_gammon > win + order
        or win_backgammon > win_gammon + order
        or lose_gammon > 1 - win + order
        or lose_backgammon > lose_gammon + order
        or (position.opponent_off > 0 and win_gammon > order)
        or (position.off > 0 and lose_gammon > order)
    )


def training_row(line: bytes) -> tuple[tuple[int, ...], list[float]] | str:
    """(board, chances) of a line of training data, or 'comment', or 'bad'."""
    fields = fields_of(line, 32)
    if not fields or fields[0].startswith(b"#"):
        return "comment"
    numbers = [number_of(field) for field in fields[1:]]
    chances = [number for number in numbers if number is not None]
    if len(numbers) != 5 or len(chances) != 5:
        return "bad"
    try:
        board = parse_key20(fields[0].decode("latin-1")).board
    except InvalidPositionError:
        return "bad"
    return "bad" if breaks_chance_rules(board, chances, 0, 1.05e-5) else (board, chances)
