"""`bgdata luck --plot`: luck and skill of recorded games as a picture. Needs matplotlib, an extra."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bgdata.commands.figures import BLUE, GREY, RED, TEAL, new_figure, write_figure
from bgdata.commands.luck import Analysed, running_totals
from bgdata.play.luck.recorded import signs

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_luck(games: Sequence[Analysed], path: Path) -> None:
    """Write a PNG: luck of every roll, and below it how net luck and net skill add up.

    Raises MissingExtraError without matplotlib, and StorageError.
    """
    figure = new_figure(10.5, 5.4)
    rolls, sums = figure.subplots(2, 1, sharex=True)
    draw_rolls(rolls, games)
    draw_sums(sums, games)
    for axes in (rolls, sums):
        axes.axhline(0, color=GREY, linewidth=0.8)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color=BLUE, alpha=0.3, linewidth=0.6, axis="y")
        for end in running_totals(games)[2][:-1]:
            axes.axvline(end + 0.5, color=GREY, linewidth=0.6, linestyle=":")
    players = games[0].match.players
    figure.suptitle(f"{players[0]} against {players[1]}: points per unit cube, cubeless", fontsize=11)
    write_figure(figure, path)


def draw_rolls(axes: Axes, games: Sequence[Analysed]) -> None:
    """A bar for each roll: upwards what is good for player 0, coloured by who rolled."""
    players = np.concatenate([each.record.players for each in games])
    luck = signs(players) * np.concatenate([each.found.luck for each in games])
    turns = np.arange(1, len(luck) + 1)
    for player, colour in ((0, TEAL), (1, RED)):
        rows = players == player
        axes.bar(turns[rows], luck[rows], width=0.8, color=colour, label=games[0].match.players[player])
    axes.legend(frameon=False, fontsize=9, title="rolled by", title_fontsize=9)
    axes.set_title(f"luck of every roll, to {games[0].match.players[0]}", fontsize=10)


def draw_sums(axes: Axes, games: Sequence[Analysed]) -> None:
    """Luck and skill so far, and the hedged results at the ends of games."""
    luck, skill, ends = running_totals(games)
    turns = np.arange(1, len(luck) + 1)
    axes.plot(turns, luck, color=TEAL, label="net luck")
    axes.plot(turns, skill, color=RED, label="net skill of the plays")
    hedged = np.cumsum([each.totals.luck_adjusted for each in games])
    axes.plot(ends, hedged, color=GREY, marker="o", markersize=4, linestyle="", label="hedged results")
    axes.legend(frameon=False, fontsize=9)
    axes.set_xlabel("rolls")
    axes.set_title(f"sums, to {games[0].match.players[0]}", fontsize=10)
