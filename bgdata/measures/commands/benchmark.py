"""`bgdata benchmark` and `bgdata referee`: what a player loses per decision, and its results in whole games."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import click

from bgdata.cli.completion import complete_players
from bgdata.cli.options import (
    against_option,
    executor_option,
    format_option,
    games_option,
    luck_option,
    on_option,
    ply_option,
    refuse_without,
    seed_option,
    table_option,
)
from bgdata.cli.output import build_version, show_rows
from bgdata.endgames.kinds.contact_endgame import POINTS as ANYWHERE
from bgdata.errors import UsageError
from bgdata.game.dice import roll_of
from bgdata.game.plays import legal_plays
from bgdata.game.position import Position
from bgdata.imports.commands import import_files, print_report
from bgdata.imports.kinds.gnubg_benchmark import DATASET as BENCHMARK
from bgdata.measures.kinds.game_scores import DATASET as GAMES
from bgdata.measures.kinds.game_scores import GameParameters
from bgdata.measures.kinds.referee_scores import DATASET, RefereeParameters
from bgdata.rows import CHANCE, COUNT, EQUITY, LOSS, PERCENT, Column, Quantity, table_lines
from bgdata.store.progress import progress_bars
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse


@click.command()
@click.argument("player", shell_complete=complete_players)
@ply_option()
@on_option("all")
@click.option(
    "--bm",
    "files",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A benchmark file of gnubg to import and score on; can be given several times.",
)
@games_option(None, "40000 where games are played")
@against_option
@seed_option(2)
@luck_option
@executor_option
@format_option
@click.pass_obj
def benchmark(warehouse: Warehouse, /, player: str, ply: int, form: str, **options: Any) -> None:
    """Score a PLAYER on rolled-out decisions, or in whole games.

    PLAYER is random, pubeval, network (the one that comes with bgdata), network/NAME, an ONNX file such as mine.onnx,
    or, where they are installed, gnubg or bgsage. On decisions, the error rate is 1000 times the mean loss per
    decision, in points; for several players on the same decisions see `bgdata compare --benchmarks`. With --games or
    --against the player plays cubeless money games, against pubeval unless --against names another player; every
    sequence of dice is played from both sides. --luck subtracts the luck of every roll from the results, as judged by
    the network that comes with bgdata.

    --on cube scores doubles and answers on every cube benchmark (see `bgdata explain cube_benchmark`). A network is
    scored once by each model of the cube.

    \b
      bgdata benchmark network
      bgdata benchmark pubeval --on contact --bm contact.bm
      bgdata benchmark network --on cube --ply 2
      bgdata benchmark network --ply 1 --games 400 --against network
    """
    from bgdata.measures.steps.scores import opponent_of, series_parameters

    games, against, sets, files, luck = (options[name] for name in ("games", "against", "sets", "files", "luck"))
    if games is None and not against:
        if luck:
            raise UsageError("expected games (--games, --against) with --luck, got none")
        refuse_without("games (--games, --against)", "seed")
        if CUBE in sets:
            if len(sets) > 1 or files:
                raise UsageError(f"expected --on {CUBE} alone, got other benchmarks too")
            score_cube_actions(warehouse, player, ply, form)
            return
        score_player(warehouse, player, ply, sets, files, form)
        return
    if sets or files:
        raise UsageError("expected either decisions (--on, --bm) or games (--games, --against), got both")
    if len(against) > 1:
        raise UsageError(f"expected one opponent, got {len(against)}; try: bgdata score")
    opponent = opponent_of(*against) if against else ("pubeval", 0)
    with progress_bars() as progress:
        parameters = series_parameters(
            warehouse, (player, ply), opponent, 40_000 if games is None else games, options["seed"], progress,
            with_luck=luck,
        )  # fmt: skip
        table = warehouse.build(GAMES.name, parameters, progress=progress)
    recipe, found = vars(parameters), table.manifest.statistics
    row = {name: recipe[name] for name in ("player", "ply", "opponent", "opponent_ply", "games")}
    for figure in ("points_per_game", "standard_error", "hedged_points_per_game", "hedged_standard_error"):
        row[figure] = round(found[figure], 4) if figure in found else None
    row["percent_won"] = round(100 * found["win_share"], 2)
    for side, done in (("win", "won"), ("lose", "lost")):
        for size in ("gammon", "backgammon"):
            row[f"percent_{size}s_{done}"] = round(100 * found[f"{side}_{size}_share"], 2)
    row["turns_per_game"] = round(found["turns_per_game"], 1)
    show_rows([row], form, [result_text(parameters, found)])


@click.command()
@click.argument("player", shell_complete=complete_players)
@ply_option()
@click.option(
    "--decisions", default=10_000, show_default=True, type=int, metavar="N", help="Maximum number of decisions."
)
@seed_option(1)
@table_option
@click.option(
    "--contact", type=click.IntRange(1, 3), metavar="N", help="Judge by the contact endgames of N checkers a side."
)
@click.option(
    "--no-tables", is_flag=True, help="Let a network play without bearoff tables; with them it plays perfectly."
)
@format_option
@click.pass_obj
def referee(warehouse: Warehouse, /, player: str, ply: int, form: str, no_tables: bool, **options: Any) -> None:
    """Score a PLAYER on decisions that an exact table has solved.

    PLAYER is random, pubeval, network (the one that comes with bgdata), network/NAME, an ONNX file such as mine.onnx,
    or, where they are installed, gnubg or bgsage, which use bearoff tables of their own. The decisions come from games
    of PubEval against itself, bearoffs all; with --contact they are positions drawn at random, of up to N checkers a
    side that can still hit or block. Each choice is judged by exact equities, so neither luck nor rollouts come in.

    \b
      bgdata referee pubeval
      bgdata referee network --no-tables --decisions 1000
      bgdata referee gnubg --contact 3
    """
    from bgdata.evaluation.player import open_named_player
    from bgdata.measures.steps.scores import full_name, table_size

    size, contact, decisions, seed = (options[name] for name in ("table", "contact", "decisions", "seed"))
    if contact and size:
        raise UsageError("expected either --table or --contact, got both")
    points, checkers = (ANYWHERE, contact) if contact else table_size(warehouse, size, "to judge by")
    name, tables = full_name(player), not no_tables
    version = open_named_player(name, ply, warehouse, tables=tables).version
    parameters = RefereeParameters(name, ply, version, tables, points, checkers, decisions, seed)
    table = build_version(warehouse, DATASET, parameters)
    found = table.manifest.statistics
    row = {"player": name, "ply": ply, "has_tables": tables, "referee": f"{points}x{checkers}", "decisions": decisions}
    show_rows([row | found], form, chain(judgement_lines(parameters, found), worst_decisions(table)))


CUBE = "cube"  # value of --on for all cube benchmarks
CUBE_COLUMNS = (
    Column("judge"),
    Column("cube_model"),
    Column("decisions", COUNT),
    Column("error_rate", Quantity(2), error="standard_error"),
    Column("double_error_rate", Quantity(2), "doubles", error="double_standard_error"),
    Column("answer_error_rate", Quantity(2), "answers", error="answer_standard_error"),
)
RATE_COLUMNS = (
    Column("benchmark"),
    Column("decisions", COUNT),
    Column("error_rate", Quantity(3), error="standard_error"),
    *(Column(name, Quantity(3)) for name in ("low", "high")),
    *(Column(name, Quantity(2)) for name in ("percent_unlisted", "percent_best")),
)


def score_player(
    warehouse: Warehouse, name: str, ply: int, sets: Sequence[str], files: Sequence[Path], form: str
) -> None:
    """Import the benchmark files, score the player on each benchmark in `sets`, and print one line for each benchmark.
    Raises UnknownPlayerError if there is no such player, MissingTableError if a benchmark is missing, and the errors of
    imports."""
    from bgdata.evaluation.player import open_named_player
    from bgdata.measures.steps.scores import full_name
    from bgdata.measures.steps.sets import build_benchmark_scores, chosen_sets, judge_of

    imported = [import_files(warehouse, BENCHMARK.name, [path], None, strict=False, force=False) for path in files]
    for table in imported:
        print_report(table, err=True)
    name = full_name(name)
    open_named_player(name, ply, warehouse)
    chosen = chosen_sets(warehouse, sets, imported)
    rows = []
    with progress_bars() as progress:
        for judged, table in zip(chosen, build_benchmark_scores(warehouse, chosen, name, ply, progress), strict=True):
            benchmark, found = table.manifest.parameters["benchmark"], table.manifest.statistics
            rows.append(
                {
                    "player": name,
                    "ply": ply,
                    "benchmark": f"{benchmark['kind']}/{benchmark['variant']}",
                    "version": benchmark["version"],
                    "judge": judge_of(judged),
                    "decisions": table.manifest.rows,
                    "error_rate": round(found["error_rate"], 6),
                    "standard_error": round(found["standard_error"], 3),
                    "low": round(found["error_rate_low"], 3),
                    "high": round(found["error_rate_high"], 3),
                    "percent_unlisted": round(100 * found["unlisted_share"], 2),
                    "percent_best": round(100 * found["best_share"], 2),
                }
            )
    rows.sort(key=lambda row: (row["benchmark"], row["version"]))
    show_rows(rows, form, table_lines(RATE_COLUMNS, rows))


def score_cube_actions(warehouse: Warehouse, name: str, ply: int, form: str) -> None:
    """Score the player on each cube benchmark, once by each cube model, and print one line for each score. Raises
    UnknownPlayerError if there is no such player, and MissingTableError if there is no cube benchmark."""
    from bgdata.measures.steps.scores import full_name
    from bgdata.measures.steps.sets import build_cube_scores, cube_score_row

    with progress_bars() as progress:
        rows = [cube_score_row(table) for table in build_cube_scores(warehouse, full_name(name), ply, progress)]
    show_rows(rows, form, table_lines(CUBE_COLUMNS, rows))


def result_text(parameters: GameParameters, statistics: Mapping[str, float]) -> str:
    """Return the result of a series of games as two lines of text, from the `statistics` of the version. If luck was
    measured, a third line has the luck-adjusted result."""

    def percent(name: str) -> str:
        return f"{PERCENT.text(statistics[f'{name}_share'])} %"

    text = (
        f"{parameters.player} ({parameters.ply}-ply) against {parameters.opponent} ({parameters.opponent_ply}-ply): "
        f"{EQUITY.text(statistics['points_per_game'], statistics['standard_error'])} points per game in "
        f"{parameters.games:,} games of {statistics['turns_per_game']:.1f} turns\n"
        f"won {percent('win')}, with a gammon or more {percent('win_gammon')}, with a backgammon "
        f"{percent('win_backgammon')}; lost a gammon or more {percent('lose_gammon')}, a backgammon "
        f"{percent('lose_backgammon')}"
    )
    if not parameters.luck:
        return text
    error = statistics["hedged_standard_error"]
    factor = f", {statistics['standard_error'] / error:.1f} times less noise" if error else ""
    return f"{text}\nluck-adjusted: {EQUITY.text(statistics['hedged_points_per_game'], error)} points per game{factor}"


WORST_COLUMNS = (
    Column("position", width=14),
    Column("roll", heading="", width=2),
    Column("loss", LOSS),
    Column("played", width=22),
    Column("best"),
)


def judgement_lines(parameters: RefereeParameters, statistics: Mapping[str, float]) -> Iterator[str]:
    """Yield the lines of text that `bgdata referee` prints: how much the player loses per decision, from the
    `statistics` of the version."""
    without = "" if parameters.tables else ", without tables"
    what, judge = "bearoff", f"bearoff_two_sided/{parameters.points}x{parameters.checkers}"
    if parameters.points == ANYWHERE:
        what, judge = "contact", f"contact_endgame/{parameters.checkers}"
    yield (
        f"{parameters.player} ({parameters.ply}-ply{without}) in {parameters.decisions:,} {what} decisions judged by "
        f"{judge}:"
    )
    yield (
        f"mean loss {Quantity(6).text(statistics['mean_loss'], statistics['standard_error'])} points per decision, "
        f"{CHANCE.text(statistics['error_share'])} of the choices wrong"
    )
    yield (
        f"one in 10 loses at least {LOSS.text(statistics['loss_of_worst_tenth'])}, one in 100 "
        f"{LOSS.text(statistics['loss_of_worst_hundredth'])}, one in 1000 "
        f"{LOSS.text(statistics['loss_of_worst_thousandth'])}, "
        f"the worst {LOSS.text(statistics['largest_loss'])}; the table's rounding "
        f"{statistics['loss_error_bound']:.1g} at most"
    )


def worst_decisions(table: Table) -> Iterator[str]:
    """Yield lines of text about the five decisions that lost most. Each position and roll occurs once. There are no
    lines if nothing was lost."""
    losses, ranks = table.array("losses"), table.array("ranks")
    rows = sorted((row for row in range(len(losses)) if ranks[row] > 0), key=lambda row: -losses[row])
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in rows:
        if len(found) == 5:
            break
        position = Position(table.array("boards")[row].tolist())
        roll = roll_of(*table.array("rolls")[row].tolist())
        plays = {tuple(play.next_position.board): str(play) for play in legal_plays(position, roll)}
        chosen, best = (plays[tuple(table.array(name)[row].tolist())] for name in ("chosen", "best"))
        shown = {"position": position.id, "roll": str(roll), "loss": losses[row], "played": chosen, "best": best}
        found.setdefault((position.id, str(roll), chosen), shown)
    if found:
        yield ""
        yield from table_lines(WORST_COLUMNS, found.values())
