"""`bgdata score`: how good a player is, by every measure that is available here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from bgdata.cli.completion import complete_players
from bgdata.cli.options import against_option, format_option, games_option, ply_option, threads_option
from bgdata.cli.query import run_query
from bgdata.errors import MissingTableError, UsageError
from bgdata.store.progress_bars import progress_bars
from bgdata.warehouse import Warehouse

if TYPE_CHECKING:
    from bgdata.steps.scores import Amount, Player


@click.command()
@click.argument("player", shell_complete=complete_players)
@ply_option()
@games_option(None, "4000 against each opponent, and in self-play")
@click.option(
    "--luck-adjusted-games",
    type=int,
    metavar="N",
    help="Games against each opponent whose luck is measured too, 0 for none.  [default: 1000]",
)
@click.option("--decisions", type=int, metavar="N", help="Maximum number of decisions.  [default: 10000]")
@against_option
@click.option("--no-programs", is_flag=True, help="Leave out gnubg and bgsage even if they are installed.")
@click.option("--quick", is_flag=True, help="A first estimate: 400 games, 40 luck-adjusted games and 1000 decisions.")
@threads_option
@format_option
@click.pass_obj
def score(warehouse: Warehouse, /, player: str, ply: int, form: str, **options: Any) -> None:
    """Measure how good a PLAYER is, in every way available here.

    PLAYER is random, pubeval, network (the one that comes with bgdata), network/NAME, gnubg, bgsage or an ONNX file
    such as mine.onnx. Each figure has a standard error. All are rows of the table `scores`:

    \b
      points per game against PubEval, plain and luck-adjusted
      shares of gammons and backgammons in self-play
      error rates on all benchmarks of the warehouse, imported or made here
      points lost per bearoff decision, judged by the largest exact table
      RMSE of equities by theme of reference positions, on the test split
      head to head with the installed gnubg and bgsage, and with those given

    What has been measured before is not measured again. A stopped command is resumed by running it again. The test
    split is for reporting: to choose among players, see `bgdata compare --split validation`. How many reference
    positions the player evaluates in a second is measured every time, and only printed.

    \b
      bgdata score network --quick
      bgdata score network/better --against network --no-programs
    """
    from bgdata.steps.scores import QUICK, Amount

    given = {name: options[name] for name in Amount._fields if options[name] is not None}
    amount = (QUICK if options["quick"] else Amount())._replace(**given)
    print_scores(warehouse, (player, ply), options["against"], amount, form, programs=not options["no_programs"])


def print_scores(
    warehouse: Warehouse, player: Player, against: Sequence[str], amount: Amount, form: str, *, programs: bool
) -> None:
    """Measure what has not been measured yet, and print the table. Raises what `build_scores` raises."""
    from bgdata.steps.scores import PUBEVAL, build_scores, opponent_of, rows_sql, score_lines

    opponents = [PUBEVAL, *map(opponent_of, against)]
    with progress_bars() as progress:
        table, left_out = build_scores(warehouse, player, opponents, amount, progress, programs=programs)
    for line in left_out:
        click.echo(f"left out: {line}", err=True)
    if form == "table":
        click.echo("\n".join(score_lines(warehouse, table)))
    else:
        run_query(warehouse, f"select * from {rows_sql(table)}", form, None)
    for line in speed_lines(warehouse, *player):
        click.echo(line, err=True)


def speed_lines(warehouse: Warehouse, name: str, ply: int) -> Iterator[str]:
    """How fast a player evaluates reference positions: one line, or none where there are no positions or the player
    only chooses plays."""
    from bgdata.evaluation.named import open_named_evaluator
    from bgdata.steps.references import RUNS, find_references, positions_per_second, workers_text

    try:
        table, evaluator = find_references(warehouse), open_named_evaluator(name, ply, warehouse)
    except (MissingTableError, UsageError):
        return
    rate = positions_per_second(evaluator, table.array("boards"))
    measured = f"{workers_text(name)}, median of {RUNS} runs on {table.name}"
    yield f"speed: {rate:,.0f} positions a second, {ply}-ply, {measured}"
