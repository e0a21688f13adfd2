"""Boards as SVG pictures for web pages: the player on roll (light checkers) below, home board at the lower right.

A picture is one self-contained `<svg>` element without style sheets, scripts or font files, so a page can embed it.
Coordinates are integers, so the same position always gives the same bytes. `<title>` and `<desc>` describe the position
in words.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from html import escape
from math import hypot
from typing import TYPE_CHECKING

from bgdata.errors import UsageError
from bgdata.game.board import BAR, OPPONENT_BAR
from bgdata.game.dice import Roll
from bgdata.game.match import OWNER_WORDS, CubeOwner, MatchScore, Stakes
from bgdata.game.plays import OFF, Play, checker_paths

if TYPE_CHECKING:
    from bgdata.game.position import Position

WIDTH, HEIGHT = 660, 548  # size of the picture, in SVG units
NAME_LETTERS = 18  # longest name that fits into the picture

_POINT = 40  # width of a point
_RADIUS = 19
_STACK = 5  # most checkers drawn on a point; a number shows the count of a taller stack
_LEFT, _RIGHT = 68, 356  # left edges of the two halves
_TOP, _BOTTOM = 54, 494  # edges of the playing surface
_MIDDLE = (_TOP + _BOTTOM) // 2
_ABOVE, _BELOW = _TOP - 7, _BOTTOM + 17  # base lines of text in the frame
_BAR_X, _CUBE_X, _TRAY_X = 332, 34, 628  # centers of the bar, cube and tray columns

_PAPER, _FRAME, _SURFACE, _TRAY = "#ffffff", "#5b4636", "#f3ead7", "#d8c8ac"
_LIGHT_POINT, _DARK_POINT = "#d9bf94", "#a8794b"
_ON_ROLL, _OPPONENT = ("#fffdf8", "#2a211b"), ("#33302e", "#ffffff")  # (checker color, color of the number on it)
_ARROW, _HEAD = "#0a5fd0", 18  # color, and length of the head
_INK, _NUMBERS = "#1d1814", "#f3ead7"

_SPOTS = {
    1: [(0, 0)],
    2: [(-1, -1), (1, 1)],
    3: [(-1, -1), (0, 0), (1, 1)],
    4: [(-1, -1), (-1, 1), (1, -1), (1, 1)],
    5: [(-1, -1), (-1, 1), (0, 0), (1, -1), (1, 1)],
    6: [(-1, -1), (-1, 0), (-1, 1), (1, -1), (1, 0), (1, 1)],
}


def format_board_svg(
    position: Position,
    *,
    roll: Roll | None = None,
    play: Play | None = None,
    stakes: Stakes | None = None,
    width: int = WIDTH,
    prefix: str = "",
    names: tuple[str, str] = ("on roll", "opponent"),
    is_turned: bool = False,
) -> str:
    """Draw a position as an SVG element, `width` pixels wide. Raises UsageError unless width is positive.

    `roll` is drawn on the right half of the board, and an arrow for each checker that `play` moves. `stakes` adds the
    score, and the cube except in the Crawford game. `names` are the names of the player on roll and of the opponent. If
    `is_turned` is true, the opponent sits below and has the light checkers. Equal boards have equal element ids: a page
    that shows a board twice needs a different `prefix` for each."""
    if width < 1:
        raise UsageError(f"expected a width of at least 1 pixel, got {width}")
    title, description = describe_board(position, roll, stakes)
    if play:
        description += f" Play: {play}."
    name = f"{prefix}board-" + hashlib.sha256(f"{title}{description}".encode()).hexdigest()[:12]
    height = (width * HEIGHT + WIDTH // 2) // WIDTH
    (score, opponent_score), kind = describe_stakes(stakes)
    own = ", ".join(filter(None, [escape(names[0]), score, f"{position.pip_count} pips"]))
    other = ", ".join(filter(None, [escape(names[1]), opponent_score, f"{position.opponent_pip_count} pips"]))
    upper, lower = (own, other) if is_turned else (other, own)
    seen, seen_stakes = (position.flip(), stakes and stakes.flip()) if is_turned else (position, stakes)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{width}" height="{height}" '
        f'role="img" aria-labelledby="{name}-title {name}-desc" font-family="sans-serif" text-anchor="middle">',
        f'<title id="{name}-title">{title}</title>',
        f'<desc id="{name}-desc">{description}</desc>',
        *_board(),
        *_checkers(seen),
        *_off(seen),
        *(_dice(roll, is_turned=is_turned) if roll else ()),
        *(_cube(seen_stakes) if seen_stakes and not seen_stakes.is_crawford else ()),
        _text(8, 21, upper, fill=_INK, font_size=16, text_anchor="start"),
        _text(WIDTH - 8, 21, kind, fill=_INK, font_size=16, text_anchor="end"),
        _text(8, HEIGHT - 9, lower, fill=_INK, font_size=16, text_anchor="start"),
        *(_arrows(position, play, is_turned=is_turned) if play else ()),
        "</svg>",
    ]
    return "\n".join(filter(None, lines)) + "\n"


def _board() -> Iterator[str]:
    """Draw the empty board: background, frame, surface, 24 points and their numbers."""
    yield _rectangle(0, 0, WIDTH, HEIGHT, fill=_PAPER)
    yield _rectangle(0, 30, WIDTH, HEIGHT - 60, rx=8, fill=_FRAME)
    for left in (_LEFT, _RIGHT):
        yield _rectangle(left, _TOP, 6 * _POINT, _BOTTOM - _TOP, fill=_SURFACE)
    for edge in (_TOP, _MIDDLE + 30):
        yield _rectangle(_TRAY_X - 24, edge, 48, _MIDDLE - 30 - _TOP, fill=_TRAY)
    for is_dark, color in ((0, _LIGHT_POINT), (1, _DARK_POINT)):
        paths = ""
        for point in range(2 - is_dark, 25, 2):
            edge, tip = (_TOP, 184) if point > 12 else (_BOTTOM, -184)
            paths += f"M{_point_x(point) - _POINT // 2} {edge}h{_POINT}l{-_POINT // 2} {tip}z"
        yield _element("path", fill=color, d=paths)
    numbers = (_text(_point_x(point), _ABOVE if point > 12 else _BELOW, str(point)) for point in range(1, 25))
    yield _element("g", "\n".join(numbers), fill=_NUMBERS, font_size=14)


def _checkers(position: Position) -> Iterator[str]:
    """Draw the checkers on points, stacked from the edges, and on the bar, stacked from the middle towards the side
    where they enter."""
    for point in range(1, 25):
        edge, step = (_TOP, 2 * _RADIUS) if point > 12 else (_BOTTOM, -2 * _RADIUS)
        yield from _pile(_point_x(point), edge + step // 2, step, position.board[point])
    yield from _pile(_BAR_X, _MIDDLE - 10 - _RADIUS, -2 * _RADIUS, position.board[BAR])
    yield from _pile(_BAR_X, _MIDDLE + 10 + _RADIUS, 2 * _RADIUS, -position.board[OPPONENT_BAR])


def _pile(x: int, y: int, step: int, count: int) -> Iterator[str]:
    """Draw a stack of up to five checkers, the first at (x, y), each further one `step` pixels away. The last shows the
    count if there are more than five. A negative count means checkers of the opponent."""
    fill, ink = _ON_ROLL if count > 0 else _OPPONENT
    centers = range(y, y + min(abs(count), _STACK) * step, step)
    circles = [_element("circle", cx=x, cy=center, r=_RADIUS - 1) for center in centers]
    if circles:
        yield _element("g", "".join(circles), fill=fill, stroke=_INK)
    if abs(count) > _STACK:
        yield _text(x, centers[-1] + 6, str(abs(count)), fill=ink, font_size=17, font_weight="bold")


def _arrows(position: Position, play: Play, *, is_turned: bool) -> Iterator[str]:
    """Draw an arrow for each checker that moves, from its place before the play to its place after it."""
    counts = [max(count, 0) for count in position.board]
    counts[OPPONENT_BAR] = 0  # slot 0 counts our borne-off checkers here
    for start, *points in checker_paths(play):
        way = [_place(start, counts[start] - 1)]
        counts[start] -= 1
        way += [_place(point, counts[point]) for point in points]
        counts[points[-1]] += 1
        if is_turned:
            way = [(x, 2 * _MIDDLE - y) for x, y in way]
        (before_x, before_y), (x, y) = way[-2:]
        length = max(1.0, hypot(x - before_x, y - before_y))
        right, down = (x - before_x) / length, (y - before_y) / length
        neck = round(x - _HEAD * right), round(y - _HEAD * down)
        wings = [(round(neck[0] - side * down), round(neck[1] + side * right)) for side in (_HEAD // 2, -_HEAD // 2)]
        line = "M" + "L".join(f"{each[0]} {each[1]}" for each in [*way[:-1], neck])
        head = "M" + "L".join(f"{each[0]} {each[1]}" for each in [(x, y), *wings]) + "z"
        for color, line_width, edge in ((_PAPER, 9, 4), (_ARROW, 5, 0)):  # white outline first
            paths = _element("path", d=line, fill="none", stroke_width=line_width)
            paths += _element("path", d=head, fill=color, stroke_width=edge)
            yield _element("g", paths, stroke=color, stroke_linejoin="round", stroke_linecap="round")


def _place(point: int, number: int) -> tuple[int, int]:
    """Return the center of a checker that lies on top of `number` others on a point (25 is the bar, 0 is off)."""
    if point == OFF:
        return _TRAY_X, (_MIDDLE + 30 + _BOTTOM) // 2
    if point == BAR:
        return _BAR_X, _MIDDLE - 10 - _RADIUS - 2 * _RADIUS * min(number, _STACK - 1)
    edge, step = (_TOP, 2 * _RADIUS) if point > 12 else (_BOTTOM, -2 * _RADIUS)
    return _point_x(point), edge + step // 2 + step * min(number, _STACK - 1)


def _off(position: Position) -> Iterator[str]:
    """Draw the edges of the checkers borne off in the tray, and their number in the frame."""
    own = position.off, _ON_ROLL[0], _BOTTOM - 11, -12, _BELOW
    other = position.opponent_off, _OPPONENT[0], _TOP + 1, 12, _ABOVE
    for count, fill, edge, step, base in (own, other):
        if count:
            bars = (_rectangle(_TRAY_X - 20, edge + step * place, 40, 10, rx=2) for place in range(count))
            yield _element("g", "".join(bars), fill=fill, stroke=_INK)
            yield _text(_TRAY_X, base, f"{count} off", fill=_NUMBERS, font_size=14)


def _dice(roll: Roll, *, is_turned: bool) -> Iterator[str]:
    """Draw both dice in the color of the player on roll, on the right half of the board; on the left half if the board
    is turned."""
    left, (fill, ink) = (_LEFT, _OPPONENT) if is_turned else (_RIGHT, _ON_ROLL)
    for die, x in ((roll.high, left + 92), (roll.low, left + 148)):
        yield _rectangle(x - 20, _MIDDLE - 20, 40, 40, rx=7, fill=fill, stroke=_INK)
        spots = (_element("circle", cx=x + 11 * right, cy=_MIDDLE + 11 * down, r=4) for right, down in _SPOTS[die])
        yield _element("g", "".join(spots), fill=ink if is_turned else _INK)


def _cube(stakes: Stakes) -> Iterator[str]:
    """Draw the cube at its owner's edge, or in the middle if it is centered."""
    owner, text = stakes.cube.owner, str(stakes.cube.value)
    y = {CubeOwner.CENTERED: _MIDDLE, CubeOwner.ON_ROLL: _BOTTOM - 22, CubeOwner.OPPONENT: _TOP + 22}[owner]
    yield _rectangle(_CUBE_X - 22, y - 22, 44, 44, rx=6, fill=_ON_ROLL[0], stroke=_INK, stroke_width=2)
    yield _text(_CUBE_X, y + 7, text, fill=_INK, font_size=min(20, 56 // len(text)), font_weight="bold")


def _point_x(point: int) -> int:
    """Return the x coordinate of a point's center."""
    column = point - 13 if point > 12 else 12 - point  # from the left
    return (_LEFT if column < 6 else _RIGHT - 6 * _POINT) + column * _POINT + _POINT // 2


def _rectangle(x: int, y: int, width: int, height: int, **attributes: object) -> str:
    return _element("rect", "", x=x, y=y, width=width, height=height, **attributes)


def _text(x: int, y: int, text: str, **attributes: object) -> str:
    return _element("text", text, x=x, y=y, **attributes) if text else ""


def _element(name: str, content: str = "", **attributes: object) -> str:
    """Return an SVG element. `_` in a keyword becomes `-` in the attribute. Nothing is escaped: callers must escape
    names."""
    opening = name + "".join(f' {key.replace("_", "-")}="{value}"' for key, value in attributes.items())
    return f"<{opening}>{content}</{name}>" if content else f"<{opening}/>"


def describe_stakes(stakes: Stakes | None) -> tuple[tuple[str, str], str]:
    """Return the scores of the player on roll and of the opponent, and the kind of game, such as (("3-away", "1-away"),
    "crawford game"). Scores are empty in money play; all strings are empty if there are no stakes."""
    if stakes is None:
        return ("", ""), ""
    score = stakes.score
    if isinstance(score, MatchScore):
        kind = "crawford game" if score.is_crawford else "post-crawford" if score.is_post_crawford else "match"
        return (f"{score.away}-away", f"{score.opponent_away}-away"), kind
    return ("", ""), "money with jacoby rule" if score.is_jacoby else "money"


def short_name(name: str) -> str:
    """Return a player's name for a picture, cut to NAME_LETTERS letters."""
    return name if len(name) <= NAME_LETTERS else name[: NAME_LETTERS - 1] + "…"


def describe_race(pip_count: int, off: int) -> str:
    """Say how many pips a side still needs and how many checkers it has borne off: "167 pips", "1 pip, 14 off"."""
    return f"{pip_count} pip{'s' * (pip_count != 1)}" + f", {off} off" * (off > 0)


def describe_board(position: Position, roll: Roll | None, stakes: Stakes | None) -> tuple[str, str]:
    """Return the title and the description of a board picture. The description contains the stakes, and each side's
    checkers on its own points."""
    title = f"Backgammon position {position.id}, " + (f"{roll} to play" if roll else "on roll")
    opponent, on_roll = position.rows
    sentences = [
        f"On roll: {_places(on_roll)}; {describe_race(position.pip_count, position.off)}.",
        f"Opponent: {_places(opponent)}; {describe_race(position.opponent_pip_count, position.opponent_off)}.",
    ]
    if stakes:
        (score, opponent_score), kind = describe_stakes(stakes)
        sentences += [f"Score: on roll {score}, opponent {opponent_score}."] * bool(score)
        sentences.append(f"Kind of game: {kind}.")
        sentences.append(f"Cube: {stakes.cube.value}, {OWNER_WORDS[stakes.cube.owner]}.")
    return title, " ".join(sentences)


def _places(row: Sequence[int]) -> str:
    """Say where a side has its checkers, bar first: "1 on the bar, 2 on point 24"."""
    places = [(row[24], "on the bar"), *((row[point - 1], f"on point {point}") for point in range(24, 0, -1))]
    return ", ".join(f"{count} {place}" for count, place in places if count) or "no checker on the board"
