"""`bgdata benchmark`: error rates of a player on rolled-out decisions, and its results in whole games."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from bgdata.commands.imports import import_files, print_report
from bgdata.commands.query import run_query
from bgdata.commands.report import progress_bars
from bgdata.datasets.benchmark_scores import DATASET as SCORES
from bgdata.datasets.benchmark_scores import ROLLED_OUT, ScoreParameters, check_benchmark
from bgdata.datasets.game_scores import DATASET as GAMES
from bgdata.datasets.game_scores import GameParameters
from bgdata.datasets.gnubg_benchmark import DATASET as BENCHMARK
from bgdata.errors import MissingTableError
from bgdata.evaluation.networks.named import KIND as NETWORK
from bgdata.evaluation.networks.named import network_name
from bgdata.evaluation.player import open_player
from bgdata.store.names import quoted
from bgdata.store.progress import Progress
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse

SUMMARY = """
select parameters->>'player' as player, (parameters->>'ply')::integer as ply,
       parameters->>'benchmark' as benchmark, parameters->>'benchmark_version' as version, rows as decisions,
       round((statistics->>'error_rate')::double, 6) as error_rate,
       round((statistics->>'error_rate_low')::double, 3) as low,
       round((statistics->>'error_rate_high')::double, 3) as high,
       round(100 * (statistics->>'unlisted_share')::double, 2) as percent_unlisted,
       round(100 * (statistics->>'best_share')::double, 2) as percent_best
from versions where dataset = 'benchmark_scores' and variant || '/' || version in ({scores}) order by 3, 4
"""

RESULT = """
select player, ply, opponent, opponent_ply, games, round(points_per_game, 4) as points_per_game,
       round(standard_error, 4) as standard_error, round(hedged_points_per_game, 4) as hedged_points_per_game,
       round(hedged_standard_error, 4) as hedged_standard_error, round(100 * win_share, 2) as percent_won,
       round(100 * win_gammon_share, 2) as percent_gammons_won,
       round(100 * win_backgammon_share, 2) as percent_backgammons_won,
       round(100 * lose_gammon_share, 2) as percent_gammons_lost,
       round(100 * lose_backgammon_share, 2) as percent_backgammons_lost, round(turns_per_game, 1) as turns_per_game
from game_summary where player = {player} and ply = {ply} and opponent = {opponent} and opponent_ply = {opponent_ply}
     and games = {games} and seed = {seed} and (hedged_standard_error is not null) = (1 = {luck})
"""


def score_player(
    warehouse: Warehouse, name: str, ply: int, sets: Sequence[str], files: Sequence[Path], form: str
) -> None:
    """Import the files, score the player on each set and print one line for each.

    Raises UnknownPlayerError, MissingTableError for a set that is not there, and what imports raise.
    """
    imported = [import_benchmark(warehouse, path) for path in files]
    name = full_name(name)
    version = open_player(name, ply, warehouse).version
    chosen = [*(open_set(warehouse, text) for text in sets), *imported] or sets_there(warehouse)
    with progress_bars() as progress:
        scores = [
            warehouse.build(SCORES.name, ScoreParameters.on(table, name, ply, version), progress=progress)
            for table in chosen
        ]
    listed = ", ".join(quoted(table.name.partition("/")[2]) for table in scores)
    run_query(warehouse, SUMMARY.format(scores=listed), form, None)


def import_benchmark(warehouse: Warehouse, path: Path) -> Table:
    """A benchmark file as a version; the report goes to standard error. Raises as imports do."""
    table = import_files(warehouse, BENCHMARK.name, [path], None, strict=False, force=False)
    print_report(table, err=True)
    return table


def open_set(warehouse: Warehouse, text: str) -> Table:
    """A benchmark by name: KIND/VARIANT, KIND/VARIANT/VERSION, or the variant of an imported one.

    Raises InvalidParameterError for what is no benchmark, and MissingTableError.
    """
    reference = text if "/" in text else f"{BENCHMARK.name}/{text}"
    check_benchmark("/".join(reference.split("/")[:2]))
    return warehouse.open_reference(reference)


def play_series(
    warehouse: Warehouse,
    player: tuple[str, int],
    opponent: tuple[str, int],
    games: int,
    seed: int,
    form: str,
    *,
    with_luck: bool = False,
) -> None:
    """Play games between two players, each a name and its plies, and print the result of the first.

    Raises UnknownPlayerError, InvalidParameterError, and MissingTableError for a network that is not there.
    """
    with progress_bars() as progress:
        parameters = series_parameters(warehouse, player, opponent, games, seed, progress, with_luck=with_luck)
        table = warehouse.build(GAMES.name, parameters, progress=progress)
    if form == "table":  # too wide for one, and a single row
        click.echo(result_text(parameters, table.manifest.statistics))
        return
    wanted = {key: quoted(value) if isinstance(value, str) else value for key, value in vars(parameters).items()}
    run_query(warehouse, RESULT.format(**wanted), form, None)


def series_parameters(
    warehouse: Warehouse,
    player: tuple[str, int],
    opponent: tuple[str, int],
    games: int,
    seed: int,
    progress: Progress,
    *,
    with_luck: bool,
) -> GameParameters:
    """The recipe of games between two players, as they play here. Who judges luck is built first, as players may look
    into its bearoff tables too. Raises as `play_series` does."""
    GAMES.check_parameters(GameParameters(games=games, seed=seed))
    for kind, needed in GAMES.inputs(GameParameters(luck=with_luck)).values():
        warehouse.build(kind, needed, progress=progress)
    names = [full_name(name) for name, _ in (player, opponent)]
    versions = [
        open_player(name, ply, warehouse).version for name, (_, ply) in zip(names, (player, opponent), strict=True)
    ]
    first, second = (names[0], player[1], versions[0]), (names[1], opponent[1], versions[1])
    return GameParameters(*first, *second, games, seed, with_luck)


def result_text(parameters: GameParameters, found: Mapping[str, float]) -> str:
    """The result of a series in two lines, and another without luck where it was measured."""
    percent = {name: f"{100 * value:.1f} %" for name, value in found.items() if name.endswith("_share")}
    return (
        f"{parameters.player} ({parameters.ply}-ply) against {parameters.opponent} ({parameters.opponent_ply}-ply): "
        f"{found['points_per_game']:+.4f} +/- {found['standard_error']:.4f} points per game in "
        f"{parameters.games:,} games of {found['turns_per_game']:.1f} turns\n"
        f"won {percent['win_share']}, with a gammon or more {percent['win_gammon_share']}, with a backgammon "
        f"{percent['win_backgammon_share']}; lost a gammon or more {percent['lose_gammon_share']}, a backgammon "
        f"{percent['lose_backgammon_share']}" + (hedged_text(found) if parameters.luck else "")
    )


def hedged_text(found: Mapping[str, float]) -> str:
    """The line about the result without luck."""
    points, error = found["hedged_points_per_game"], found["hedged_standard_error"]
    factor = f", {found['standard_error'] / error:.1f} times less noise" if error else ""
    return f"\nless luck: {points:+.4f} +/- {error:.4f} points per game{factor}"


def full_name(name: str) -> str:
    """The name under which scores of a player are kept: `network` is called by the name of the network."""
    return network_name(name) if name.partition("/")[0] == NETWORK else name


def sets_there(warehouse: Warehouse) -> list[Table]:
    """The benchmarks that were imported, and the sets made here. Raises MissingTableError where there are none."""
    found = [table for kind in (BENCHMARK.name, ROLLED_OUT) for table in warehouse.current(kind)]
    if not found:
        raise MissingTableError(
            f"expected a benchmark in {warehouse.root}, found none; "
            f"try: bgdata build, or bgdata import {BENCHMARK.name} contact.bm"
        )
    return found
