"""`bgdata selfplay`: a corpus of games, with the cube or without, and in two lines what came out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bgdata.commands.report import print_built, progress_bars
from bgdata.datasets.common.cube_players import CubePlayerParameters
from bgdata.datasets.cubeful_selfplay import DATASET as CUBEFUL
from bgdata.datasets.cubeful_selfplay import CubefulParameters
from bgdata.datasets.selfplay import DATASET, SelfPlayParameters
from bgdata.errors import UsageError, shown
from bgdata.evaluation.networks.named import KIND, find_network
from bgdata.evaluation.player import open_player
from bgdata.store.executors import open_executor
from bgdata.warehouse import Warehouse


def play_corpus(
    warehouse: Warehouse, player: str, games: int, seed: int, *, luck: bool, executor: str, force: bool, form: str
) -> None:
    """Build the corpus, and print where it is and a summary.

    Raises InvalidParameterError, MissingTableError for a network that is not there, and what executors raise.
    """
    parameters = SelfPlayParameters(player, "", games, seed, luck)
    DATASET.check_parameters(parameters)
    if player != "network":
        parameters = parameters.with_changes({"version": open_player(player, 0, warehouse).version})
    with open_executor(executor) as workers, progress_bars() as progress:
        table = warehouse.build(DATASET.name, parameters, progress=progress, force=force, executor=workers)
    print_built(table, [summary(games, table.manifest.statistics)], form)


def summary(games: int, found: Mapping[str, float]) -> str:
    """How games ended, and what player 0 won."""
    shares = ", ".join(f"{100 * found[f'{kind}_share']:.1f} % {kind}s" for kind in ("single", "gammon", "backgammon"))
    points = f"{found['points_per_game']:+.4f} +/- {found['standard_error']:.4f} points per game"
    if "hedged_standard_error" in found:
        error = found["hedged_standard_error"]
        points += f"; hedged {found['hedged_points_per_game']:+.4f} +/- {error:.4f}"
        points += f", {found['standard_error'] / error:.1f} times less noise" if error else ""
    return f"{games:,} games of {found['turns_per_game']:.1f} turns: {shares}\nplayer 0: {points}"


def play_with_cube(
    warehouse: Warehouse,
    player: str,
    cube: str,
    counts: dict[str, int],
    *,
    luck: bool,
    executor: str,
    force: bool,
    form: str,
) -> None:
    """Build a corpus with the cube, and print where it is and a summary; counts are `games`, `seed`, `length` and
    `jacoby`. Raises as `play_corpus` does, and UsageError for players and options that do not go with a cube."""
    if luck:
        raise UsageError("expected --cube-model or --luck, which is that of cubeless games, got both")
    found = network_of(warehouse, player)
    settings: dict[str, Any] = {**counts, "jacoby": bool(counts["jacoby"])}
    parameters = CubefulParameters(found.network, found.network_version, cube=" ".join(cube.split(",")), **settings)
    CUBEFUL.check_parameters(parameters)
    with open_executor(executor) as workers, progress_bars() as progress:
        table = warehouse.build(CUBEFUL.name, parameters, progress=progress, force=force, executor=workers)
    print_built(table, [cubeful_summary(table.manifest.statistics, table.manifest.rows)], form)


def network_of(warehouse: Warehouse, player: str) -> CubePlayerParameters:
    """The network that plays as `network` or `network/NAME`, with the default tables. Raises UsageError for a player
    that is no network, and MissingTableError."""
    if player.partition("/")[0] != KIND:
        raise UsageError(f"expected a network to handle the cube, got {shown(player)}")
    if player == KIND:
        return CubePlayerParameters()
    found = find_network(player, warehouse)
    return CubePlayerParameters(network=found.folder.parent.name, network_version=found.folder.name)


def cubeful_summary(found: Mapping[str, float], games: int) -> str:
    """How games ended, and what player 0 won."""
    if "matches_won_share" in found:
        won = f"{100 * found['matches_won_share']:.1f} +/- {100 * found['standard_error']:.1f} % of matches won"
    else:
        won = f"{found['points_per_game']:+.4f} +/- {found['standard_error']:.4f} points per game"
    return (
        f"{games:,} games of {found['turns_per_game']:.1f} turns: {100 * found['passed_share']:.1f} % passed, "
        f"average cube {found['mean_cube_value']:.2f}\nplayer 0: {won}"
    )
