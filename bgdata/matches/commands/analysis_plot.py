"""Pictures of an analysis: the course of a match, the luck of every roll, and sums of luck and skill."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bgdata.cli.charts import GREY, RED, TEAL, format_figure_svg, new_figure, write_figure
from bgdata.errors import UsageError
from bgdata.matches.commands.analysis_rows import MatchAnalysis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE = (10.5, 7.0)  # inches


def draw_analysis(found: list[MatchAnalysis], path: Path) -> None:
    """Draw one match. Raises UsageError for several, and StorageError."""
    if len(found) > 1:
        raise UsageError(f"expected one match with --plot, got {len(found)}")
    with new_figure(*SIZE) as figure:
        draw_match(figure, found[0])
        figure.suptitle(" against ".join(found[0].players))
        write_figure(figure, path)


def format_analysis_svg(analysis: MatchAnalysis) -> str:
    """The picture as an SVG element of a page."""
    totals = analysis.totals
    description = f"net luck {totals.net_luck:+.4f}, net skill {totals.net_skill:+.4f} to {analysis.players[0]}"
    with new_figure(*SIZE) as figure:
        draw_match(figure, analysis)
        return format_figure_svg(figure, "luck and skill by turn", description, SIZE)


def draw_match(figure: Figure, analysis: MatchAnalysis) -> None:
    """Draw three panels over the turns, all to player 0."""
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
    draw_rolls(rolls, analysis)
    for label, colour, values in (
        ("net luck", TEAL, [act.luck for act in acts]),
        ("net skill", RED, [-act.play_loss - act.cube_loss for act in acts]),
    ):
        sums.plot(places, scale * np.cumsum(sides * np.array(values)), color=colour, label=label)
    sums.axhline(0, color=GREY, linewidth=0.8)
    sums.legend()
    sums.set(title=f"sums of luck and skill ({unit}), {to}", xlabel="turns")
    ends = np.cumsum([len(game.judged.acts) for game in analysis.games])[:-1]
    for axes in (course, rolls, sums):
        axes.grid(visible=False, axis="x")
        for end in ends:
            axes.axvline(end + 0.5, color=GREY, linewidth=0.6, linestyle=":")


def course_of(analysis: MatchAnalysis) -> np.ndarray:
    """What player 0 has after every turn: mwc, or the points of earlier games and those expected of this one."""
    values, won = [], 0.0
    for game in analysis.games:
        for act in game.judged.acts:
            other = (1 - act.end) if analysis.length else -act.end
            values.append(won + (act.end if act.act.player == 0 else other))
        won += 0.0 if analysis.length else game.judged.result or 0.0
    return np.array(values)


def draw_rolls(axes: Axes, analysis: MatchAnalysis) -> None:
    """Draw a bar for each roll: upwards if it is good for player 0, coloured by who rolled."""
    acts = [turn.judged for turn in analysis.turns]
    for player, colour in ((0, TEAL), (1, RED)):
        own = [(place, act) for place, act in enumerate(acts, 1) if act.roll and act.act.player == player]
        heights = [(1 - 2 * player) * act.luck / act.point for _, act in own]
        axes.bar([place for place, _ in own], heights, width=0.8, color=colour, label=analysis.players[player])
    axes.axhline(0, color=GREY, linewidth=0.8)
    axes.legend(title="rolled by")
    axes.set_title(f"luck of every roll (points of normalised equity), to {analysis.players[0]}")
