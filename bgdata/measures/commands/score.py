"""`bgdata score`: how good a player is, by every measure that is available here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bgdata.cli.charts import GREY, draw_marks, known, name_heights, new_figure, write_figure
from bgdata.cli.completion import complete_players
from bgdata.cli.options import against_option, format_option, games_option, plot_option, ply_option, threads_option
from bgdata.cli.output import show_rows
from bgdata.errors import MissingTableError, UsageError
from bgdata.store.progress import progress_bars
from bgdata.warehouse import Warehouse

if TYPE_CHECKING:
    from bgdata.measures.steps.score_rows import ByTheme


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
@plot_option
@threads_option
@format_option
@click.pass_obj
def score(warehouse: Warehouse, /, player: str, ply: int, plot: Path | None, form: str, **options: Any) -> None:
    """Measure how good a PLAYER is, in every way available here.

    PLAYER is random, pubeval, network (the one that comes with bgdata), network/NAME, gnubg, bgsage or an ONNX file
    such as mine.onnx. Each figure has a standard error:

    \b
      points per game against PubEval, plain and luck-adjusted
      shares of gammons and backgammons in self-play
      error rates on all benchmarks of the warehouse, imported or made here
      how far these are from those of network and of each opponent, on the same decisions
      points lost per bearoff decision, judged by the largest exact table
      RMSE, MAE and bias of equity and of each chance, by theme of reference positions
      head to head with the installed gnubg and bgsage, and with those given

    The table leaves out MAE and bias of chances; CSV and JSON have a row for every figure. --plot draws what the
    table has by theme. In SQL, figures are rows of the table `scores`, those by theme of the view `reference_errors`,
    differences of the view `benchmark_differences`.

    What has been measured before is not measured again. A stopped command is resumed by running it again. Figures by
    theme are of the test split, which is for reporting: to choose among players, see `bgdata compare --split
    validation`. How many reference positions the player evaluates in a second is measured every time, and only
    printed.

    \b
      bgdata score network --quick --plot network.svg
      bgdata score network/better --against network --no-programs
    """
    from bgdata.evaluation.player import open_named_evaluator
    from bgdata.measures.steps.references import find_references
    from bgdata.measures.steps.score_rows import figure_rows, score_lines
    from bgdata.measures.steps.scores import PUBEVAL, QUICK, Amount, build_rivals, build_scores, opponent_of

    given = {name: options[name] for name in Amount._fields if options[name] is not None}
    amount = (QUICK if options["quick"] else Amount())._replace(**given)
    opponents = [PUBEVAL, *map(opponent_of, options["against"])]
    programs = not options["no_programs"]
    references = ""
    if plot:  # raises, before anything is measured; the picture shows the set with the most positions
        open_named_evaluator(player, ply, warehouse)
        references = find_references(warehouse).name.rpartition("/")[0]
    with progress_bars() as progress:
        table, left_out = build_scores(warehouse, (player, ply), opponents, amount, progress, programs=programs)
        rivals = build_rivals(warehouse, (player, ply), opponents, progress, programs=programs)
    rows = figure_rows(warehouse, table, rivals)
    for line in left_out:
        click.echo(f"left out: {line}", err=True)
    show_rows(rows, form, score_lines(table, rows))
    for line in speed_lines(warehouse, player, ply):
        click.echo(line, err=True)
    if plot:
        draw_values(rows, references, plot)


def draw_values(rows: Sequence[dict[str, Any]], references: str, path: Path) -> None:
    """Write a picture, PNG or SVG, of the figures that a player has by theme on a set of reference positions: of its
    equities on the left, the RMSE of its chances on the right. Raises StorageError."""
    from bgdata.measures.steps.score_rows import CHANCES, EQUITY_HEADS, by_theme

    themes = by_theme(rows)[references]
    with new_figure(10, 0.38 * len(themes) + 2.1) as figure:
        panels = figure.subplots(1, 2, sharey=True)
        draw_marks(panels[0], {head: figures_of(themes, name) for head, name in EQUITY_HEADS.items()})
        draw_marks(panels[1], {name: figures_of(themes, f"{name}_rmse") for name in CHANCES})
        name_heights(panels[0], list(themes))
        panels[0].axvline(0, color=GREY, linewidth=0.8)
        panels[1].set_xlim(left=0)
        panels[0].set_xlabel("equity ± 1 standard error (points)")
        panels[1].set_xlabel("RMSE of chances ± 1 standard error")
        for axes in panels:
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=2)
        figure.suptitle(f"{rows[0]['player_name']}:{rows[0]['ply']}, test split of {references}")
        write_figure(figure, path)


def figures_of(themes: ByTheme, measure: str) -> tuple[list[float], list[float]]:
    """A measure of every theme, and its standard errors; NaN for what is not known."""
    found = [figures.get(measure, {}) for figures in themes.values()]
    return [known(row.get("value")) for row in found], [known(row.get("value_error")) for row in found]


def speed_lines(warehouse: Warehouse, name: str, ply: int) -> Iterator[str]:
    """How fast a player evaluates reference positions: one line, or none where there are no positions or the player
    only chooses plays."""
    from bgdata.evaluation.player import open_named_evaluator
    from bgdata.measures.steps.references import RUNS, find_references, positions_per_second, workers_text

    try:
        table, evaluator = find_references(warehouse), open_named_evaluator(name, ply, warehouse)
    except (MissingTableError, UsageError):
        return
    rate = positions_per_second(evaluator, table.array("boards"))
    measured = f"{workers_text(name)}, median of {RUNS} runs on {table.name}"
    yield f"speed: {rate:,.0f} positions a second, {ply}-ply, {measured}"
