"""Pictures of a replay: boards on which both players keep their sides, and the graph of a game."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from bgdata.errors import BgdataError, InvalidScoreError
from bgdata.evaluation.pages.position import STEPS
from bgdata.game.board_svg import format_board_svg, short_name
from bgdata.game.dice import Roll, parse_roll
from bgdata.game.match import Cube, CubeOwner, MatchScore, Money, Stakes
from bgdata.game.plays import Play, legal_plays, parse_play
from bgdata.game.position import Position
from bgdata.web.answer import address
from bgdata.web.site import Row

if TYPE_CHECKING:
    from bgdata.evaluation.chances import Evaluator

WIDTH, HEIGHT, LOSSES = 660, 150, 40  # size of the graph, and height of the bars of losses below it
LARGE = 0.2  # points: larger losses have bars of full height
SHOWN_LOSS = 0.0005  # points: smaller losses are printed as 0
ERROR = STEPS[1][0]  # smallest loss of an error, in points; smaller losses belong to good decisions


def game_stakes(game: Mapping[str, Any], turn: Mapping[str, Any]) -> Stakes:
    """Return the stakes at a turn of a game, for the player on roll. `game` is a row of the table `games`, with
    `is_jacoby`, which says whether the Jacoby rule applies. Raises InvalidScoreError if the score cannot occur."""
    cube = Cube(turn["cube_value"], CubeOwner(turn["cube_owner"]))
    if not game["match_length"]:
        return Stakes(Money(game["is_jacoby"]), cube)
    sides = turn["on_roll"], 1 - turn["on_roll"]
    away, opponent_away = (game["match_length"] - game[f"score_{side}"] for side in sides)
    return Stakes(MatchScore(away, opponent_away, is_crawford=bool(game["is_crawford"])), cube)


def stakes_of(head: Row, row: Row) -> Stakes | None:
    """Return the stakes at a turn; None if the recorded score is invalid. `head` is the row of its game."""
    try:
        return game_stakes(head, row)
    except InvalidScoreError:
        return None


def roll_of(row: Row) -> Roll | None:
    """Return the roll of a turn; None if the player on roll has not rolled."""
    return parse_roll(f"{row['die1']}{row['die2']}") if row["die1"] and row["player"] == row["on_roll"] else None


def play_of(row: Row) -> Play | None:
    """Return the play of a turn; None if the turn has no play or the play cannot be read."""
    with suppress(BgdataError):
        if row["play"] and (roll := roll_of(row)):
            return parse_play(row["play"], Position(row["position_id"]), roll)
    return None


def best_play(evaluator: Evaluator, row: Row) -> Play | None:
    """Return the best play of a turn by static cubeless equity; None for a turn without a play."""
    from bgdata.evaluation.chances import cubeless_equities

    roll = roll_of(row)
    plays = list(legal_plays(Position(row["position_id"]), roll)) if roll and row["action"] == "play" else []
    if not plays:
        return None
    boards = np.array([play.next_position.board for play in plays], np.int8)
    return plays[int(np.argmin(cubeless_equities(evaluator.evaluate_many(boards).chances)))]


def boards_of(head: Row, row: Row, best: Play | None) -> list[tuple[str, str]]:
    """Return titles and pictures of a turn's boards: the play made and the best play, or one board without a title. The
    first player is light and below, whoever is on roll; the picture says whose turn it is."""
    position, side = Position(row["position_id"]), row["on_roll"]
    stakes, played = stakes_of(head, row), play_of(row)
    own, other = (short_name(head[f"player_{each}"] or "") for each in (side, 1 - side))
    is_answered = row["player"] != side
    names = (
        (f"{own} doubles", f"{other} to answer")
        if is_answered
        else (f"{own} to play" if roll_of(row) else f"{own} on roll", other)
    )

    def picture(play: Play | None, prefix: str) -> str:
        return format_board_svg(
            position, roll=roll_of(row), play=play, stakes=stakes, prefix=prefix, names=names, is_turned=side == 1
        )

    if best is None or played is None:
        return [("", picture(played, ""))]
    return [(f"Played: {played}", picture(played, "")), (f"Best: {best}", picture(best, "best-"))]


def graph_svg(turns: Sequence[Row], here: str, place: int) -> str:
    """Return an SVG chart of a game, in which every turn is a link. A line shows the equity of player 0 before each
    roll, bars show luck, dots are errors, and the part below shows what each turn lost. Up is good for player 0. The
    chart is empty if equities are unknown."""
    known = [row for row in turns if row["cubeless_equity"] is not None]
    if len(known) < 2:
        return ""
    most: float = max(1.0, *(abs(row[name] or 0.0) for row in known for name in ("cubeless_equity", "luck")))
    step, zero = WIDTH / len(turns), HEIGHT / 2
    strip = LOSSES if any(row["size"] >= SHOWN_LOSS for row in turns) else 0

    def height(value: float, row: Row) -> float:
        side = 1 if row["on_roll"] == 0 else -1
        return zero - side * value / most * (zero - 4)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="graph" viewBox="0 0 {WIDTH} {HEIGHT + strip}" '
        'role="group" aria-label="Equity of the first player before each roll, luck and loss of each turn">',
        f'<path class="axis" d="M0 {zero}H{WIDTH}M0 {HEIGHT}H{WIDTH}"/>',
    ]
    for number, row in enumerate(turns):
        x = number * step
        link = escape(address(here, {"turn": number or None}) + "#board", quote=True)
        bar = ""
        if row["luck"] is not None:
            top = min(zero, height(row["luck"], row))
            side = "first" if row["on_roll"] == 0 else "second"
            bar = (
                f'<rect class="{side}" x="{x + 1:.1f}" y="{top:.1f}" width="{max(1.0, step - 2):.1f}" '
                f'height="{abs(height(row["luck"], row) - zero):.1f}"/>'
            )
        if row["size"] >= SHOWN_LOSS:
            side, tall = "first" if row["player"] == 0 else "second", LOSSES * min(1.0, row["size"] / LARGE)
            bar += (
                f'<rect class="{side}" x="{x + 1:.1f}" y="{HEIGHT + 1}" width="{max(1.0, step - 2):.1f}" '
                f'height="{max(1.0, tall - 1):.1f}"/>'
            )
        chosen = "chosen" if number == place else "blank"
        lost = f", lost {row['size']:.3f}" if row["size"] >= SHOWN_LOSS else ""
        title = f"turn {number + 1}: {row['play'] or row['action']}{lost}"
        lines.append(
            f'<a href="{link}"><title>{escape(title)}</title><rect class="{chosen}" x="{x:.1f}" y="0" '
            f'width="{step:.1f}" height="{HEIGHT + strip}"/>{bar}</a>'
        )
    points = " ".join(
        f"{(number + 0.5) * step:.1f},{height(row['cubeless_equity'], row):.1f}"
        for number, row in enumerate(turns)
        if row["cubeless_equity"] is not None
    )
    dots = (
        f'<circle class="{"first" if row["on_roll"] == 0 else "second"}" cx="{(number + 0.5) * step:.1f}" '
        f'cy="{height(row["cubeless_equity"], row):.1f}" r="{min(7.0, 3 + 20 * row["size"]):.1f}"/>'
        for number, row in enumerate(turns)
        if row["size"] >= ERROR and row["cubeless_equity"] is not None
    )
    return "\n".join([*lines, f'<polyline points="{points}"/>', *dots, "</svg>"])
