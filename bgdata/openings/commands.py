"""`bgdata openings`: builds and shows the opening book."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import click

from bgdata.cli.charts import GREY, RED, TEAL, new_figure, write_figure
from bgdata.cli.completion import complete_players
from bgdata.cli.options import format_option, plot_option, rollout_options, threads_option, value_option
from bgdata.cli.output import show_rows
from bgdata.errors import InvalidParameterError, UsageError, cite
from bgdata.evaluation.rows import play_rows, rolled_out_columns
from bgdata.game.dice import parse_roll
from bgdata.game.plays import parse_play
from bgdata.game.position import START
from bgdata.openings.kinds.openings import DATASET, FIRST_ROLLS, OBJECTIVES, OpeningParameters, first_roll_of
from bgdata.rows import COUNT, EQUITY, LOSS, Column, Row, table_lines
from bgdata.selfplay.commands.labels import roller_parameters
from bgdata.store.build import refresh_catalog
from bgdata.store.progress import progress_bars
from bgdata.store.table import Table
from bgdata.warehouse import Warehouse

PUBLISHED = "published"  # value of --beside for published tables
BOOK_COLUMNS = (
    Column("first_roll", heading="roll", width=4),
    Column("play", heading="best play", width=18),
    Column("equity", EQUITY, width=7, gap=1),
    Column("standard_error", LOSS, "+/-", width=6),
    Column("second_play", heading="second best", width=18),
    Column("second_loss", LOSS, "loss", width=6, gap=1),
    Column("second_loss_standard_error", LOSS, "+/-", width=6),
    Column("games", COUNT, width=9),
)
DIFFERENCE_COLUMNS = (
    Column("source", width=16),
    Column("decision", width=28),
    Column("best_play", width=16),
    Column("play", heading="their play", width=16),
    Column("amount", heading="difference", width=18, is_right=True),
)
DEFAULTS = OpeningParameters()


@click.command()
@click.argument("roll", default="")
@click.argument("reply", default="")
@click.option("--after", default="", metavar="PLAY", help="The play of ROLL that is answered.  [default: the best one]")
@click.option(
    "--objective",
    type=click.Choice(OBJECTIVES),
    default=OBJECTIVES[0],
    show_default=True,
    help="What is at stake: points without a cube, or the game alone, whatever its size.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="ROLL",
    help="Roll out only this first roll; can be given several times.  [default: ROLL, else all 15]",
)
@value_option(
    "--sensible", DEFAULTS.sensible, "POINTS", "Roll out the replies to first plays that lose at most this much."
)
@value_option(
    "--sensible-plays",
    DEFAULTS.sensible_plays,
    "N",
    "Maximum number of plays of a first roll that are answered; 0: no replies.",
)
@value_option(
    "--reply-until", DEFAULTS.reply_until, "ERROR", "Standard error, in points, to which replies are rolled out."
)
@click.option(
    "--beside",
    multiple=True,
    metavar="PLAYER[:PLY]",
    shell_complete=complete_players,
    help="List differences from PLAYER, such as gnubg:2, or from published tables (published); "
    "can be given several times.",
)
@plot_option
@partial(rollout_options, trials=DEFAULTS.trials)
@threads_option
@format_option
@click.pass_obj
def openings(
    warehouse: Warehouse, /, roll: str, reply: str, after: str, plot: Path | None, form: str, **options: Any
) -> None:
    """Roll out the opening book, and show it.

    All candidates of the 15 first rolls are rolled out to a standard error of 0.002 points, or to --until, and those of
    the 21 replies to each sensible play to 0.005. The books for money and for double match point come with bgdata;
    another one takes hours, but only once. Each first roll is a table of its own. A stopped command resumes from its
    last checkpoint when it is run again. With a ROLL, such as 31, all its candidates are shown; with a REPLY, such as
    64, those of the reply. For double-match-point, the network plays for wins, and an equity is the chance to win minus
    the chance to lose.

    \b
      bgdata openings
      bgdata openings 31 64 --after "8/5 6/5"
      bgdata openings --only 31 --until 0.01 --sensible-plays 0 --plot openings.svg
      bgdata openings --beside published --beside gnubg:2
    """
    from bgdata.openings.steps import decisions_of

    first = first_roll_of(roll) if roll else ""
    second = str(parse_roll(reply)) if reply else ""
    if after and not second:
        raise UsageError(f"expected a reply with --after, such as 31 64 --after PLAY, got {cite(after)}")
    if after:
        after = str(parse_play(after, START, parse_roll(first)))  # raises, if it does, before anything is rolled out
    if plot and options["beside"]:
        raise UsageError("expected either --plot or --beside, got both")
    if second and options["beside"]:
        raise UsageError("expected either a reply or --beside, got both")
    judges = [open_judge(warehouse, name, options["objective"]) for name in options["beside"]]
    only = dict.fromkeys(map(first_roll_of, options.pop("only")))
    if only and first and first not in only:
        raise UsageError(f"expected a first roll of --only ({', '.join(only)}), got {first}")
    tables = build_book(warehouse, only or ((first,) if first else FIRST_ROLLS), options)
    if judges:
        decisions = decisions_of(tables)
        rows: list[Row] = [row for judge in judges for row in judge(decisions)]
        show_rows(rows, form, difference_lines(decisions, rows))
    else:
        print_book(tables, (first, after, second), plot, form)


Judge: TypeAlias = "Callable[[list[Any]], Iterable[Row]]"  # a function that lists differences from decisions


def build_book(warehouse: Warehouse, first_rolls: Iterable[str], options: dict[str, Any]) -> list[Table]:
    """Build the tables of the opening book for these first rolls with a command's options, except those that exist.
    Raises InvalidParameterError if an option is out of range, and MissingTableError if the network is missing."""
    roller = roller_parameters(warehouse, options["network"], options, DEFAULTS.until)
    if not roller["until"] > 0:
        raise InvalidParameterError(f"expected a standard error above 0, got {roller['until']}")
    names = ("objective", "sensible", "sensible_plays", "reply_until", "seed")
    parameters = OpeningParameters(**roller, **{name: options[name] for name in names})
    parameters.check_types()
    DATASET.check_parameters(parameters)
    tables = []
    with progress_bars() as progress:
        for first_roll in first_rolls:
            recipe = replace(parameters, first_roll=first_roll)
            table = warehouse.find(DATASET, recipe)
            if table is None:
                table = warehouse.build(DATASET.name, recipe, progress=progress)
            elif warehouse.use(table):
                refresh_catalog(warehouse)
            tables.append(table)
    return tables


def print_book(tables: Sequence[Table], place: tuple[str, str, str], plot: Path | None, form: str) -> None:
    """Print a part of a book and plot it: all first rolls, the candidates of one (first roll, "", ""), or the
    candidates of a reply (first roll, first play, reply). Raises UsageError if the book does not contain it."""
    from bgdata.openings.steps import decisions_of, find_first_roll, find_reply, first_rolls

    first, play, reply = place
    decisions = decisions_of(tables)
    if reply:
        chosen = [find_reply(decisions, first, play, reply)]
    else:
        chosen = [find_first_roll(decisions, first)] if first else first_rolls(decisions)
    row = chosen[0][0]
    what = f"reply {reply} to {row['first_roll']} {row['first_play']}" if reply else f"first roll {first}"
    title = f"{what if first else 'first rolls'}, {row['objective']}, rolled out by {row['network']}"
    if first:
        rows, lines = chosen[0], candidate_lines(chosen[0])
    else:
        rows = [best_row(each) for each in chosen]
        lines = chain(table_lines(BOOK_COLUMNS, rows), missed_lines(tables))
    show_rows(rows, form, chain([title], lines))
    if plot:
        draw_decisions(title, chosen, plot)


def best_row(decision: Sequence[Row]) -> dict[str, Any]:
    """Return the names and figures of the best and the second best play of a decision, as a row of the view
    `opening_book`."""
    best, second = decision[0], decision[1] if len(decision) > 1 else {}
    return {
        **{name: best[name] for name in ("first_roll", "play", "equity", "standard_error")},
        "second_play": second.get("play"),
        "second_loss": second.get("loss"),
        "second_loss_standard_error": second.get("loss_standard_error"),
        "n_candidates": len(decision),
        "games": sum(row["trials"] for row in decision),
    }


def candidate_lines(decision: Sequence[Row]) -> Iterator[str]:
    """Yield a line of text for each candidate: equity and loss with standard errors, chances in percent, games."""
    columns = (*rolled_out_columns("equity", 18), Column("trials", COUNT, "games", width=9))
    yield from table_lines(columns, play_rows(decision))
    more = decision[0]["n_legal_plays"] - len(decision)
    if more:
        yield f"     and {more} more that were not rolled out"


def missed_lines(tables: Sequence[Table]) -> Iterator[str]:
    """Yield a line of text if a candidate did not reach its standard error; otherwise yield nothing."""
    manifests = [table.manifest for table in tables]
    missed = sum(round(manifest.rows * (1 - manifest.statistics["known_share"])) for manifest in manifests)
    if missed:
        parameters = manifests[0].parameters
        most = parameters["most_trials"] or parameters["trials"]
        yield (
            f"expected standard errors within the limits, got larger ones for {missed:,} candidates after {most:,} "
            f"trials; try: --most-trials {4 * most}"
        )


def open_judge(warehouse: Warehouse, name: str, objective: str) -> Judge:
    """Return a function that takes decisions of the book and lists where a player, or published tables, differ from
    them. `name` is a player such as gnubg:2, or "published". Raises UsageError if the player only chooses plays, or if
    published tables are compared with another objective than money; and UnknownPlayerError for an unknown player."""
    from bgdata.evaluation.player import open_named_evaluator
    from bgdata.measures.steps.scores import full_name, opponent_of
    from bgdata.openings.steps import evaluator_differences, published_differences, published_sources

    if name == PUBLISHED:
        if objective != OBJECTIVES[0]:
            raise UsageError(f"expected --objective {OBJECTIVES[0]} beside published tables, got {objective}")
        sources = published_sources()
        return lambda decisions: (row for source in sources for row in published_differences(decisions, source))
    player, ply = opponent_of(name)
    evaluator = open_named_evaluator(full_name(player), ply, warehouse)
    return lambda decisions: evaluator_differences(decisions, name, evaluator)


def difference_lines(decisions: Sequence[Sequence[Row]], rows: Sequence[Row]) -> Iterator[str]:
    """Yield lines of text: a heading, and one line for each difference from the book."""
    shown = []
    for row in rows:
        amount = "not rolled out"
        if row["difference"] is not None:
            quantity = EQUITY if row["quantity"] == "equity" else LOSS
            amount = quantity.text(row["difference"], row["standard_error"])
        decision = " ".join(filter(None, (row["first_roll"], row["first_play"], row["reply_roll"])))
        shown.append({**row, "decision": decision, "amount": amount})
    what = f"{len(decisions)} decisions rolled out by {decisions[0][0]['network']}"
    yield f"{len(rows)} differences of more than 3 standard errors, or unknown, in {what}"
    if rows:
        yield from table_lines(DIFFERENCE_COLUMNS, shown)


def draw_decisions(title: str, decisions: Sequence[Sequence[Row]], path: Path) -> None:
    """Write a picture, PNG or SVG, of the equities of each roll's candidates, the best in red. Raises StorageError if
    the picture cannot be written."""
    rows = [row for decision in decisions for row in decision]
    is_single = len(decisions) == 1  # then the picture has one line per candidate, else one per roll
    if is_single:
        labels, places = [row["play"] for row in rows], list(range(len(rows)))
    else:
        labels = [best["first_roll"] for best, *_ in decisions]
        places = [place for place, each in enumerate(decisions) for _ in each]
    with new_figure(7.5, 0.34 * len(labels) + 1.4) as figure:
        axes = figure.subplots()
        for label, is_best, colour in (("other candidates", False, TEAL), ("best play", True, RED)):
            points = [pair for pair in zip(rows, places, strict=True) if (pair[0]["rank"] == 0) is is_best]
            equities, errors = ([row[name] for row, _ in points] for name in ("equity", "standard_error"))
            heights = [place for _, place in points]
            axes.errorbar(equities, heights, xerr=errors, fmt="o", color=colour, label=label)
        for place, (row, *_) in () if is_single else enumerate(decisions):
            offset: Any = {"xytext": (0, 4), "textcoords": "offset points", "ha": "center", "va": "bottom"}
            axes.annotate(row["play"], (row["equity"], place), color=GREY, fontsize=8, **offset)
        axes.set_yticks(range(len(labels)), labels)
        axes.invert_yaxis()
        axes.set_xlabel("equity (points) ± 1 standard error")
        figure.suptitle(title)
        axes.legend()
        write_figure(figure, path)
