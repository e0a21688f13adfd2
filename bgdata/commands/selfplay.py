"""`bgdata selfplay`: a corpus of games, and in two lines what came out."""

from __future__ import annotations

from collections.abc import Mapping

import click

from bgdata.commands.report import progress_bars
from bgdata.datasets.selfplay import DATASET, SelfPlayParameters
from bgdata.evaluation.player import open_player
from bgdata.store.executors import open_executor
from bgdata.store.warehouse import Warehouse


def play_corpus(
    warehouse: Warehouse, player: str, games: int, seed: int, *, luck: bool, executor: str, force: bool
) -> None:
    """Build the corpus, and print where it is and a summary.

    Raises InvalidParameterError, MissingTableError for a network that is not there, and what executors raise.
    """
    parameters = SelfPlayParameters(player, "", games, seed, int(luck))
    DATASET.check_parameters(parameters)
    if player != "network":
        parameters = parameters.with_changes({"version": open_player(player, 0, warehouse).version})
    with open_executor(executor) as workers, progress_bars() as progress:
        table = warehouse.build(DATASET.name, parameters, progress=progress, force=force, executor=workers)
    click.echo(f"{table.folder}\n{summary(games, table.manifest.statistics)}")


def summary(games: int, found: Mapping[str, float]) -> str:
    """How games ended, and what player 0 won."""
    shares = ", ".join(f"{100 * found[f'{kind}_share']:.1f} % {kind}s" for kind in ("single", "gammon", "backgammon"))
    points = f"{found['points_per_game']:+.4f} +/- {found['standard_error']:.4f} points per game"
    if "hedged_standard_error" in found:
        error = found["hedged_standard_error"]
        points += f"; hedged {found['hedged_points_per_game']:+.4f} +/- {error:.4f}"
        points += f", {found['standard_error'] / error:.1f} times less noise" if error else ""
    return f"{games:,} games of {found['turns_per_game']:.1f} turns: {shares}\nplayer 0: {points}"
