"""`bgdata analyze --page`, a self-contained HTML file with a board for every error, and `--plot`, a picture of the
course of a match, the luck of every roll, and sums of luck and skill."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bgdata.cli.charts import GREY, RED, TEAL, format_figure_svg, new_figure, write_figure
from bgdata.cli.output import grid, page_head, section
from bgdata.errors import UsageError
from bgdata.game.board_svg import format_board_svg
from bgdata.game.dice import to_roll
from bgdata.matches.acts import error_mark
from bgdata.matches.commands.analysis_rows import (
    AMOUNT,
    NOTE,
    SIGNS,
    Loss,
    MatchAnalysis,
    game_row,
    headline,
    loss_cells,
    net_columns,
    player_table,
    worth_quantity,
    worth_text,
)
from bgdata.rows import Column, table_cells
from bgdata.store.storage import write_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


CANDIDATES = 5  # plays listed beside a board
BOARD_WIDTH = 440  # pixels


def write_page(matches: Sequence[MatchAnalysis], path: Path, most_errors: int) -> None:
    """Write the HTML of `format_page` to a file. Raises StorageError if it cannot be written."""
    write_file(path, format_page(matches, most_errors).encode())


def format_page(matches: Sequence[MatchAnalysis], most_errors: int) -> str:
    """Return a page about analysed matches as HTML: figures, picture, games, worst errors and turns of each match."""
    title = " against ".join(matches[0].players) if len(matches) == 1 else f"{len(matches)} matches"
    parts = [*page_head(title)]
    for analysis in matches:
        parts += match_parts(analysis, most_errors)
    notes = "<br>".join(map(escape, NOTE.splitlines()))
    return "\n".join([*parts, f'<p class="soft">{notes}</p>', "</body></html>"]) + "\n"


def match_parts(analysis: MatchAnalysis, most_errors: int) -> Iterator[str]:
    """Yield the HTML elements of one match."""
    yield f"<p>{escape(headline(analysis))}</p>"
    yield from section("Players", table_cells(*player_table(analysis)))
    yield f"<h2>Luck and skill</h2>\n{format_analysis_svg(analysis)}"
    yield from section("Games", game_grid(analysis))
    shown = analysis.losses[:most_errors]
    if shown:
        yield f"<h2>Errors</h2>\n<p>{len(shown)} of {len(analysis.losses)} marked errors, the worst first</p>"
    for number, loss in enumerate(shown, 1):
        yield from error_parts(analysis, loss, f"match-{analysis.number}-error-{number}")
    yield f"<h2>Turns</h2>\n<details><summary>{len(analysis.turns)} turns</summary>"
    yield from grid([*turn_grid(analysis)])
    yield "</details>"


def game_grid(analysis: MatchAnalysis) -> list[list[str]]:
    """Return the cells of a table of the match's games, in HTML, from player 0's point of view."""
    game, net = Column("game_number", heading="game"), net_columns(worth_quantity(analysis), 0)
    rows = [game_row(analysis, each) for each in analysis.games]
    for row in rows:
        row["score"] = f"{row['score_0']}-{row['score_1']}"
        row["ratings"] = f"{row['performance_rating_0']:.1f} and {row['performance_rating_1']:.1f}"
    return table_cells([game, Column("score"), *net, Column("ratings")], rows)


def error_parts(analysis: MatchAnalysis, loss: Loss, name: str) -> Iterator[str]:
    """Yield the HTML elements of an error: the action taken, the board with the best play, and the values of the
    choices. `name` is the prefix of the board's identifiers."""
    turn = loss.turn
    act = turn.judged.act
    where = f"game {turn.game.game.number}, turn {turn.shown_number}: {turn.player}"
    yield f"<h3>{escape(where)} loses {loss.size:.3f} {SIGNS[error_mark(loss.size)]}</h3>"
    yield '<div class="charts"><div>'
    roll = to_roll(act.dice) if act.dice and not loss.is_cube else None
    play = None if loss.is_cube else turn.best_play
    yield format_board_svg(turn.position, roll=roll, play=play, stakes=act.stakes, width=BOARD_WIDTH, prefix=f"{name}-")
    yield "</div><div>"
    yield f"<p>{escape(loss.act_text)}; best: {escape(loss.best)}</p>"
    yield from grid([*(cube_grid(analysis, loss) if loss.is_cube else candidate_grid(analysis, loss))])
    yield "</div></div>"


def candidate_grid(analysis: MatchAnalysis, loss: Loss) -> Iterator[Sequence[str]]:
    """Yield the rows of a table of the best plays and the play that was made, in HTML."""
    turn, judged = loss.turn, loss.turn.judged
    assert judged.roll is not None
    yield ("play", "mwc" if analysis.length else "points", "loss")
    for place, each in enumerate(judged.roll.candidates):
        play = turn.plays[tuple(each.after_play.tolist())]
        is_made = play == turn.play
        if place < CANDIDATES or is_made:
            change = (judged.roll.best - each.worth) / judged.point
            worth = worth_text(analysis, each.worth, is_change=False)
            yield (f"{play}{' (made)' * is_made}", worth, loss_text(change) or "0")


def loss_text(loss: float) -> str:
    """Return a loss with its mark, as text; empty if the loss rounds to 0."""
    found = loss_cells(loss)
    return f"{AMOUNT.text(loss)} {found['mark']}".rstrip() if found else ""


def cube_grid(analysis: MatchAnalysis, loss: Loss) -> Iterator[Sequence[str]]:
    """Yield the rows of a table of the values of the cube actions to the player on roll, in HTML."""
    cube = loss.turn.judged.cube
    assert cube is not None
    yield ("to the player on roll", "mwc" if analysis.length else "points")
    for name, worth in zip(("no double", "double, take", "double, pass"), cube, strict=True):
        yield (name, worth_text(analysis, worth, is_change=False))


def turn_grid(analysis: MatchAnalysis) -> Iterator[Sequence[str]]:
    """Yield the rows of a table of all turns with their luck and losses, in HTML."""
    yield ("game", "turn", "player", "act", "play", "before", "luck", "lost by the play", "lost by the cube", "best")
    for turn in analysis.turns:
        judged = turn.judged
        roll = "".join(map(str, judged.act.dice or ()))
        losses = [loss_text(value / judged.point) for value in (judged.play_loss, judged.cube_loss)]
        best = [text for text, value in ((turn.best_play, losses[0]), (turn.best_cube_action, losses[1])) if value]
        yield (
            *(str(turn.game.game.number), str(turn.shown_number), turn.player, roll or str(judged.act.kind)),
            *(str(turn.play or ""), worth_text(analysis, judged.start, is_change=False)),
            f"{judged.luck / judged.point:+.3f}" if judged.roll else "",
            *losses,
            "; ".join(map(str, best)),
        )


SIZE = (10.5, 7.0)  # inches


def draw_analysis(matches: list[MatchAnalysis], path: Path) -> None:
    """Write a picture of the analysed match. Raises UsageError if there are several matches, and StorageError if the
    file cannot be written."""
    if len(matches) > 1:
        raise UsageError(f"expected one match with --plot, got {len(matches)}")
    with new_figure(*SIZE) as figure:
        draw_match(figure, matches[0])
        figure.suptitle(" against ".join(matches[0].players))
        write_figure(figure, path)


def format_analysis_svg(analysis: MatchAnalysis) -> str:
    """Return a picture of the analysed match as an SVG element for a page."""
    totals = analysis.totals
    description = f"net luck {totals.net_luck:+.4f}, net skill {totals.net_skill:+.4f} to {analysis.players[0]}"
    with new_figure(*SIZE) as figure:
        draw_match(figure, analysis)
        return format_figure_svg(figure, "luck and skill by turn", description, SIZE)


def draw_match(figure: Figure, analysis: MatchAnalysis) -> None:
    """Draw three charts over the turns of a match, all from player 0's point of view."""
    course, rolls, sums = figure.subplots(3, 1, sharex=True)
    scale = 100 if analysis.length else 1
    unit = "mwc, %" if analysis.length else "points"
    acts = [turn.judged for turn in analysis.turns]
    sides = np.array([1 - 2 * act.act.player for act in acts])
    places = np.arange(1, len(acts) + 1)
    to = f"to {analysis.players[0]}"
    course.plot(places, scale * course_of(analysis), color=TEAL)
    course.axhline(50 if analysis.length else 0, color=GREY, linewidth=0.8)
    course.set_title(
        f"course of the match ({unit}), {to}" if analysis.length else f"points won, and those expected, {to}"
    )
    rolled = np.array([act.roll is not None for act in acts])
    lucks = sides * np.array([act.luck / act.point for act in acts])
    draw_rolls(rolls, analysis.players, (1 - sides[rolled]) // 2, places[rolled], lucks[rolled])
    rolls.set_title(f"luck of every roll (points of normalised equity), {to}")
    for label, colour, values in (
        ("net luck", TEAL, [act.luck for act in acts]),
        ("net skill", RED, [-act.play_loss - act.cube_loss for act in acts]),
    ):
        sums.plot(places, scale * np.cumsum(sides * np.array(values)), color=colour, label=label)
    sums.axhline(0, color=GREY, linewidth=0.8)
    sums.legend()
    sums.set(title=f"sums of luck and skill ({unit}), {to}", xlabel="turns")
    mark_games((course, rolls, sums), np.cumsum([len(game.judged.acts) for game in analysis.games]))


def course_of(analysis: MatchAnalysis) -> np.ndarray:
    """Return the value of the match to player 0 after every turn, as float64[turns]. The value is mwc, or the points of
    earlier games and the expected points of the present game."""
    values, won = [], 0.0
    for game in analysis.games:
        for act in game.judged.acts:
            other = (1 - act.end) if analysis.length else -act.end
            values.append(won + (act.end if act.act.player == 0 else other))
        won += 0.0 if analysis.length else game.judged.result or 0.0
    return np.array(values)


def draw_rolls(axes: Axes, names: Sequence[str], players: np.ndarray, places: np.ndarray, heights: np.ndarray) -> None:
    """Draw a bar for each roll, coloured by player, upwards if the roll is good for player 0."""
    for player, colour in ((0, TEAL), (1, RED)):
        rows = players == player
        axes.bar(places[rows], heights[rows], width=0.8, color=colour, label=names[player])
    axes.axhline(0, color=GREY, linewidth=0.8)
    axes.legend(title="rolled by")


def mark_games(panels: Sequence[Axes], ends: np.ndarray) -> None:
    """Draw a vertical line between the games of a match on all panels, and turn their vertical grid lines off. `ends`
    are the last turns of the games."""
    for axes in panels:
        axes.grid(visible=False, axis="x")
        for end in ends[:-1]:
            axes.axvline(end + 0.5, color=GREY, linewidth=0.6, linestyle=":")
